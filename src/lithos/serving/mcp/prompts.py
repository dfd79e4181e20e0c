"""Prompts: what a person starts a conversation with; each leads the model to the tools."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Container, Mapping
from dataclasses import dataclass
from typing import Any

import mcp_types as types
from mcp.shared.exceptions import MCPError

from lithos.core.text import nearest
from lithos.tools.answers.mentions import followable
from lithos.tools.registry import Answer

Ask = Callable[[str, dict[str, Any]], Awaitable[Answer]]  # a tool's answer for the caller of this request
LONGEST_ARGUMENT = 4_000


@dataclass(frozen=True, slots=True)
class PromptText:
    description: str
    arguments: Mapping[str, str]  # name → what it is; none is required
    text: str
    writes: bool = False


PROMPTS = {
    "briefing": PromptText(
        "Where things are: claims, tasks, changes, notes", {"topic": "What you are about to do"}, ""
    ),
    "remember": PromptText(
        "Save something for the team",
        {"what": "What to remember"},
        "Save this in the shared memory: {what}\n\nFirst ask lithos_recall whether a note says it already; update that "
        "one, or write a new one with lithos_write: one subject, a plain title, tags, [[links]] to related notes.",
        writes=True,
    ),
    "recall": PromptText(
        "Ask the shared memory",
        {"question": "What you want to know"},
        "Answer from the shared memory: {question}\n\nAsk lithos_recall, read what it finds with lithos_read where a "
        "passage is not enough, and name the notes that you built on. If nothing is relevant, say so.",
    ),
    "handoff": PromptText(
        "Hand work over to another agent",
        {"task": "Id or title of the task"},
        "Hand over the task {task}.\n\nPost a finding (lithos_finding_post) that says what is done, what is left and "
        "where it is; save what outlives the task as a note (lithos_write); then give your claim back "
        "(lithos_task_release).",
        writes=True,
    ),
    "standup": PromptText(
        "What happened, what is next, what is in the way",
        {"since": "A time, 1d or yesterday"},
        "Give a short standup.\n\nAsk lithos_changes with since={since} for what happened, lithos_task_status for who "
        "works on what, lithos_task_ready for what is next. Name blocked tasks and claims that end soon.",
    ),
}
DEFAULTS = {"since": "yesterday", "what": "(ask the person what)", "question": "(ask the person)", "task": "you hold"}


def listed(*, read_only: bool = False) -> types.ListPromptsResult:
    shown = [
        types.Prompt(
            name=name,
            title=name.capitalize(),
            description=each.description,
            arguments=[types.PromptArgument(name=key, description=text) for key, text in each.arguments.items()],
        )
        for name, each in PROMPTS.items()
        if not (read_only and each.writes)
    ]
    return types.ListPromptsResult(prompts=shown)


async def rendered(name: str, arguments: Mapping[str, str], ask: Ask, tools: Container[str]) -> types.GetPromptResult:
    """The prompt for a connection that lists these tools."""
    prompt = PROMPTS.get(name)
    if prompt is None:
        meant = nearest(name, PROMPTS)
        hint = f"did you mean {meant!r}?" if meant else f"there are: {', '.join(PROMPTS)}"
        raise MCPError(types.INVALID_PARAMS, f"there is no prompt {name[:80]!r}; {hint}")
    for key, value in arguments.items():
        if key not in prompt.arguments:
            raise MCPError(types.INVALID_PARAMS, f"prompt {name}: unknown argument {key[:80]!r}")
        if len(value) > LONGEST_ARGUMENT:
            raise MCPError(types.INVALID_PARAMS, f"prompt {name}: {key} has more than {LONGEST_ARGUMENT} characters")
    if name == "briefing":
        text = (await ask("lithos_get_briefing", {key: value for key, value in arguments.items() if value}))["briefing"]
    else:
        given = {key: arguments.get(key) or DEFAULTS[key] for key in prompt.arguments}
        text = followable(prompt.text, tools).format(**given)
    content = types.TextContent(type="text", text=text)
    return types.GetPromptResult(
        description=prompt.description, messages=[types.PromptMessage(role="user", content=content)]
    )
