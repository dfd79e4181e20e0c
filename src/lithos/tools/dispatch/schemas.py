"""JSON schemas as a model reads them: without what pydantic repeats, what is implied, and what is rarely needed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic import Field

RARE = "x-lithos-rare"
# Accepted and documented, shown by lithos_tool_find(name=…), left out of tools/list.
Rare: Any = Field(json_schema_extra={RARE: True})


def readable(schema: dict[str, Any], without: Iterable[str] = ()) -> dict[str, Any]:
    """The schema of all arguments but `without`, compact."""
    compact: dict[str, Any] = _compact(untitled(schema))
    for name in without:
        compact.get("properties", {}).pop(name, None)
    return _without_mark(compact)


def listed(schema: dict[str, Any], without: Iterable[str] = (), optional: Iterable[str] = ()) -> dict[str, Any]:
    """The same without rare arguments; `optional` ones are never required here.

    Additional properties are not forbidden in it: clients that validate may send `idempotency_key`. We still refuse
    unknown arguments ourselves.
    """
    compact: dict[str, Any] = _compact(untitled(schema))
    properties = compact.get("properties", {})
    hidden = {*without, *(name for name, each in properties.items() if each.get(RARE))}
    kept = {name: each for name, each in properties.items() if name not in hidden}
    required = [name for name in compact.get("required", []) if name not in (*optional, *hidden)]
    shown: dict[str, Any] = {"type": "object", "properties": _open(kept)}
    if required:
        shown["required"] = required
    used = _named_in(kept, compact.get("$defs", {}))
    return {**shown, "$defs": _open(used)} if used else shown


def optional(schema: Any) -> Any:
    """The same with no field required."""
    if isinstance(schema, list):
        return [optional(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {key: optional(value) for key, value in schema.items() if key != "required" or not isinstance(value, list)}


def _named_in(properties: dict[str, Any], named: dict[str, Any]) -> dict[str, Any]:
    text = repr(properties)
    used: dict[str, Any] = {}
    while more := {name: each for name, each in named.items() if name not in used and f"#/$defs/{name}'" in text}:
        used.update(more)
        text += repr(more)
    return used


def _open(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_open(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: _open(value)
        for key, value in schema.items()
        if not (key == "additionalProperties" and isinstance(value, bool))
    }


def _without_mark(schema: dict[str, Any]) -> dict[str, Any]:
    properties = schema.get("properties", {})
    unmarked = {name: {key: item for key, item in each.items() if key != RARE} for name, each in properties.items()}
    return {**schema, "properties": unmarked}


def untitled(schema: Any) -> Any:
    """Without the titles that pydantic adds: they cost tokens and tell a model nothing."""
    if isinstance(schema, list):
        return [untitled(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {key: untitled(value) for key, value in schema.items() if not (key == "title" and isinstance(value, str))}
    if isinstance(kept.get("properties"), dict):  # an argument may be called `title`
        kept["properties"] = {name: untitled(value) for name, value in schema["properties"].items()}
    return kept


def _compact(schema: Any) -> Any:
    """Spell `X | null` short, everywhere in it."""
    if isinstance(schema, list):
        return [_compact(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return _without_null({key: _compact(value) for key, value in schema.items()})


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Optional arguments are simply left out; `anyOf [X, null] default null` says the same at twice the length."""
    choices = schema.get("anyOf")
    if not isinstance(choices, list) or {"type": "null"} not in choices:
        return schema
    rest = [choice for choice in choices if choice != {"type": "null"}]
    if len(rest) != 1 or schema.get("default", 0) is not None:
        return schema
    return {**{key: value for key, value in schema.items() if key not in ("anyOf", "default")}, **rest[0]}
