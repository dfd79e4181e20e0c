"""The note lifecycle: feedback, decay, promotion, contradictions."""

from __future__ import annotations

from typing import Annotated, NotRequired, cast

from pydantic import Field

from lithos.app import Lithos
from lithos.core.call import Call
from lithos.graph.trust import ConflictShown
from lithos.notes import ConflictList, Decayed, FeedbackGiven, Outcomes, Promoted, Source
from lithos.tools.arguments import Cursor
from lithos.tools.dispatch.references import Refers
from lithos.tools.registry import tool

Ids = Annotated[list[str], Field(max_length=200)]


@tool(toolset="lifecycle")
def lithos_feedback(
    lithos: Lithos,
    call: Call,
    used_ids: Annotated[Ids, Field(description="Notes and session entries that you built on")],
    outcome: Outcomes,
    receipt: Annotated[str | None, Field(description="Of lithos_recall; then query and returned_ids are known")] = None,
    query: str | None = None,
    returned_ids: Ids | None = None,
    source: Source = "invocation",
) -> FeedbackGiven:
    """Tell what came of a search. Notes that helped rise a little for similar questions, notes that hurt (wrong,
    misleading) sink a little. Returns event_id."""
    given = lithos.knowledge.feedback.give(
        call,
        outcome=outcome,
        used_ids=used_ids,
        query=query,
        returned_ids=returned_ids,
        receipt=receipt,
        source=source,
    )
    if outcome == "helped":
        _, returned = lithos.knowledge.feedback.asked(query, returned_ids, receipt)
        lithos.promotion.count_uses(call, used_ids, returned)
    return given


@tool(toolset="lifecycle", notes=True, destructive=True)
def lithos_decay(
    lithos: Lithos,
    call: Call,
    policy: Annotated[str, Field(description="A name for the run, kept in its event")] = "default",
    as_of: Annotated[str | None, Field(description="ISO 8601; default now")] = None,
    dry_run: Annotated[bool, Field(description="Only tell which")] = False,
) -> Decayed:
    """Mark as stale the active notes whose expires_at has passed and whose ttl_policy is decay or ephemeral. They stay
    on disk and are found with status stale. Returns stale_ids and event_id."""
    return lithos.knowledge.decay.run(call, policy, as_of, dry_run)


@tool(toolset="lifecycle")
def lithos_promote(
    lithos: Lithos,
    call: Call,
    source_entry_id: Annotated[str, Field(description="The note that is to become a procedure"), Refers("note")],
    evidence_refs: Annotated[list[str], Field(min_length=1, max_length=100, description="What shows that it holds")],
    approved_by: Annotated[str, Field(description="Who approves; not the actor")],
    actor: Annotated[str, Field(description="Who proposes it")],
    reason: str,
) -> Promoted:
    """Approve a note's present text as a rule. Then write one note with that text, path "procedural" and provenance
    event:<event_id>; other text needs a new promotion. forbidden: the approver must call this with its own token."""
    return lithos.knowledge.promotions.promote(
        call,
        source_entry_id=source_entry_id,
        content_of=lambda note_id: lithos.notes.vault.find(note_id).note.content,
        evidence_refs=evidence_refs,
        approved_by=approved_by,
        actor=actor,
        reason=reason,
    )


class AllConflicts(ConflictList):
    graph: NotRequired[list[ConflictShown]]


@tool(toolset="lifecycle", notes=True, reads=True)
def lithos_conflicts(
    lithos: Lithos,
    call: Call,
    claim_id: Annotated[str | None, Field(description="Only this claim")] = None,
    limit: Annotated[int, Field(strict=True, ge=1, le=200)] = 50,
    cursor: Cursor = None,
) -> AllConflicts:
    """Notes that may contradict each other: several with one claim_id, or nearly the same text; most trusted first,
    then newest. Candidates only: read them, then merge, supersede or leave them. `graph`: open conflicts of history."""
    found = cast(AllConflicts, lithos.knowledge.likes.conflicts(claim_id, limit, cursor))
    if claim_id is None and cursor is None:
        rows = lithos.trust.conflicts(call, None, None, False, limit)
        return {**found, "graph": rows} if rows else found
    return found
