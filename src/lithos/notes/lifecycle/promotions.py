"""Promotions: the approvals that a note under procedural/ needs, each a thought in the ledger under our seal."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import orjson
from typing_extensions import TypedDict

from lithos.core.call import Call
from lithos.core.canonical import canonical_json, version_of
from lithos.core.clock import Clock, rfc3339
from lithos.core.names import one_line
from lithos.errors import InvalidInput, NotFound
from lithos.ledger import Draft, Ledger
from lithos.notes.format.note import Note
from lithos.notes.lifecycle.decisions import check_approver, check_promotion, clean_references
from lithos.notes.lifecycle.promotion_uses import PromotionUses
from lithos.storage import Tx

CHAIN = "promotions"
TARGET = "procedural"
LONGEST = 2_000


class Promoted(TypedDict):
    event_id: str
    source_entry_id: str
    content_hash: str
    target_class: str
    evidence_refs: list[str]
    approved_by: str
    actor: str
    reason: str
    ts: str
    thought_id: str


class Promotions:
    """Anybody may append to a chain; only what carries the seal of this data directory is a promotion."""

    def __init__(
        self,
        ledger: Ledger,
        clock: Clock,
        new_id: Callable[[], str],
        seal: Callable[[bytes], str],
        uses: PromotionUses,
        approvers: Sequence[str] = (),
    ) -> None:
        self._ledger = ledger
        self.uses = uses
        self._clock = clock
        self._new_id = new_id
        self._seal = seal
        self._approvers = tuple(approvers)
        self._approved: dict[str, str] = {}  # event id → hash of the text that it approved
        self._read_to = 0
        self._lock = threading.Lock()

    def promote(
        self,
        call: Call,
        *,
        source_entry_id: str,
        content_of: Callable[[str], str],
        evidence_refs: Sequence[str],
        approved_by: str,
        actor: str,
        reason: str,
    ) -> Promoted:
        """Approve the text that the source has now; `content_of` gives it, or raises NotFound."""
        check_promotion(actor, approved_by, reason, self._approvers)
        check_approver(approved_by, call, self._approvers)
        source = one_line(source_entry_id, "source_entry_id", 500)
        entry = {
            "event_id": self._new_id(),
            "ts": rfc3339(self._clock.now()),
            "source_entry_id": source,
            "content_hash": content_hash(content_of(source)),
            "target_class": TARGET,
            "evidence_refs": [one_line(each, "evidence_refs", LONGEST) for each in clean_references(evidence_refs)],
            "approved_by": (call.agent if call.bound else None) or approved_by.strip(),
            "actor": actor.strip(),
            "reason": reason.strip()[:LONGEST],
        }
        return self._appended(call, entry)

    def _appended(self, call: Call, entry: dict[str, Any]) -> Promoted:
        sealed = {**entry, "seal": self._seal(canonical_json(entry))}
        content, actor = orjson.dumps(sealed).decode(), entry["actor"]
        writer = (call.agent if call.bound else None) or actor  # whose thought it is, not who it is about
        draft = Draft("Decision", content, agent_id=writer, role="Audit", tags=["promotion"])
        answer = self._ledger.append(call, draft, chain_key=CHAIN)
        thought = answer["thought"]
        kept = orjson.loads(thought["content"] or "{}")  # of the first attempt, if this is a retry
        kept.pop("seal", None)
        return {**kept, "thought_id": thought["id"]}  # type: ignore[typeddict-item]  # the fields of `entry`

    def is_promoted(self, note: Note) -> bool:
        """Whether the promotion that this note names approved its text, and for this note."""
        event_id = promotion_of(note)
        if event_id is None or self._approved_hash(event_id) != content_hash(note.content):
            return False
        return self.uses.allow(event_id, note)

    def _approved_hash(self, event_id: str) -> str | None:
        """Of the promotion with this id in the ledger, with at least one piece of evidence and under our seal."""
        with self._lock:
            if event_id not in self._approved:
                self._follow()
            return self._approved.get(event_id)

    def _follow(self) -> None:
        """Read what the chain has gained; a few promotions a week are the rule."""
        try:
            chain = self._ledger.chain(CHAIN)
        except NotFound:
            return
        size = chain.size
        for entry in chain.entries(range(self._read_to, size)):
            if found := self._sealed((entry.body or {}).get("content")):
                self._approved[found["event_id"]] = found["content_hash"]
        self._read_to = size

    def _sealed(self, content: str | None) -> dict[str, str] | None:
        try:
            entry = orjson.loads(content or "")
            seal = entry.pop("seal")
            whole = entry["target_class"] == TARGET and entry["evidence_refs"] and entry["approved_by"]
            names = {"event_id": str(entry["event_id"]), "content_hash": str(entry["content_hash"])}
            return names if whole and seal == self._seal(canonical_json(entry)) else None
        except (ValueError, KeyError, AttributeError, TypeError, InvalidInput):
            return None  # not a promotion of ours

    def check(self, note: Note) -> None:
        """The firewall: a note among the procedures needs a promotion of the very text that it has."""
        event_id = promotion_of(note)
        if event_id is None:
            raise InvalidInput(
                "a note under procedural/ needs provenance event:<id> of a promotion",
                hint="lithos_promote records one, with evidence and an approver, and returns its event_id.",
            )
        approved = self._approved_hash(event_id)
        if approved is None:
            raise InvalidInput(
                f"there is no promotion {event_id[:80]!r}", hint="Send the event_id that lithos_promote returned."
            )
        if approved != content_hash(note.content):
            raise InvalidInput(
                f"the promotion {event_id} approved another text than this one; nothing was written",
                hint="Write the new text as a note elsewhere and have it approved with lithos_promote; then send "
                "the text with that event:<id> as provenance.",
            )
        self.uses.check(event_id, note)

    def use(self, tx: Tx, note: Note) -> None:
        """Record that the promotion of this note serves it and no other; with the write, in one transaction."""
        if event_id := promotion_of(note):
            self.uses.record(tx, event_id, note)


def promotion_of(note: Note) -> str | None:
    """The id of the promotion that a note names as its provenance."""
    scheme, _, event_id = (note.text("provenance") or "").partition(":")
    return event_id if scheme == "event" and event_id else None


def content_hash(content: str) -> str:
    """Of a text as a promotion approves it: all of it but the kind of its line ends."""
    return version_of(content.replace("\r\n", "\n").encode())
