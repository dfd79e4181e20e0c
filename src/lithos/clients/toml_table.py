"""Set or remove one table of a TOML file, and leave every other byte as it is."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Sequence
from typing import Any

_HEADER = re.compile(r"^[ \t]*\[", re.MULTILINE)


class NotToml(ValueError):
    """The text is no TOML, or has the table in a form that only a person can edit."""


def parse(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise NotToml(str(error)) from None


def put(text: str, path: Sequence[str], values: dict[str, Any]) -> str:
    """The text with `[path]` as given; the result is parsed, and nothing else may have changed."""
    before = parse(text)
    table = _written(path, values)
    place = _place(text, path)
    if place is not None:
        after = text[: place[0]] + table + text[place[1] :]
    else:
        gap = "\n" if text.strip() else ""
        after = f"{text.rstrip()}\n{gap}{table}" if text.strip() else table
    _check(before, after, path, values)
    return after


def drop(text: str, path: Sequence[str]) -> str:
    before = parse(text)
    place = _place(text, path)
    if place is None:
        if _at(before, path) is not None:
            raise NotToml(f"{'.'.join(path)} is not written as a separate table")
        return text
    after = text[: place[0]].rstrip("\n") + ("\n" if text[: place[0]].strip() else "")
    rest = text[place[1] :].lstrip("\n")
    after = f"{after}\n{rest}" if after and rest else after + rest
    _check(before, after, path, None)
    return after


def _place(text: str, path: Sequence[str]) -> tuple[int, int] | None:
    """From the table's header to the next header."""
    names = r"[ \t]*\.[ \t]*".join(rf"(?:{re.escape(name)}|\"{re.escape(name)}\")" for name in path)
    header = re.search(rf"^[ \t]*\[[ \t]*{names}[ \t]*\][^\n]*(?:\n|\Z)", text, re.MULTILINE)
    if header is None:
        return None
    following = _HEADER.search(text, header.end())
    end = following.start() if following else len(text)
    blank = len(text[header.end() : end]) - len(text[header.end() : end].rstrip("\n"))
    return header.start(), end - max(0, blank - 1)


def _written(path: Sequence[str], values: dict[str, Any]) -> str:
    lines = [f"{name} = {_value(value)}" for name, value in values.items()]
    return "\n".join([f"[{'.'.join(path)}]", *lines]) + "\n"


def _value(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    return json.dumps(value, ensure_ascii=False)  # TOML's basic strings, numbers and booleans are JSON's


def _check(before: dict[str, Any], after: str, path: Sequence[str], values: dict[str, Any] | None) -> None:
    try:
        now = tomllib.loads(after)
    except tomllib.TOMLDecodeError as error:
        raise NotToml(f"{'.'.join(path)} cannot be set by a program here: {error}") from None
    if _at(now, path) != values or _without(now, path) != _without(before, path):
        raise NotToml(f"{'.'.join(path)} is written in a form that only a person can edit")


def _at(tree: Any, path: Sequence[str]) -> Any:
    for name in path:
        tree = tree.get(name) if isinstance(tree, dict) else None
    return tree


def _without(tree: dict[str, Any], path: Sequence[str]) -> dict[str, Any]:
    """A copy without the path, and without tables that are empty then."""
    copy = dict(tree)
    if len(path) == 1:
        copy.pop(path[0], None)
    elif isinstance(copy.get(path[0]), dict):
        inner = _without(copy[path[0]], path[1:])
        copy.pop(path[0])
        if inner:
            copy[path[0]] = inner
    return copy
