"""The sections of a Markdown file, found by structure; a change to one leaves every other byte alone.

A section reaches from its heading to the next heading of the same or a higher level. `replace` renews all of it below
heading and anchor, subsections included; `append` adds at the end of its direct text, before the first subsection, so
that a line meant for "Concerns" does not land under the last of its children.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

from lithos.core.markdown import Heading, Kind, Scan, rescan, scan
from lithos.errors import InvalidInput, NotFound
from lithos.garden.lists import item_ranges, marker_of

PATH_SEPARATOR = " > "
MOST_OFFERED = 30
LONGEST_LABEL = 400  # characters; every tool takes 500
_PLACED_LAST = re.compile(r"(.*)\(line (\d{1,9})\)", re.DOTALL)
ANCHOR = re.compile(r"^[ ]{0,3}<!--[ \t]*@anchor:[ \t]*(\S[^>\r\n]{0,200}?)[ \t]*-->[ \t]*$")


class Section(NamedTuple):
    anchor: str | None
    heading: str
    level: int
    path: tuple[str, ...]  # the headings above it and its own
    name: str  # the path as people write it
    first: int  # index of the heading's first line
    body: int  # index of the first line below heading and anchor
    own_end: int  # index of its first subsection, or `end`
    end: int  # index of the line after it


@dataclass(frozen=True, slots=True)
class Outline:
    text: str
    anchor: re.Pattern[str]
    scan: Scan
    sections: tuple[Section, ...]
    anchors: tuple[str, ...]  # every one of the file in order, duplicates included

    @property
    def lines(self) -> list[str]:
        return self.scan.lines

    def text_of(self, section: Section) -> str:
        return "".join(self.lines[section.body : section.end])

    def find(self, target: str) -> Section:
        """By anchor, by full heading path, by a heading that is the only one of its name, or by name and line."""
        wanted = target.strip()
        found = self._meant(wanted)
        if len(found) == 1:
            return found[0]
        raise self._ambiguous(wanted, found) if found else self._missing(wanted)

    def _meant(self, wanted: str) -> list[Section]:
        return self._named(wanted) or self._on_line(wanted)

    def _named(self, wanted: str) -> list[Section]:
        by_anchor = [each for each in self.sections if each.anchor is not None and each.anchor == wanted]
        by_path = [each for each in self.sections if each.name.strip() == wanted]
        return by_anchor or by_path or [each for each in self.sections if each.heading.strip() == wanted]

    def _on_line(self, wanted: str) -> list[Section]:
        """`Tasks (line 12)`, or `(line 12)` alone. A heading may end so itself: the last number counts, and any part
        before one of them may be the name."""
        names: set[str] = set()
        rest, line = wanted, ""
        while placed := _PLACED_LAST.fullmatch(rest):
            rest = placed[1].strip()
            line = line or placed[2]
            names.add(rest)
        there = [each for each in self.sections if line and each.first + 1 == int(line)]
        return [each for each in there if "" in names or not names.isdisjoint(map(str.strip, _names_of(each)))]

    def label(self, section: Section) -> str:
        """A name that `find` takes for this section and no other."""
        names = [name.strip() for name in (section.anchor, section.name) if name and len(name) <= LONGEST_LABEL]
        for name in names:
            if name and self._named(name) == [section]:
                return name
        line = f"(line {section.first + 1})"
        label = f"{names[-1]} {line}".strip() if names else line
        while self._meant(label) != [section]:  # a heading reads like that
            label += f" {line}"
        return label

    def _missing(self, wanted: str) -> NotFound:
        return NotFound(
            f"no section is called {wanted[:120]!r}",
            hint="Send one of `candidates`: an anchor, a full heading path, or one with its line.",
            candidates=[self.label(each) for each in self.sections[:MOST_OFFERED]],
        )

    def _ambiguous(self, wanted: str, found: list[Section]) -> InvalidInput:
        return InvalidInput(
            f"{wanted[:120]!r} names {len(found)} sections",
            hint="Send one of `candidates`; a line number counts until the file changes.",
            candidates=[self.label(each) for each in found[:MOST_OFFERED]],
        )


def _names_of(section: Section) -> tuple[str, ...]:
    return (section.name, section.heading, section.anchor or section.name)


_recent: deque[Outline] = deque(maxlen=8)  # one change looks at the same three texts a dozen times


def outline(text: str, anchor: re.Pattern[str] = ANCHOR, near: Outline | None = None) -> Outline:
    """H2 and deeper are sections; an H1 is the document's title. `near`: of a text that differs little, for speed."""
    known = next((each for each in tuple(_recent) if each.text == text and each.anchor is anchor), None)
    if known is None:
        known = _outlined(text, rescan(near.scan, text) if near is not None else scan(text), anchor)
        _recent.append(known)
    return known


