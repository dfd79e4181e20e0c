"""The derived edges in `.graph/knowledge.db`. Everything in it can be rebuilt from the owners' rows.

`edges` holds pairs of ids. `mentions` holds what a text names by a key (`rfc:7519`, `lib:httpx`), `keys` who bears it:
an edge joins the two, whichever came first.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from lithos.core.canonical import sha256_hex
from lithos.core.clock import Clock
from lithos.core.part import Part
from lithos.errors import Unavailable
from lithos.graph.knowledge.edges import Edge
from lithos.graph.model import KnowledgeEdge
from lithos.storage import (
    Database,
    Migration,
    RebuildableDatabase,
    Row,
    Tx,
    derived_folder,
    discard,
    open_database,
    truncate_log,
)

T = TypeVar("T")
ENTRY = "entry:"  # begins the key of a thought; that of a source begins with "id:"
DERIVATION = "8"  # another number makes every graph derive its edges again
_SQL = """
CREATE TABLE edges (
    source TEXT NOT NULL,
    type INTEGER NOT NULL,
    target TEXT NOT NULL,
    weight REAL NOT NULL,
    how TEXT NOT NULL,
    origin TEXT NOT NULL,  -- what it was derived from: all rows of an origin are replaced together
    PRIMARY KEY (source, type, target, origin)
) STRICT, WITHOUT ROWID;
CREATE INDEX edges_backwards ON edges (target, type);
CREATE INDEX edges_by_origin ON edges (origin);

CREATE TABLE mentions (
    node TEXT NOT NULL,
    type INTEGER NOT NULL,
    key TEXT NOT NULL,
    weight REAL NOT NULL,
    how TEXT NOT NULL,
    origin TEXT NOT NULL,
    PRIMARY KEY (node, type, key, origin)
) STRICT, WITHOUT ROWID;
CREATE INDEX mentions_by_key ON mentions (key);
CREATE INDEX mentions_by_origin ON mentions (origin);

CREATE TABLE keys (
    key TEXT NOT NULL,
    node TEXT NOT NULL,
    origin TEXT NOT NULL,
    PRIMARY KEY (key, node, origin)
) STRICT, WITHOUT ROWID;
CREATE INDEX keys_by_node ON keys (node);
CREATE INDEX keys_by_origin ON keys (origin);

CREATE TABLE commits (
    number INTEGER PRIMARY KEY,
    root TEXT NOT NULL,
    sha TEXT NOT NULL,
    place INTEGER NOT NULL,  -- children before their parents
    parents TEXT NOT NULL,
    at INTEGER NOT NULL,  -- seconds
    author TEXT NOT NULL,
    subject TEXT NOT NULL,
    body TEXT NOT NULL,
    summary_type TEXT NOT NULL,
    diffs BLOB,  -- what tracking needs of its files; NULL: it must be read again
    UNIQUE (root, sha)
) STRICT;

CREATE TABLE commit_edges (
    root TEXT NOT NULL,
    target INTEGER NOT NULL,  -- number of a file or symbol within the root
    "commit" INTEGER NOT NULL,
    type INTEGER NOT NULL,
    file INTEGER NOT NULL,  -- number of its file: the edges of a file are replaced together; 0: what is gone
    PRIMARY KEY (root, target, "commit", type)
) STRICT, WITHOUT ROWID;
CREATE INDEX commit_edges_by_commit ON commit_edges ("commit");
CREATE INDEX commit_edges_by_file ON commit_edges (root, file);

CREATE TABLE tracked (
    root TEXT NOT NULL,
    path TEXT NOT NULL,
    version TEXT NOT NULL,
    PRIMARY KEY (root, path)
) STRICT, WITHOUT ROWID;

