"""Changes of a session's context: parsed and checked without I/O, then written as rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from lithos.core.canonical import canonical_hash
from lithos.core.names import plain_text
from lithos.core.text import nearest
from lithos.errors import InvalidInput, TooLarge
from lithos.sessions.model import FIELDS, LISTS, LOGS, MAPS, SCALARS
from lithos.storage import Row, Tx

MOST_BYTES = 1024 * 1024
LONGEST_VALUE = 64 * 1024
LONGEST_KEY = 1000
MOST_ITEMS = 5_000  # of one change; positions leave room for twice that
POSITIONS = 10_000  # per version
Items = dict[str, str]  # key of the row → JSON of its value


@dataclass(frozen=True, slots=True)
class FieldChange:
    """The effect of one change on one list or map. `whole`: everything that was there goes first."""

    field: str
    add: Items
    remove: tuple[str, ...]
    whole: bool


@dataclass(frozen=True, slots=True)
class ContextChange:
    scalars: Mapping[str, str | None]
    fields: tuple[FieldChange, ...]

    def __bool__(self) -> bool:
        return bool(self.scalars or self.fields)


def parse_changes(changes: Mapping[str, Any]) -> ContextChange:
    """`{"current_step": "…", "next_steps": {"add": […], "remove": […]}, "blockers": [… the whole list]}`."""
    scalars: dict[str, str | None] = {}
    parsed: list[FieldChange] = []
    for name, value in changes.items():
        if name in SCALARS:
            scalars[name] = _scalar(name, value)
        elif name in FIELDS:
            parsed.append(_field_change(name, value))
        else:
            meant = nearest(name, FIELDS)
            hint = f"Did you mean {meant}?" if meant else f"Use {', '.join(FIELDS)}."
            raise InvalidInput(f"changes: there is no field {name[:80]!r}", hint=hint)
    if sum(len(each.add) + len(each.remove) for each in parsed) > MOST_ITEMS:
        raise TooLarge(f"changes have more than {MOST_ITEMS} items", hint="Send them in several calls.")
    return ContextChange(scalars, tuple(parsed))


def _scalar(name: str, value: Any) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str):
        raise InvalidInput(f"changes: {name} is not a text", hint="Send a text, or null to clear it.")
    return plain_text(value, name, LONGEST_VALUE)


def _field_change(name: str, value: Any) -> FieldChange:
    if name not in MAPS and isinstance(value, list):
        return FieldChange(name, _list_items(name, value), (), whole=True)
    if value is None:
        return FieldChange(name, {}, (), whole=True)
    if not isinstance(value, Mapping) or set(value) - {"add", "remove"}:
        whole = "a list, or " if name not in MAPS else ""
        raise InvalidInput(
            f"changes: {name} takes {whole}add and remove", hint=f'For example {{"{name}": {_example(name)}}}.'
        )
    added, removed = value.get("add"), value.get("remove")
    if name in LOGS and removed:
        raise InvalidInput(f"changes: {name} is a log and takes no remove", hint="Send the whole list in its place.")
    add = _map_items(name, added) if name in MAPS else _list_items(name, added)
    gone = _keys(name, removed) if name in MAPS else tuple(_list_items(name, removed))
    return FieldChange(name, add, gone, whole=False)


def _example(name: str) -> str:
    return '{"add": {"src/a.py": {}}, "remove": ["b.py"]}' if name in MAPS else '{"add": ["x"], "remove": ["y"]}'


def _list_items(name: str, values: Any) -> Items:
    """By the hash of the value, so that the same value is one row; a log's rows are numbered when written."""
    if values is None:
        return {}
    if not isinstance(values, list):
        raise InvalidInput(f"changes: {name} takes lists", hint=f'For example {{"{name}": {_example(name)}}}.')
    if name in LOGS:
        return {f"+{number}": _json(name, value) for number, value in enumerate(values)}
    return {canonical_hash(value)[:32]: _json(name, value) for value in values}


def _map_items(name: str, values: Any) -> Items:
    if values is None:
        return {}
    if not isinstance(values, Mapping):
        raise InvalidInput(f"changes: {name}.add is not an object", hint=f'For example {{"{name}": {_example(name)}}}.')
    return {_key(name, key): _json(name, value) for key, value in values.items()}


