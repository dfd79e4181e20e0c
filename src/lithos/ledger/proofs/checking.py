"""The hot loop of verification: every entry of a segment hashed, re-canonicalised and linked to the one before.

Pure reading of one segment, so that two processes can take one each; what joins segments is the caller's. Entries are
checked many at a time, each question asked of all of them at once; where the answer is no, one by one, to say which.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, NamedTuple

import orjson

from lithos.errors import Damaged
from lithos.ledger.chain.format import (
    CONTENT,
    RELATION_KEYS,
    THOUGHT,
    Json,
    RawEntry,
    ThoughtEntry,
    is_redacted,
    open_entry,
    redacted_hash,
)
from lithos.ledger.chain.opening import check_link
from lithos.ledger.chain.segments import Adapter, Block, Rest, Segment, read_blocks
from lithos.ledger.words import ROLE_CODES, TYPE_CODES

Look = Callable[[ThoughtEntry, int, int], None]
AT_ONCE = 256


@dataclass(slots=True)
class Part:
    """The contents of a segment as checked, up to its end or to the first wrong entry."""

    first: int
    count: int = 0
    joins: str | None = None  # prev_hash of its first entry
    head: str | None = None
    hashes: list[bytes] = field(default_factory=list)
    missing: dict[int, str | None] = field(default_factory=dict)  # contents that are gone → hash of a redacted record
    forgets: dict[int, list[str | None]] = field(default_factory=dict)  # forgotten thought → hashes of its record
    wrong: tuple[str, str, int] | None = None  # finding, message, index
    rest: tuple[int, bool] | None = None  # where unfinished bytes begin, and whether they look torn

    @property
    def next_index(self) -> int:
        return self.first + self.count


def check_segment(segment: Segment, limit: int | None = None, look: Look | None = None) -> Part:
    """`limit` is the index to stop before: beyond it the host may just be writing."""
    part = Part(segment.first)
    try:
        for block in read_blocks(segment):
            if limit is not None and part.next_index >= limit:
                break
            if isinstance(block, Rest):
                part.rest = (block.offset, block.looks_torn)
            else:
                _check_block(part, block, limit, look)
    except Damaged as error:
        part.wrong = (error.details.get("finding", "malformed"), error.message, part.next_index)
    except OSError as error:
        part.wrong = ("malformed", f"{segment.path.name} cannot be read: {error.strerror}", part.next_index)
    return part


def _check_block(part: Part, block: Block, limit: int | None, look: Look | None) -> None:
    entries = block.entries if limit is None else block.entries[: limit - part.next_index]
    adapter, offset = block.segment.adapter, block.offset
    for start in range(0, len(entries), AT_ONCE):
        some = entries[start : start + AT_ONCE]
        right = _right_together(part, some, adapter)
        if right is None:
            for one in some:
                offset = _take(part, _right_alone(part, one, adapter), [one], offset, look)
        else:
            offset = _take(part, right, some, offset, look)


class Right(NamedTuple):
    """Entries that follow each other and are what they should be."""

    records: list[Json]
    bodies: list[Json | None]
    digests: list[bytes]


def _take(part: Part, right: Right, entries: Sequence[bytes], offset: int, look: Look | None) -> int:
    """Returns where the next entry begins."""
    index = part.next_index
    part.joins = part.joins or right.records[0]["prev_hash"]
    part.head = right.digests[-1].hex()
    part.hashes += right.digests
    for place, (record, body) in enumerate(zip(right.records, right.bodies, strict=True), index):
        if body is None:
            part.missing[place] = redacted_hash(record) if is_redacted(record) else None
        if "forgets" in record:
            part.forgets.setdefault(record["forgets"], []).append(record.get("redacted"))
    part.count += len(entries)
    if look is None:
        return offset + sum(map(len, entries))
    for record, body, digest, data in zip(right.records, right.bodies, right.digests, entries, strict=True):
        look(ThoughtEntry(record, body, digest.hex()), offset, len(data))
        offset += len(data)
    return offset


def _right_alone(part: Part, data: bytes, adapter: Adapter) -> Right:
    entry = open_entry(adapter.decode(data))
    check_link(entry, part.next_index, part.head or entry.record["prev_hash"])
    _known.add(_form(entry.record))
    if entry.body is not None:
        _known.add(_form(entry.body))
    return Right([entry.record], [entry.body], [bytes.fromhex(entry.hash)])


# Names and types of the fields of records and bodies that were found right one by one: a few in a chain.
_known: set[tuple[Any, ...]] = set()


def _form(fields: Json) -> tuple[Any, ...]:
    return (*fields, *map(type, fields.values()))


def _right_together(part: Part, entries: Sequence[bytes], adapter: Adapter) -> Right | None:
    """All that `open_entry` and `check_link` demand of each; None: of one of them it does not hold, or may not."""
    try:
        raw = [adapter.decode(data) for data in entries]
        records, bodies = _parsed(raw)
        digests = [hashlib.sha256(THOUGHT + record).digest() for record, _, _, _ in raw]
        if _linked(part, records, digests) and _hashed(raw, records, digests) and _well_formed(raw, records, bodies):
            return Right(records, bodies, digests)
    except (Damaged, ValueError, KeyError, TypeError):
        pass  # looking at them one by one says what is wrong
    return None


def _parsed(raw: Sequence[RawEntry]) -> tuple[list[Json], list[Json | None]]:
    """Every record and body read and written again in one go, and the same bytes demanded.

    A line feed is allowed between values and nowhere else in canonical JSON, least of all in a text. So each part is
    one value, unless one ends inside a list of objects: relations are checked one by one.
    """
    parts = [record for record, _, _, _ in raw]
    parts += [body for _, body, _, _ in raw if body]
    values = orjson.loads(b"[%b]" % b",\n".join(parts))
    if len(values) != len(parts) or orjson.dumps(values) != b"[%b]" % b",".join(parts):
        raise ValueError("not canonical")
    records, found = values[: len(raw)], iter(values[len(raw) :])
    return records, [next(found) if body else None for _, body, _, _ in raw]


def _linked(part: Part, records: list[Json], digests: list[bytes]) -> bool:
    hashes = [part.head or records[0]["prev_hash"], *(digest.hex() for digest in digests)]
    hashes.pop()
    start = part.next_index
    return [record["prev_hash"] for record in records] == hashes and [record["index"] for record in records] == list(
        range(start, start + len(records))
    )


def _hashed(raw: Sequence[RawEntry], records: list[Json], digests: list[bytes]) -> bool:
    sha256 = hashlib.sha256
    stored = b"".join([digest for _, _, _, digest in raw])
    committed = [
        sha256(b"%b%b\n%b" % (CONTENT, salt, body)).hexdigest() if body else record["commitment"]
        for (_, body, salt, _), record in zip(raw, records, strict=True)
    ]
    return stored == b"".join(digests).hex().encode() and [record["commitment"] for record in records] == committed


def _well_formed(raw: Sequence[RawEntry], records: list[Json], bodies: list[Json | None]) -> bool:
    full = [body for body in bodies if body is not None]
    forms = {_form(record) for record in records}
    odd = [place for place, record in enumerate(records) if "relations" in record]
    return (
        forms | {_form(body) for body in full} <= _known
        and {record["thought_type"] for record in records} <= TYPE_CODES.keys()
        and {record["role"] for record in records} <= ROLE_CODES.keys()
        and all(_is_plain(record["importance"]) for record in records)
        and all(_is_plain(record["confidence"]) for record in records if "confidence" in record)
        and _types(record["refs"] for record in records if "refs" in record) <= {int}
        and _types(value for body in full for value in body.values() if type(value) is list) <= {str}
        and all(_relate(records[place], raw[place][0]) for place in odd)
    )


def _is_plain(number: float) -> bool:
    """One that orjson and RFC 8785 spell alike."""
    return type(number) is int or 0.0001 <= number < 1


def _types(lists: Iterable[Iterable[object]]) -> set[type]:
    return set(map(type, chain.from_iterable(lists)))


def _relate(record: Json, data: bytes) -> bool:
    relations = record["relations"]
    right = all(_form(one) == (*RELATION_KEYS, str, int) for one in relations)
    return right and orjson.dumps(record) == data