CREATE TABLE tombstones (
    root TEXT NOT NULL,
    number INTEGER NOT NULL,
    id TEXT NOT NULL,
    type TEXT NOT NULL,
    PRIMARY KEY (root, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE projected (
    owner TEXT NOT NULL,
    item TEXT NOT NULL,
    version TEXT NOT NULL,
    PRIMARY KEY (owner, item)
) STRICT, WITHOUT ROWID;

CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
"""
FINGERPRINT = sha256_hex((DERIVATION + _SQL).encode())[:12]
MIGRATIONS = (Migration(1, "knowledge", _SQL),)
_OUT = (
    "SELECT source, type, target, weight, how FROM edges WHERE source IN ({ids}) UNION ALL "
    "SELECT m.node, m.type, k.node, m.weight, m.how FROM mentions m JOIN keys k ON k.key = m.key "
    "WHERE m.node IN ({ids}) AND k.node <> m.node"
)
_IN = (
    "SELECT source, type, target, weight, how FROM edges WHERE target IN ({ids}) UNION ALL "
    "SELECT m.node, m.type, k.node, m.weight, m.how FROM keys k JOIN mentions m ON m.key = k.key "
    "WHERE k.node IN ({ids}) AND k.node <> m.node"
)


@dataclass(frozen=True, slots=True)
class Mention:
    """`node` names the bearer of `key`: an edge of this type, once there is one."""

    node: str
    type: KnowledgeEdge
    key: str
    weight: float
    how: str


@dataclass(frozen=True, slots=True)
class Derived:
    """All that one origin contributes."""

    origin: str
    edges: Sequence[Edge] = ()
    mentions: Sequence[Mention] = ()
    keys: Sequence[tuple[str, str]] = ()  # key, node


def open_knowledge(data_dir: Path, clock: Clock) -> KnowledgeStore:
    """The store of a memory; damage, or another version of the tables, makes it start empty."""
    path = data_dir / ".graph" / "knowledge.db"

    def open_it() -> Database:
        derived_folder(path.parent)  # at the first use: a host starts on a disk that cannot be written
        database = open_database(path, MIGRATIONS, synchronous="NORMAL", clock=clock, reserve_bytes=0)
        try:
            found = database.read(lambda tx: tx.one("SELECT value FROM meta WHERE name = 'fingerprint'"))
            if found is None:
                database.write(lambda tx: tx.put("INSERT INTO meta VALUES ('fingerprint', ?)", FINGERPRINT))
        except BaseException:  # also an interrupt: an open handle would keep the file from being discarded
            database.close()
            raise
        if found is None or found["value"] == FINGERPRINT:
            return database
        database.close()
        for tail in ("", "-wal", "-shm"):
            discard(path.with_name(path.name + tail))  # derived: nothing is lost
        return open_it()

    return KnowledgeStore(path, lambda: RebuildableDatabase(path, open_it))


class KnowledgeStore(Part):
    """Opened by its first use: a command that runs once asks for no edges."""

    def __init__(self, path: Path, open_it: Callable[[], RebuildableDatabase]) -> None:
        self.path = path
        self._open_it = open_it
        self._opened: RebuildableDatabase | None = None
        self._opening = threading.Lock()
        self._closed = False

    @property
    def _database(self) -> RebuildableDatabase:
        if self._opened is None:
            with self._opening:
                if self._closed:
                    raise Unavailable("the graph is closed", hint="Call again: the host is restarting.")
                if self._opened is None:
                    self._opened = self._open_it()
        return self._opened

    @property
    def restarts(self) -> int:
        """How often damage made it start empty."""
        return 0 if self._opened is None else self._opened.restarts

    def close(self) -> None:
        with self._opening:
            self._closed = True
            if self._opened is not None:
                self._opened.close()

    def read(self, work: Callable[[Tx], T]) -> T:
        return self._database.read(work)

    def write(self, work: Callable[[Tx], T]) -> T:
        return self._database.write(work)

    def mark(self, name: str) -> str:
        row = self.read(lambda tx: tx.one("SELECT value FROM meta WHERE name = ?", name))
        return str(row["value"]) if row else ""

    def replace(self, derived: Iterable[Derived], marks: Sequence[tuple[str, str]] = ()) -> None:
        """The rows of each origin become these; and how far the owner was read."""
        batch = list(derived)

        def work(tx: Tx) -> None:
            put(tx, batch)
            tx.many("INSERT OR REPLACE INTO meta VALUES (?, ?)", marks)

        self._database.write(work)

    def projected(self, owner: str) -> dict[str, str]:
        """Item → version, of what an owner had when its edges were derived."""
        rows = self.read(lambda tx: tx.all("SELECT item, version FROM projected WHERE owner = ?", owner))
        return {row["item"]: row["version"] for row in rows}

    def project(self, owner: str, derived: Iterable[Derived], items: Mapping[str, str], gone: Sequence[str]) -> None:
        """Replace the rows of these origins, and remember the versions that they come from."""
        batch = list(derived)

        def work(tx: Tx) -> None:
            put(tx, batch)
            tx.many("DELETE FROM projected WHERE owner = ? AND item = ?", [(owner, each) for each in gone])
            tx.many("INSERT OR REPLACE INTO projected VALUES (?, ?, ?)", [(owner, *each) for each in items.items()])

        self._database.write(work)
        if gone:
            truncate_log(self._database.current)

    def mentioned(self, node: str, kind: KnowledgeEdge) -> list[Row]:
        """Keys that a node names with this type of edge."""
        sql = "SELECT key, weight, how FROM mentions WHERE node = ? AND type = ?"
        return self.read(lambda tx: tx.all(sql, node, int(kind)))

    def mentioning(self, keys: Sequence[str], kind: KnowledgeEdge) -> list[Row]:
        """Nodes that name one of these keys with this type of edge."""
        places = ", ".join("?" * len(keys))
        sql = f"SELECT node, key, weight, how FROM mentions WHERE key IN ({places}) AND type = ?"
        return self.read(lambda tx: tx.all(sql, *keys, int(kind)))

    def drop(self, origins: Iterable[str]) -> None:
        """Remove what these contributed, so that no byte of it stays in the file or its log."""
        self.replace(Derived(each) for each in origins)
        truncate_log(self._database.current)

    def out_of(self, ids: Sequence[str], types: Sequence[KnowledgeEdge] = ()) -> list[Edge]:
        """Edges that begin at one of these."""
        return self._edges(_OUT, ids, types)

    def into(self, ids: Sequence[str], types: Sequence[KnowledgeEdge] = ()) -> list[Edge]:
        """Edges that end at one of these."""
        return self._edges(_IN, ids, types)

    def _edges(self, sql: str, ids: Sequence[str], types: Sequence[KnowledgeEdge]) -> list[Edge]:
        chosen = f" WHERE type IN ({', '.join(str(int(each)) for each in types)})" if types else ""
        asked = f"SELECT * FROM ({sql.format(ids=', '.join('?' * len(ids)))}){chosen}"
        rows = self.read(lambda tx: tx.all(asked, *ids, *ids))
        found: dict[tuple[str, str, int], Edge] = {}
        for row in rows:
            edge = as_edge(row)
            found.setdefault((edge.source, edge.target, edge.type), edge)
        return list(found.values())


def put(tx: Tx, batch: Sequence[Derived]) -> None:
    origins = [(each.origin,) for each in batch]
    for table in ("edges", "mentions", "keys"):
        tx.many(f"DELETE FROM {table} WHERE origin = ?", origins)
    edges = [(e.source, int(e.type), e.target, e.weight, e.how, each.origin) for each in batch for e in each.edges]
    tx.many("INSERT OR REPLACE INTO edges VALUES (?, ?, ?, ?, ?, ?)", edges)
    named = [(m.node, int(m.type), m.key, m.weight, m.how, each.origin) for each in batch for m in each.mentions]
    tx.many("INSERT OR REPLACE INTO mentions VALUES (?, ?, ?, ?, ?, ?)", named)
    borne = [(key, node, each.origin) for each in batch for key, node in each.keys]
    tx.many("INSERT OR REPLACE INTO keys VALUES (?, ?, ?)", borne)


def as_edge(row: Row) -> Edge:
    return Edge(row["source"], row["target"], KnowledgeEdge(row["type"]), row["weight"], row["how"])
