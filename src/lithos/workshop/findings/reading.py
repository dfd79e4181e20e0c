"""Reading what tools print: JSON in lines, several JSON values in a row, lines of `file:line:column: message`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

import orjson

_POSITION = re.compile(r"^(?P<file>[^\s:][^:\n]*):(?P<line>\d+)(?::(?P<column>\d+))?:?\s+(?P<message>.+)$")
_raw_decode = json.JSONDecoder().raw_decode
MOST_STARTS = 200  # places where a value may begin that turn out to be none
MOST_CONTEXT = 50  # lines of a hunk before its first change


class Unparsed(ValueError):
    """The output is not in the form that was asked for."""


def text_of(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _decode(text: str, at: int) -> tuple[Any, int]:
    try:
        return _raw_decode(text, at)
    except RecursionError:
        raise Unparsed("its JSON is nested too deep") from None


def json_lines(data: bytes) -> Iterator[dict[str, Any]]:
    """The objects among the lines; a cut line and other text are left out."""
    for line in data.splitlines():
        if line.startswith(b"{"):
            try:
                value = orjson.loads(line)
            except orjson.JSONDecodeError:
                continue
            if isinstance(value, dict):
                yield value


def json_value(data: bytes) -> Any:
    """The one JSON value of an output, with other text before or behind it."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        pass
    text = text_of(data)
    for found in islice(re.finditer(r"^[ \t]*[\[{]", text, re.MULTILINE), MOST_STARTS):
        try:
            value, _ = _decode(text, found.end() - 1)
        except ValueError:
            continue
        return value
    raise Unparsed("it printed no JSON")


def json_values(data: bytes) -> Iterator[Any]:
    """Every JSON object that begins a line, one after another."""
    text = text_of(data)
    at = failed = 0
    while (at := text.find("{", at)) >= 0 and failed < MOST_STARTS:
        if at and text[at - 1] != "\n":
            at += 1
            continue
        try:
            value, at = _decode(text, at)
        except ValueError:
            at, failed = at + 1, failed + 1
            continue
        yield value


def array_items(data: bytes) -> Iterator[Any]:
    """The items of one array. Of an output that was cut, those before the cut."""
    try:
        whole = json_value(data)
    except Unparsed:
        yield from _items_before_the_cut(text_of(data))
        return
    if not isinstance(whole, list):
        raise Unparsed("it printed no list")
    yield from whole


def _items_before_the_cut(text: str) -> Iterator[Any]:
    at = text.find("[") + 1
    if not at:
        raise Unparsed("it printed no JSON")
    while at < len(text):
        while at < len(text) and text[at] in " \n\r\t,":
            at += 1
        try:
            value, at = _decode(text, at)
        except ValueError:
            return
        yield value


def positions(text: str) -> Iterator[re.Match[str]]:
    """Lines of the form `file:line:column: message`."""
    for line in text.splitlines():
        found = _POSITION.match(line)
        if found is not None:
            yield found


def diff_starts(lines: list[str], hunk: int) -> int:
    """How many lines of the hunk, whose head is line `hunk`, come before its first change."""
    for count, line in enumerate(lines[hunk + 1 : hunk + 1 + MOST_CONTEXT]):
        if line.startswith(("-", "+")):
            return count
    return 0
