"""Reads SCIP indexes (protobuf) without a dependency: only paths, occurrences and symbols."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

Occurrence = tuple[tuple[int, ...], str, int]  # range, symbol, roles (1 = definition)


def read(path: str | Path) -> dict[str, list[Occurrence]]:
    """Path → occurrences of one index."""
    found = {}
    for field, value in _fields(memoryview(Path(path).read_bytes())):
        if field == 2 and isinstance(value, memoryview):
            name, occurrences = _document(value)
            found[name] = occurrences
    return found


def _document(data: memoryview) -> tuple[str, list[Occurrence]]:
    name, occurrences = "", []
    for field, value in _fields(data):
        if field == 1 and isinstance(value, memoryview):
            name = bytes(value).decode()
        elif field == 2 and isinstance(value, memoryview):
            occurrences.append(_occurrence(value))
    return name, occurrences


def _occurrence(data: memoryview) -> Occurrence:
    place: tuple[int, ...] = ()
    symbol, roles = "", 0
    for field, value in _fields(data):
        if field == 1 and isinstance(value, memoryview):
            place = tuple(_packed(value))
        elif field == 2 and isinstance(value, memoryview):
            symbol = bytes(value).decode()
        elif field == 3 and isinstance(value, int):
            roles = value
    return place, symbol, roles


def _packed(data: memoryview) -> Iterator[int]:
    at = 0
    while at < len(data):
        value, at = _varint(data, at)
        yield value


def _fields(data: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    at, end = 0, len(data)
    while at < end:
        key, at = _varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = _varint(data, at)
            yield key >> 3, value
        elif kind == 2:
            length, at = _varint(data, at)
            yield key >> 3, data[at : at + length]
            at += length
        else:
            at += 8 if kind == 1 else 4


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
