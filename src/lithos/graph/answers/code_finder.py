"""Evidence from code: exact names first, then neighbours in the direction asked for, then meaning."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from lithos.core.call import Call
from lithos.errors import LithosError
from lithos.graph.answers.intents import EXPLAIN, LOCATE, PATTERN, Intent, snake_case
from lithos.graph.answers.pieces import Piece
from lithos.graph.code import (
    Code,
    CodeNode,
    GraphFacts,
    context,
    degraded,
    dependencies,
    file_states,
    folders_state,
    names_state,
    ranked,
    uses_state,
)

MOST_NAMED = 5
MOST_NEIGHBOURS = 25
SOURCE_CHARACTERS = 300
DOC_CHARACTERS = 240
_WORD = re.compile(r"[^\W\d]\w*(?:(?:\.|::)[^\W\d]\w*)*")
_STRONG = ("class", "function", "method", "interface", "enum", "type", "constant")
_TYPES = ("class", "interface", "enum", "type")


@dataclass(frozen=True, slots=True)
class Found:
    """Pieces, and the state that they rest on."""

    pieces: tuple[Piece, ...]
    states: tuple[tuple[Any, Hashable], ...] = ()  # (probe, what it said before)
    degraded: str = ""


class CodeFinder:
    domain = "code"

    def __init__(self, code: Code) -> None:
        self._code = code

    def facts(self, call: Call) -> GraphFacts:
        return GraphFacts(self._code, self._code.visible(call))

    def known(self, call: Call, query: str, subject: str) -> list[CodeNode]:
        """Symbols that the question names: as written, or its subject in the usual spellings."""
        facts = self.facts(call)
        words = _WORD.findall(query)
        written = [word for word in words if _looks_named(word)]
        exact = [word for word in words if snake_case(word) == subject]  # `Count` before `count`
        for name in dict.fromkeys((*written, *exact, *spellings(subject))):
            found = [each for each in facts.named(name.replace("::", ".")) if each.type in _STRONG]
            if found:
                return _narrowed(found, name)
        return self._capitalised(facts, words[1:])

    def _capitalised(self, facts: GraphFacts, words: Sequence[str]) -> list[CodeNode]:
        """The first word behind the beginning that is the name of a type: "when is the Client closed"."""
        for word in dict.fromkeys(each for each in words if each[:1].isupper()):
            found = [each for each in facts.named(word) if each.type in _TYPES and each.name == word]
            if found:
                return _narrowed(found, word)
        return []

    def subject_state(self, call: Call, query: str, subject: str) -> Hashable:
        """The symbols that a question names, and the versions of their files: history is joined to them."""
        nodes = self.known(call, query, subject)
        return tuple(node.id for node in nodes), _versions(self._code, [node.path for node in nodes])

    def find(self, call: Call, intent: Intent, query: str, limit: int) -> Found:
        nodes = self.known(call, query, intent.subject)
        names = [name for name in (intent.subject, *spellings(intent.subject)) if name]
        probe = partial(names_state, self._code, call, [*names, *(node.name for node in nodes)])
        states: list[tuple[Any, Hashable]] = [(probe, probe())] if intent.intent == LOCATE else []
        if nodes and intent.direction:
            neighbours = partial(uses_state, self._code, [node.id for node in nodes])
            states.append((neighbours, neighbours()))
            pieces = self._neighbours(call, nodes, intent)
        elif nodes and intent.intent == EXPLAIN:
            around = partial(uses_state, self._code, [nodes[0].id])
            states.append((around, around()))
            pieces = [*self._explained(call, nodes[0]), *(self._named(node) for node in nodes[1:3])]
        elif nodes and intent.intent == LOCATE:
            pieces = [self._named(node) for node in nodes[:MOST_NAMED]]
        else:
            pieces = self._by_meaning(call, intent, query, limit)
        pieces = self._with_files(pieces)
        states += self._states(intent, pieces)
        reason = degraded(self._code.visible(call)).get("degraded_reason", "")
        return Found(tuple(pieces), tuple(states), str(reason))

    def _states(self, intent: Intent, pieces: Sequence[Piece]) -> list[tuple[Any, Hashable]]:
        paths = [f"{piece.path}" for piece in pieces]
        probe_files = partial(_versions, self._code, paths)
        states: list[tuple[Any, Hashable]] = [
            (probe_files, tuple(sorted((piece.path, piece.version) for piece in pieces)))
        ]
        if intent.intent == PATTERN:
            folders = {path.rpartition("/")[0] if "/" in path else f"{path.partition(':')[0]}:" for path in paths}
            probe = partial(folders_state, self._code, sorted(folders))
            states.append((probe, probe()))
        return states

    def _with_files(self, pieces: Iterable[Piece]) -> list[Piece]:
        found = list(pieces)
        states = file_states(self._code, (piece.path for piece in found))
        return [
            replace(piece, version=states[piece.path].version, file_bytes=states[piece.path].size)
            for piece in found
            if piece.path in states
        ]

    def _named(self, node: CodeNode, similarity: float = 1.0) -> Piece:
        title = node.signature or f"{node.type} {node.local}"
        if "." in node.local:
            title = f"{node.local}: {title}"
        return Piece(node.id, "code", node.type, title[:400], "", similarity, node.path, node.line, node.end_line)

    def _neighbours(self, call: Call, nodes: Sequence[CodeNode], intent: Intent) -> list[Piece]:
        kinds = {"subclasses": ("extends", "implements")}.get(intent.direction, ("calls", "references"))
        backwards = intent.direction != "calls"
        found: dict[str, Piece] = {}
        for node in nodes[:MOST_NAMED]:
            for kind in kinds:
                asked = {"edge_type": kind, "depth": 1, "uncertain": False, "backwards": backwards}
                answer = dependencies(self._code, call, symbol_id=node.id, path=None, **asked)  # type: ignore[arg-type]
                for row in answer["results"][:MOST_NEIGHBOURS]:
                    found.setdefault(row["id"], _of_row(row, node, backwards))
                if found and kind == "calls" and intent.direction == "calls":
                    break
        return list(found.values())[:MOST_NEIGHBOURS] or [self._named(node) for node in nodes[:1]]

    def _explained(self, call: Call, node: CodeNode) -> list[Piece]:
        try:
            whole = context(self._code, call, node.id)
        except LithosError:
            return [self._named(node)]
        names = {
            "Calls": ", ".join(dict.fromkeys(each["name"] for each in whole["callees"][:8])),
            "Called by": ", ".join(dict.fromkeys(each["name"] for each in whole["callers"][:8])),
            "Tests": ", ".join(dict.fromkeys(each["name"] for each in whole["tests"][:2])),
        }
        lines = [f"{label}: {text}" for label, text in names.items() if text]
        doc = " ".join(whole["doc"].split())
        shown = doc if len(doc) <= DOC_CHARACTERS else f"{doc[:DOC_CHARACTERS].rpartition(' ')[0]} …"
        parts = [*([shown] if shown else []), *lines, _body(whole["source"], whole["doc"])]
        return [replace(self._named(node), text="\n".join(part for part in parts if part))]

    def _by_meaning(self, call: Call, intent: Intent, query: str, limit: int) -> list[Piece]:
        found = []
        for row, similarity in ranked(self._code, call, query, limit):
            title = row.get("signature") or f"{row['type']} {row['name']}"
            path = f"{row['root']}:{row['path']}"
            where = (path, row["start_line"], row["end_line"])
            found.append(
                Piece(row["id"], "code", row["type"], title[:400], row.get("doc", "")[:300], similarity, *where)
            )
        return found


def _body(source: str, doc: str) -> str:
    """The beginning of a definition without its head and its doc, which are shown beside it."""
    lines = source.splitlines()
    head = next((place for place, line in enumerate(lines) if line.rstrip().endswith((":", "{"))), 0)
    rest = "\n".join(lines[head + 1 :])
    first = doc.strip().partition("\n")[0][:60]
    if first and first in rest[: len(first) + 40]:
        quote = next((mark for mark in ('"""', "'''") if mark in rest[:20]), "")
        rest = rest.split(quote, 2)[-1] if quote else rest
    body = textwrap.dedent(rest.strip("\n"))
    if len(body) <= SOURCE_CHARACTERS:
        return body
    return f"{body[:SOURCE_CHARACTERS].rpartition(chr(10))[0] or body[:SOURCE_CHARACTERS]}\n…"


