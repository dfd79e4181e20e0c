"""The blocks of a Markdown text, found by structure in one pass over its lines.

A scanner of lines and not a parser: 0.4 ms for 20 kB where markdown-it-py takes 28. It follows CommonMark's own
algorithm (open containers, then block starts, then lazy continuation) as far as lines go, with front matter and GFM
tables besides. `tests/property/test_markdown.py` compares it with markdown-it-py. Sections, links, moves, passages and
lint all ask this one scanner. A heading in a list item or a quote is content there, never a section of the document.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from enum import Enum
from operator import attrgetter, eq
from typing import NamedTuple

_LINES = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+\Z")
_OTHER_ENDS = ("\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029")
_FENCE = re.compile(r"(`{3,})[^`]*\Z|(~{3,})")
# White space at the end of a line is cut off before any of these sees it: two repetitions of the same characters side
# by side would make a line of 40 kB take a minute.
_ATX = re.compile(r"(#{1,6})(?:[ \t]+(.*))?\Z")
_SETEXT = re.compile(r"(=+|-+)\Z")
_ITEM = re.compile(r"(?:[-+*]|\d{1,9}[.)])(?=[ \t]|\Z)")
_DEEPEST = 100  # containers; what is deeper counts as text, so that no line costs its square
# Every character that a line can begin with when it is anything but plain text.
_MARKS = frozenset(" \t\r\n\x0b\x0c#`~>-+*_=<|:0123456789")
_DELIMITER_ROW = re.compile(r"\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?\Z")
# HTML blocks of CommonMark §4.6 as (start, end); an end of None is a blank line. The last cannot interrupt a paragraph.
_BLOCK_TAGS = (
    "address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|dialog|dir|div|dl|dt|"
    "fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]|head|header|hr|html|iframe|legend|li|link|main|menu|"
    "menuitem|nav|noframes|ol|optgroup|option|p|param|search|section|summary|table|tbody|td|tfoot|th|thead|title|tr|"
    "track|ul"
)
_COMMENT_END = re.compile(r"-->")
_ATTRIBUTE = r"[ \t]+[A-Za-z_:][\w.:-]*(?:[ \t]*=[ \t]*(?:[^\s\"'=<>`]+|'[^']*'|\"[^\"]*\"))?"
_HTML: tuple[tuple[re.Pattern[str], re.Pattern[str] | None], ...] = (
    (
        re.compile(r"<(?:script|pre|style|textarea)(?:\s|>|\Z)", re.I),
        re.compile(r"</(?:script|pre|style|textarea)>", re.I),
    ),
    (re.compile(r"<!--"), _COMMENT_END),
    (re.compile(r"<\?"), re.compile(r"\?>")),
    (re.compile(r"<![A-Za-z]"), re.compile(r">")),
    (re.compile(r"<!\[CDATA\["), re.compile(r"\]\]>")),
    (re.compile(rf"</?(?:{_BLOCK_TAGS})(?:\s|/?>|\Z)", re.I), None),
    (re.compile(rf"(?:<[A-Za-z][A-Za-z0-9-]*(?:{_ATTRIBUTE})*[ \t]*/?>|</[A-Za-z][A-Za-z0-9-]*[ \t]*>)[ \t]*\Z"), None),
)
_QUOTE = 0  # among the open containers; a list item is the column at which its content begins

# What inline text (links, code spans) may do with a line.
RAW, BEGINS, CONTINUES = range(3)  # code or HTML: nothing · a new block · the paragraph of the line above


class Kind(Enum):
    FRONT = "front matter"
    BLANK = "blank"
    HEADING = "heading"
    CODE = "code"
    HTML = "html"
    NESTED = "list or quote"
    TEXT = "text"


class Heading(NamedTuple):
    level: int
    text: str
    first: int  # index of its first line
    after: int  # index of the line after it; a setext heading has two lines or more


@dataclass(slots=True)
class Scan:
    lines: list[str]  # with their line ends; joined they are the text
    kinds: list[Kind]  # as the document sees the line
    inline: bytearray  # RAW, BEGINS or CONTINUES, inside lists and quotes too
    headings: list[Heading]

    @property
    def front(self) -> int:
        """How many lines the front matter takes."""
        return next((index for index, kind in enumerate(self.kinds) if kind is not Kind.FRONT), len(self.kinds))


def split_lines(text: str) -> list[str]:
    """Lines with their ends (`\\n`, `\\r\\n`, `\\r`); unlike str.splitlines it leaves form feeds and U+2028 alone."""
    # str.splitlines is 20x as fast, and right wherever none of its other line ends occurs.
    return _LINES.findall(text) if any(map(text.__contains__, _OTHER_ENDS)) else text.splitlines(keepends=True)


def scan(text: str, *, front_matter: bool = True) -> Scan:
    scanner = _Scanner(split_lines(text))
    start = front_matter_end(scanner.lines) if front_matter else 0
    scanner.kinds.extend([Kind.FRONT] * start)
    scanner.inline.extend(bytes(start))
    for index in range(start, len(scanner.lines)):
        if not scanner.step_over_text(index):
            scanner.step(index)
    return scanner.done()


def rescan(known: Scan, text: str) -> Scan:
    """As `scan`, at the cost of what differs from `known`.

    Behind a heading the scanner keeps no state from before it. So it starts behind the last heading above
    the first difference, and stops at the first heading below the last one that `known` has in the same place.
    """
    lines = split_lines(text)
    front = front_matter_end(lines)
    if front != known.front:
        return scan(text)
    head, tail = _same_ends(known.lines, lines)
    above = bisect_right(known.headings, head, key=attrgetter("after"))
    start = known.headings[above - 1].after if above else front
    scanner = _Scanner(lines, known.kinds[:start], known.inline[:start], known.headings[:above])
    moved = len(lines) - len(known.lines)
    ends = {heading.after + moved for heading in known.headings[above:]}
    for index in range(start, len(lines)):
        count = len(scanner.headings)
        if not scanner.step_over_text(index):
            scanner.step(index)
        if len(scanner.headings) > count and index + 1 >= len(lines) - tail and index + 1 in ends:
            return _spliced(scanner, known, index + 1 - moved, moved)
    return scanner.done()


def _same_ends(old: list[str], new: list[str]) -> tuple[int, int]:
    """How many lines at the beginning, and of the others at the end, are the same."""
    shorter = min(len(old), len(new))
    head = next((index for index, same in enumerate(map(eq, old, new)) if not same), shorter)
    pairs = map(eq, reversed(old), reversed(new))
    tail = next((index for index, same in enumerate(pairs) if not same), shorter)
    return head, min(tail, shorter - head)


def _spliced(scanner: _Scanner, known: Scan, end: int, moved: int) -> Scan:
    """The scanner's lines, then those of the known text from its line `end` on."""
    rest = known.headings[bisect_right(known.headings, end, key=attrgetter("after")) :]
    shifted = [Heading(each.level, each.text, each.first + moved, each.after + moved) for each in rest]
    return Scan(
        scanner.lines,
        scanner.kinds + known.kinds[end:],
        scanner.inline + known.inline[end:],
        scanner.headings + (shifted if moved else rest),
    )