def _outlined(text: str, scanned: Scan, anchor: re.Pattern[str]) -> Outline:
    anchors = _anchors(scanned, anchor)
    ends = _ends(scanned)
    found: list[Section] = []
    above: list[tuple[int, str]] = []
    for at, heading in enumerate(scanned.headings):
        above = [(level, name) for level, name in above if level < heading.level]
        if heading.level >= 2:
            path = (*(name for _, name in above), heading.text)
            found.append(_section(scanned.headings, at, path, ends[at], anchors))
            above.append((heading.level, heading.text))
    return Outline(text, anchor, scanned, tuple(found), tuple(anchors.values()))


def _anchors(scanned: Scan, anchor: re.Pattern[str]) -> dict[int, str]:
    """Line → name."""
    html = Kind.HTML  # looked up once: an Enum's own lookup costs as much as all the rest of the loop
    places = [index for index, kind in enumerate(scanned.kinds) if kind is html]
    found = ((index, anchor.match(scanned.lines[index].rstrip("\r\n"))) for index in places)
    return {index: match[1] for index, match in found if match}


def _ends(scanned: Scan) -> list[int]:
    """For each heading the line at which what it heads is over: the next heading of its level or above."""
    ends = [len(scanned.lines)] * len(scanned.headings)
    open_: list[int] = []
    for at, heading in enumerate(scanned.headings):
        while open_ and scanned.headings[open_[-1]].level >= heading.level:
            ends[open_.pop()] = heading.first
        open_.append(at)
    return ends


def _section(headings: list[Heading], at: int, path: tuple[str, ...], end: int, anchors: dict[int, str]) -> Section:
    heading = headings[at]
    own_end = min(end, headings[at + 1].first) if at + 1 < len(headings) else end
    anchor = anchors.get(heading.after)
    body = heading.after + (anchor is not None)
    name = PATH_SEPARATOR.join(path)
    return Section(anchor, heading.text, heading.level, path, name, heading.first, body, own_end, end)


def replace(outlined: Outline, section: Section, content: str) -> str:
    """The whole text with this section's content renewed; a blank line keeps it apart from what follows."""
    lines = outlined.lines
    tail = "".join(lines[section.end :])
    body = _framed(content, _line_end(lines), more=bool(tail), padded=_starts_blank(lines, section))
    return _joined(lines[: section.body], _line_end(lines)) + body + tail


def append(outlined: Outline, section: Section, addition: str) -> str:
    """The whole text with `addition` after the last line of the section's direct text. It is a separate block: only the
    next item of a list, row of a table or line of a quotation follows without a blank line."""
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
    apart = (
        _starts_blank(lines, section)
        if last == section.body
        else not _goes_on(outlined.scan, section.body, last - 1, added)
    )
    opening = end if apart else ""
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


def _goes_on(scanned: Scan, begin: int, last: int, addition: str) -> bool:
    """Whether the addition continues the block that ends with line `last`, in a section that begins with `begin`."""
    if marker_of(addition.partition("\n")[0]):
        return any(after == last + 1 for _, after in item_ranges(scanned, begin, last + 1))
    return any(scanned.lines[last].lstrip().startswith(mark) and addition.startswith(mark) for mark in ("|", ">"))
