"""What a caller may say, checked and tidied before anything is locked or written."""

from __future__ import annotations

import hashlib
import math
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from lithos.core.call import Call
from lithos.core.canonical import canonical_hash
from lithos.core.names import agent_name
from lithos.errors import InvalidInput, TooLarge
from lithos.ledger.chain.format import Json, tidy_number
from lithos.ledger.registry.keys import SIGNATURE_BYTES, octets
from lithos.ledger.words import LONGEST_CHAIN_KEY, RELATION_KINDS, ROLES, THOUGHT_TYPES

LONGEST_CONTENT = 256 * 1024
MOST_TERMS = 64
LONGEST_TERM = 200
MOST_REFS = 1000
_ALLOWED_CONTROLS = frozenset("\t\n\r")


@dataclass(frozen=True, slots=True)
class Request:
    """How a repetition of the call would be known; both scopes are hashes, so nothing of the caller leaks."""

    key: str | None = None
    delivery: str | None = None
    resent: bool = False
    arguments: str = ""


@dataclass(frozen=True, slots=True)
class Draft:
    """A thought before the server gives it a place, an id, a time and its hashes."""

    agent_id: str
    thought_type: str
    content: str
    role: str = "Memory"
    agent_name: str | None = None
    agent_owner: str | None = None
    importance: float = 0.5
    confidence: float | None = None
    tags: tuple[str, ...] = ()
    concepts: tuple[str, ...] = ()
    refs: tuple[int, ...] = ()
    relations: tuple[tuple[str, int], ...] = ()
    session_id: str | None = None
    signing_key_id: str | None = None
    signature: bytes | None = None
    forgets: int | None = None
    request: Request = field(default_factory=Request)

    def record(self) -> Json:
        """The hashed fields that the caller decides; empty ones are left out."""
        fields: Json = {
            "agent_id": self.agent_id,
            "agent_name": self.agent_name,
            "agent_owner": self.agent_owner,
            "confidence": None if self.confidence is None else tidy_number(self.confidence),
            "forgets": self.forgets,
            "importance": tidy_number(self.importance),
            "refs": list(self.refs) or None,
            "relations": [{"kind": kind, "target": target} for kind, target in self.relations] or None,
            "request_delivery": self.request.delivery,
            "request_key": self.request.key,
            "role": self.role,
            "session_id": self.session_id,
            "signature_hash": hashlib.sha256(self.signature).hexdigest() if self.signature else None,
            "signing_key_id": self.signing_key_id,
            "thought_type": self.thought_type,
        }
        return {name: value for name, value in fields.items() if value is not None}

    def body(self) -> Json:
        fields: Json = {
            "arguments": self.request.arguments or None,
            "concepts": list(self.concepts) or None,
            "content": self.content,
            "tags": list(self.tags) or None,
            "thought_signature": self.signature.hex() if self.signature else None,
        }
        return {name: value for name, value in fields.items() if value is not None}


def request_of(call: Call) -> Request:
    key = delivery = None
    if call.idempotency_key is not None:
        key = canonical_hash(["key", call.tool, call.agent, call.idempotency_key])[:32]
    if call.delivery is not None:
        delivery = canonical_hash(["delivery", call.tool, call.delivery.guest, call.delivery.request])[:32]
    if key is None and delivery is None:
        return Request()
    return Request(key, delivery, call.delivery is not None and call.delivery.resent, call.arguments_hash)


def chain_key(text: str) -> str:
    if not text.strip():
        raise InvalidInput("chain_key is empty", hint="Leave it out for the default chain, or name one.")
    if len(text) > LONGEST_CHAIN_KEY:
        raise InvalidInput(f"chain_key has {len(text)} characters; {LONGEST_CHAIN_KEY} is the most")
    _refuse_controls(text, "chain_key", frozenset())
    return text


def content(text: str, field: str = "content", longest: int = LONGEST_CONTENT) -> str:
    if not text.strip():
        raise InvalidInput(f"{field} is empty", hint="Say what is worth keeping.")
    if len(text) > longest or len(text.encode("utf-8", "replace")) > longest:
        raise TooLarge(
            f"{field} has {len(text)} characters; {longest} bytes is the most",
            hint="Store a summary here and the whole as a note.",
        )
    _refuse_controls(text, field, _ALLOWED_CONTROLS)
    return text


def terms(texts: Iterable[str] | None, field: str) -> tuple[str, ...]:
    """Tags and concepts: trimmed, without repetitions, in the order given."""
    found = tuple(dict.fromkeys(text.strip() for text in texts or ()))
    if len(found) > MOST_TERMS:
        raise InvalidInput(f"{field} has {len(found)} entries; {MOST_TERMS} is the most")
    for text in found:
        label(text, field)
    return found


