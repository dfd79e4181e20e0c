"""Glob patterns: `*` and `?` within a name, `**` across folders, `[a-z]`, `{a,b}`. They run in linear time (re2)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import re2

from lithos.errors import InvalidInput

_HINT = 'Use a glob such as "*.go", "src/**/*.ts" or "**/test_*.py".'
_MOST = 500


@lru_cache(maxsize=256)
def compiled(pattern: str) -> Any:
    """A matcher with `.fullmatch(path)`. Without a slash the pattern is about the file's name."""
    if not pattern or len(pattern) > _MOST or "\0" in pattern:
        raise InvalidInput(f"a pattern has 1 to {_MOST} characters", hint=_HINT)
    anchored = pattern.lstrip("/") if pattern.startswith("/") else pattern
    anchored = anchored.removeprefix("./")
    text = _translate(anchored, pattern)
    if "/" not in pattern:
        text = f"(?:.*/)?{text}"
    try:
        return re2.compile(f"(?s:{text})")
    except re2.error as error:
        raise InvalidInput(f"{pattern!r} is not a glob: {error}", hint=_HINT) from None


def matches(pattern: str, path: str) -> bool:
    return compiled(pattern).fullmatch(path) is not None


def _translate(glob: str, shown: str) -> str:
    parts: list[str] = []
    at, braces = 0, 0
    while at < len(glob):
        char = glob[at]
        if glob.startswith("**/", at) and (at == 0 or glob[at - 1] == "/"):
            parts.append("(?:.*/)?")
            at += 3
            continue
        if glob.startswith("**", at):
            parts.append(".*")
            at += 2
            continue
        if char == "[":
            end = glob.find("]", at + 2)
            if end < 0:
                raise InvalidInput(f"{shown!r} is not a glob: [ is not closed", hint=_HINT)
            inner = glob[at + 1 : end].replace("\\", "\\\\").replace("[", "\\[")
            parts.append(f"[{'^' + inner[1:] if inner[0] == '!' else inner}]")
            at = end
        elif char == "{":
            braces += 1
            parts.append("(?:")
        elif char == "}" and braces:
            braces -= 1
            parts.append(")")
        elif char == "," and braces:
            parts.append("|")
        elif char == "\\" and at + 1 < len(glob):
            at += 1
            parts.append(re2.escape(glob[at]))
        else:
            parts.append({"*": "[^/]*", "?": "[^/]"}.get(char) or re2.escape(char))
        at += 1
    if braces:
        raise InvalidInput(f"{shown!r} is not a glob: {{ is not closed", hint=_HINT)
    return "".join(parts)


@lru_cache(maxsize=4096)
def compiled_ignore(pattern: str) -> Any:
    """As `.gitignore` reads it: no braces; a slash at the start or in the middle ties it to the folder of the file."""
    tied = "/" in pattern.rstrip("/")
    text = _translate_ignore(pattern.lstrip("/") if tied else pattern, pattern)
    return re2.compile(f"(?s:{text if tied else '(?:.*/)?' + text})")


def any_of(matchers: Sequence[Any]) -> Any | None:
    """One matcher for what any of these matches: a file takes one pass, not one for each pattern. None: too large."""
    try:
        return re2.compile("|".join(f"(?:{each.pattern})" for each in matchers))
    except re2.error:
        return None


def _translate_ignore(glob: str, shown: str) -> str:
    plain = re2.sub(r"([{},])", r"\\\1", glob)
    if plain.endswith("/**"):
        return _translate(plain[:-3], shown) + "/.+"
    return _translate(_single_stars(plain), shown)


def _single_stars(glob: str) -> str:
    """`**` means folders only as a whole name; elsewhere it is one `*`."""
    return "/".join(part if part == "**" else re2.sub(r"\*\*+", "*", part) for part in glob.split("/"))
