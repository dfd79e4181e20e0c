"""Where the entries of a YAML mapping lie in its text, and how one value is written."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

_PLAIN = re.compile(r"[^\W\d_](?:[\w ./()',+-]*[\w)])?")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:T[\d:.]+Z)?")  # a date to YAML: plain in fields of time alone
_FLOW_MARK = re.compile(r"[,\[\]{}]")
_UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
# What some reader of YAML 1.1 or 1.2 takes for a boolean, a null or a number.
_RESERVED = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf", "none"))

Span = tuple[int, int]


@dataclass(slots=True)
class YamlEntry:
    """One key of the outermost mapping. `start`…`end` are its whole lines, comments around it excluded."""

    start: int
    colon: int  # just behind the colon
    value_start: int
    value_end: int
    end: int = 0
    style: str | None = None
    block: bool = False  # a list or mapping written over lines
    indent: str = ""
    items: list[Span] = field(default_factory=list)


@dataclass(slots=True)
class Located:
    entries: dict[str, YamlEntry] = field(default_factory=dict)
    flow: bool = False
    end: int = 0  # of a mapping in braces: the place of its closing brace


def locate(text: str) -> Located:
    """The outermost keys of a text that is already known to be a mapping (or to hold nothing)."""
    events = yaml.parse(text, Loader=yaml.CSafeLoader)
    located = Located()
    for event in events:
        if isinstance(event, yaml.MappingStartEvent):
            located.flow = bool(event.flow_style)
            break
    for event in events:
        if isinstance(event, yaml.MappingEndEvent):
            located.end = _start(event)
            break
        if not isinstance(event, yaml.ScalarEvent):  # a key that is no scalar: stepped over, never edited
            _skip(events, event)
            _skip(events, next(events))
            continue
        located.entries[event.value] = _entry(text, event, events)
    return located


def _entry(text: str, key: yaml.ScalarEvent, events: Iterator[yaml.Event]) -> YamlEntry:
    value = next(events)
    start = text.rfind("\n", 0, _start(key)) + 1
    entry = YamlEntry(start, text.find(":", _end(key)) + 1, _start(value), _end(value))
    if isinstance(value, yaml.ScalarEvent):
        entry.style = value.style
        entry.value_end = _trimmed(text, entry.value_start, _end(value))
    elif isinstance(value, yaml.CollectionStartEvent):
        entry.block = not value.flow_style
        _collection(text, value, events, entry)
    entry.end = _line_end(text, entry.value_end)
    return entry


def _collection(text: str, start: yaml.Event, events: Iterator[yaml.Event], entry: YamlEntry) -> None:
    listed = isinstance(start, yaml.SequenceStartEvent)
    spans: list[Span] = []
    for event in events:
        if isinstance(event, yaml.CollectionEndEvent):
            # libyaml ends a block at the next token, behind the comments that follow it.
            entry.value_end = spans[-1][1] if entry.block and spans else _end(event)
            break
        spans.append((_start(event), _skip(events, event, text)))
    if listed:
        entry.items = _item_lines(text, entry, spans) if entry.block else spans


def _item_lines(text: str, entry: YamlEntry, spans: list[Span]) -> list[Span]:
    """Whole lines of each `- item`; nothing where an item does not start on the line of its dash."""
    starts = [text.rfind("\n", 0, start) + 1 for start, _ in spans]
    prefixes = [text[line:start] for line, (start, _) in zip(starts, spans, strict=True)]
    if any(not re.fullmatch(r"[ ]*-[ \t]+", prefix) for prefix in prefixes):
        return []
    entry.indent = prefixes[0][: prefixes[0].index("-")]
    ends = [*starts[1:], _line_end(text, spans[-1][1])]
    return list(zip(starts, ends, strict=True))


def _skip(events: Iterator[yaml.Event], event: yaml.Event, text: str = "") -> int:
    """Consume the rest of this node; the place of its last character."""
    if not isinstance(event, yaml.CollectionStartEvent):
        return _trimmed(text, _start(event), _end(event))
    last = _end(event)
    for inner in events:
        if isinstance(inner, yaml.CollectionEndEvent):
            return _end(inner) if event.flow_style else last
        last = _skip(events, inner, text)
    return last


def _start(event: yaml.Event) -> int:
    return event.start_mark.index if event.start_mark else 0


def _end(event: yaml.Event) -> int:
    return event.end_mark.index if event.end_mark else 0


def _trimmed(text: str, start: int, end: int) -> int:
    """A block scalar reaches over the empty lines behind it; they are left where they are."""
    return start + len(text[start:end].rstrip()) if text else end


def _line_end(text: str, position: int) -> int:
    found = text.find("\n", position)
    return len(text) if found < 0 else found + 1


def block_entry(name: str, value: Any) -> str:
    """`name: value` as a new line: a list over several lines, as Obsidian has it."""
    key = scalar(name)
    if isinstance(value, list) and value and not any(isinstance(item, (list, dict)) for item in value):
        return f"{key}:\n" + "".join(f"  - {flow_value(item)}\n" for item in value)
    return f"{key}: {flow_value(value) if isinstance(value, (list, dict)) else scalar(value, date=is_time(name))}\n"


def is_time(name: str) -> bool:
    """Whether a field holds a time: there YAML may read a date, anywhere else it must read the text."""
    return name.endswith("_at")


def flow_value(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(map(flow_value, value)) + "]"
    if isinstance(value, dict):
        return (
            "{" + ", ".join(f"{scalar(str(key), flow=True)}: {flow_value(item)}" for key, item in value.items()) + "}"
        )
    return scalar(value, flow=True)


def scalar(value: Any, *, style: str | None = None, flow: bool = False, date: bool = False) -> str:
    """Plain where every reader of YAML sees the same text, else quoted; `style` keeps a person's quotes."""
    if not isinstance(value, str):
        return json.dumps(value)
    if style == "'" and value.isprintable():
        return "'" + value.replace("'", "''") + "'"
    if style != '"' and ((date and _DATE.fullmatch(value)) or _plain(value, flow)):
        return value
    quoted = json.dumps(value, ensure_ascii=False)
    return _UNPRINTABLE.sub(lambda match: f"\\u{ord(match.group()):04x}", quoted)


def _plain(value: str, flow: bool) -> bool:
    if _UUID.fullmatch(value):
        return True
    if not _PLAIN.fullmatch(value) or value.lower() in _RESERVED:
        return False
    return not (flow and _FLOW_MARK.search(value))
