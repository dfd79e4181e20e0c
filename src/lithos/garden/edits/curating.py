"""Edits lists within a section: adds, removes and updates items, and moves no other line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from lithos.core.markdown import CONTINUES
from lithos.core.names import is_blank
from lithos.errors import InvalidInput, NotFound
from lithos.garden import sections
from lithos.garden.lists import item_ranges, marker_of
from lithos.garden.rules.policy import Policy
from lithos.garden.sections import Outline, Section, outline

Op = Literal["append", "prune", "merge"]
_MARKER = re.compile(r"(?:[-+*]|\d{1,9}[.)])(?:[ \t]+|$)")
_PLACED = re.compile(r"line (\d{1,9}): ?")
_LONGEST_ITEM = 4_000
_LONGEST_SHOWN = 200


@dataclass(frozen=True, slots=True)
class ListEdit:
    op: Op
    items: tuple[str, ...]


def steps_of(ops: Sequence[Op], items: Sequence[str] | Sequence[Sequence[str]]) -> tuple[ListEdit, ...]:
    """`items` is one list for every op, or a list of lists, one per op."""
    if not ops:
        raise InvalidInput("ops is empty", hint='Send for example ops: ["append"].')
    lists = [each for each in items if not isinstance(each, str)]
    if lists and (len(lists) != len(items) or len(lists) != len(ops)):
        raise InvalidInput(
            "items holds neither texts nor one list per op", hint='For example ops: ["prune"], items: ["old"].'
        )
    chosen = [tuple(each) for each in lists] or [tuple(str(each) for each in items)] * len(ops)
    return tuple(ListEdit(op, tuple(map(_checked, group))) for op, group in zip(ops, chosen, strict=True))


def curated(text: str, target: str, steps: Sequence[ListEdit], policy: Policy) -> str:
    """The whole text with every step applied in order to the section's own list."""
    outlined: Outline | None = None
    for step in steps:
        for item in step.items:
            outlined = outline(text, policy.anchor_pattern, near=outlined)
            text = _step(outlined, outlined.find(target), step.op, item, policy)
    return text


def _step(outlined: Outline, section: Section, op: Op, item: str, policy: Policy) -> str:
    if op == "append":
        return _appended(outlined, section, item)
    found = _matching(outlined, section, item, policy)
    if op == "merge":
        if not found:
            return _appended(outlined, section, item)
        first, after = _the_only(found, outlined, section, item, policy)
        return _respliced(outlined, first, after, _formatted(_unplaced(item, first), _own_marker(outlined, first)))
    if not found:
        raise _missing(outlined, section, item, policy)
    first, after = _the_only(found, outlined, section, item, policy)
    return _respliced(outlined, first, after, [])


def _appended(outlined: Outline, section: Section, item: str) -> str:
    """At the end of the section's last list; where there is none, as a new list."""
    ranges = _ranges(outlined, section)
    if not ranges:
        return sections.append(outlined, section, "\n".join(_formatted(item, "-")))
    after = ranges[-1][1]
    lines = _formatted(item, _next_marker(outlined, ranges))
    if after < section.own_end and outlined.scan.inline[after] == CONTINUES:
        lines.append("")  # a table or tag at the margin: without a blank line it would become the new item's text
    return _respliced(outlined, after, after, lines)


def _ranges(outlined: Outline, section: Section) -> list[tuple[int, int]]:
    return item_ranges(outlined.scan, section.body, section.own_end)


def _respliced(outlined: Outline, first: int, after: int, lines: list[str]) -> str:
    near = outlined.lines[min(first, len(outlined.lines) - 1)]
    end = "\r\n" if near.endswith("\r\n") else "\n"
    before = "".join(outlined.lines[:first])
    joined = before if not before or before.endswith(("\n", "\r")) else before + end
    return joined + "".join(line + end for line in lines) + "".join(outlined.lines[after:])


