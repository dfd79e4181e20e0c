"""Records that files publish of their symbols, in the form that `Engine.entry_entity` reads."""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import Any

from lithos.graph.code.values import TYPES, Facts, NodeType, Symbol


def entry(symbol: Symbol) -> list[Any]:
    if symbol.type in TYPES or symbol.type == NodeType.PACKAGE:
        return ["c", symbol.local]
    if symbol.type in (NodeType.VARIABLE, NodeType.CONSTANT):
        is_value = symbol.returns.startswith("=")
        return ["v", symbol.local, "v" if is_value else "t" if symbol.returns else "?", symbol.returns.lstrip("=")]
    return ["f", symbol.local, symbol.returns, symbol.flags]


def class_records(facts: Facts, types: Container[int]) -> Iterator[tuple[Symbol, dict[str, Any]]]:
    """Each type with its members, the attributes that methods assign, and its bases."""
    records: dict[int, dict[str, Any]] = {
        index: {"b": [], "m": {}, "a": {}} for index, symbol in enumerate(facts.symbols) if symbol.type in types
    }
    for symbol in facts.symbols:
        members = records[symbol.parent]["m"] if symbol.parent in records else None
        if members is not None and not (symbol.name in members and "p" in symbol.flags):
            members[symbol.name] = entry(symbol)  # the getter, not the setter, tells the type
    for scope, name, kind, value, _ in facts.binds:
        if scope in records:
            _attribute(records[scope], name, kind.removeprefix("A"), value)
    for index, text, _, _ in facts.bases:
        if index in records:
            records[index]["b"].append(text)
    for index, record in records.items():
        yield facts.symbols[index], record


def _attribute(record: dict[str, Any], name: str, kind: str, value: str) -> None:
    member, attributes = record["m"].get(name), record["a"]
    if member is not None:
        if member[0] == "v" and kind != "?" and value and not member[3]:
            member[2:] = [kind, value]
    elif name not in attributes or not attributes[name][1]:
        attributes[name] = [kind, value]
