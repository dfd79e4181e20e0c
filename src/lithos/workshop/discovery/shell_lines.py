"""Which tools a line of shell runs: scripts, Makefiles and CI steps are read, never run."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lithos.workshop.discovery.tables import Rules, commands

_SPLIT = re.compile(r"&&|\|\||[;|\n]")
_ASSIGNMENT = re.compile(r"^\w+=\S*$")
# Words before the tool itself.
_WRAPPERS = {
    *("npx", "bunx", "pnpx", "uvx", "yarn", "pnpm", "bun", "sudo", "time", "env", "exec", "command", "xargs", "nice"),
    *("poetry", "uv", "pipenv", "pdm", "rye", "hatch", "bundle", "pixi", "mise", "rtk", "cross-env", "dotenv"),
}
_WRAPPED = {"run", "exec", "dlx", "x", "tool"}
LONGEST_LINE = 4_000


def tools_in(text: str) -> Iterator[Rules]:
    """The tools of each command in some lines of shell."""
    for part in _SPLIT.split(text.replace("\\\n", " ")):
        rules = _tool_of(part[:LONGEST_LINE])
        if rules:
            yield rules


def _tool_of(command: str) -> Rules:
    words = command.replace('"', " ").replace("'", " ").split()
    wrapped = False
    for _ in range(len(words)):
        word = words[0].lstrip("@-+") if not wrapped else words[0]
        name = word.rpartition("/")[2]
        if name.startswith(("python", "$(PYTHON)", "${PYTHON}")) and words[1:2] == ["-m"]:
            words = words[2:]
        elif name in _WRAPPERS or (wrapped and (name in _WRAPPED or name.startswith("-"))):
            words, wrapped = words[1:], True
        elif not name or _ASSIGNMENT.match(word):
            words = words[1:]
        else:
            words[0] = name.partition("@")[0]
            break
        if not words:
            return ()
    for start, rules in commands().get(words[0], ()) if words else ():
        if tuple(words[1 : len(start)]) == start[1:]:
            return rules
    return ()
