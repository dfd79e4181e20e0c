"""`lithos completion`: scripts for bash, zsh and fish; `lithos complete` answers them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, NamedTuple

import typer

from lithos.cli.terminal import Terminal, show, verb
from lithos.errors import InvalidInput, LithosError

MOST = 200
SCRIPTS = {
    "bash": """\
_lithos_complete() {
    local IFS=$'\\n'
    COMPREPLY=($(lithos complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f1))
    for i in "${!COMPREPLY[@]}"; do COMPREPLY[$i]=$(printf '%q' "${COMPREPLY[$i]}"); done
}
complete -o default -F _lithos_complete lithos
""",
    "zsh": """\
#compdef lithos
_lithos() {
    local -a found
    local line
    for line in ${(f)"$(lithos complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)"}; do
        found+=("${${line%%$'\\t'*}//:/\\\\:}:${line#*$'\\t'}")
    done
    _describe 'lithos' found || _files
}
compdef _lithos lithos
""",
    "fish": """\
complete -c lithos -f -a '(lithos complete -- (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)'
""",
}


class Things(NamedTuple):
    """What the first argument of some verbs names, and the tool that lists it."""

    noun: str
    verbs: tuple[str, ...]
    tool: str
    field: str  # of the tool's answer
    word: str
    about: str
    paged: bool = True
    as_agent: bool = False  # the tool asks who acts
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
    ),
    Things("inspect", ("chunks",), "lithos_list", "items", "path", "title"),
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


def join(root: typer.Typer) -> None:
    root.command("completion")(completion)
    root.command("complete", hidden=True, context_settings={"ignore_unknown_options": True})(complete)


@verb
def completion(
    terminal: Terminal,
    shell: Annotated[str, typer.Argument(help="bash, zsh or fish.")],
) -> None:
    """Print a script that completes verbs, options, titles of notes, and ids of tasks, sessions and messages."""
    if shell not in SCRIPTS:
        raise InvalidInput(f"there is no completion for {shell!r}", hint=f"Known: {', '.join(SCRIPTS)}.")
    terminal.tell({"shell": shell, "script": SCRIPTS[shell]}, SCRIPTS[shell].rstrip())


@verb
def complete(
    terminal: Terminal,
    context: typer.Context,
    words: Annotated[list[str] | None, typer.Argument(help="The words so far; the last is to be completed.")] = None,
) -> None:
    """Print what may come next: one candidate a line, a tab, and what it is."""
    *before, last = words or [""]
    whole = context.find_root().command  # `cli.root` leaves it whole for this verb
    found = [(name, about) for name, about in candidates(terminal, whole, before, last) if name.startswith(last)]
    if terminal.as_json:
        show([{"word": name, "about": about} for name, about in found])
        return
    for name, about in found:
        print(f"{name}\t{about}")


def candidates(terminal: Terminal, at: Any, before: list[str], last: str) -> Iterator[tuple[str, str]]:
    path: list[str] = []
    for word in before:
        if word not in getattr(at, "commands", {}):
            break
        at = at.commands[word]
        path.append(word)
    rest = before[len(path) :]
    if hasattr(at, "commands"):
        yield from _verbs(at) if not rest else ()
    elif last.startswith("-"):
        yield from _options(at)
    elif not [word for word in rest if not word.startswith("-")]:
        yield from _things(terminal, " ".join(path))


def _verbs(group: Any) -> Iterator[tuple[str, str]]:
    for name, command in group.commands.items():
        if not command.hidden:
            yield name, command.get_short_help_str(80)


def _options(command: Any) -> Iterator[tuple[str, str]]:
    for parameter in command.params:
        for name in (*parameter.opts, *parameter.secondary_opts):
            if name.startswith("--"):
                yield name, getattr(parameter, "help", "") or ""


def _things(terminal: Terminal, path: str) -> Iterator[tuple[str, str]]:
    """Titles and ids that the first argument of this verb may name."""
    for things in THINGS:
        if path in [f"{things.noun} {each}" for each in things.verbs]:
            yield from _listed(terminal, things)


def _listed(terminal: Terminal, things: Things) -> Iterator[tuple[str, str]]:
    """Asked of the memory; one that is not there or busy offers nothing."""
    try:
        who = (terminal.settings.server.agent or "cli") if things.as_agent else None
        answer = terminal.ask(things.tool, {"limit": MOST if things.paged else None, "agent": who})
    except LithosError:
        return
    yield from ((each[things.word], str(each[things.about])) for each in answer[things.field])


def meant(terminal: Terminal, given: Mapping[str, Any]) -> str | None:
    """What a mistyped id among a verb's arguments most likely meant, with its title."""
    from lithos.core.text import nearest

    for things in THINGS:
        word = given.get(things.parameter)
        if isinstance(word, str):
            known = dict(_listed(terminal, things))
            starts = [name for name in known if name.startswith(word)]
            found = starts[0] if len(starts) == 1 else nearest(word, known)
            return f"{found} ({known[found]})" if found else None
    return None
