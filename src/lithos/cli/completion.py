"""`lithos completion`: scripts for bash, zsh and fish; `lithos complete` answers them."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import suppress
from typing import Annotated, Any

import typer

from lithos.cli.overview import GROUPS
from lithos.cli.terminal import Terminal, show, verb
from lithos.cli.things import THINGS, listed
from lithos.errors import InvalidInput

SCRIPTS = {
    "bash": """\
_lithos_complete() {
    local IFS=$'\\n' line=${COMP_LINE:0:COMP_POINT} word i
    local -a words=()
    for ((i = 0; i <= COMP_CWORD; i++)); do  # bash cuts words at : and = too: join what no space separates
        word=${COMP_WORDS[i]}
        if [[ $i -eq 0 || $line == [[:space:]]* ]]; then
            words+=("$word")
        else
            words[${#words[@]}-1]+=$word
        fi
        line=${line#"${line%%[![:space:]]*}"}
        line=${line#"$word"}
    done
    word=${words[${#words[@]}-1]}
    COMPREPLY=($(lithos complete -- "${words[@]:1}" 2>/dev/null | cut -f1))
    [[ $word == [\\"\\']* ]] && return
    word=${word//[!:=]/}
    for i in "${!COMPREPLY[@]}"; do
        COMPREPLY[i]=$(printf '%q' "${COMPREPLY[i]}")
        for ((line = 0; line < ${#word}; line++)); do COMPREPLY[i]=${COMPREPLY[i]#*[:=]}; done
    done
}
complete -o default -F _lithos_complete lithos lithos-memory
""",
    "zsh": """\
#compdef lithos lithos-memory
_lithos() {
    local -a found
    local line
    for line in ${(f)"$(lithos complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)"}; do
        found+=("${${line%%$'\\t'*}//:/\\\\:}:${line#*$'\\t'}")
    done
    _describe 'lithos' found || _files
}
compdef _lithos lithos lithos-memory
""",
    "fish": """\
complete -c lithos -f -a '(lithos complete -- (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)'
""",
}


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
    *before, last = map(unquoted, words or [""])
    root = context.find_root().command  # `cli.root` gives it the verb to complete, and this one
    found = [each for each in candidates(terminal, root, before, last) if each[0].startswith(last)]
    if terminal.as_json:
        show([{"word": name, "about": about} for name, about in found])
        return
    for name, about in found:
        print(f"{name}\t{about}")


def unquoted(word: str) -> str:
    """The word that a verb would get: shells pass it on as typed, with backslashes and a quote that is still open."""
    for closing in ("", "'", '"'):
        with suppress(ValueError):
            return "".join(shlex.split(word + closing)[:1])
    return word


def candidates(terminal: Terminal, at: Any, before: list[str], last: str) -> Iterator[tuple[str, str]]:
    if not before:
        yield from ((name, about) for _, verbs in GROUPS for name, _, about in verbs)
        return
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
        yield from _things(terminal, " ".join(path), last)


def _verbs(group: Any) -> Iterator[tuple[str, str]]:
    for name, command in group.commands.items():
        if not command.hidden:
            yield name, command.get_short_help_str(80)


def _options(command: Any) -> Iterator[tuple[str, str]]:
    for parameter in command.params:
        for name in (*parameter.opts, *parameter.secondary_opts):
            if name.startswith("--"):
                yield name, getattr(parameter, "help", "") or ""


def _things(terminal: Terminal, path: str, last: str) -> Iterator[tuple[str, str]]:
    """Titles and ids that the first argument of this verb may name."""
    for things in THINGS:
        if path in [f"{things.noun} {each}" for each in things.verbs]:
            for name, about in listed(terminal.ask, terminal.settings.server.agent, things):
                by_title = things.titles and last and not name.startswith(last)
                yield (about, name) if by_title else (name, about)
