"""`/session …` as people type it: one parser, for the Guide and every other place that takes such commands."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lithos.core.text import nearest, with_article
from lithos.errors import InvalidInput

PREFIX = "/session"
# Word → tool and the argument that the rest of the line is; "?" marks one that may be left out.
VERBS: Mapping[str, tuple[str, str]] = {
    "new": ("lithos_session_create", "name"),
    "list": ("lithos_session_list", "state?"),
    "switch": ("lithos_session_switch", "session_id"),
    "suspend": ("lithos_session_suspend", "session_id?"),
    "resume": ("lithos_session_resume", "session_id"),
    "show": ("lithos_session_get", "session_id?"),
    "complete": ("lithos_session_complete", "summary?"),
}


@dataclass(frozen=True, slots=True)
class SessionCommand:
    verb: str
    tool: str
    arguments: Mapping[str, Any]


def is_session_command(text: str) -> bool:
    words = text.split(None, 1)
    return bool(words) and words[0] == PREFIX


def parse_session_command(text: str) -> SessionCommand:
    """`/session new rate limiter` → the tool to call and its arguments. InvalidInput says what was meant."""
    if not is_session_command(text):
        raise InvalidInput("this is no /session command", hint=f"Begin with {PREFIX}.")
    words = text.split(None, 2)[1:]
    if not words:
        raise InvalidInput(f"{PREFIX} needs a verb", hint=f"Use one of: {', '.join(VERBS)}.")
    verb = words[0].lower()
    if verb not in VERBS:
        meant = nearest(verb, VERBS)
        hint = f"Did you mean {PREFIX} {meant}?" if meant else f"Use one of: {', '.join(VERBS)}."
        raise InvalidInput(f"{PREFIX} has no verb {verb[:40]!r}", hint=hint)
    tool, argument = VERBS[verb]
    rest = _unquoted(words[1].strip()) if len(words) > 1 else ""
    if not rest and not argument.endswith("?"):
        raise InvalidInput(
            f"{PREFIX} {verb} needs {_said(argument)}", hint=f"For example: {PREFIX} {verb} <{argument}>."
        )
    if argument.startswith("session_id") and len(rest.split()) > 1:
        raise InvalidInput(f"{PREFIX} {verb} takes one id, not {rest[:80]!r}", hint=f"{PREFIX} list shows the ids.")
    return SessionCommand(verb, tool, {argument.rstrip("?"): rest} if rest else {})


def _said(argument: str) -> str:
    return "the id of a session" if argument.startswith("session_id") else with_article(argument.rstrip("?"))


def _unquoted(text: str) -> str:
    """A name in quotes is the name; an apostrophe is one."""
    if text[0] not in "\"'" or text[-1] != text[0] or len(text) < 2:
        return text
    try:
        words = shlex.split(text)
    except ValueError:
        return text
    return words[0] if len(words) == 1 else text
