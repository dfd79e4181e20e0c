"""The bytes of one entry: canonical record, sealed body, hashes. `docs/ledger-format.md` is the same in prose.

An entry is a *record* (everything that is hashed) and a *body* (what forgetting removes). The record holds
a salted commitment to the body, so that the body can go and every hash and proof stays valid.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import orjson

from lithos.core.canonical import canonical_json
from lithos.errors import Damaged, InvalidInput
from lithos.ledger.words import ROLE_CODES, TYPE_CODES

VERSION = 1
THOUGHT = b"lithos.thought.v1\n"
REDACTED = b"lithos.redacted.v1\n"
CONTENT = b"lithos.content.v1\n"
ORIGIN = b"lithos.chain.v1\n"
SALT_BYTES = 16

RECORD_NEEDS = frozenset(
    ("agent_id", "commitment", "id", "importance", "index", "prev_hash", "role", "thought_type", "timestamp")
)
RECORD_MAY = RECORD_NEEDS | {
    "agent_name",
    "agent_owner",
    "confidence",
    "forgets",
    "redacted",
    "refs",
    "registry",
    "relations",
    "request_delivery",
    "request_key",
    "session_id",
    "signature_hash",
    "signing_key_id",
}
# Forgetting removes these from a record, and the commitment: without its salt, no guess at a name can be confirmed.
NAMES = ("agent_id", "agent_name", "agent_owner", "session_id", "signing_key_id")
REDACTED_NEEDS = RECORD_NEEDS - {"agent_id", "commitment"}
BODY_NEEDS = frozenset(("content",))
BODY_MAY = BODY_NEEDS | {"arguments", "concepts", "tags", "thought_signature"}
RELATION_KEYS = ("kind", "target")
_HEX_HASH = re.compile(b"[0-9a-f]{64}")
_FRACTIONS = frozenset(("confidence", "importance"))
_WHOLE = frozenset(("forgets", "index", "refs", "relations"))  # numbers and lists of them

Json = dict[str, Any]
# record, body, salt and hash (both as hexadecimal ASCII); body and salt are empty once the content was forgotten.
RawEntry = tuple[bytes, bytes, bytes, bytes]

# Shapes seen before need no second look: at most one per set of optional fields.
_known_records: set[tuple[str, ...]] = set()
_known_bodies: set[tuple[str, ...]] = set()


@dataclass(frozen=True, slots=True)
class ThoughtEntry:
    """A thought as it is stored; `body` is None once its content was forgotten."""

    record: Json
    body: Json | None
    hash: str

    @property
    def index(self) -> int:
        return int(self.record["index"])


def canonical_bytes(value: Json) -> bytes:
    """RFC 8785 for records and bodies: orjson where it provably agrees, `core.canonical` where it may not."""
    if not _plain_numbers(value):
        return canonical_json(value)
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except (TypeError, orjson.JSONEncodeError):
        raise InvalidInput("text contains a lone surrogate", hint="Send valid Unicode text.") from None


def tidy_number(value: float) -> float | int:
    """0 and 1 as integers, which is how RFC 8785 spells them; anything between as it is."""
    return int(value) if value in (0.0, 1.0) else value


def origin_hash(header: Json) -> str:
    """The `prev_hash` of the first thought: it binds chain key, birth and nonce into everything after it."""
    return hashlib.sha256(ORIGIN + canonical_json(header)).hexdigest()


def commitment_of(body: bytes, salt: bytes) -> str:
    return hashlib.sha256(CONTENT + salt + b"\n" + body).hexdigest()


def thought_hash(record: bytes) -> str:
    return hashlib.sha256(THOUGHT + record).hexdigest()


def seal(record: Json, body: Json, noise: bytes) -> tuple[RawEntry, ThoughtEntry]:
    """Make the entry of a record (without commitment) and its body; `noise` is the random salt."""
    salt = noise.hex().encode()
    body_bytes = canonical_bytes(body)
    whole = {**record, "commitment": commitment_of(body_bytes, salt)}
    record_bytes = canonical_bytes(whole)
    digest = thought_hash(record_bytes)
    return (record_bytes, body_bytes, salt, digest.encode()), ThoughtEntry(whole, body, digest)


def open_entry(raw: RawEntry) -> ThoughtEntry:
    """Parse and check one entry by itself; its place in the chain is for the caller to check."""
    record_bytes, body_bytes, salt, digest = raw
    record = parse_record(record_bytes)
    if is_redacted(record):
        if body_bytes or salt or not _HEX_HASH.fullmatch(digest):
            raise Damaged("a record without commitment has a content, or no hash", finding="malformed")
        return ThoughtEntry(record, None, digest.decode())
    if thought_hash(record_bytes).encode() != digest:
        raise Damaged("the stored hash is not the hash of the record", finding="hash_mismatch")
    if not body_bytes and not salt:
        return ThoughtEntry(record, None, digest.decode())
    body = parse_body(body_bytes)
    if commitment_of(body_bytes, salt) != record["commitment"]:
        raise Damaged("the content is not the one committed to", finding="commitment_mismatch")
    return ThoughtEntry(record, body, digest.decode())


def is_redacted(record: Json) -> bool:
    """Names and commitment were removed by forgetting: the hash is no longer that of what is left."""
    return "commitment" not in record


def redacted(record: Json, names: Iterable[str]) -> Json:
    """The record without these names; as it is when it has none of them."""
    gone = {name for name in names if name in record}
    return {name: value for name, value in record.items() if name not in gone | {"commitment"}} if gone else record


def redacted_hash(record: Json) -> str:
    """The hash by which the thought that forgets vouches for what is left of the record."""
    return hashlib.sha256(REDACTED + canonical_bytes(record)).hexdigest()


def parse_record(data: bytes) -> Json:
    record = _parse(data)
    shape = tuple(record)
    if shape not in _known_records:
        needs = REDACTED_NEEDS if is_redacted(record) else RECORD_NEEDS
        _check_shape(shape, needs, RECORD_MAY, _known_records)
    try:
        _check_types(record)
    except TypeError as error:  # a list where a text belongs, and the like
        raise Damaged(f"a field is of the wrong type: {error}", finding="malformed") from None
    _check_spelling(data, record)
    return record


def parse_body(data: bytes) -> Json:
    body = _parse(data)
    shape = tuple(body)
    if shape not in _known_bodies:
        _check_shape(shape, BODY_NEEDS, BODY_MAY, _known_bodies)
    for value in body.values():
        # Only text and lists of text: with no number inside, orjson's spelling is RFC 8785's.
        if type(value) is not str and not (type(value) is list and all(type(item) is str for item in value)):
            raise Damaged("the body holds something other than text", finding="malformed")
    if orjson.dumps(body) != data:
        raise Damaged("the body is not in canonical form", finding="not_canonical")
    return body


def _parse(data: bytes) -> Json:
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise Damaged(f"not JSON: {error}", finding="malformed") from None
    if not isinstance(value, dict):
        raise Damaged("not a JSON object", finding="malformed")
    return value


def _check_shape(
    shape: tuple[str, ...], needs: frozenset[str], may: frozenset[str], known: set[tuple[str, ...]]
) -> None:
    keys = frozenset(shape)
    if not needs <= keys <= may:
        raise Damaged(f"wrong fields: {sorted(keys ^ needs)[:6]}", finding="malformed")
    # All field names are ASCII, where code points and RFC 8785's UTF-16 units sort alike.
    if list(shape) != sorted(shape):
        raise Damaged("the fields are not in canonical order", finding="not_canonical")
    known.add(shape)


def _check_types(record: Json) -> None:
    """Whole numbers, two fractions, two lists, and text: a number elsewhere could hide in a spelling that orjson keeps
    and RFC 8785 does not (5.0 for 5)."""
    if record["thought_type"] not in TYPE_CODES or record["role"] not in ROLE_CODES:
        raise Damaged("unknown thought_type or role", finding="malformed")
    numbers = [record["index"], record.get("forgets", 0), *record.get("refs", ())]
    for relation in record.get("relations", ()):
        if not isinstance(relation, dict) or tuple(relation) != RELATION_KEYS or type(relation["kind"]) is not str:
            raise Damaged("a relation is not {kind, target}", finding="malformed")
        numbers.append(relation["target"])
    for name, value in record.items():
        allowed = (int, float) if name in _FRACTIONS else (str,)
        if type(value) not in allowed and name not in _WHOLE:
            raise Damaged(f"{name} is of the wrong type", finding="malformed")
    if any(type(number) is not int for number in numbers):
        raise Damaged("an index is not an integer", finding="malformed")


def _check_spelling(data: bytes, record: Json) -> None:
    if orjson.dumps(record) == data and _plain_numbers(record):
        return
    if canonical_json(record) != data:
        raise Damaged("the record is not in canonical form", finding="not_canonical")


def _plain_numbers(value: Json) -> bool:
    """Both writers spell integers, and fractions from 0.0001 up to 1, alike; those are nearly all there are."""
    for name in ("importance", "confidence"):
        number = value.get(name)
        if type(number) is float and not 0.0001 <= number < 1:
            return False
    return True
