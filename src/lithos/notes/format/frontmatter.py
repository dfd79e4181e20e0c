"""Frontmatter read fast, and changed without touching a byte that the change does not concern."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import yaml
from ryaml import InvalidYamlError, loads  # type: ignore[attr-defined]

from lithos.errors import Unsupported
from lithos.notes.format.yaml_text import YamlEntry, block_entry, flow_value, is_time, locate, scalar

LONGEST = 65_536
DEEPEST = 100  # libyaml takes quadratic time in the depth of brackets: 18 s for 100,000 of them
_BRACKET = re.compile(r"[\[\]{}]")
_NULL = re.compile(r"~|null", re.IGNORECASE)
_LARGEST = 2**63

TEXTS = ("title", "tags", "aliases", "author", "contributors")  # names, also where YAML reads a number or a date

Fields = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Frontmatter:
    fields: Fields = field(default_factory=dict)
    problem: str | None = None  # why `fields` is empty although there is text


def parse_frontmatter(front: str | None) -> Frontmatter:
    """Dates, `yes` and `no` stay the text that was typed; the result is always JSON-ready. Do not change its fields:
    later calls with the same text share them."""
    return Frontmatter() if front is None else _parsed(front)


# A write needs the same text three times: loaded, checked after the edit, and indexed.
@lru_cache(maxsize=32)
def _parsed(front: str) -> Frontmatter:
    if len(front) > LONGEST:
        return Frontmatter(problem=f"longer than {LONGEST} characters")
    if _depth(front) > DEEPEST:
        return Frontmatter(problem=f"brackets are nested more than {DEEPEST} deep")
    try:
        found = _loaded(front)
    except (InvalidYamlError, yaml.YAMLError, ValueError, TypeError) as error:
        return Frontmatter(problem=f"not valid YAML: {error}")
    if found is None:
        return Frontmatter()
    if not isinstance(found, dict):
        return Frontmatter(problem=f"{type(found).__name__} instead of keys with values")
    fields = {_key(name): json_ready(value) for name, value in found.items()}
    nulls = _NULL.search(front) is not None  # else a null of a list is an empty item, as many a template leaves it
    if any(_is_retyped(found.get(name), nulls) for name in TEXTS):
        typed = yaml.load(front, Loader=yaml.CBaseLoader)
        fields |= {name: json_ready(_as_typed(found[name], typed.get(name))) for name in TEXTS if name in found}
    return Frontmatter(fields)


def _loaded(front: str) -> Any:
    try:
        return loads(front)
    except InvalidYamlError as error:
        if "128, expected" not in str(error) or "&" in front:
            raise
        # A number of more than 64 bits, an id of twenty digits say, is a text; all other values are what they were.
        return _value(yaml.compose(front, Loader=yaml.CBaseLoader))


def _value(node: yaml.Node | None) -> Any:
    if isinstance(node, yaml.MappingNode):
        return {_value(name): _value(item) for name, item in node.value}
    if isinstance(node, yaml.SequenceNode):
        return [_value(item) for item in node.value]
    if not isinstance(node, yaml.ScalarNode):
        return None
    if node.style:  # quoted, or a block: a text
        return node.value
    try:
        return loads(node.value)
    except InvalidYamlError:
        return node.value


def _is_retyped(value: Any, nulls: bool = True) -> bool:
    return isinstance(value, (bool, int, float)) or (
        isinstance(value, list) and any(nulls if each is None else _is_retyped(each, nulls) for each in value)
    )


def _as_typed(value: Any, text: Any) -> Any:
    """`true`, `1.0` and `0x10` as the person typed them, and a `null` in a list."""
    if isinstance(value, list) and isinstance(text, list) and len(value) == len(text):
        return [
            typed if each is None and typed else _as_typed(each, typed) for each, typed in zip(value, text, strict=True)
        ]
    return text if _is_retyped(value) and isinstance(text, str) else value


def json_ready(value: Any) -> Any:
    if isinstance(value, dict):
        return {_key(name): json_ready(item) for name, item in value.items()}
    if isinstance(value, list):
        return [json_ready(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, int) and not -_LARGEST <= value < _LARGEST:
        return str(value)
    return value


def edit_frontmatter(front: str, changes: Mapping[str, Any]) -> str:
    """Set keys (`None` removes one). What comes out is parsed again: a text too unusual to edit is refused."""
    before = parse_frontmatter(front)
    after = _edited(front, changes, before.fields) if before.problem is None else front
    wanted = {name: value for name, value in {**before.fields, **changes}.items() if value is not None}
    found = {name: value for name, value in parse_frontmatter(after).fields.items() if value is not None}
    if before.problem is not None or not _same(found, wanted):
        raise Unsupported(
            f"the frontmatter cannot be edited safely: {before.problem or 'its YAML is too unusual'}",
            hint="Repair the lines between the --- marks by hand, then call again.",
        )
    return after


def new_frontmatter(fields: Mapping[str, Any]) -> str:
    return "".join(block_entry(name, value) for name, value in fields.items() if value is not None)


def _edited(front: str, changes: Mapping[str, Any], fields: Fields) -> str:
    located = locate(front)
    if located.flow:
        return _edited_flow(front, changes, located.entries, located.end)
    added = []
    edits: list[tuple[int, int, str]] = []
    for name, value in changes.items():
        entry = located.entries.get(name)
        if entry is not None:
            edits.append(_replacement(front, entry, name, value, fields.get(name)))
        elif value is not None:
            added.append(block_entry(name, value))
    text = front
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text + "".join(added)


def _edited_flow(front: str, changes: Mapping[str, Any], entries: Mapping[str, YamlEntry], end: int) -> str:
    """`{a: 1, b: 2}` as the whole frontmatter: values change in place, new keys go before the closing brace."""
    added = [
        f"{scalar(name, flow=True)}: {flow_value(value)}" for name, value in changes.items() if name not in entries
    ]
    text = front[:end].rstrip() + (", " if entries and added else "") + ", ".join(added) + front[end:]
    known = [(entries[name], value) for name, value in changes.items() if name in entries]
    for entry, value in sorted(known, key=lambda pair: -pair[0].value_start):
        text = text[: entry.value_start] + flow_value(value) + text[entry.value_end :]
    return text


def _replacement(front: str, entry: YamlEntry, name: str, value: Any, old: Any) -> tuple[int, int, str]:
    if value is None:
        return entry.start, entry.end, ""
    if isinstance(value, list) and value and isinstance(old, list) and len(old) == len(entry.items) > 0:
        return _relisted(front, entry, value, old)
    if entry.block:
        return entry.colon, entry.value_end, f" {flow_value(value)}"
    gap = "" if front[entry.value_start - 1 : entry.value_start] == " " else " "
    new = scalar(value, style=entry.style, date=is_time(name)) if isinstance(value, str) else flow_value(value)
    return entry.value_start, entry.value_end, gap + new


def _relisted(front: str, entry: YamlEntry, wanted: list[Any], old: list[Any]) -> tuple[int, int, str]:
    """Items that stay keep their source, with its quotes and comments; only new ones are written."""
    sources: dict[str, list[str]] = {}
    for value, item in zip(old, entry.items, strict=True):
        sources.setdefault(str(value), []).append(front[item[0] : item[1]])
    kept = [sources[str(value)].pop(0) if sources.get(str(value)) else None for value in wanted]
    if not entry.block:
        parts = [source or flow_value(value) for source, value in zip(kept, wanted, strict=True)]
        return entry.value_start, entry.value_end, f"[{', '.join(parts)}]"
    lines = [source or f"{entry.indent}- {flow_value(value)}\n" for source, value in zip(kept, wanted, strict=True)]
    return entry.items[0][0], entry.items[-1][1], "".join(lines)


def _depth(front: str) -> int:
    if front.count("[") + front.count("{") <= DEEPEST:
        return 0
    deepest = depth = 0
    for match in _BRACKET.finditer(front):
        depth += 1 if match.group() in "[{" else -1
        deepest = max(deepest, depth)
    return deepest


def _key(name: Any) -> str:
    return name if isinstance(name, str) else str(name)


def _same(found: Any, wanted: Any) -> bool:
    """Equal, or equal as text: a tag typed as `2024` is the number that the caller names "2024"."""
    if isinstance(found, dict) and isinstance(wanted, dict):
        return found.keys() == wanted.keys() and all(_same(found[name], wanted[name]) for name in found)
    if isinstance(found, list) and isinstance(wanted, list):
        return len(found) == len(wanted) and all(map(_same, found, wanted))
    return bool(found == wanted) or str(found) == str(wanted)