def _versions(code: Code, paths: Sequence[str]) -> Hashable:
    states = file_states(code, paths)
    return tuple(sorted((path, states[path].version if path in states else "") for path in paths))


def _of_row(row: dict[str, Any], node: CodeNode, backwards: bool) -> Piece:
    line = row.get("line") or row["start_line"]
    path = f"{row['root']}:{row['path']}"
    local = row["id"].partition("#")[2] or row["name"]
    title = f"{node.local} {row['edge'].replace('_', ' ')} {local}" if not backwards else f"{local} ({row['type']})"
    at = (line, line) if backwards else (row["start_line"], row["end_line"])
    return Piece(row["id"], "code", row["type"], title, "", max(0.9, row["confidence"]), path, *at)


def subject_as_written(query: str, subject: str) -> str:
    """The names of code in a question, else its subject, else the question."""
    named = [word for word in _WORD.findall(query) if _looks_named(word)]
    return " ".join(named) or subject.replace("_", " ") or query


def _looks_named(word: str) -> bool:
    return "_" in word or "." in word or "::" in word or bool(re.search(r"[a-z][A-Z]|[A-Z]{2,}[a-z]", word))


def spellings(subject: str) -> list[str]:
    """A snake_case subject as languages write names."""
    parts = [part for part in subject.split("_") if part]
    if not parts:
        return []
    camel = "".join(part[:1].upper() + part[1:] for part in parts)
    return [subject, camel, camel[:1].lower() + camel[1:], subject.upper(), f"_{subject}"]


def _narrowed(found: Sequence[CodeNode], name: str) -> list[CodeNode]:
    """Names as written first, definitions before tests, types and functions before constants."""
    order = {kind: place for place, kind in enumerate(_STRONG)}
    last = re.split(r"\.|::", name)[-1]
    return sorted(found, key=lambda each: (each.name != last, "test" in each.path.lower(), order[each.type], each.path))