def _matching(outlined: Outline, section: Section, item: str, policy: Policy) -> list[tuple[int, int]]:
    """Items of the same text; else the one on the line of `line 12: …`; else those of the same evidence token."""
    ranges = _ranges(outlined, section)
    texts = [_plain("".join(outlined.lines[first:after])) for first, after in ranges]
    for wanted in dict.fromkeys((" ".join(item.split()), _plain(item))):  # an item may begin like a marker itself
        if same := [place for place, text in zip(ranges, texts, strict=True) if text == wanted]:
            return same
    if placed := _PLACED.match(item):
        return [place for place in ranges if place[0] + 1 == int(placed[1])]
    tokens = set(_tokens(item, policy))
    if not tokens:
        return []
    return [place for place, text in zip(ranges, texts, strict=True) if tokens & set(_tokens(text, policy))]


def _tokens(text: str, policy: Policy) -> list[str]:
    return re.findall(re.escape(policy.evidence.token) + r"[^\s,;)\]]+", text)


def _plain(item: str) -> str:
    return " ".join(_bare(item).split())


def _bare(item: str) -> str:
    """Without its marker."""
    return _MARKER.sub("", item.strip(), count=1)


def _unplaced(item: str, first: int) -> str:
    """Without the `line 12: ` that an error put before the text of the item there."""
    placed = _PLACED.match(item)
    return item[placed.end() :] if placed and int(placed[1]) == first + 1 else item


def _checked(item: str) -> str:
    if is_blank(item):
        raise InvalidInput("an item is empty", hint="Send the text of each item.")
    if len(item) > _LONGEST_ITEM:
        raise InvalidInput(f"an item has {len(item)} characters; {_LONGEST_ITEM} is the most")
    return item


def _formatted(item: str, marker: str) -> list[str]:
    """The item's lines, continuation lines indented below its first; blank lines inside it would end the list."""
    lines = [line.strip() for line in _bare(item).splitlines() if line.strip()]
    if not lines:
        raise InvalidInput("an item has a marker and no text", hint="Send the text of each item.")
    indent = " " * (len(marker) + 1)
    return [f"{marker} {lines[0]}", *(indent + line for line in lines[1:])]


def _own_marker(outlined: Outline, first: int) -> str:
    found = marker_of(outlined.lines[first])
    return found["indent"] + found["sign"] if found else "-"


def _next_marker(outlined: Outline, ranges: list[tuple[int, int]]) -> str:
    """The marker of the item after the last: the next number, unless the list gives each item the same one."""
    last = marker_of(outlined.lines[ranges[-1][0]])
    if last is None or not last["number"]:
        return _own_marker(outlined, ranges[-1][0])
    before = None
    if len(ranges) > 1 and not "".join(outlined.lines[ranges[-2][1] : ranges[-1][0]]).strip():  # of the same list
        before = marker_of(outlined.lines[ranges[-2][0]])
    same = before is not None and before["sign"] == last["sign"]
    return f"{last['indent']}{int(last['number']) + (not same)}{last['dot']}"


def _the_only(
    found: list[tuple[int, int]], outlined: Outline, section: Section, item: str, policy: Policy
) -> tuple[int, int]:
    if len(found) > 1:
        raise InvalidInput(
            f"{_plain(item)[:120]!r} fits {len(found)} items",
            hint="Send one of `candidates`; a line number counts until the file changes.",
            candidates=[_placed(outlined, section, place, policy) for place in found],
        )
    return found[0]


def _missing(outlined: Outline, section: Section, item: str, policy: Policy) -> NotFound:
    there = [_offered(outlined, section, place, policy) for place in _ranges(outlined, section)[:30]]
    return NotFound(
        f"no item of {section.name!r} reads {_plain(item)[:120]!r}",
        hint="Send one of `candidates`, or an evidence token.",
        candidates=there,
    )


def _offered(outlined: Outline, section: Section, place: tuple[int, int], policy: Policy) -> str:
    """A text that means this item and no other."""
    text = _plain("".join(outlined.lines[place[0] : place[1]]))
    fits = 0 < len(text) <= _LONGEST_SHOWN and _matching(outlined, section, text, policy) == [place]
    return text if fits else _placed(outlined, section, place, policy)


def _placed(outlined: Outline, section: Section, place: tuple[int, int], policy: Policy) -> str:
    line = f"line {place[0] + 1}: "
    text = line + _plain(outlined.lines[place[0]])[:_LONGEST_SHOWN]
    while _matching(outlined, section, text, policy) != [place]:  # an item reads like that
        text = line + text
    return text