def label(text: str, field: str, longest: int = LONGEST_TERM) -> str:
    """One line of printable text."""
    if not text.strip():
        raise InvalidInput(f"{field} contains an empty text")
    if len(text) > longest:
        raise InvalidInput(f"{field} contains a text of {len(text)} characters; {longest} is the most")
    _refuse_controls(text, field, frozenset())
    return text


def optional_label(text: str | None, field: str, longest: int = LONGEST_TERM) -> str | None:
    return None if text is None or not text.strip() else label(text.strip(), field, longest)


def optional_text(text: str | None, field: str, longest: int) -> str | None:
    """Lines allowed; blank means none."""
    return None if text is None or not text.strip() else content(text.strip(), field, longest)


def clamped(value: float | None, default: float | None, field: str) -> float | None:
    if value is None:
        return default
    if math.isnan(value):
        raise InvalidInput(f"{field} is not a number", hint="Send a number from 0.0 to 1.0.")
    return min(1.0, max(0.0, float(value)))


def refs(indexes: Sequence[int] | None) -> tuple[int, ...]:
    found = tuple(dict.fromkeys(indexes or ()))
    if len(found) > MOST_REFS:
        raise InvalidInput(f"refs has {len(found)} entries; {MOST_REFS} is the most")
    if any(index < 0 for index in found):
        raise InvalidInput("refs contains a negative index", hint="refs are indexes of earlier thoughts, from 0.")
    return found


def relations(given: Sequence[Any] | None) -> tuple[tuple[str, int], ...]:
    found = tuple(dict.fromkeys((one["kind"], one["target"]) for one in given or ()))
    if len(found) > MOST_REFS:
        raise InvalidInput(f"relations has {len(found)} entries; {MOST_REFS} is the most")
    for kind, target in found:
        one_of(kind, RELATION_KINDS, "relations.kind")
        if target < 0:
            raise InvalidInput("relations.target is negative", hint="It is the index of an earlier thought, from 0.")
    return found


def one_of(text: str, choices: Sequence[str], field: str) -> str:
    if text not in choices:
        raise InvalidInput(f"{field}: {text[:80]!r} is unknown", hint=f"Use one of: {', '.join(choices)}.")
    return text


def draft(
    *,
    agent: str,
    thought_type: str,
    text: str,
    role: str = "Memory",
    name: str | None = None,
    owner: str | None = None,
    importance: float | None = None,
    default_importance: float = 0.5,
    confidence: float | None = None,
    tags: Iterable[str] | None = None,
    concepts: Iterable[str] | None = None,
    ref_indexes: Sequence[int] | None = None,
    typed_relations: Sequence[Any] | None = None,
    session_id: str | None = None,
    signing_key_id: str | None = None,
    signature: Sequence[int] | None = None,
    request: Request | None = None,
) -> Draft:
    """Everything checked that can be checked without the chain."""
    if (signing_key_id is None) != (signature is None):
        raise InvalidInput("signing_key_id and thought_signature belong together", hint="Send both or neither.")
    return Draft(
        agent_id=agent_name(agent, "agent_id"),
        thought_type=one_of(thought_type, THOUGHT_TYPES, "thought_type"),
        content=content(text),
        role=one_of(role, ROLES, "role"),
        agent_name=optional_label(name, "agent_name"),
        agent_owner=optional_label(owner, "agent_owner"),
        importance=clamped(importance, default_importance, "importance") or 0.0,
        confidence=clamped(confidence, None, "confidence"),
        tags=terms(tags, "tags"),
        concepts=terms(concepts, "concepts"),
        refs=refs(ref_indexes),
        relations=relations(typed_relations),
        session_id=optional_label(session_id, "session_id"),
        signing_key_id=optional_label(signing_key_id, "signing_key_id"),
        signature=None if signature is None else octets(signature, "thought_signature", SIGNATURE_BYTES),
        request=request or Request(),
    )


def _refuse_controls(text: str, field: str, allowed: frozenset[str]) -> None:
    if text.isprintable():  # true of nearly every text, and fifty times faster than looking at each character
        return
    for place, character in enumerate(text):
        if character not in allowed and unicodedata.category(character) in ("Cc", "Cs"):
            raise InvalidInput(
                f"{field} contains the character U+{ord(character):04X} at position {place}",
                hint="Send valid Unicode text without control characters.",
            )
