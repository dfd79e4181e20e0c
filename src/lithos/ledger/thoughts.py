"""Drafts of thoughts: what a caller sends, checked and normalised before anything is locked or written."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from lithos.core.call import Call
from lithos.core.canonical import canonical_hash
from lithos.core.names import agent_name, is_blank
from lithos.core.validators import clamped, one_of, optional_label, refuse_controls, terms, text_block
from lithos.errors import InvalidInput
from lithos.ledger.chain.format import Json, tidy_number
from lithos.ledger.registry.keys import SIGNATURE_BYTES, SigningKey, octets, signed_bytes
from lithos.ledger.words import LONGEST_CHAIN_KEY, RELATION_KINDS, ROLES, THOUGHT_TYPES

LONGEST_CONTENT = 256 * 1024
MOST_REFS = 1000
TEXTS = ("content", "tags", "concepts", "agent_id", "agent_name", "agent_owner", "session_id", "signing_key_id")


@dataclass(frozen=True, slots=True)
class Request:
    """How a repetition of the call is recognised; both scopes are hashes, so nothing of the caller leaks."""

    key: str | None = None
    delivery: str | None = None
    resent: bool = False
    arguments: str = ""


@dataclass(frozen=True, slots=True)
class Draft:
    """A thought before the chain gives it an index, an id, a time and its hashes. A tool builds it."""

    thought_type: str
    content: str
    agent_id: str | None = None
    role: str = "Memory"
    agent_name: str | None = None
    agent_owner: str | None = None
    importance: float | None = None
    confidence: float | None = None
    tags: Sequence[str] | None = None
    concepts: Sequence[str] | None = None
    refs: Sequence[int] | None = None
    relations: Sequence[Mapping[str, Any]] | None = None
    session_id: str | None = None
    signing_key_id: str | None = None
    thought_signature: Sequence[int] | None = None
    forgets: int | None = None
    redacted: str | None = None
    request: Request = field(default_factory=Request)

    def checked(self, default_agent: str, request: Request) -> Draft:
        """Normalised, and everything checked that can be checked without the chain."""
        if (self.signing_key_id is None) != (self.thought_signature is None):
            raise InvalidInput("signing_key_id and thought_signature belong together", hint="Send both or neither.")
        signature = self.thought_signature
        return Draft(  # not `replace`, which takes 10 µs more
            thought_type=one_of(self.thought_type, THOUGHT_TYPES, "thought_type"),
            content=text_block(self.content, "content", LONGEST_CONTENT),
            agent_id=agent_name(self.agent_id or default_agent, "agent_id"),
            role=one_of(self.role, ROLES, "role"),
            agent_name=optional_label(self.agent_name, "agent_name"),
            agent_owner=optional_label(self.agent_owner, "agent_owner"),
            importance=clamped(0.5 if self.importance is None else self.importance, "importance"),
            confidence=None if self.confidence is None else clamped(self.confidence, "confidence"),
            tags=terms(self.tags, "tags"),
            concepts=terms(self.concepts, "concepts"),
            refs=_refs(self.refs),
            relations=_relations(self.relations),
            session_id=optional_label(self.session_id, "session_id"),
            signing_key_id=optional_label(self.signing_key_id, "signing_key_id"),
            thought_signature=None if signature is None else octets(signature, "thought_signature", SIGNATURE_BYTES),
            forgets=self.forgets,
            redacted=self.redacted,
            request=request,
        )

    def texts(self) -> dict[str, Any]:
        """The fields that hold the caller's own words: texts and lists of texts."""
        return {name: getattr(self, name) for name in TEXTS}

    @property
    def signature(self) -> bytes | None:
        return None if self.thought_signature is None else bytes(self.thought_signature)

    def targets(self) -> list[int]:
        """Indexes of the thoughts that it refers to."""
        return [*(self.refs or ()), *(relation["target"] for relation in self.relations or ())]

    def record(self) -> Json:
        """The hashed fields that the caller decides; empty ones are left out."""
        given: Json = {
            "agent_id": self.agent_id,
            "agent_name": self.agent_name,
            "agent_owner": self.agent_owner,
            "confidence": None if self.confidence is None else tidy_number(self.confidence),
            "forgets": self.forgets,
            "importance": tidy_number(0.5 if self.importance is None else self.importance),
            "redacted": self.redacted,
            "refs": list(self.refs or ()) or None,
            "relations": [{"kind": one["kind"], "target": one["target"]} for one in self.relations or ()] or None,
            "request_delivery": self.request.delivery,
            "request_key": self.request.key,
            "role": self.role,
            "session_id": self.session_id,
            "signature_hash": hashlib.sha256(self.signature).hexdigest() if self.signature else None,
            "signing_key_id": self.signing_key_id,
            "thought_type": self.thought_type,
        }
        return {name: value for name, value in given.items() if value is not None}

    def body(self) -> Json:
        given: Json = {
            "arguments": self.request.arguments or None,
            "concepts": list(self.concepts or ()) or None,
            "content": self.content,
            "tags": list(self.tags or ()) or None,
            "thought_signature": self.signature.hex() if self.signature else None,
        }
        return {name: value for name, value in given.items() if value is not None}


