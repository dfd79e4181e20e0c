"""JSON as people keep it: comments, trailing commas. Merge markers and other damage are named, never guessed around."""

from __future__ import annotations

import re
from typing import Any

import orjson

# What has no end is taken to the end of the text: looked for again from each mark inside of it, it would take hours.
_TOKEN = re.compile(r'"(?:\\.|[^"\\])*+"?|//[^\n]*|/\*(?:.*?\*/|.*)', re.DOTALL)
_TRAILING = re.compile(r'("(?:\\.|[^"\\])*+"?)|,(\s*[}\]])', re.DOTALL)
_MARKERS = re.compile(rb"^(<{7} |>{7} )", re.MULTILINE)


class Unreadable(ValueError):
    """The text is no JSON; the message says why, in a few words."""


def read_json(data: bytes) -> Any:
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        pass
    if _MARKERS.search(data):
        raise Unreadable("it has merge conflict markers")
    text = data.decode("utf-8-sig", "replace")
    plain = _TOKEN.sub(_without_comment, text)
    plain = _TRAILING.sub(lambda found: found[1] or found[2], plain)
    try:
        return orjson.loads(plain)
    except orjson.JSONDecodeError as error:
        raise Unreadable(f"it is no JSON: {error}") from None


def _without_comment(found: re.Match[str]) -> str:
    if found[0].startswith("/*") and (len(found[0]) < 4 or not found[0].endswith("*/")):
        raise Unreadable("a comment has no end")
    return found[0] if found[0][0] == '"' else " "
