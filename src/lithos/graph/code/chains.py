"""Chains: an expression reduced to the names that matter, for example `self.items().first` or `[]Order`.

A chain is names with dots between; `()` after a name is a call, `[]` an element. Arguments are dropped.
As a type, `[]T` is a container of T. An empty chain says nothing.
"""

from __future__ import annotations

import re
from sys import intern

from lithos.graph.code.remembered import Remembered

_PLAIN = re.compile(r"[^\W\d][\w$]*(?:(?:\.|::|->|\?\.)[^\W\d][\w$]*)*\Z")
_NAME = re.compile(r"[^\W\d][\w$]*")
_LEADING = re.compile(r"(?:await|new|yield|not|&mut|&|\*|typeof)\s*|\(")
_CLOSING = {"(": ")", "[": "]", "{": "}", "<": ">"}
_SKIP = re.compile(r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`|[()\[\]{}]")
LONGEST = 400  # characters; longer receivers are method chains over several lines: their head is not worth the time


def chain(text: str) -> str:
    """The chain of an expression, or an empty string where it has none."""
    return _chains[text]


def _chain(text: str) -> str:
    if _PLAIN.match(text):
        return _dotted(text) if ":" in text or ">" in text or "?" in text else text
    if len(text) > LONGEST:
        return ""
    return _long_chain(text.strip())


_chains = Remembered(_chain, 8_000)


def _dotted(text: str) -> str:
    return text.replace("::", ".").replace("->", ".").replace("?.", ".")


def _long_chain(text: str) -> str:
    while lead := _LEADING.match(text):
        if lead.group() == "(":
            end = _closing(text, 0)
            if end == len(text) - 1:  # parentheses around everything
                text = text[1:end].strip()
                continue
            if end < 0:
                return ""
            inner = chain(text[1:end])  # (await x).y, (x as T).y
            return _rest(inner, text, end + 1) if inner else ""
        text = text[lead.end() :]
    first = _NAME.match(text)
    if not first:
        return ""
    return _rest(first.group(), text, first.end())


def _rest(head: str, text: str, at: int) -> str:
    parts, length = [head], len(text)
    while at < length:
        char = text[at]
        if char in " \t\r\n\\!?":
            at += 1
        elif char in "([":
            end = _closing(text, at)
            if end < 0:
                return ""
            parts.append("()" if char == "(" else "[]")
            at = end + 1
        elif char == "<" or text.startswith("::<", at):
            end = _angle(text, text.index("<", at))
            if end < 0:
                return ""
            at = end + 1
        else:
            skip = 1 if char == "." else 2 if text.startswith(("::", "->"), at) else 0
            while skip and at + skip < length and text[at + skip] in " \t\r\n\\":
                skip += 1
            name = _NAME.match(text, at + skip) if skip else None
            if not name:
                return ""
            parts.append("." + name.group())
            at = name.end()
    return "".join(parts)


def _closing(text: str, at: int) -> int:
    """Where the bracket at `at` is closed; -1: nowhere."""
    depth = 0
    for found in _SKIP.finditer(text, at):
        char = found.group()
        if char in ("(", "[", "{"):
            depth += 1
        elif char in (")", "]", "}"):
            depth -= 1
            if depth == 0:
                return found.start()
    return -1


def _angle(text: str, at: int) -> int:
    depth = 0
    for index in range(at, len(text)):
        if text[index] == "<":
            depth += 1
        elif text[index] == ">" and text[index - 1] != "-" and text[index - 1] != "=":
            depth -= 1
            if depth == 0:
                return index
        elif text[index] in ";{}":
            return -1
    return -1


def tokens(text: str) -> tuple[str, ...]:
    """`a.b().c[]` → ("a", "b", "()", "c", "[]")."""
    return _tokens[text]


_TOKEN = re.compile(r"[^\W\d][\w$]*|\(\)|\[\]")
_tokens = Remembered[str, tuple[str, ...]](lambda text: tuple(map(intern, _TOKEN.findall(text))), 20_000)
