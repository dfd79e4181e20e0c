"""The sections of a Markdown file, found by structure; a change to one leaves every other byte alone.

A section reaches from its heading to the next heading of the same or a higher level. `replace` renews all of it below
heading and anchor, subsections included; `append` adds at the end of its own text, before the first subsection, so
that a line meant for "Concerns" does not land under the last of its children.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from lithos.core.markdown import Kind, Scan, scan
from lithos.errors import InvalidInput, NotFound

PATH_SEPARATOR = " > "
ANCHOR = re.compile(r"^[ ]{0,3}<!--[ \t]*@anchor:[ \t]*(\S[^>\r\n]{0,200}?)[ \t]*-->[ \t]*$")


@dataclass(frozen=True, slots=True)
class Section:
    anchor: str | None
    heading: str
    level: int
    path: tuple[str, ...]  # the headings above it and its own
    first: int  # index of the heading's first line
    body: int  # index of the first line below heading and anchor
    own_end: int  # index of its first subsection, or `end`
    end: int  # index of the line after it

    @property
    def name(self) -> str:
        return PATH_SEPARATOR.join(self.path)


@dataclass(frozen=True, slots=True)
class Outline:
    scan: Scan
    sections: tuple[Section, ...]
    anchors: tuple[str, ...]  # every one of the file in order, wherever it stands, duplicates included

    @property
    def lines(self) -> list[str]:
        return self.scan.lines

    def text_of(self, section: Section) -> str:
        return "".join(self.lines[section.body : section.end])

    def find(self, target: str) -> Section:
        """By anchor, by full heading path, or by a heading that is the only one of its name."""
        wanted = target.strip()
        by_anchor = [each for each in self.sections if each.anchor is not None and each.anchor == wanted]
        by_path = [each for each in self.sections if each.name == wanted]
        by_heading = [each for each in self.sections if each.heading == wanted]
        for found in (by_anchor, by_path, by_heading):
            if len(found) == 1:
                return found[0]
            if found:
                raise _ambiguous(wanted, found)
        raise _missing(wanted, self.sections)


@lru_cache(maxsize=8)  # one change looks at the same two texts half a dozen times, at 1 ms per 1,000 lines
def outline(text: str, anchor: re.Pattern[str] = ANCHOR) -> Outline:
    """H2 and deeper are sections; an H1 is the document's title."""
    scanned = scan(text)
    anchors = _anchors(scanned, anchor)
    found: list[Section] = []
    above: list[tuple[int, str]] = []
    for at, heading in enumerate(scanned.headings):
        above = [(level, name) for level, name in above if level < heading.level]
        if heading.level >= 2:
            found.append(_section(scanned, at, tuple(name for _, name in above), anchors))
            above.append((heading.level, heading.text))
    return Outline(scanned, tuple(found), tuple(anchors.values()))


def _anchors(scanned: Scan, anchor: re.Pattern[str]) -> dict[int, str]:
    """Line → name."""
    found = (
        (index, anchor.match(scanned.lines[index].rstrip("\r\n")))
        for index, kind in enumerate(scanned.kinds)
        if kind is Kind.HTML
    )
    return {index: match[1] for index, match in found if match}


def _section(scanned: Scan, at: int, above: tuple[str, ...], anchors: dict[int, str]) -> Section:
    heading = scanned.headings[at]
    following = scanned.headings[at + 1 :]
    end = next((other.first for other in following if other.level <= heading.level), len(scanned.lines))
    own_end = following[0].first if following and following[0].first < end else end
    anchor = anchors.get(heading.after)
    body = heading.after + (anchor is not None)
    return Section(anchor, heading.text, heading.level, (*above, heading.text), heading.first, body, own_end, end)


def replace(outlined: Outline, section: Section, content: str) -> str:
    """The whole text with this section's content renewed; a blank line keeps it apart from what follows."""
    lines = outlined.lines
    tail = "".join(lines[section.end :])
    body = _framed(content, _line_end(lines), more=bool(tail), padded=_starts_blank(lines, section))
    return _joined(lines[: section.body], _line_end(lines)) + body + tail


def append(outlined: Outline, section: Section, addition: str) -> str:
    """The whole text with `addition` after the section's last line of its own text."""
    lines = outlined.lines
    last = section.own_end
    while last > section.body and not lines[last - 1].strip():
        last -= 1
    end = _line_end(lines)
    rest = lines[last:]
    added = _with_ends(addition, end)
    missing_blank = not rest and last == len(lines)
    gap = "" if missing_blank or (rest and not rest[0].strip()) else end
    before = _joined(lines[:last], end)
    opening = end if last == section.body and _starts_blank(lines, section) else ""
    return before + opening + added + gap + "".join(rest)


def _framed(content: str, end: str, *, more: bool, padded: bool) -> str:
    if not content.strip():
        return end if more else ""
    return (end if padded else "") + _with_ends(content, end) + (end if more else "")


def _with_ends(content: str, end: str) -> str:
    """The lines of `content` with the file's own line ends, blank lines around it dropped, closed by one end."""
    lines = content.replace("\r\n", "\n").replace("\r", "\n").strip("\n").split("\n")
    return end.join(lines) + end


def _joined(lines: list[str], end: str) -> str:
    text = "".join(lines)
    return text if not text or text.endswith(("\n", "\r")) else text + end


def _line_end(lines: list[str]) -> str:
    first = lines[0] if lines else "\n"
    return "\r\n" if first.endswith("\r\n") else "\n"


def _starts_blank(lines: list[str], section: Section) -> bool:
    return section.body < section.end and not lines[section.body].strip()


def _missing(wanted: str, sections: tuple[Section, ...]) -> NotFound:
    names = [each.anchor or each.name for each in sections][:30]
    return NotFound(
        f"no section is called {wanted[:120]!r}",
        hint="Name an anchor or a full heading path; `candidates` lists what is there.",
        candidates=names,
    )


def _ambiguous(wanted: str, found: list[Section]) -> InvalidInput:
    places = [f"{each.name} (line {each.first + 1})" for each in found]
    return InvalidInput(
        f"{wanted[:120]!r} names {len(found)} sections",
        hint="Name the full heading path, or an anchor that occurs once.",
        candidates=places,
    )
