"""Where the headings, code and comments of a Markdown text are, found by structure in one pass over its lines.

A scanner of lines and not a parser: 0.4 ms for 20 kB where markdown-it-py takes 28. `tests/property/test_markdown.py`
holds it against markdown-it-py. It knows what decides whether a line is a heading: front matter, fenced and indented
code, HTML blocks, lists, quotes, setext underlines and tables. A heading inside a list item or a quote is content
there, never a section of the document.
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
_DEEPEST = 100  # markers within markers of one line; what lies deeper counts as text, so that no line costs its square
_BLOCK = re.compile("|".join((_ATX.pattern, _FENCE.pattern, _ITEM.pattern, ">")))
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
_ATTRIBUTE = r"[ \t]+[A-Za-z_:][\w.:-]*(?:[ \t]*=[ \t]*(?:[^\s\"'=<>`]+|'[^']*'|\"[^\"]*\"))?"
_HTML: tuple[tuple[re.Pattern[str], re.Pattern[str] | None], ...] = (
    (
        re.compile(r"<(?:script|pre|style|textarea)(?:\s|>|\Z)", re.I),
        re.compile(r"</(?:script|pre|style|textarea)>", re.I),
    ),
    (re.compile(r"<!--"), re.compile(r"-->")),
    (re.compile(r"<\?"), re.compile(r"\?>")),
    (re.compile(r"<![A-Za-z]"), re.compile(r">")),
    (re.compile(r"<!\[CDATA\["), re.compile(r"\]\]>")),
    (re.compile(rf"</?(?:{_BLOCK_TAGS})(?:\s|/?>|\Z)", re.I), None),
    (re.compile(rf"(?:<[A-Za-z][A-Za-z0-9-]*(?:{_ATTRIBUTE})*[ \t]*/?>|</[A-Za-z][A-Za-z0-9-]*[ \t]*>)[ \t]*\Z"), None),
)


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
    kinds: list[Kind]
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
    for index in range(start, len(scanner.lines)):
        if not scanner.step_over_text(index):
            scanner.step(index)
    return Scan(scanner.lines, scanner.kinds, scanner.headings)


def rescan(known: Scan, text: str) -> Scan:
    """As `scan`, at the cost of what differs from `known`.

    Behind a heading the scanner remembers nothing of what stood before it. So it starts behind the last heading above
    the first difference, and stops at the first heading below the last one that `known` has in the same place.
    """
    lines = split_lines(text)
    front = front_matter_end(lines)
    if front != known.front:
        return scan(text)
    head, tail = _same_ends(known.lines, lines)
    above = bisect_right(known.headings, head, key=attrgetter("after"))
    start = known.headings[above - 1].after if above else front
    scanner = _Scanner(lines, known.kinds[:start], known.headings[:above])
    moved = len(lines) - len(known.lines)
    ends = {heading.after + moved for heading in known.headings[above:]}
    for index in range(start, len(lines)):
        count = len(scanner.headings)
        if not scanner.step_over_text(index):
            scanner.step(index)
        if len(scanner.headings) > count and index + 1 >= len(lines) - tail and index + 1 in ends:
            return _spliced(scanner, known, index + 1 - moved, moved)
    return Scan(lines, scanner.kinds, scanner.headings)


def _same_ends(old: list[str], new: list[str]) -> tuple[int, int]:
    """How many lines at the beginning, and of the others at the end, are the same."""
    shorter = min(len(old), len(new))
    head = next((index for index, same in enumerate(map(eq, old, new)) if not same), shorter)
    pairs = map(eq, reversed(old), reversed(new))
    tail = next((index for index, same in enumerate(pairs) if not same), shorter)
    return head, min(tail, shorter - head)


def _spliced(scanner: _Scanner, known: Scan, end: int, moved: int) -> Scan:
    """What the scanner found, and from line `end` of the known text on what is known."""
    rest = known.headings[bisect_right(known.headings, end, key=attrgetter("after")) :]
    shifted = [Heading(each.level, each.text, each.first + moved, each.after + moved) for each in rest]
    return Scan(scanner.lines, scanner.kinds + known.kinds[end:], scanner.headings + (shifted if moved else rest))


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
    headings: list[Heading] = field(default_factory=list)
    fence: str = ""  # the opening fence while inside one
    html_end: re.Pattern[str] | None = None
    in_html: bool = False
    item: int = 0  # content offset of the outermost open list item
    item_paragraph: bool = False  # the item's last line was text that a following line may lazily continue
    quote_paragraph: bool = False
    paragraph: int = -1  # index of the first line of the open paragraph
    table: bool = False

    def step_over_text(self, index: int) -> bool:
        """Most lines are blank, plain text or plain items, outside any fence or HTML: here they cost a tenth."""
        line = self.lines[index]
        if self.fence or self.in_html:
            return False
        if line == "\n":
            self.kinds.append(self._blank())
            return True
        if line[0] in _MARKS:
            return line.startswith("- ") and self._step_over_item(line[2:])
        if self.item_paragraph or self.quote_paragraph:
            self.kinds.append(Kind.NESTED)
            return True
        self.item = 0
        if self.paragraph < 0:
            self.paragraph = index
        self.kinds.append(Kind.TEXT)
        return True

    def _step_over_item(self, text: str) -> bool:
        if not text or (text[0] in _MARKS and not (text[0].isdigit() and _ITEM.match(text) is None)):
            return False
        self.item, self.item_paragraph, self.quote_paragraph = 2, True, False
        self.kinds.append(self._ends_paragraph(Kind.NESTED))
        return True

    def step(self, index: int) -> None:
        raw = self.lines[index].rstrip("\r\n")
        body = raw.strip(" \t")
        raw = raw.rstrip(" \t") if body else raw
        indent = _width(raw[: len(raw) - len(body)])
        self.kinds.append(self._kind(index, body, indent))

    def _kind(self, index: int, body: str, indent: int) -> Kind:
        if self.in_html:
            return self._inside_html(body)
        if self.fence:
            return self._inside_fence(body, indent)
        if not body:
            return self._blank()
        nested = self._inside_nested(body, indent)
        if nested is not None:
            return nested
        if indent >= 4:
            return self._indented()
        return self._block(index, body, indent)

    def _inside_html(self, body: str) -> Kind:
        if self.html_end is None:
            if not body:
                self.in_html = False
                return self._blank()
        elif self.html_end.search(body):
            self.in_html = False
        return Kind.HTML

    def _inside_fence(self, body: str, indent: int) -> Kind:
        closing = body.rstrip(" \t")
        if indent < 4 and closing and set(closing) == {self.fence[0]} and len(closing) >= len(self.fence):
            self.fence = ""
        return Kind.CODE

    def _blank(self) -> Kind:
        self.paragraph, self.table = -1, False
        self.item_paragraph = self.quote_paragraph = False
        return Kind.BLANK

    def _inside_nested(self, body: str, indent: int) -> Kind | None:
        """Lines that belong to the open list item or quote, or lazily continue its paragraph."""
        if self.item and indent >= self.item:
            self.item_paragraph = self._ends_in_text(body)
            return Kind.NESTED
        lazy = (self.item_paragraph or self.quote_paragraph) and not self._starts_block(body)
        if lazy or ((self.item_paragraph or self.quote_paragraph) and indent >= 4):
            return Kind.NESTED
        if self.item and (indent >= 4 or not _ITEM.match(body) or _is_rule(body)):
            self.item, self.item_paragraph = 0, False
        return None

    def _starts_block(self, body: str) -> bool:
        """Whether a line is something else than text that could continue a paragraph."""
        if body[0] == "<":
            return any(start.match(body) for start, _ in _HTML[:-1])
        return body[0] in _MARKS and (_BLOCK.match(body) is not None or _is_rule(body))

    def _ends_in_text(self, body: str) -> bool:
        """Whether a nested line, its markers taken off, is text that the next line may lazily continue."""
        for _ in range(_DEEPEST):
            marker = _ITEM.match(body)
            if (marker is None or _is_rule(body)) and not body.startswith(">"):
                return bool(body) and not self._starts_block(body)
            body = body[marker.end() if marker else 1 :].lstrip(" \t")
        return True

    def _indented(self) -> Kind:
        if self.paragraph >= 0 and not self.table:
            return Kind.TEXT
        return self._ends_paragraph(Kind.CODE)

    def _block(self, index: int, body: str, indent: int) -> Kind:
        self.quote_paragraph = False
        if underlined := self._underlined(index, body):
            return underlined
        if atx := _ATX.match(body):
            return self._heading(len(atx[1]), _without_closing(atx[2] or ""), index, index + 1)
        if fence := _FENCE.match(body):
            self.fence = fence[1] or fence[2]
            return self._ends_paragraph(Kind.CODE)
        if _is_rule(body):
            return self._ends_paragraph(Kind.TEXT)
        if body.startswith(">"):
            self.quote_paragraph = self._ends_in_text(body)
            return self._ends_paragraph(Kind.NESTED)
        if self._starts_item(body):
            return self._list_item(body, indent)
        if self._starts_html(body):
            return self._ends_paragraph(Kind.HTML)
        return self._text(index, body)

    def _underlined(self, index: int, body: str) -> Kind | None:
        if self.paragraph < 0 or self.table or not (line := _SETEXT.match(body)):
            return None
        if self._one_column_header(index):
            self.table = True
            return Kind.TEXT
        first = self.paragraph
        text = " ".join(part.strip() for part in self.lines[first:index])
        for at in range(first, index):
            self.kinds[at] = Kind.HEADING
        return self._heading(1 if line[1][0] == "=" else 2, text, first, index + 1)

    def _one_column_header(self, index: int) -> bool:
        """`| a |` over `---` is a table of one column (GFM), not a heading."""
        above = self.lines[index - 1].strip()
        dashes = self.lines[index].strip()[0] == "-"
        return dashes and "|" in above and _cells(above) == 1

    def _heading(self, level: int, text: str, first: int, after: int) -> Kind:
        self.headings.append(Heading(level, text, first, after))
        return self._ends_paragraph(Kind.HEADING)

    def _ends_paragraph(self, kind: Kind) -> Kind:
        self.paragraph, self.table = -1, False
        return kind

    def _starts_item(self, body: str) -> bool:
        marker = _ITEM.match(body)
        if not marker:
            return False
        if self.paragraph < 0 or self.item or self.table:
            return True
        # An empty item, or a number other than 1, cannot interrupt a paragraph.
        return bool(body[marker.end() :].strip()) and not (marker[0][:-1].isdigit() and int(marker[0][:-1]) != 1)

    def _list_item(self, body: str, indent: int) -> Kind:
        marker = _ITEM.match(body)
        width = len(marker[0]) if marker else 1
        rest = body[width:]
        padding = _width(rest[: len(rest) - len(rest.lstrip(" \t"))])
        content = rest.lstrip(" \t")
        self.item = indent + width + (padding if content and padding <= 4 else 1)
        self.item_paragraph = self._ends_in_text(content)
        return self._ends_paragraph(Kind.NESTED)

    def _starts_html(self, body: str) -> bool:
        choices = _HTML if self.paragraph < 0 else _HTML[:-1]
        for start, end in choices:
            if start.match(body):
                self.html_end = end
                self.in_html = end is None or not end.search(body, len("<!--") if body.startswith("<!--") else 0)
                return True
        return False

    def _text(self, index: int, body: str) -> Kind:
        if self.paragraph < 0:
            self.paragraph = index
        elif _DELIMITER_ROW.match(body) and "|" in self.lines[index - 1]:
            self.table = _cells(self.lines[index - 1].strip()) == _cells(body.strip())
        return Kind.TEXT


def _is_rule(body: str) -> bool:
    """Three or more of * - _ and nothing else."""
    return body[:1] in ("*", "-", "_") and not body.strip(f"{body[0]} \t") and body.count(body[0]) >= 3


def _without_closing(text: str) -> str:
    """The text of a heading without the #s that may close it; they stand apart from it."""
    bare = text.rstrip("#")
    return bare.rstrip(" \t") if bare[-1:] in ("", " ", "\t") else text


def _width(white: str) -> int:
    column = 0
    for character in white:
        column += 4 - column % 4 if character == "\t" else 1
    return column


def _cells(row: str) -> int:
    return len(re.split(r"(?<!\\)\|", row.removeprefix("|").removesuffix("|")))
