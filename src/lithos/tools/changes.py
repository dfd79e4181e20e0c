"""Changes by any hand since a moment or since the agent's last visit."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from lithos.app import Lithos
from lithos.core.call import Call
from lithos.errors import Forbidden, InvalidInput
from lithos.recall import (
    BriefingAnswer,
    ChangeKind,
    ChangesAnswer,
    ChangesRequest,
    Tier,
    TitlesAnswer,
    UndoAnswer,
    UndoPreview,
    mail_line,
    parse_place,
)
from lithos.tools.dispatch.schemas import Rare
from lithos.tools.registry import tool


@tool(toolset="notes", reads=True, notes=True, agent_argument="asked_by", title="What changed")
def lithos_changes(
    lithos: Lithos,
    call: Call,
    since: Annotated[
        str, Field(description='Time, "2h", "1d", "yesterday", a cursor, or "my last visit"', max_length=2000)
    ] = "my last visit",
    kinds: Annotated[list[ChangeKind] | None, Field(description="Only these")] = None,
    path_prefix: Annotated[str | None, Field(description="Only notes below this folder", max_length=800)] = None,
    agent: Annotated[str | None, Field(description="Only changes of this agent", max_length=200)] = None,
    limit: Annotated[int, Field(ge=1, le=500)] = 50,
    cursor: Annotated[str | None, Field(description="next_cursor of the page before", max_length=5000)] = None,
    seen: Annotated[
        str | None, Field(description="A cursor up to which you have read: moves your last visit", max_length=2000)
    ] = None,
    rows: Annotated[bool, Field(description="Each line as fields too"), Rare] = False,
) -> ChangesAnswer:
    """What changed, by agents and people: notes, tasks, claims, findings, thoughts, skills; newest first, a line each.
    Pass `cursor` of the answer as `since` next time, or as `seen` to confirm it."""
    confirmed = _confirm(lithos, call, seen) if seen is not None else False
    viewer = lithos.sessions.viewer(call)
    request = ChangesRequest(since, kinds or (), path_prefix, agent, limit, cursor, call.agent, viewer, rows)
    answer = lithos.changes.answer(request)
    if cursor is None and (waiting := lithos.messages.waiting_from(call)):
        answer["inbox"] = mail_line(waiting)
    return {**answer, "confirmed": True} if confirmed else answer


def _confirm(lithos: Lithos, call: Call, seen: str) -> bool:
    parse_place(seen)
    if call.agent is None:
        raise InvalidInput("seen: no agent is named that has read it", hint="Pass asked_by with your agent name.")
    if call.reads_only:
        raise Forbidden("this connection may only read, and seen moves your last visit", hint="Leave seen out.")
    lithos.agents.confirm(call.agent, seen)
    return True


@tool(toolset="notes", reads=True, notes=True, title="Briefing")
def lithos_get_briefing(
    lithos: Lithos,
    call: Call,
    topic: Annotated[str | None, Field(description="What you are about to do", max_length=500)] = None,
    tier: Annotated[Tier, Field(description="About 150, 600 or 2,000 tokens")] = "standard",
    session_id: Annotated[
        str | None, Field(description="Of a session; left out: your current one", max_length=100)
    ] = None,
) -> BriefingAnswer:
    """Start here: your claims, ready tasks, what changed since your last visit, the notes that matter, conflicts. In a
    session: its objective, step, blockers, files, decisions, failures, and what changed outside."""
    return lithos.briefing.answer(call, topic, tier, session_id)


@tool(toolset="operator", reads=True)
def lithos_brief_titles(lithos: Lithos, call: Call) -> TitlesAnswer:
    """Titles, own claims and authors for the hooks of a client; no bodies."""
    return lithos.briefing.titles(call)


@tool(toolset="notes", notes=True, named=True, title="Undo a change")
def lithos_undo(
    lithos: Lithos,
    call: Call,
    event: Annotated[
        str | None, Field(description="Event id; left out: your last change that is not undone yet", max_length=80)
    ] = None,
    agent: Annotated[str | None, Field(description="Your agent identifier", max_length=200)] = None,
) -> UndoAnswer:
    """Take back your last change, or a named one: a note's text, section, move or deletion, a task, several files at
    once. Says what it did. conflict: it was changed since."""
    return lithos.undo.undo(call, event)


@tool(toolset="operator", reads=True)
def lithos_undo_preview(lithos: Lithos, call: Call, event: str | None = None) -> UndoPreview:
    """The change that lithos_undo would take back, and what it would do; nothing is changed."""
    return lithos.undo.preview(call, event)
