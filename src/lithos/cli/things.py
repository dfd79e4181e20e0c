"""Things that the first argument of a verb names, and the tool that lists them: for completion and mistyped ids."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from lithos.core.text import nearest
from lithos.errors import LithosError

MOST = 200
Ask = Callable[[str, Mapping[str, Any]], dict[str, Any]]


class Things(NamedTuple):
    """One kind of thing that some verbs name, and the tool that lists it."""

    noun: str
    verbs: tuple[str, ...]
    tool: str
    field: str  # of the tool's answer
    word: str
    about: str
    paged: bool = True
    as_agent: bool = False  # the tool asks who acts
    titles: bool = False  # the verbs take what `about` says as well
    parameter: str = ""  # of the verbs' functions, where the tool suggests nothing by itself


_SESSION_VERBS = ("show", "switch", "suspend", "resume", "complete", "close", "rollback", "snapshot", "summary")
_TASK_VERBS = ("show", "update", "claim", "renew", "release", "complete", "cancel", "findings", "post")
THINGS = (
    Things(
        "note",
        ("show", "edit", "move", "delete", "history", "diff", "revert"),
        "lithos_list",
        "items",
        "path",
        "title",
        titles=True,
    ),
    Things("inspect", ("chunks",), "lithos_list", "items", "path", "title", titles=True),
    Things("task", _TASK_VERBS, "lithos_task_list", "tasks", "id", "title"),
    Things(
        "session",
        _SESSION_VERBS,
        "lithos_session_list",
        "sessions",
        "id",
        "name",
        as_agent=True,
        parameter="session_id",
    ),
    Things(
        "message",
        ("show", "list", "trace", "status", "forget"),
        "lithos_inbox_list",
        "messages",
        "id",
        "source",
        parameter="message_id",
    ),
    Things("token", ("revoke",), "lithos_token_list", "tokens", "name", "scope", paged=False),
    Things("dead-letter", ("replay", "drop"), "lithos_dead_letter_list", "dead_letters", "message_id", "reason"),
    Things(
        "work",
        ("close",),
        "lithos_worktree_list",
        "worktrees",
        "worktree_id",
        "branch",
        paged=False,
        as_agent=True,
        parameter="worktree_id",
    ),
    Things("code", ("status", "rebuild", "remove"), "lithos_code_list", "roots", "name", "path", paged=False),
)


def listed(ask: Ask, agent: str | None, things: Things) -> Iterator[tuple[str, str]]:
    """Names and titles, asked of the memory; one that is not there or busy offers nothing."""
    try:
        who = (agent or "cli") if things.as_agent else None
        answer = ask(things.tool, {"limit": MOST if things.paged else None, "agent": who})
    except LithosError:
        return
    yield from ((each[things.word], str(each[things.about])) for each in answer[things.field])


def meant(ask: Ask, agent: str | None, given: Mapping[str, Any]) -> str | None:
    """The thing that a mistyped id among a verb's arguments most likely meant, with its title."""
    for things in THINGS:
        word = given.get(things.parameter)
        if isinstance(word, str):
            known = dict(listed(ask, agent, things))
            starts = [name for name in known if name.startswith(word)]
            found = starts[0] if len(starts) == 1 else nearest(word, known)
            return f"{found} ({known[found]})" if found else None
    return None