def front_matter_end(lines: list[str]) -> int:
    """How many lines the front matter takes, fences included; 0 where there is none or it never ends."""
    if not lines or lines[0].removeprefix("\ufeff").rstrip() != "---":
        return 0
    for index in range(1, len(lines)):
        if lines[index].rstrip() in ("---", "..."):
            return index + 1
    return 0


@dataclass(slots=True)
class _Scanner:
    lines: list[str]
    kinds: list[Kind] = field(default_factory=list)
    inline: bytearray = field(default_factory=bytearray)
    headings: list[Heading] = field(default_factory=list)
    containers: list[int] = field(default_factory=list)  # open, outermost first: _QUOTE or the width of an item
    empty_item: int = -1  # depth of an item that has had no content yet: a blank line ends it
    fence: str = ""  # the opening fence while inside one
    html_end: re.Pattern[str] | None = None
    in_html: bool = False
    paragraph: int = -1  # index of the first line of the open paragraph, at any depth
    table: bool = False

    def done(self) -> Scan:
        return Scan(self.lines, self.kinds, self.inline, self.headings)

    # Most lines are blank, plain text or plain items, outside any fence or HTML: here they cost a tenth.

    def step_over_text(self, index: int) -> bool:
        line = self.lines[index]
        if self.fence or self.in_html:
            return self._step_over_raw(line)
        if line == "\n":
            return self._step_over_blank()
        if line[0] in _MARKS:
            return self._step_over_mark(index, line)
        if self.table and self.containers:
            return False
        if self.paragraph < 0:
            self.containers.clear()
            self.paragraph = index
            self._add(Kind.TEXT, BEGINS)
        else:
            self._add(Kind.NESTED if self.containers else Kind.TEXT, BEGINS if self.table else CONTINUES)
        return True

    def _step_over_raw(self, line: str) -> bool:
        if self.containers:
            return False
        if self.fence:
            if line[0] in (self.fence[0], " ", "\t"):
                return False
            self._add(Kind.CODE, RAW)
            return True
        if self.html_end is None:
            if line.isspace():
                return False
        elif self.html_end.search(line):
            self.in_html = False
        self._add(Kind.HTML, RAW)
        return True

    def _step_over_blank(self) -> bool:
        if self.containers and (self.empty_item >= 0 or _QUOTE in self.containers):
            return False
        self.paragraph, self.table = -1, False
        self._add(Kind.BLANK, BEGINS)
        return True

    def _step_over_mark(self, index: int, line: str) -> bool:
        if line.startswith("- "):
            return self._step_over_item(index, line[2:])
        if self.containers:
            return False
        if line[0] == "#":
            return self._step_over_heading(index, line)
        if line.startswith("<!--"):
            return self._step_over_comment(line)
        if self.table and line[0] == "|":
            self._add(Kind.TEXT, BEGINS)
            return True
        return False

    def _step_over_item(self, index: int, text: str) -> bool:
        body = text.lstrip(" ")
        further = len(text) - len(body)
        if further > 3 or not body or (body[0] in _MARKS and not (body[0].isdigit() and _ITEM.match(body) is None)):
            return False
        self.containers, self.empty_item = [2 + further], -1
        self.paragraph, self.table = index, False
        self._add(Kind.NESTED, BEGINS)
        return True

    def _step_over_heading(self, index: int, line: str) -> bool:
        atx = _ATX.match(line.strip(" \t\r\n"))
        if atx is None:
            return False
        self.headings.append(Heading(len(atx[1]), _without_closing(atx[2] or ""), index, index + 1))
        self.paragraph, self.table, self.empty_item = -1, False, -1
        self._add(Kind.HEADING, BEGINS)
        return True

    def _step_over_comment(self, line: str) -> bool:
        self.html_end = _COMMENT_END
        self.in_html = _COMMENT_END.search(line, len("<!--")) is None
        self.paragraph, self.table, self.empty_item = -1, False, -1
        self._add(Kind.HTML, RAW)
        return True

    def _add(self, kind: Kind, inline: int) -> None:
        self.kinds.append(kind)
        self.inline.append(inline)

    # The whole algorithm

    def step(self, index: int) -> None:
        line = self.lines[index].rstrip("\r\n")
        body = line.strip(" \t")
        if "\t" in line:  # columns decide, and only until the content begins
            line = line.expandtabs(4)
        line = line.rstrip(" ") if body else ""
        at, matched = self._matched(line)
        if matched == len(self.containers) and (self.fence or self.in_html):
            self._inside_raw(line, at)
        elif at >= len(line):
            self._blank(matched)
        else:
            self._block(index, line, at, matched)

    def _matched(self, line: str) -> tuple[int, int]:
        """(where the content begins, how many of the open containers go on in this line)."""
        at = 0
        for depth, container in enumerate(self.containers):
            start = _content(line, at)
            if container == _QUOTE:
                if start - at > 3 or not line.startswith(">", start):
                    return at, depth
                at = start + (2 if line.startswith(" ", start + 1) else 1)
            elif start >= len(line):
                if depth == self.empty_item:
                    return at, depth
            elif start - at < container:
                return at, depth
            else:
                at += container
        return at, len(self.containers)

    def _close(self, depth: int) -> None:
        """End the containers below this depth, and with them every leaf but a new one."""
        if depth < len(self.containers):
            del self.containers[depth:]
            self.fence, self.in_html, self.paragraph, self.table = "", False, -1, False
            self.empty_item = -1

    def _inside_raw(self, line: str, at: int) -> None:
        body = line[_content(line, at) :]
        if self.fence:
            closes = _content(line, at) - at < 4 and body and set(body) == {self.fence[0]}
            self._leaf(Kind.CODE, RAW)
            if closes and len(body) >= len(self.fence):
                self.fence = ""
        elif self.html_end is None and not body:
            self._blank(len(self.containers))
        else:
            self._leaf(Kind.HTML, RAW)
            if self.html_end is not None and self.html_end.search(body):
                self.in_html = False

    def _blank(self, matched: int) -> None:
        self._close(matched)
        self.in_html, self.paragraph, self.table = False, -1, False
        self._add(Kind.BLANK, BEGINS)

    def _leaf(self, kind: Kind, inline: int) -> None:
        self._add(Kind.NESTED if self.containers else kind, inline)

    def _block(self, index: int, line: str, at: int, matched: int) -> None:
        """Open what containers begin here, then decide what the rest of the line is."""
        while True:
            start = _content(line, at)
            body, indent = line[start:], start - at
            going_on = self.paragraph >= 0 and matched == len(self.containers)  # the open paragraph is ours
            if not body:
                self._open_item_without_content(matched)
                return
            if indent >= 4 or len(self.containers) > _DEEPEST:
                break
            if body[0] == ">":
                self._open(_QUOTE, matched)
                at = start + (2 if line.startswith(" ", start + 1) else 1)
            elif item := self._item(body, indent, going_on):
                self._open(item, matched)
                at = min(at + item, len(line))
            else:
                break
            matched = len(self.containers)
        self.empty_item = -1
        if indent >= 4:
            self._indented(matched)
        else:
            self._content_line(index, body, matched, going_on)

    def _open(self, container: int, matched: int) -> None:
        self._close(matched)
        self.fence, self.in_html, self.paragraph, self.table = "", False, -1, False
        self.containers.append(container)
        self.empty_item = -1

    def _open_item_without_content(self, matched: int) -> None:
        self.empty_item = matched - 1 if self.containers and self.containers[-1] != _QUOTE else -1
        self._add(Kind.NESTED, BEGINS)

    def _item(self, body: str, indent: int, going_on: bool) -> int:
        """The width of marker and space if a list item begins here, else 0."""
        marker = _ITEM.match(body)
        if marker is None or _is_rule(body):
            return 0
        width = len(marker[0])
        content = body[width:].lstrip(" ")
        if going_on and not self.table and (not content or (marker[0][:-1].isdigit() and int(marker[0][:-1]) != 1)):
            return 0  # an empty item, or a number other than 1, cannot interrupt a paragraph
        padding = len(body) - width - len(content)
        return indent + width + (padding if content and padding <= 4 else 1)

    def _indented(self, matched: int) -> None:
        if self.paragraph >= 0 and not self.table:
            self._leaf(Kind.TEXT, CONTINUES)
            return
        self._close(matched)
        self.paragraph, self.table = -1, False
        self._leaf(Kind.CODE, RAW)

    def _content_line(self, index: int, body: str, matched: int, going_on: bool) -> None:
        if going_on and self._underlined(index, body):
            return
        kind = self._starts_leaf(body, interrupts=self.paragraph >= 0)
        if kind is None:
            self._text(index, body, matched)
            return
        fence, html = (self.fence, None) if kind is Kind.CODE else ("", (self.in_html, self.html_end))
        self._close(matched)
        self.paragraph, self.table = -1, False
        self.fence = fence
        if kind is Kind.HTML and html is not None:
            self.in_html, self.html_end = html
        if kind is Kind.HEADING and not self.containers:
            atx = _ATX.match(self.lines[index].strip(" \t\r\n"))
            if atx:
                self.headings.append(Heading(len(atx[1]), _without_closing(atx[2] or ""), index, index + 1))
        self._leaf(kind, RAW if kind in (Kind.CODE, Kind.HTML) else BEGINS)

    def _starts_leaf(self, body: str, *, interrupts: bool) -> Kind | None:
        """The kind of a block that is no paragraph and begins in this line."""
        if body[0] not in _MARKS:
            return None
        if _ATX.match(body):
            return Kind.HEADING
        if fence := _FENCE.match(body):
            self.fence = fence[1] or fence[2]
            return Kind.CODE
        if _is_rule(body):
            return Kind.TEXT
        if body[0] == "<" and self._starts_html(body, interrupts=interrupts):
            return Kind.HTML
        return None

    def _starts_html(self, body: str, *, interrupts: bool) -> bool:
        for start, end in _HTML[:-1] if interrupts else _HTML:
            if start.match(body):
                self.html_end = end
                self.in_html = end is None or not end.search(body, len("<!--") if body.startswith("<!--") else 0)
                return True
        return False

    def _underlined(self, index: int, body: str) -> bool:
        """Whether this line makes the paragraph above it a heading."""
        line = None if self.table else _SETEXT.match(body)
        if line is None:
            return False
        if _is_one_column_header(self.lines[index - 1].strip(), body):
            self.table = True
            self._leaf(Kind.TEXT, BEGINS)
            return True
        first, self.paragraph = self.paragraph, -1
        self._leaf(Kind.HEADING, BEGINS)
        if not self.containers:
            text = " ".join(part.strip() for part in self.lines[first:index])
            self.kinds[first:index] = [Kind.HEADING] * (index - first)
            self.headings.append(Heading(1 if line[1][0] == "=" else 2, text, first, index + 1))
        return True

    def _text(self, index: int, body: str, matched: int) -> None:
        if self.paragraph >= 0 and not (self.table and matched < len(self.containers)):
            is_lazy = matched < len(self.containers)
            if not (self.table or is_lazy) and _DELIMITER_ROW.match(body) and "|" in self.lines[index - 1]:
                self.table = _cells(self.lines[index - 1].strip()) == _cells(body)
            self._leaf(Kind.TEXT, BEGINS if self.table else CONTINUES)
            return
        self._close(matched)
        self.paragraph, self.table = index, False
        self._leaf(Kind.TEXT, BEGINS)


def _content(line: str, at: int) -> int:
    """The index of the first character from here on that is no space."""
    length = len(line)
    while at < length and line[at] == " ":
        at += 1
    return at


def _is_rule(body: str) -> bool:
    """Three or more of * - _ and nothing else."""
    return body[:1] in ("*", "-", "_") and not body.strip(f"{body[0]} \t") and body.count(body[0]) >= 3


def _without_closing(text: str) -> str:
    """The text of a heading without the #s that may close it; they stand apart from it."""
    bare = text.rstrip("#")
    return bare.rstrip(" \t") if bare[-1:] in ("", " ", "\t") else text


def _is_one_column_header(above: str, underline: str) -> bool:
    """`| a |` over `---` is a table of one column (GFM), not a heading."""
    return underline[0] == "-" and "|" in above and _cells(above) == 1


def _cells(row: str) -> int:
    return len(re.split(r"(?<!\\)\|", row.removeprefix("|").removesuffix("|")))
