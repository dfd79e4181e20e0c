"""Edit JSON files of people, with comments and trailing commas, and leave every other byte as it is."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

_SPACE = re.compile(r"(?:[ \t\r\n\ufeff]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_COMMENT = re.compile(r"[ \t]*(?://[^\n]*|/\*[^\n]*?\*/(?=[ \t]*\n))")
_WORD = re.compile(r"-?[A-Za-z0-9.+-]+")
DEEPEST = 200


class NotJson(ValueError):
    """The text is no JSON, not even with comments."""


@dataclass
class Node:
    """A value with its place in the text."""

    start: int
    end: int
    value: Any = None  # of anything but objects
    members: list[Member] | None = None  # of objects


@dataclass
class Member:
    name: str
    start: int  # of its name
    node: Node = field(default_factory=lambda: Node(0, 0))


def parse(text: str) -> Node:
    """The one value of the text; an empty file counts as an empty object."""
    place = _skip(text, 0)
    if place == len(text):
        return Node(place, place, members=[])
    node = _value(text, place, 0)
    if _skip(text, node.end) != len(text):
        raise NotJson(f"line {_line(text, node.end)}: more text after the end")
    return node


def plain(node: Node) -> Any:
    """The value as Python has it."""
    if node.members is not None:
        return {member.name: plain(member.node) for member in node.members}
    return [plain(each) for each in node.value] if isinstance(node.value, list) else node.value


def put(text: str, path: Sequence[str], value: Any) -> str:
    """Set the value at a path of names. Objects on the way are made; what is there already stays."""
    node = parse(text)
    if node.start == node.end:  # an empty file
        return f"{text.rstrip()}\n{{}}\n".lstrip() if not path else put(text.rstrip() + "{}\n", path, value)
    for depth, name in enumerate(path):
        if node.members is None:
            raise NotJson(f"line {_line(text, node.start)}: {'.'.join(path[:depth]) or 'the file'} holds no object")
        found = [member for member in node.members if member.name == name]
        if not found:
            for missing in reversed(path[depth + 1 :]):
                value = {missing: value}
            return _insert(text, node, name, value, depth + 1)
        node = found[-1].node  # the last of equal names counts, as for every parser
    if plain(node) == value:  # another layout is kept
        return text
    indent = _indent(text) * len(path)
    return text[: node.start] + _written(value, indent, _indent(text)) + text[node.end :]


def drop(text: str, path: Sequence[str]) -> str:
    """Remove a member, and the comma that separated it; objects that this leaves empty stay."""
    node = parse(text)
    for name in path[:-1]:
        found = [member for member in node.members or [] if member.name == name]
        if not found:
            return text
        node = found[-1].node
    members = node.members or []
    place = next((place for place, member in enumerate(members) if member.name == path[-1]), None)
    if place is None:
        return text
    return drop(_cut(text, node, place), path)  # equal names: all of them


def _cut(text: str, node: Node, place: int) -> str:
    members = node.members or []
    start, end = members[place].start, members[place].node.end
    after = _skip(text, end)
    if after < len(text) and text[after] == ",":
        end = after + 1
    elif place:  # the last one: the comma before it goes
        comma = text.rfind(",", members[place - 1].node.end, start)
        return text[:comma] + text[comma + 1 : start].rstrip(" \t\n") + text[end:]
    line = text.rfind("\n", 0, start) + 1
    if not text[line:start].strip() and text[end:].split("\n", 1)[0].strip() == "":
        newline = text.find("\n", end)
        return text[:line] + (text[newline + 1 :] if newline >= 0 else "")
    return text[:start] + text[end:].lstrip(" ")


def _insert(text: str, node: Node, name: str, value: Any, depth: int) -> str:
    step = _indent(text)
    indent = step * depth
    member = f"{json.dumps(name, ensure_ascii=False)}: {_written(value, indent, step)}"
    members = node.members or []
    if not members:
        inner = text[node.start + 1 : node.end - 1].rstrip(" \t\n")
        return f"{text[: node.start + 1]}{inner}\n{indent}{member}\n{step * (depth - 1)}}}{text[node.end :]}"
    last = members[-1].node.end
    comma = _skip(text, last)
    if text[comma] == ",":  # a trailing comma stays one
        end = _end_of_comment(text, comma + 1)
        return f"{text[:end]}\n{indent}{member},{text[end:]}"
    end = _end_of_comment(text, last)
    return f"{text[:last]},{text[last:end]}\n{indent}{member}{text[end:]}"


def _end_of_comment(text: str, place: int) -> int:
    """Past a comment on the same line, which belongs to the member before it."""
    found = _COMMENT.match(text, place)
    return found.end() if found else place


def _written(value: Any, indent: str, step: str) -> str:
    return json.dumps(value, indent=step, ensure_ascii=False).replace("\n", f"\n{indent}")


def _indent(text: str) -> str:
    """The step that the file uses: that of its first indented line."""
    found = re.search(r'^([ \t]+)"', text, re.MULTILINE)
    return found[1] if found else "  "


def _value(text: str, place: int, depth: int) -> Node:
    if depth > DEEPEST:
        raise NotJson(f"line {_line(text, place)}: nested too deeply")
    sign = text[place : place + 1]
    if sign == "{":
        return _object(text, place, depth)
    if sign == "[":
        return _array(text, place, depth)
    found = _STRING.match(text, place) or _WORD.match(text, place)
    if found is None:
        raise NotJson(f"line {_line(text, place)}: no value")
    try:
        return Node(place, found.end(), value=json.loads(found[0]))
    except ValueError:
        raise NotJson(f"line {_line(text, place)}: {found[0][:20]} is no value") from None


def _object(text: str, start: int, depth: int) -> Node:
    members: list[Member] = []
    place = _skip(text, start + 1)
    while text[place : place + 1] != "}":
        name = _STRING.match(text, place)
        if name is None:
            raise NotJson(f"line {_line(text, place)}: a name in double quotes is expected")
        colon = _skip(text, name.end())
        if text[colon : colon + 1] != ":":
            raise NotJson(f"line {_line(text, colon)}: a colon is expected")
        node = _value(text, _skip(text, colon + 1), depth + 1)
        members.append(Member(json.loads(name[0]), place, node))
        place = _next(text, node.end, "}")
    return Node(start, place + 1, members=members)


def _array(text: str, start: int, depth: int) -> Node:
    items: list[Node] = []
    place = _skip(text, start + 1)
    while text[place : place + 1] != "]":
        items.append(_value(text, place, depth + 1))
        place = _next(text, items[-1].end, "]")
    return Node(start, place + 1, value=items)


def _next(text: str, end: int, closing: str) -> int:
    place = _skip(text, end)
    if text[place : place + 1] == ",":
        return _skip(text, place + 1)
    if text[place : place + 1] != closing:
        raise NotJson(f"line {_line(text, place)}: a comma or {closing} is expected")
    return place


def _skip(text: str, place: int) -> int:
    found = _SPACE.match(text, place)
    return found.end() if found else place


def _line(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1
