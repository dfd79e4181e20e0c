"""FileReader: what extractors of brace languages share: definitions with their comment, calls, references."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lithos.graph.code.chains import chain
from lithos.graph.code.languages.scan import (
    Lines,
    Masked,
    Names,
    Scopes,
    add_references,
    fill_words,
    in_order,
    one_line,
    plain_comment,
)
from lithos.graph.code.remembered import Remembered
from lithos.graph.code.values import NO_SCOPE, TYPES, EdgeType, Facts, Symbol

if TYPE_CHECKING:
    from tree_sitter import Node

CONSTANT = re.compile(r"_*[A-Z][A-Z0-9_]*\Z")
_LEADING_WORDS = (b"", b"export", b"export default", b"pub", b"static", b"async", b"const", b"declare", b"type", b"var")
_LAST_NAME = re.compile(r"([^\W\d][\w$]*)\s*(?:<[^<>]*>)?\s*\Z")


def _call_of(function: bytes) -> tuple[str, int]:
    """The chain of a call, and how many bytes are before its last name; an empty chain where there is no name."""
    text = function.decode("utf-8", "replace")
    last = _LAST_NAME.search(text)
    return (chain(text) or f"?.{last.group(1)}", len(text[: last.start(1)].encode())) if last else ("", 0)


_called = Remembered(_call_of, 8_000)


class FileReader:
    def __init__(self, source: bytes, lines: Lines) -> None:
        self.source = source
        self.lines = lines
        self.facts = Facts()
        self.scopes = Scopes(source, self.facts, lines)
        self.taken: set[int] = set()
        self._masked: list[Node] = []
        self._comments: dict[int, Node] = {}  # last line → comment

    def read(self, captures: dict[str, list[Node]]) -> Facts:
        comments = captures.pop("comment", [])
        self._masked = [*comments, *captures.pop("masked", [])]
        self._comments = {node.end_point[0] - (0 if node.end_point[1] else 1): node for node in comments}
        handlers = {name: getattr(self, f"on_{name}") for name in captures}
        for _, _, name, node in in_order(captures):
            handlers[name](node)
        self.finish()
        names = Names(self.source)
        add_references(self.facts, self.source, names, self.lines, Masked(self._masked), self.taken)
        fill_words(names, self.facts.symbols)
        return self.facts

    def finish(self) -> None:
        """After the last capture, before references are looked for."""

    def text(self, node: Node | None) -> str:
        return self.scopes.text(node)

    def line(self, node: Node) -> int:
        return self.lines.line(node.start_byte)

    def define(
        self,
        node: Node,
        kind: int,
        *,
        name: Node | str | None = None,
        parent: int | None = None,
        opens: bool = True,
        prefix: str = "",
    ) -> Symbol | None:
        """Add the symbol that `node` defines; None where it has no name."""
        named = name if name is not None else node.child_by_field_name("name")
        if named is None:
            return None
        text = named if isinstance(named, str) else self.text(named)
        if not text or len(text) > 200:
            return None
        if not isinstance(named, str):
            self.taken.add(named.start_byte)
        above = self.scopes.at(node.start_byte) if parent is None else parent
        symbol = self.scopes.add(node, text, kind, above, opens=opens, prefix=prefix)
        symbol.signature = self._signature(node)
        symbol.doc = self._doc(node)
        return symbol

    @property
    def newest(self) -> int:
        return len(self.facts.symbols) - 1

    def in_type(self, scope: int) -> bool:
        return scope != NO_SCOPE and self.facts.symbols[scope].type in TYPES

    def bind(self, scope: int, name: str, kind: str, value: str, line: int) -> None:
        self.facts.binds.append((scope, name, kind, value, line))

    def call(self, node: Node) -> None:
        """The function part of a call."""
        start, end = node.byte_range
        self.taken.add(start)
        value, before_name = _called[self.source[start:end]]
        if value:
            line, column = self.lines.at(start + before_name)
            self.facts.calls.append((self.scopes.at(start), value, line, column))

    def base(self, index: int, node: Node, kind: int = EdgeType.EXTENDS) -> None:
        text = chain(re.sub(r"<.*", "", self.text(node), flags=re.DOTALL).strip())
        if text:
            self.taken.add(node.start_byte)
            self.facts.bases.append((index, text, kind, self.line(node)))

    def imported(self, node: Node, local: str, module: str, name: str, scope: int | None = None) -> None:
        here = self.scopes.at(node.start_byte) if scope is None else scope
        self.facts.imports.append((here, local, module, name, self.line(node)))

    def _signature(self, node: Node) -> str:
        body = node.child_by_field_name("body")
        end = body.start_byte if body is not None else node.end_byte
        text = self.source[node.start_byte : min(end, node.start_byte + 1_000)].decode("utf-8", "replace")
        return one_line(text).rstrip("{").rstrip()

    def _doc(self, node: Node) -> str:
        """The comment that ends on the line above, with those directly above it."""
        row, column = node.start_point
        last = self._comments.get(row - 1)
        if last is None or self.source[node.start_byte - column : node.start_byte].strip() not in _LEADING_WORDS:
            return ""
        first = last
        while (above := self._comments.get(first.start_point[0] - 1)) is not None:
            if above.start_point[1] != first.start_point[1]:
                break  # the tail of a line of code
            first = above
        return plain_comment(self.source[first.start_byte : last.end_byte].decode("utf-8", "replace"))
