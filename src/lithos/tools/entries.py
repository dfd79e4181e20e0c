"""Entries of sessions: what they learned, and how it becomes everyone's."""

from __future__ import annotations

from typing import Annotated, cast

from pydantic import Field

from lithos.app import Lithos
from lithos.chronicle import EntryPage, PromotedEntries
from lithos.core.call import Call
from lithos.core.cursor import shown_before
from lithos.ledger import Filter, SessionFilter, ThoughtType, optional_time, tuple_of
from lithos.sessions import FileLocked, LockMode
from lithos.tools.arguments import MoreCursor, Time
from lithos.tools.registry import tool
from lithos.tools.sessions import Agent, Current, SessionId

Ids = Annotated[list[str] | None, Field(max_length=100)]
EntryIds = Annotated[list[str], Field(min_length=1, max_length=200, description="Entries, by id")]
Minutes = Annotated[float, Field(gt=0, description="Default 60")]


@tool(toolset="sessions", reads=True, title="Ask the sessions")
def lithos_session_query(
    lithos: Lithos,
    call: Call,
    text: Annotated[str | None, Field(description="Words or a question", max_length=10_000)] = None,
    current_only: bool = False,
    cross_session: Annotated[bool, Field(description="All sessions, promoted or not")] = False,
    session_ids: Ids = None,
    exclude_sessions: Ids = None,
    promoted_only: bool = False,
    thought_types: list[ThoughtType] | None = None,
    since: Time = None,
    until: Time = None,
    limit: Annotated[int, Field(ge=1, le=500)] = 20,
    session_id: Current = None,
    agent: Agent = None,
    cursor: MoreCursor = None,
) -> EntryPage:
    """What sessions decided and learned: entries of your session and promoted ones. cross_session: of all sessions,
    never their private context. Entries are written with mentisdb_append."""
    wanted = SessionFilter(
        current_only, cross_session, tuple_of(session_ids), tuple_of(exclude_sessions), promoted_only
    )
    times = (optional_time(since, "since"), optional_time(until, "until"))
    chosen = Filter(text, tuple(thought_types or ()), since=times[0], until=times[1])
    after, by_time = shown_before(cursor, ["entries", chosen, wanted, session_id]), not (text or "").strip()
    found = lithos.chronicle.query(call, chosen, wanted, after.depth(limit), session_id)
    page = cast(EntryPage, after.rows({**found}, "entries", limit, newest_last=by_time))
    if not by_time:
        page["total"] = len(page["entries"])
    if page["entries"] and not call.reads_only:
        ids = [each["id"] for each in page["entries"]]
        page["receipt"] = lithos.knowledge.feedback.receipt(text or "entries of sessions", ids)
    return page


@tool(toolset="sessions", listed=False, title="Promote entries")
def lithos_session_promote(
    lithos: Lithos,
    call: Call,
    ids: EntryIds,
    reason: str,
    evidence: Annotated[list[str] | None, Field(max_length=100, description="What shows that it holds")] = None,
    agent: Agent = None,
) -> PromotedEntries:
    """Make entries of sessions everyone's; for people and inspectors. Completing a session promotes its decisions,
    patterns and resolved failures by itself."""
    return lithos.promotion.promote(call, ids, reason, evidence or ())


@tool(toolset="sessions", listed=False, title="Take entries back")
def lithos_session_demote(
    lithos: Lithos, call: Call, ids: EntryIds, reason: str, agent: Agent = None
) -> PromotedEntries:
    """Give promoted entries back to their session alone; for people and inspectors."""
    return lithos.promotion.demote(call, ids, reason)


@tool(toolset="operator", title="Take a session's promotions back")
def lithos_session_rollback(
    lithos: Lithos, call: Call, session_id: SessionId, reason: str = "rolled back by the operator"
) -> PromotedEntries:
    """Take back everything that a session has promoted."""
    return lithos.promotion.rollback(call, session_id, reason)


@tool(toolset="sessions", named=True, title="Lock a file")
def lithos_file_lock(
    lithos: Lithos,
    call: Call,
    path: Annotated[str, Field(description="File or folder, from the top of the repository")],
    mode: LockMode = "write",
    session_id: Current = None,
    ttl_minutes: Minutes | None = None,
    agent: Agent = None,
) -> FileLocked:
    """Hold a file or folder before you change it: many readers or one writer, until expires_at. Again renews. success
    false: another holds it."""
    if session_id is not None:
        lithos.sessions.members_only(call, session_id)
    return lithos.file_locks.lock(call, path, mode, session_id or lithos.sessions.current(call), ttl_minutes)


@tool(toolset="sessions", named=True, title="Unlock a file")
def lithos_file_unlock(
    lithos: Lithos,
    call: Call,
    path: str,
    token: Annotated[int | None, Field(description="Of lithos_file_lock: refused if it was lost")] = None,
    agent: Agent = None,
) -> FileLocked:
    """Give back a lock that lithos_file_lock gave you."""
    return lithos.file_locks.unlock(call, path, token)
