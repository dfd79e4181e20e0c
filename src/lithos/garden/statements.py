"""Statements: what an agent says about its change, compared with the audit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from lithos.core.call import Call
from lithos.errors import Conflict
from lithos.garden.answers import Logged
from lithos.garden.rules.policy import Policy
from lithos.garden.targets import one_line, writer_of
from lithos.storage import Database, Effects, Event, EventDraft, EventFilter, Events, Outcome, Tx

TOOL = "lithos_events_log"
_LOOKED_AT = 100


@dataclass(frozen=True, slots=True)
class Statement:
    type: str
    op: str
    path: str | None = None
    section_anchor: str | None = None
    evidence_refs: tuple[str, ...] = ()
    before_hash: str | None = None
    after_hash: str | None = None


class Statements:
    def __init__(self, policy: Policy, database: Database, events: Events, effects: Effects) -> None:
        self._policy = policy
        self._database = database
        self._events = events
        self._effects = effects

    def log(self, call: Call, said: Statement) -> Logged:
        """Record it as an event, tied to ours of the same transaction; refused where the two contradict each other."""
        writer_of(call)
        one_line(call.rationale)
        if said.path is not None:
            self._policy.check_owner(said.path, call.user)

        def work(tx: Tx) -> Outcome:
            seen = self._seen(tx, call, said)
            completes = seen["id"] if seen else None
            details: dict[str, Any] = {"evidence_refs": list(said.evidence_refs), "completes": completes}
            event_id = self._events.append(tx, call, _draft(said, one_line(call.rationale), details))
            if completes is not None:
                linked = {"statement": event_id, "evidence_refs": list(said.evidence_refs)}
                self._events.amend(tx, completes, details=linked)
            return Outcome({"event_id": event_id, "completes": completes})

        return cast(Logged, self._effects.commit(call, work))

    def _seen(self, tx: Tx, call: Call, said: Statement) -> Event | None:
        """Our event of that transaction; of several, the one whose hashes agree, or else the newest is contradicted."""
        transaction = call.correlation.transaction_id
        if transaction is None:
            return None
        user = None if call.owner else call.user
        wanted = EventFilter(transaction_id=transaction, user_id=user, store=self._events.store)
        page = self._events.find(tx, wanted, limit=_LOOKED_AT)
        ours = [event for event in page["events"] if event["tool"] != TOOL and _concerns(event, said)]
        agreeing = [event for event in ours if contradiction(event, said) is None]
        if ours and not agreeing:
            raise Conflict(
                f"the statement contradicts event {ours[0]['id']}: {contradiction(ours[0], said)}",
                hint="Send the hashes that the change itself returned, or leave them out.",
                event_id=ours[0]["id"],
            )
        return agreeing[0] if agreeing else None


def contradiction(event: Event, said: Statement) -> str | None:
    """Where the statement differs from the event; None: nowhere."""
    if event["status"] in ("failed", "conflict") and said.after_hash is not None:
        return f"that change ended as {event['status']}"
    facts = [each for each in event["details"].get("changes", []) if said.path in (None, each["path"])]
    for side, claimed, own in (
        ("before", said.before_hash, event["before_hash"]),
        ("after", said.after_hash, event["after_hash"]),
    ):
        known = {own} | {each[key] for each in facts for key in (side, f"{side}_hash")}
        if claimed is not None and claimed not in known:
            return f"{side}_hash is another"
    return None


def _concerns(event: Event, said: Statement) -> bool:
    paths = {event["path"]} | {each["path"] for each in event["details"].get("changes", [])}
    return said.path is None or said.path in paths


def _draft(said: Statement, rationale: str, details: dict[str, Any]) -> EventDraft:
    return EventDraft(
        said.type,
        said.op,
        said.path or "",
        said.path,
        said.section_anchor,
        said.before_hash,
        said.after_hash,
        rationale,
        None,
        details,
    )
