"""Edits lists within a section: adds, removes and updates items, and moves no other line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from lithos.errors import InvalidInput, NotFound
from lithos.garden import sections
from lithos.garden.rules.lint import item_ranges
from lithos.garden.rules.policy import Policy
from lithos.garden.sections import Outline, Section, outline

Op = Literal["append", "prune", "merge"]
_MARKER = re.compile(r"^([-+*]|(\d{1,9})([.)]))[ \t]+")
_PLACED = re.compile(r"line (\d{1,9}): ")
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
        first, after = _the_only(found, outlined, item)
        return _respliced(outlined, first, after, _formatted(item, _marker(outlined.lines[first])))
    if not found:
        raise _missing(outlined, section, item)
    first, after = _the_only(found, outlined, item)
    return _respliced(outlined, first, after, [])


def _appended(outlined: Outline, section: Section, item: str) -> str:
    """At the end of the section's last list; where there is none, as a new list."""
    ranges = item_ranges(outlined, section)
    if not ranges:
        return sections.append(outlined, section, "\n".join(_formatted(item, "-")))
    first, after = ranges[-1]
    return _respliced(outlined, after, after, _formatted(item, _next_marker(outlined.lines[first])))


def _respliced(outlined: Outline, first: int, after: int, lines: list[str]) -> str:
    near = outlined.lines[min(first, len(outlined.lines) - 1)]
    end = "\r\n" if near.endswith("\r\n") else "\n"
    before = "".join(outlined.lines[:first])
    joined = before if not before or before.endswith(("\n", "\r")) else before + end
    return joined + "".join(line + end for line in lines) + "".join(outlined.lines[after:])


def _matching(outlined: Outline, section: Section, item: str, policy: Policy) -> list[tuple[int, int]]:
    """Items of the same text, or else of the same evidence token; `line 12: …` is the item on that line."""
    ranges = item_ranges(outlined, section)
    if placed := _PLACED.match(item):
        return [place for place in ranges if place[0] + 1 == int(placed[1])]
    texts = [_plain("".join(outlined.lines[first:after])) for first, after in ranges]
    same = [place for place, text in zip(ranges, texts, strict=True) if text == _plain(item)]
    tokens = set(_tokens(item, policy))
    if same or not tokens:
        return same
    return [place for place, text in zip(ranges, texts, strict=True) if tokens & set(_tokens(text, policy))]


def _tokens(text: str, policy: Policy) -> list[str]:
    return re.findall(re.escape(policy.evidence.token) + r"[^\s,;)\]]+", text)


def _plain(item: str) -> str:
    return " ".join(_bare(item).split())


def _bare(item: str) -> str:
    """Without the line that an error put before it, and without its marker."""
    return _MARKER.sub("", _PLACED.sub("", item.strip()))


def _checked(item: str) -> str:
    if not _plain(item):
        raise InvalidInput("an item is empty", hint="Send the text of each item.")
    if len(item) > _LONGEST_ITEM:
        raise InvalidInput(f"an item has {len(item)} characters; {_LONGEST_ITEM} is the most")
    return item


def _formatted(item: str, marker: str) -> list[str]:
    """The item's lines, continuation lines indented below its first; blank lines inside it would end the list."""
    first, *rest = [line.strip() for line in _bare(item).splitlines() if line.strip()]
    indent = " " * (len(marker) + 1)
    return [f"{marker} {first}", *(indent + line for line in rest)]


def _marker(line: str) -> str:
    found = _MARKER.match(line)
    return found[1] if found else "-"


def _next_marker(line: str) -> str:
    found = _MARKER.match(line)
    if found is None:
        return "-"
    return f"{int(found[2]) + 1}{found[3]}" if found[2] else found[1]


def _the_only(found: list[tuple[int, int]], outlined: Outline, item: str) -> tuple[int, int]:
    if len(found) > 1:
        raise InvalidInput(
            f"{_plain(item)[:120]!r} fits {len(found)} items",
            hint="Send one of `candidates`; a line number counts until the file changes.",
            candidates=[_placed(outlined, first) for first, _ in found],
        )
    return found[0]


def _missing(outlined: Outline, section: Section, item: str) -> NotFound:
    there = [_offered(outlined, *place) for place in item_ranges(outlined, section)]
    return NotFound(
        f"no item of {section.name!r} reads {_plain(item)[:120]!r}",
        hint="Send one of `candidates`, or an evidence token.",
        candidates=there[:30],
    )


def _offered(outlined: Outline, first: int, after: int) -> str:
    text = _plain("".join(outlined.lines[first:after]))
    return text if len(text) <= _LONGEST_SHOWN else _placed(outlined, first)


def _placed(outlined: Outline, first: int) -> str:
    return f"line {first + 1}: {outlined.lines[first].strip()[:_LONGEST_SHOWN]}"
