"""Tools that propose, apply, log, show and undo changes of the garden."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from lithos.app import Lithos
from lithos.core.call import Call
from lithos.core.validators import visible
from lithos.errors import InvalidInput
from lithos.garden import (
    EditRequest,
    Explanation,
    Logged,
    OpenProposals,
    PathHistory,
    Proposal,
    ProposalApplied,
    ProposalRefused,
    Statement,
    Undone,
    edit_of,
    for_user,
)
from lithos.tools.arguments import Cursor
from lithos.tools.garden.arguments import Change, Edit, Path, Rationale, User
from lithos.tools.registry import tool

Hash = Annotated[str | None, Field(max_length=200, description="As the change returned it")]


@tool(toolset="garden", notes=True)
def lithos_propose_change(
    lithos: Lithos,
    call: Call,
    path: Annotated[str | None, Field(max_length=1000, description="The file; or give edits")] = None,
    section_anchor: Annotated[str | None, Field(max_length=500)] = None,
    change: Change | None = None,
    content: str | None = None,
    diff: str | None = None,
    edits: Annotated[list[Edit] | None, Field(max_length=50, description="Several, applied all or nothing")] = None,
    user_id: User = None,
) -> Proposal:
    """Preview a change: its diff and a safety report; nothing is written. proposal_id goes to lithos_apply_change;
    null: the policy blocks the change."""
    call = for_user(call, user_id)
    if (path is None) == (edits is None):
        raise InvalidInput("give either path or edits", hint="path for one file, edits for several.")
    wanted = edits or [Edit(path=path or "", section_anchor=section_anchor, change=change, content=content, diff=diff)]
    return lithos.garden.proposals.propose(call, [_request(lithos, call, each) for each in wanted])


@tool(toolset="garden", notes=True)
def lithos_apply_change(
    lithos: Lithos, call: Call, proposal_id: str, rationale: Rationale, user_id: User = None
) -> ProposalApplied:
    """Make a proposed change, all of its files or none. conflict: a file has changed since; propose again."""
    return lithos.garden.proposals.apply(call, proposal_id, user_id)


@tool(toolset="garden", notes=True, reads=True, listed=False, title="Open proposals")
def lithos_proposal_list(
    lithos: Lithos, call: Call, limit: Annotated[int, Field(strict=True, ge=1, le=100)] = 20, cursor: Cursor = None
) -> OpenProposals:
    """Proposed changes that wait for lithos_apply_change, newest first, with diffs. stale: changed since proposed."""
    return lithos.garden.proposals.list_open(call, limit=limit, cursor=cursor)


@tool(toolset="garden", listed=False, title="Refuse a proposal")
def lithos_proposal_refuse(
    lithos: Lithos, call: Call, proposal_id: Annotated[str, Field(max_length=100)], rationale: Rationale
) -> ProposalRefused:
    """Give a proposal up, so that it cannot be applied; for persons and the agent that made it."""
    return lithos.garden.proposals.refuse(call, proposal_id)


@tool(toolset="garden", notes=True)
def lithos_events_log(
    lithos: Lithos,
    call: Call,
    type: Annotated[str, Field(min_length=1, max_length=80, description="profile_update, observation, …")],
    op: Annotated[str, Field(min_length=1, max_length=80, description="replace_section, append_item, …")],
    rationale: Rationale,
    path: Annotated[str | None, Field(max_length=1000)] = None,
    section_anchor: Annotated[str | None, Field(max_length=500)] = None,
    evidence_refs: Annotated[list[str] | None, Field(max_length=100)] = None,
    before_hash: Hash = None,
    after_hash: Hash = None,
    user_id: User = None,
) -> Logged:
    """State what you did and on what evidence. Changes are logged by themselves; with the transaction_id of one, yours
    completes that event (completes: its id), and is refused when its hashes contradict it."""
    said = Statement(
        type, op, path, section_anchor, tuple(visible(evidence_refs or [], "evidence_refs")), before_hash, after_hash
    )
    return lithos.garden.statements.log(for_user(call, user_id), said)


@tool(toolset="operator", notes=True, reads=True)
def lithos_file_history(
    lithos: Lithos,
    call: Call,
    path: Path,
    root: Literal["garden", "vault"] | None = None,
    limit: Annotated[int, Field(ge=1, le=200)] = 50,
    cursor: Cursor = None,
) -> PathHistory:
    """A file's story: who changed it, when, why, with diffs."""
    return lithos.garden.history_of(path, root, limit, cursor)


@tool(toolset="operator", notes=True)
def lithos_garden_undo(lithos: Lithos, call: Call, event_id: str, rationale: Rationale = "undone") -> Undone:
    """Take one change back, all of its files or none."""
    return lithos.garden.history.undo(call, event_id)


@tool(toolset="operator", notes=True, reads=True)
def lithos_garden_check(
    lithos: Lithos,
    call: Call,
    path: Path,
    op: Literal["read", "list", "search", "write", "append", "patch", "patch_section", "delete", "move"] = "write",
    user_id: User = None,
) -> Explanation:
    """What would happen to a path under an operation, and why."""
    return lithos.garden.explain(for_user(call, user_id), path, op)


def _request(lithos: Lithos, call: Call, edit: Edit) -> EditRequest:
    change = edit.change.as_given() if edit.change is not None else None
    return EditRequest(
        lithos.garden.target(call, edit.path), edit_of(edit.section_anchor, change, edit.content, edit.diff)
    )