def request_of(call: Call) -> Request:
    key = delivery = None
    if call.idempotency_key is not None:
        key = canonical_hash(["key", call.tool, call.agent, call.idempotency_key])[:32]
    if call.delivery is not None:
        delivery = canonical_hash(["delivery", call.tool, call.delivery.guest, call.delivery.request])[:32]
    if key is None and delivery is None:
        return Request()
    return Request(key, delivery, call.delivery is not None and call.delivery.resent, call.arguments_hash)


def sign_arguments(key: SigningKey, key_id: str, arguments: dict[str, Any], chain_key: str) -> dict[str, Any]:
    """Arguments of `mentisdb_append` with the signature put in; what they leave out is signed as its default."""
    given = {name: value for name, value in arguments.items() if value is not None}
    retrospective = given.get("role") == "Retrospective"
    defaults = {
        "thought_type": "LessonLearned" if retrospective else "",
        "content": "",
        "importance": 0.7 if retrospective else 0.5,
    }
    named = {each.name: given[each.name] for each in fields(Draft) if each.name in given}
    signed = {**defaults, **named, "signing_key_id": key_id, "thought_signature": bytes(SIGNATURE_BYTES)}
    draft = Draft(**signed).checked(chain_key, Request())
    signature = key.sign(signed_bytes(chain_key, draft.record(), draft.body()))
    return {**given, "chain_key": chain_key, "signing_key_id": key_id, "thought_signature": list(signature)}


def chain_key(text: str) -> str:
    if is_blank(text):
        raise InvalidInput("chain_key is empty", hint="Leave it out for the default chain, or name one.")
    if len(text) > LONGEST_CHAIN_KEY:
        raise InvalidInput(f"chain_key has {len(text)} characters; {LONGEST_CHAIN_KEY} is the most")
    refuse_controls(text, "chain_key")
    return text


def _refs(indexes: Sequence[int] | None) -> tuple[int, ...]:
    found = tuple(dict.fromkeys(indexes or ()))
    if len(found) > MOST_REFS:
        raise InvalidInput(f"refs has {len(found)} entries; {MOST_REFS} is the most")
    if any(index < 0 for index in found):
        raise InvalidInput("refs contains a negative index", hint="refs are indexes of earlier thoughts, from 0.")
    return found


def _relations(given: Sequence[Mapping[str, Any]] | None) -> tuple[Mapping[str, Any], ...]:
    found = dict.fromkeys((one["kind"], one["target"]) for one in given or ())
    if len(found) > MOST_REFS:
        raise InvalidInput(f"relations has {len(found)} entries; {MOST_REFS} is the most")
    for kind, target in found:
        one_of(kind, RELATION_KINDS, "relations.kind")
        if target < 0:
            raise InvalidInput("relations.target is negative", hint="It is the index of an earlier thought, from 0.")
    return tuple({"kind": kind, "target": target} for kind, target in found)
