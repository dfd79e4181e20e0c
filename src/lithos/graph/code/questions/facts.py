"""Facts: what the verifier of claims asks of the graph. One object serves one text, and remembers what it looked up."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, partial

import orjson

from lithos.errors import LithosError
from lithos.graph.code.code import Code, OpenRoot
from lithos.graph.code.questions.lookup import named, nodes, symbol_id
from lithos.graph.code.questions.walk import walk
from lithos.graph.code.schema import number
from lithos.graph.code.values import NODE_NAMES, EdgeType, Facts, NodeType
from lithos.search import Query, Where
from lithos.storage import Row, Tx

_ABOVE = (EdgeType.EXTENDS, EdgeType.IMPLEMENTS, EdgeType.EMBEDS)
_LAST = re.compile(r"[^\W\d]\w*\Z")


@dataclass(frozen=True, slots=True)
class CodeNode:
    """A symbol as the verifier sees it."""

    id: str
    name: str
    local: str
    type: str
    path: str
    line: int
    end_line: int
    signature: str = ""


@dataclass(frozen=True, slots=True)
class Bases:
    """The classes above a class: found in the graph, and names that lead out of it."""

    nodes: tuple[CodeNode, ...] = ()
    names: frozenset[str] = field(default_factory=frozenset)  # last part of every base, resolved or not
    resolved: bool = True  # every base led to a node


class GraphFacts:
    """Facts of the roots that one caller sees."""

    def __init__(self, code: Code, roots: Sequence[OpenRoot]) -> None:
        self._code = code
        self._roots = {root.spec.name: root for root in roots}
        self._file_facts = cache(self._read_facts)
        self.named = cache(self._named)
        self.imports = cache(self._imports)

    def complete(self) -> bool:
        return bool(self._roots) and not any(root.behind() for root in self._roots.values())

    def _named(self, name: str) -> tuple[CodeNode, ...]:
        found = [each for root in self._roots.values() for each in named(root, name, repeated=True)]
        return tuple(
            _node(each.root.spec.name, each.row)
            for each in found
            if each.row["type"] not in (NodeType.FILE, NodeType.PACKAGE, NodeType.IMPORT)
        )

    def places(self, text: str) -> list[str]:
        wanted = text.strip().removeprefix("./").rstrip("/")
        name, colon, inside = wanted.partition(":")
        wanted = inside if colon and name in self._roots else wanted
        found: list[str] = []
        for name, root in self._roots.items():
            found += [f"{name}:{path}" for path in _paths(root, wanted)]
        if not found and "/" not in wanted and "." in wanted:
            module = wanted.replace(".", "/")
            for name, root in self._roots.items():
                found += [f"{name}:{path}" for path in (*_paths(root, f"{module}.py"), *_paths(root, module))]
        return found

    def at(self, path: str) -> list[CodeNode]:
        root, inside = self._split(path)
        sql = (
            "SELECT n.*, f.path, f.version, f.language FROM nodes n JOIN files f ON f.number = n.file "
            "WHERE n.file = ? AND n.type NOT IN (0, 8) ORDER BY n.place"
        )
        return [_node(root.spec.name, row) for row in root.store.read(lambda tx: tx.all(sql, number(inside)))]

    def _imports(self, path: str) -> frozenset[str]:
        facts = self._file_facts(path)
        found: set[str] = set()
        for _, local, module, name, _ in facts.imports:
            found |= {local, module, module.lstrip("."), name}
            if name not in ("", ".", "*"):
                found.add(f"{module.strip('.')}.{name}".strip("."))
        return frozenset(found - {""})

    def used(self, node: CodeNode) -> frozenset[str]:
        facts = self._file_facts(_file_of(node))
        within = _scopes(facts, node.local)
        chains = [chain for scope, chain, *_ in (*facts.calls, *facts.refs) if scope in within]
        chains += [chain for symbol, chain, *_ in facts.bases if symbol in within]
        return frozenset(word for chain in chains for word in re.findall(r"[^\W\d]\w*", chain))

    def callees(self, node: CodeNode, depth: int) -> frozenset[str]:
        root, inside = self._split(node.id)
        start = [number(inside)]
        if node.type == "class":
            start += [number(self._split(each.id)[1]) for each in self.members(node)]

        def work(tx: Tx) -> frozenset[str]:
            steps, _ = walk(tx, start, (EdgeType.CALLS,), backwards=False, depth=depth, uncertain=True, most=500)
            rows = nodes(tx, [step.node for step in steps])
            return frozenset(symbol_id(root.spec.name, row) for row in rows.values())

        return root.store.read(work)

    def bases(self, node: CodeNode) -> Bases:
        root, inside = self._split(node.id)

        def work(tx: Tx) -> list[Row]:
            steps, _ = walk(tx, [number(inside)], _ABOVE, backwards=False, depth=10, uncertain=False, most=200)
            return list(nodes(tx, [step.node for step in steps]).values())

        above = [_node(root.spec.name, row) for row in root.store.read(work)]
        names: set[str] = set()
        resolved = True
        known = {each.name for each in above}
        for each in (node, *above):
            facts = self._file_facts(_file_of(each))
            within = {index for index, symbol in enumerate(facts.symbols) if symbol.local == each.local}
            for symbol, chain, *_ in facts.bases:
                if symbol in within and (last := _LAST.search(chain.rstrip("()[]"))):
                    names.add(last.group())
                    resolved = resolved and last.group() in known
        return Bases(tuple(above), frozenset(names), resolved)

    def members(self, node: CodeNode) -> list[CodeNode]:
        prefix = f"{node.local}."
        return [
            each
            for each in self.at(_file_of(node))
            if each.local.startswith(prefix) and "." not in each.local[len(prefix) :]
        ]

    def text(self, node: CodeNode) -> str:
        root, inside = self._split(node.id)
        row = root.store.read(partial(nodes, numbers=[number(inside)])).get(number(inside))
        if row is None:
            return ""
        try:
            data, version, _ = root.index.tree.read(row["path"])
        except LithosError:
            return ""
        part = data[row["start_byte"] : row["end_byte"]] if version == row["version"] else b""
        return part.decode("utf-8", "replace")

    def mentions(self, word: str, path: str | None = None) -> bool:
        pattern = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)", re.IGNORECASE)
        if path is not None:
            return self._file_mentions(path, pattern)
        if self.named(word):
            return True
        where = Where(any_of={"root": tuple(self._roots)})
        hits = self._code.projector.query(Query(word, by="words", limit=20, where=where)).hits
        paths = {hit.id.partition("#")[0] for hit in hits}
        return any(self._file_mentions(each, pattern) for each in paths) or self._import_mentions(word)

    def _file_mentions(self, path: str, pattern: re.Pattern[str]) -> bool:
        root, inside = self._split(path)
        try:
            return pattern.search(root.index.tree.read(inside)[0].decode("utf-8", "replace")) is not None
        except LithosError:
            return False

    def _import_mentions(self, word: str) -> bool:
        sql = "SELECT 1 AS one FROM nodes WHERE type = 8 AND (name = ? OR name LIKE ? || '.%') LIMIT 1"
        return any(root.store.read(lambda tx: tx.one(sql, word, word)) for root in self._roots.values())

    def _split(self, id: str) -> tuple[OpenRoot, str]:
        name, _, inside = id.partition(":")
        return self._roots[name], inside

    def _read_facts(self, path: str) -> Facts:
        root, inside = self._split(path)
        row = root.store.read(lambda tx: tx.one("SELECT facts FROM facts WHERE file = ?", number(inside)))
        return Facts.from_json(orjson.loads(row["facts"])) if row else Facts()


def _node(root: str, row: Row) -> CodeNode:
    return CodeNode(
        symbol_id(root, row),
        row["name"],
        row["local"].partition("~")[0],
        NODE_NAMES[NodeType(row["type"])],
        f"{root}:{row['path']}",
        row["line"],
        row["end_line"],
        row["signature"],
    )


def _file_of(node: CodeNode) -> str:
    return node.id.partition("#")[0]


def _paths(root: OpenRoot, wanted: str) -> list[str]:
    """Files that end with these parts, and folders, each with a slash at its end."""
    part = f"/{wanted}"
    sql = "SELECT path FROM files WHERE reason = '' AND instr('/' || path, ?) > 0"
    found: dict[str, None] = {}
    for row in root.store.read(lambda tx: tx.all(sql, part)):
        path = f"/{row['path']}"
        if path.endswith(part):
            found[path[1:]] = None
        elif (at := path.find(f"{part}/")) >= 0:
            found[path[1 : at + len(part) + 1]] = None
    return list(found)


def _scopes(facts: Facts, local: str) -> set[int]:
    """Places of a definition and of all that is nested in it."""
    found = {index for index, symbol in enumerate(facts.symbols) if symbol.local.partition("~")[0] == local}
    for index, symbol in enumerate(facts.symbols):
        if symbol.parent in found:
            found.add(index)
    return found
