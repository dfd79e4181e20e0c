"""Shared by all extractors: captures in order, a stack of scopes, names made unique, comments, card words."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from itertools import accumulate, chain
from operator import itemgetter
from typing import TYPE_CHECKING

from lithos.graph.code.remembered import Remembered
from lithos.graph.code.values import NO_SCOPE, Facts, NodeType, Symbol

if TYPE_CHECKING:
    from tree_sitter import Node

MOST_SIGNATURE = 300
MOST_DOC = 600
MOST_WORDS = 500  # characters of a card's identifier words; more did not find more (issue 19)
_MOST_NAMES = 2_000  # of a body, from its top, that are looked at for its words
_WINDOW = 150  # of them that are looked at together; most bodies have enough words in their first lines
_IDENTIFIER = re.compile(rb"([A-Za-z_\x80-\xff][A-Za-z0-9_\x80-\xff]*)")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_A-Za-z]+|\d+")
_SPACE = re.compile(r"\s+")
_COMMENT_MARKS = re.compile(r"^\s*(?:///?!?|/\*\*?!?|\*/|\*|#!?|--)\s?|\s*\*/\s*$", re.MULTILINE)


_PLACE = itemgetter(0, 1, 2)


def in_order(captures: dict[str, list[Node]]) -> list[tuple[int, int, str, Node]]:
    """(start, -end, capture name, node) from the top of the file to its end, the outer before the inner."""
    found = [(node.start_byte, -node.end_byte, name, node) for name, nodes in captures.items() for node in nodes]
    found.sort(key=_PLACE)
    return found


class Scopes:
    """The symbols of a file while it is read from top to bottom."""

    def __init__(self, source: bytes, facts: Facts, lines: Lines) -> None:
        self.source = source
        self.facts = facts
        self._lines = lines
        self._open: list[int] = []  # indexes of symbols that enclose the place we are at
        self._seen: dict[str, int] = {}

    def at(self, byte: int) -> int:
        """The innermost symbol that encloses this byte."""
        symbols = self.facts.symbols
        while self._open and symbols[self._open[-1]].end_byte <= byte:
            self._open.pop()
        return self._open[-1] if self._open else NO_SCOPE

    def add(self, node: Node, name: str, kind: int, parent: int, *, opens: bool = True, prefix: str = "") -> Symbol:
        symbols = self.facts.symbols
        outer = prefix or (symbols[parent].local if parent != NO_SCOPE else "")
        local = f"{outer}.{name}" if outer else name
        number = self._seen[local] = self._seen.get(local, 0) + 1
        start, end = node.byte_range
        line, (end_line, end_column) = self._lines.line(start), self._lines.at(end)
        end_line = max(end_line if end_column else end_line - 1, line)
        unique = local if number == 1 else f"{local}~{number}"
        symbol = Symbol(name, kind, parent, line, end_line, start, end, unique)
        symbols.append(symbol)
        if opens:
            self._open.append(len(symbols) - 1)
        return symbol

    def text(self, node: Node | None) -> str:
        return "" if node is None else self.source[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def bind(self, scope: int, name: str, kind: str, value: str, line: int) -> None:
        self.facts.binds.append((scope, name, kind, value, line))


def one_line(text: str, most: int = MOST_SIGNATURE) -> str:
    return _SPACE.sub(" ", text).strip()[:most]


def plain_comment(text: str) -> str:
    """A comment without its marks."""
    return one_line(_COMMENT_MARKS.sub("", text), MOST_DOC)


def words_of(name: str) -> list[str]:
    """`getHTTPServer_v2` → get, HTTP, Server, v, 2."""
    return _WORD.findall(name)


class Names:
    """Every identifier of a file with its place, found in one pass without an object for each."""

    def __init__(self, source: bytes) -> None:
        pieces = _IDENTIFIER.split(source)  # what is between two names, a name, and so on
        places = list(accumulate(map(len, pieces)))
        self.names: list[bytes] = pieces[1::2]
        self.starts: list[int] = places[:-1:2]

    def within(self, start: int, end: int) -> tuple[int, int]:
        """The first one in this range of bytes, and one past the last."""
        first = bisect_left(self.starts, start)
        return first, bisect_left(self.starts, end, first)


def fill_words(names: Names, symbols: Iterable[Symbol]) -> None:
    """The distinct identifier words of each body, in order of appearance, up to `MOST_WORDS` characters."""
    for symbol in symbols:
        symbol.words = _words(names, symbol.start_byte, symbol.end_byte)


def _split(name: bytes) -> tuple[str, ...]:
    return tuple(w.lower() for w in _WORD.findall(name.decode("utf-8", "ignore")) if len(w) > 1)


_split_names = Remembered(_split, 50_000)


def _words(names: Names, start: int, end: int) -> str:
    words: dict[str, None] = {}
    first, last = names.within(start, end)
    for at in range(first, min(last, first + _MOST_NAMES), _WINDOW):
        window = dict.fromkeys(names.names[at : min(at + _WINDOW, last)])
        words |= dict.fromkeys(chain.from_iterable(map(_split_names.__getitem__, window)))
        if sum(map(len, words)) + len(words) >= MOST_WORDS:
            break
    return " ".join(words)[:MOST_WORDS].rstrip()


class Masked:
    """Byte ranges of strings and comments."""

    def __init__(self, nodes: Iterable[Node]) -> None:
        self._ranges = sorted([node.byte_range for node in nodes])

    def without(self, places: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
        """Those of these ranges, in rising order, that begin in none of ours."""
        ranges = iter([*self._ranges, _AFTER_ALL])
        start, end = next(ranges)
        for place in places:
            while end <= place[0]:
                start, end = next(ranges)
            if place[0] < start:
                yield place


_AFTER_ALL = (1 << 62, 1 << 62)
_BEFORE = frozenset(b".$")
_ATTRIBUTES = re.compile(rb"(?:\s*(?:\.|::)\s*[A-Za-z_\x80-\xff][\w$\x80-\xff]*)+")
_dotted = Remembered[bytes, str](
    lambda text: "".join(text.decode("utf-8", "replace").split()).replace("::", "."), 8_000
)


def references(
    source: bytes, names: Names, asked: set[str], masked: Masked, taken: set[int]
) -> Iterator[tuple[int, str]]:
    """(byte, dotted name) wherever one of these names is used outside strings, comments and `taken` places."""
    wanted = {name.encode() for name in asked if name and name != "_"}
    found = zip(names.starts, names.names, strict=True)
    places = [
        (start, start + len(name))
        for start, name in found
        if name in wanted and start not in taken and (not start or source[start - 1] not in _BEFORE)
    ]
    for start, end in masked.without(places):
        more = _ATTRIBUTES.match(source, end)
        yield start, _dotted[source[start : more.end() if more else end]]


class Lines:
    """Byte offset → (line from 1, column in bytes from 0)."""

    def __init__(self, source: bytes) -> None:
        self._starts = [0, *(match.end() for match in re.finditer(rb"\n", source))]

    def line(self, byte: int) -> int:
        return bisect_right(self._starts, byte)

    def at(self, byte: int) -> tuple[int, int]:
        line = bisect_right(self._starts, byte)
        return line, byte - self._starts[line - 1]

    def __len__(self) -> int:
        return len(self._starts)


def add_references(facts: Facts, source: bytes, names: Names, lines: Lines, masked: Masked, taken: set[int]) -> None:
    """Every other mention of an imported or top-level name, under the innermost symbol around it."""
    asked = {local for _, local, *_ in facts.imports} | {s.name for s in facts.symbols if s.parent == NO_SCOPE}
    asked.discard("*")
    imports = {line for *_, line in facts.imports}
    values = (NodeType.VARIABLE, NodeType.CONSTANT)
    spans = sorted((s.start_byte, -s.end_byte, i) for i, s in enumerate(facts.symbols) if s.type not in values)
    scope_at = ScopeAt([(start, -end, index) for start, end, index in spans])
    for byte, name in references(source, names, asked, masked, taken):
        line, column = lines.at(byte)
        if line not in imports:
            facts.refs.append((scope_at(byte), name, line, column))


class ScopeAt:
    """The innermost symbol at a byte, for questions in rising order."""

    def __init__(self, spans: list[tuple[int, int, int]]) -> None:
        self._spans = spans
        self._next = 0
        self._open: list[tuple[int, int]] = []

    def __call__(self, byte: int) -> int:
        while self._next < len(self._spans) and self._spans[self._next][0] <= byte:
            start, end, index = self._spans[self._next]
            while self._open and self._open[-1][0] <= start:
                self._open.pop()
            self._open.append((end, index))
            self._next += 1
        while self._open and self._open[-1][0] <= byte:
            self._open.pop()
        return self._open[-1][1] if self._open else NO_SCOPE
