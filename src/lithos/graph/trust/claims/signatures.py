"""Signatures: names and defaults of parameters, from the text of a definition in any of our languages."""

from __future__ import annotations

import re
from dataclasses import dataclass

_RECEIVERS = frozenset({"self", "cls", "this", "&self", "&mut self", "mut self"})
_NAME = re.compile(r"(?:\.\.\.|\*\*|\*|&|mut\s+|ref\s+|public\s+|private\s+|protected\s+|readonly\s+)*([^\W\d]\w*)")


@dataclass(frozen=True, slots=True)
class Parameter:
    name: str
    default: str | None = None
    rest: bool = False  # takes any number of arguments


@dataclass(frozen=True, slots=True)
class Signature:
    parameters: tuple[Parameter, ...]
    returns: str = ""

    @property
    def is_open(self) -> bool:
        return any(each.rest for each in self.parameters)


def read_signature(text: str, name: str) -> Signature | None:
    """None: the text ends before the parameters do, or has none."""
    start = text.find("(", max(text.find(name), 0) + len(name))
    if start < 0:
        return None
    parts, end = _split(text, start)
    if parts is None:
        return None
    found = [each for part in parts if (each := _parameter(part)) is not None]
    return Signature(tuple(found), _returns(text[end:]))


def _split(text: str, start: int) -> tuple[list[str] | None, int]:
    """The arguments between the brackets that open at `start`, and where they close."""
    parts: list[str] = []
    depth, quote, begin, at = 0, "", start + 1, start
    while at < len(text):
        char = text[at]
        if quote:
            if char == "\\":
                at += 1
            elif char == quote:
                quote = ""
        elif char == "#" and "\n" in text[at:]:
            at = text.index("\n", at)
        elif char in "\"'`":
            quote = char
        elif char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
            if depth == 0:
                return [*parts, text[begin:at]], at + 1
        elif char == "," and depth == 1:
            parts.append(text[begin:at])
            begin = at + 1
        at += 1
    return None, at


def _parameter(text: str) -> Parameter | None:
    text = re.sub(r"#[^\n]*(?:\n|$)", " ", text).strip()
    if not text or text in ("*", "/") or text in _RECEIVERS or text.split(":")[0].strip() in _RECEIVERS:
        return None
    match = _NAME.match(text)
    if match is None:
        return None
    default = re.search(r"(?<![=!<>:])=(?![=>])\s*(.+)\Z", text, re.DOTALL)
    rest = text.startswith(("*", "...")) or "..." in text.partition("=")[0]
    return Parameter(match.group(1), " ".join(default.group(1).split()) if default else None, rest)


def _returns(tail: str) -> str:
    match = re.match(r"\s*(?:->|:)\s*([^{\n=]+?)\s*(?::\s*(?:\n|#|$)|[{;]|\Z|\n)", tail)
    return match.group(1).strip() if match else ""