def _keys(name: str, values: Any) -> tuple[str, ...]:
    if values is None:
        return ()
    if not isinstance(values, list) or not all(isinstance(each, str) for each in values):
        raise InvalidInput(f"changes: {name}.remove is not a list of names")
    return tuple(_key(name, each) for each in values)


def _key(name: str, key: str) -> str:
    if not key or len(key) > LONGEST_KEY:
        raise InvalidInput(f"changes: a name in {name} has {len(key)} characters", hint=f"Use 1 to {LONGEST_KEY}.")
    return key


def _json(name: str, value: Any) -> str:
    text = orjson.dumps(value).decode()
    if len(text) > LONGEST_VALUE:
        raise TooLarge(f"changes: an item of {name} has {len(text)} bytes; {LONGEST_VALUE} is the most")
    return text


# -- rows


def write_context(tx: Tx, session_id: str, before: Row, change: ContextChange, *, quiet: bool = False) -> int:
    """Apply the change to the rows; the size of the context after it. TooLarge above one megabyte.

    `quiet`: the version stays, for what the server notes by itself; an agent's `if_match` must not fail by it."""
    version = before["version"] + 1
    size: int = before["bytes"] + _scalar_growth(before, change.scalars)
    for each in change.fields:
        size += _write_field(tx, session_id, each, version)
    if size > MOST_BYTES:
        raise TooLarge(
            f"the context would have {size:,} bytes; {MOST_BYTES:,} is the most",
            hint="Remove old items, or keep long text in a note and its path here.",
        )
    names = "".join(f", {name} = ?" for name in change.scalars)
    tx.put(
        f"UPDATE sessions SET version = ?, bytes = ?{names} WHERE id = ?",
        *(before["version"] if quiet else version, size, *change.scalars.values(), session_id),
    )
    return size


def _scalar_growth(before: Row, scalars: Mapping[str, str | None]) -> int:
    return sum(_weight(value) - _weight(before[name]) for name, value in scalars.items())


def _weight(text: str | None) -> int:
    return len(text.encode()) if text else 0


def _write_field(tx: Tx, session_id: str, change: FieldChange, version: int) -> int:
    """The growth in bytes."""
    growth = 0
    known = _known(tx, session_id, change)
    if change.whole:
        tx.put("DELETE FROM session_items WHERE session_id = ? AND field = ?", session_id, change.field)
        growth -= sum(len(key) + size for key, size in known.items())
        known = {}
    for key in change.remove:
        if key in known:
            growth -= len(key) + known.pop(key)
            tx.put(_DELETE, session_id, change.field, key)
    for number, (key, value) in enumerate(change.add.items()):
        position = version * POSITIONS + number
        row = str(position) if change.field in LOGS else key
        growth += len(row) + len(value.encode()) - (len(row) + known[row] if row in known else 0)
        tx.put(_PUT, session_id, change.field, row, position, value)
    return growth


def _known(tx: Tx, session_id: str, change: FieldChange) -> dict[str, int]:
    """Key → bytes of its value, of the rows that the change touches."""
    sql = "SELECT item, value FROM session_items WHERE session_id = ? AND field = ?"
    if change.whole:
        rows = tx.all(sql, session_id, change.field)
    else:
        rows, touched = [], [] if change.field in LOGS else [*change.add, *change.remove]
        for start in range(0, len(touched), 200):
            some = touched[start : start + 200]
            rows += tx.all(f"{sql} AND item IN ({', '.join('?' * len(some))})", session_id, change.field, *some)
    return {row["item"]: len(row["value"].encode()) for row in rows}


def collected(rows: Sequence[Row]) -> dict[str, Any]:
    """Rows of a context as its lists and maps; empty ones too."""
    found: dict[str, Any] = {name: [] for name in (*LISTS, *LOGS)} | {name: {} for name in MAPS}
    for row in rows:
        value = orjson.loads(row["value"])
        if row["field"] in MAPS:
            found[row["field"]][row["item"]] = value
        elif row["field"] in found:  # else a section of a snapshot, kept for the next one
            found[row["field"]].append(value)
    return found


_PUT = """
INSERT INTO session_items (session_id, field, item, position, value) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (session_id, field, item) DO UPDATE SET value = excluded.value
"""
_DELETE = "DELETE FROM session_items WHERE session_id = ? AND field = ? AND item = ?"
