"""Follows the files of the roots: imports name libraries, comments of symbols name sources."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from functools import partial

from lithos.graph.code import Code, NodeType, OpenRoot, number
from lithos.graph.history.commits.log import parts
from lithos.graph.knowledge.mentions import named
from lithos.graph.knowledge.store import Derived, KnowledgeStore, Mention
from lithos.graph.model import EDGE_RULES, KnowledgeEdge
from lithos.storage import Row, Tx

BATCH = 200
_ROWS = "SELECT local, name, type, doc FROM nodes WHERE file = ? AND (type = 8 OR doc <> '')"


class CodeFollower:
    name = "code"

    def __init__(self, store: KnowledgeStore, code: Code) -> None:
        self._store = store
        self._code = code
        self._seen: dict[str, tuple[int, int]] = {}

    def follow(self, until: float) -> bool:
        return all(self._follow(root, until) for root in self._code.roots())

    def _follow(self, root: OpenRoot, until: float) -> bool:
        name, owner = root.spec.name, f"code:{root.spec.name}"
        stamp = (root.store.changes, self._store.restarts)
        if self._seen.get(name) == stamp:
            return True
        versions, before = root.store.versions(), self._store.projected(owner)
        changed = [path for path, version in versions.items() if before.get(path) != version]
        gone = [path for path in before if path not in versions]
        if gone:
            self._store.project(owner, [Derived(_origin(name, path)) for path in gone], {}, gone)
        for batch in parts(changed, BATCH):
            if time.monotonic() > until:
                return False
            derived = [_derived(name, path, self._rows(root, path)) for path in batch]
            self._store.project(owner, derived, {path: versions[path] for path in batch}, ())
        self._seen[name] = stamp
        return True

    def _rows(self, root: OpenRoot, path: str) -> list[Row]:
        return root.store.read(partial(_rows_of, path))


def _rows_of(path: str, tx: Tx) -> list[Row]:
    return tx.all(_ROWS, number(path))


def _origin(root: str, path: str) -> str:
    return f"f:{root}:{path}"


def _derived(root: str, path: str, rows: Sequence[Row]) -> Derived:
    return Derived(_origin(root, path), mentions=[*_imports(root, path, rows), *_comments(root, path, rows)])


def _imports(root: str, path: str, rows: Sequence[Row]) -> Iterator[Mention]:
    kind = KnowledgeEdge.USES_LIBRARY
    for module in {key for row in rows if row["type"] == NodeType.IMPORT for key in import_keys(row["name"])}:
        yield Mention(f"{root}:{path}", kind, f"lib:{module}", EDGE_RULES[kind].weight, f"imports {module}")


def import_keys(module: str) -> list[str]:
    """The names by which a library may be known: `a.b` → `a`; `@scope/x/y` → `@scope/x`; a relative one has none."""
    text = module.strip("\"'")
    if not text or text.startswith((".", "/")):
        return []
    if text.startswith("@"):
        return ["/".join(text.split("/")[:2])]
    return [text.split("/")[0].split(".")[0]] if "/" not in text else [text.split("/")[0], text]


def _comments(root: str, path: str, rows: Sequence[Row]) -> Iterator[Mention]:
    kind = KnowledgeEdge.IMPLEMENTS_PATTERN
    for row in rows:
        for found in named(row["doc"]) if row["type"] != NodeType.IMPORT else ():
            node = f"{root}:{path}#{row['local']}" if row["local"] else f"{root}:{path}"
            yield Mention(node, kind, found.key, EDGE_RULES[kind].weight, f"its comment names {found.key}")
