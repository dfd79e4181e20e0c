"""The hot loop of verification: every entry of a segment hashed, re-canonicalised and linked to the one before.

Pure reading of one segment, so that two processes can take one each; what joins segments is the caller's.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable
from dataclasses import dataclass, field

import orjson

from lithos.errors import Damaged
from lithos.ledger.format import (
    CONTENT,
    THOUGHT,
    Entry,
    Json,
    RawEntry,
    open_entry,
    parse_body,
    parse_record,
)
from lithos.ledger.opening import check_link
from lithos.ledger.segments import FRAME_HEAD, Block, Rest, Segment, read_blocks

Look = Callable[[Entry, int, int], None]


@dataclass(slots=True)
class Part:
    """What a segment turned out to hold, up to its end or to the first wrong entry."""

    first: int
    count: int = 0
    joins: str | None = None  # prev_hash of its first entry
    head: str | None = None
    hashes: list[bytes] = field(default_factory=list)
    missing: list[int] = field(default_factory=list)
    forgets: list[int] = field(default_factory=list)
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
    return part


def _check_block(part: Part, block: Block, limit: int | None, look: Look | None) -> None:
    """All that `open_entry` and `check_link` demand, without most of their calls: they are half of the time."""
    sha256, adapter = hashlib.sha256, block.segment.adapter
    take = _take_line if adapter.name == "jsonl" else _take_frame
    hashes, head, index, offset = part.hashes, part.head, part.next_index, block.offset
    entries = block.entries if limit is None else block.entries[: limit - index]
    try:
        for data in entries:
            record, body, record_bytes, sealed, stored = take(data) or _take_slowly(adapter.decode(data))
            digest = sha256(THOUGHT + record_bytes).digest()
            text = digest.hex()
            if body is None:
                part.missing.append(index)
                right = True
            else:
                right = sha256(sealed).hexdigest() == record["commitment"]
            if head is None:
                head = part.joins = record["prev_hash"]
            if text != stored or not right or record["prev_hash"] != head or record["index"] != index:
                _explain(adapter.decode(data), index, head)
            if "forgets" in record:
                part.forgets.append(record["forgets"])
            if look is not None:
                look(Entry(record, body, text), offset, len(data))
            hashes.append(digest)
            head, index, offset = text, index + 1, offset + len(data)
    finally:
        part.head, part.count = head, index - part.first


# Shapes whose only numbers are those that `_is_plain` looks at: nearly all that there are.
_simple: set[tuple[str, ...]] = set()
_NUMBERED = frozenset(("forgets", "relations"))
_simple_bodies: set[tuple[str, ...]] = set()


# Record, body, the record's bytes, what the commitment is of, and the stored hash.
Taken = tuple[Json, Json | None, bytes, bytes, str]
_LINE = ("body", "record", "salt", "hash")
_LINE_TAIL = len(b',"salt":"') + 32 + len(b'","hash":"') + 64 + len(b'"}\n')


def _take_line(data: bytes) -> Taken | None:
    """`decode`, `parse_record` and `parse_body` by a shorter way where it provably comes to the same; else None."""
    try:
        whole = orjson.loads(data)
        record, body, salt, stored = whole["record"], whole["body"], whole["salt"], whole["hash"]
        if (
            tuple(whole) == _LINE
            and orjson.dumps(whole, option=orjson.OPT_APPEND_NEWLINE) == data
            and len(salt) == 32
            and len(stored) == 64
            and _is_simple(record, body)
        ):
            end = len(data) - _LINE_TAIL
            border = data.find(b',"record":', 8, end)
            sealed = b"%b%b\n%b" % (CONTENT, salt.encode(), data[8:border])
            return record, body, data[border + 10 : end], sealed, stored
    except (ValueError, KeyError, TypeError, AttributeError):
        pass  # the long way says what is wrong
    return None


def _take_frame(data: bytes) -> Taken | None:
    try:
        rest, body_size, digest, noise = FRAME_HEAD.unpack_from(data)
        border = len(data) - body_size
        if rest != len(data) - 4 or border <= FRAME_HEAD.size or not body_size:
            return None
        record_bytes, body_bytes = data[FRAME_HEAD.size : border], data[border:]
        # Both in one go: a call of the parser and one of the writer less for each thought.
        text = b"[%b,%b]" % (record_bytes, body_bytes)
        record, body = orjson.loads(text)
        if orjson.dumps([record, body]) == text and _is_simple(record, body):
            sealed = b"%b%b\n%b" % (CONTENT, noise.hex().encode(), body_bytes)
            return record, body, record_bytes, sealed, digest.hex()
    except (ValueError, KeyError, TypeError, AttributeError, struct.error):
        pass  # the long way says what is wrong
    return None


def _is_simple(record: Json, body: Json) -> bool:
    return tuple(record) in _simple and tuple(body) in _simple_bodies and _is_plain(record) and _is_text(body)


def _take_slowly(raw: RawEntry) -> Taken:
    record_bytes, body_bytes, salt, stored = raw
    record = parse_record(record_bytes)
    if not _NUMBERED & record.keys():
        _simple.add(tuple(record))
    body = parse_body(body_bytes) if body_bytes else None
    if body is not None:
        _simple_bodies.add(tuple(body))
    return record, body, record_bytes, CONTENT + salt + b"\n" + body_bytes, stored.decode("ascii", "replace")


def _is_plain(record: Json) -> bool:
    """Its numbers are ones that both writers spell alike."""
    importance, confidence, refs = record["importance"], record.get("confidence"), record.get("refs")
    return (
        type(record["index"]) is int
        and (refs is None or set(map(type, refs)) == _INDEXES)
        and (type(importance) is int or 0.0001 <= importance < 1)
        and (confidence is None or type(confidence) is int or 0.0001 <= confidence < 1)
    )


_TEXT, _INDEXES = {str}, {int}


def _is_text(body: Json) -> bool:
    for value in body.values():
        if type(value) is not str and (type(value) is not list or not set(map(type, value)) <= _TEXT):
            return False
    return True


def _explain(raw: RawEntry, index: int, head: str) -> None:
    check_link(open_entry(raw), index, head)
    raise Damaged(f"thought {index} is wrong", finding="malformed", index=index)
