"""The gate before knowledge becomes a rule: promotions, each an entry of the ledger under our seal."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import orjson
from typing_extensions import TypedDict

from lithos.core.call import Call
from lithos.core.canonical import canonical_json
from lithos.core.clock import Clock, rfc3339
from lithos.core.names import one_line
from lithos.errors import InvalidInput, NotFound
from lithos.ledger import Ledger
from lithos.notes.lifecycle.decisions import check_approver, check_promotion, clean_references
from lithos.notes.lifecycle.effective_status import has_promotion, is_procedural

CHAIN = "promotions"
TARGET = "procedural"
LONGEST = 2_000


class Promoted(TypedDict):
    event_id: str
    source_entry_id: str
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
        approvers: Sequence[str] = (),
    ) -> None:
        self._ledger = ledger
        self._clock = clock
        self._new_id = new_id
        self._seal = seal
        self._approvers = tuple(approvers)
        self._known: set[str] = set()
        self._read_to = 0
        self._lock = threading.Lock()

    def promote(
        self,
        call: Call,
        *,
        source_entry_id: str,
        evidence_refs: Sequence[str],
        approved_by: str,
        actor: str,
        reason: str,
    ) -> Promoted:
        check_promotion(actor, approved_by, reason, self._approvers)
        check_approver(approved_by, call.agent, self._approvers, operator=call.operator)
        told = {
            "event_id": self._new_id(),
            "ts": rfc3339(self._clock.now()),
            "source_entry_id": one_line(source_entry_id, "source_entry_id", 500),
            "target_class": TARGET,
            "evidence_refs": clean_references(one_line(each, "evidence_refs", LONGEST) for each in evidence_refs),
            "approved_by": approved_by.strip(),
            "actor": actor.strip(),
            "reason": reason.strip()[:LONGEST],
        }
        return self._appended(call, told)

    def _appended(self, call: Call, told: dict[str, Any]) -> Promoted:
        sealed = {**told, "seal": self._seal(canonical_json(told))}
        answer = self._ledger.append(
            call,
            thought_type="Decision",
            role="Audit",
            content=orjson.dumps(sealed).decode(),
            chain_key=CHAIN,
            agent_id=told["actor"],
            tags=["promotion"],
        )
        thought = answer["thought"]
        kept = orjson.loads(thought["content"] or "{}")  # of the first attempt, if this is a retry
        kept.pop("seal", None)
        return {**kept, "thought_id": thought["id"]}  # type: ignore[typeddict-item]  # the fields of `told`

    def is_promoted(self, event_id: str) -> bool:
        """Whether a promotion of this id is in the ledger, with at least one piece of evidence and under our seal."""
        with self._lock:
            if event_id not in self._known:
                self._follow()
            return event_id in self._known

    def _follow(self) -> None:
        """Read what the chain has gained; a few promotions a week are the rule."""
        try:
            chain = self._ledger.chain(CHAIN)
        except NotFound:
            return
        size = chain.size
        for entry in chain.entries(range(self._read_to, size)):
            found = self._sealed((entry.body or {}).get("content"))
            if found:
                self._known.add(found)
        self._read_to = size

    def _sealed(self, content: str | None) -> str | None:
        try:
            told = orjson.loads(content or "")
            seal = told.pop("seal")
            whole = told["target_class"] == TARGET and told["evidence_refs"] and told["approved_by"]
            return str(told["event_id"]) if whole and seal == self._seal(canonical_json(told)) else None
        except (ValueError, KeyError, AttributeError, TypeError, InvalidInput):
            return None  # somebody else's thought

    def check(self, path: str, provenance: str | None) -> None:
        """The firewall: a note among the procedures needs a promotion."""
        if is_procedural(path) and not has_promotion(provenance, self.is_promoted):
            raise InvalidInput(
                "a note under procedural/ needs provenance event:<id> of a promotion",
                hint="lithos_promote records one, with evidence and an approver, and returns its event_id.",
            )
