"""Habits of memory: scratchpad, preferences, task continuity, mistakes."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from lithos.app import Lithos
from lithos.core.call import Call
from lithos.habits import (
    CheckpointSaved,
    Mistake,
    MistakeJudged,
    MistakeOutcome,
    MistakeReported,
    MistakesChecked,
    PreferenceLearned,
    Preferences,
    Progress,
    Response,
    Scope,
    Scratched,
    ScratchpadRead,
    StoredPreference,
    TaskDecision,
    TaskResumed,
    TaskState,
)
from lithos.tools.dispatch.schemas import Rare
from lithos.tools.registry import tool

SessionId = Annotated[str | None, Rare]
User = Annotated[str | None, Rare]
Category = Annotated[str, Field(description="code_style, ui, workflow, tools, … or a finer code_style.quotes")]
Texts = Annotated[list[str] | None, Field(max_length=100)]


@tool(toolset="habits", named=True, title="Note to self")
def lithos_scratchpad_write(
    lithos: Lithos,
    call: Call,
    key: Annotated[str, Field(description="current_task, tried_failed, …")],
    note: Annotated[str, Field(description="Empty removes it")],
    ttl_minutes: Annotated[float | None, Rare] = None,
    shared: Annotated[bool, Field(description="For all agents of the session")] = False,
    session_id: SessionId = None,
    agent: str | None = None,
) -> Scratched:
    """Keep a working note for yourself: progress, decisions, what failed. It outlives a compacted context."""
    return lithos.habits.scratchpads.write(call, key, note, ttl_minutes, session_id, shared)


@tool(toolset="habits", reads=True, named=True, title="Read own notes")
def lithos_scratchpad_read(
    lithos: Lithos,
    call: Call,
    key: Annotated[str, Field(description='A key, or "all"')] = "all",
    session_id: SessionId = None,
    agent: str | None = None,
) -> ScratchpadRead:
    """Read notes that you wrote earlier in this session."""
    return lithos.habits.scratchpads.read(call, key, session_id)


@tool(toolset="habits", reads=True, title="Get preferences")
def lithos_get_preferences(
    lithos: Lithos,
    call: Call,
    category: Annotated[str, Field(description='code_style, ui, workflow, tools, …, or "all"')] = "all",
    user_id: User = None,
    agent: str | None = None,
) -> Preferences:
    """Preferences of the user, before you choose or ask: `effective` holds; the rest says who said it and how sure."""
    return lithos.habits.preferences.get(call, category, user_id)


@tool(toolset="habits", title="Record a preference")
def lithos_set_preference(
    lithos: Lithos,
    call: Call,
    category: Category,
    preference: str,
    scope: Scope = "user",
    session_id: SessionId = None,
    user_id: User = None,
    agent: str | None = None,
) -> StoredPreference:
    """Record what the user said they prefer. From an agent it counts as observed; from the user as explicit."""
    return lithos.habits.preferences.set(call, category, preference, scope, session_id, user_id)


@tool(toolset="habits", title="Learn from feedback")
def lithos_preference_feedback(
    lithos: Lithos,
    call: Call,
    category: Category,
    suggestion: str,
    response: Response,
    user_id: User = None,
    agent: str | None = None,
) -> PreferenceLearned:
    """The user accepted or rejected your suggestion: remember it."""
    return lithos.habits.preferences.feedback(call, category, suggestion, response, user_id)


@tool(toolset="habits", named=True, title="Save progress")
def lithos_save_checkpoint(
    lithos: Lithos,
    call: Call,
    summary: Annotated[str, Field(description="What you did so far")],
    completed: Texts = None,
    next_steps: Texts = None,
    status: TaskState = "in_progress",
    context: Annotated[dict[str, Any] | None, Rare] = None,
    decisions: Annotated[list[TaskDecision] | None, Field(max_length=100)] = None,
    task_id: Annotated[str | None, Field(description="Of the board")] = None,
    session_id: SessionId = None,
    agent: str | None = None,
) -> CheckpointSaved:
    """Save where you are, before an interruption or a compacted context. Files, claims and notes are kept with it."""
    lithos.habits.files.flush()
    steps = (tuple(completed or ()), tuple(next_steps or ()))
    progress = Progress(summary, *steps, status, context, tuple(dict(each) for each in decisions or ()), task_id)
    return lithos.habits.continuity.save(call, progress, session_id)


@tool(toolset="habits", named=True, title="Resume a task")
def lithos_resume_task(
    lithos: Lithos,
    call: Call,
    task_id: Annotated[str, Field(description='Checkpoint, board task, or "latest"')] = "latest",
    session_id: SessionId = None,
    agent: str | None = None,
) -> TaskResumed:
    """Take saved work up again: steps, decisions, your notes, files that changed since and by whom, lapsed claims."""
    return lithos.habits.continuity.resume(call, task_id, session_id)


@tool(toolset="habits", reads=True, title="Check for known mistakes")
def lithos_check_mistakes(
    lithos: Lithos,
    call: Call,
    approach: Annotated[str, Field(description="What you are going to do")],
    agent: str | None = None,
) -> MistakesChecked:
    """Before you try an approach: did it go wrong before, and what to do instead."""
    return lithos.habits.mistakes.check(call, approach)


@tool(toolset="habits", title="Report a mistake")
def lithos_report_mistake(
    lithos: Lithos,
    call: Call,
    pattern: Annotated[str, Field(description="What was tried")],
    error: Annotated[str, Field(description="What went wrong")],
    fix: Annotated[str, Field(description="What to do instead")],
    context: Annotated[str | None, Field(description="When this applies")] = None,
    tags: Annotated[list[str] | None, Field(max_length=40), Rare] = None,
    session_id: SessionId = None,
    agent: str | None = None,
) -> MistakeReported:
    """Report what failed, so that no one repeats it. A known one counts up."""
    mistake = Mistake(pattern, error, fix, context or "", tuple(tags or ()))
    return lithos.habits.mistakes.report(call, mistake, session_id)


@tool(toolset="habits", listed=False, title="Judge a warning")
def lithos_mistake_outcome(
    lithos: Lithos,
    call: Call,
    id: Annotated[str, Field(description="Of the warning")],
    outcome: MistakeOutcome,
    agent: str | None = None,
) -> MistakeJudged:
    """Say what came of a warning of lithos_check_mistakes: avoided, it happened again, or the warning is wrong."""
    return lithos.habits.mistakes.judge(call, id, outcome)
