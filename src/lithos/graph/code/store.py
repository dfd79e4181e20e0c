"""Store: one root's graph in SQLite. Facts of a file come in, its edges are resolved, answers go out."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeVar

import orjson

from lithos.core.clock import Clock
from lithos.graph.code.published import HeldKeys, StoredKeys
from lithos.graph.code.resolving.engine import Edge
from lithos.graph.code.resolving.languages import engine_of, published
from lithos.graph.code.resolving.world import World
from lithos.graph.code.roots.tree import Stamp
from lithos.graph.code.schema import FINGERPRINT, INDEXES, MIGRATIONS, RESOLUTION, number
from lithos.graph.code.values import CALLABLE, EdgeType, Facts, NodeType
from lithos.storage import Database, RebuildableDatabase, Row, Tx, discard, open_database

T = TypeVar("T")
HOW = {name: code for code, name in enumerate(("syntax", "self", "super", "scope", "import", "local type"))}
HOW |= {"attribute type": 6, "unique name": 7, "method set": 8}
HOW_NAMES = {code: name for name, code in HOW.items()}
_CALLABLE = ", ".join(str(int(kind)) for kind in CALLABLE)
NO_GRAMMAR, PARSED, UNPARSED = 0, 1, 2
_CACHE = "PRAGMA cache_size = -32768"  # numbers are hashes: with SQLite's 2 MB each insert would read a page


@dataclass(slots=True)
class Parsed:
    """A file that was read: with facts, or with the reason why it is left out."""

    path: str
    language: str
    version: str
    stamp: Stamp
    reason: str = ""
    parsed: int = NO_GRAMMAR
    facts: Facts = field(default_factory=Facts)
    cards: dict[str, int] = field(default_factory=dict)  # local id → hash of its document


def open_store(path: Path, clock: Clock) -> Store:
    """The graph at `path`; damage, now or later, makes it start empty, and so does another version."""

    def open_it() -> Database:
        database = open_database(path, MIGRATIONS, synchronous="NORMAL", clock=clock, reserve_bytes=0)
        try:
            current = _fingerprint(database) == FINGERPRINT
        except BaseException:
            database.close()
            raise
        if current:
            database.write(_make_indexes)
            database.write(_mark_older_edges)
            return database
        database.close()
        for tail in ("", "-wal", "-shm"):
            discard(path.with_name(path.name + tail))  # derived: nothing is lost
        return open_it()

    return Store(RebuildableDatabase(path, open_it))


def _mark_older_edges(tx: Tx) -> None:
    """Edges that an earlier way of resolving made are resolved again, from the stored facts, by the next scan."""
    row = tx.one("SELECT value FROM meta WHERE name = 'resolution'")
    if row is None or row["value"] != RESOLUTION:
        tx.put("UPDATE files SET stale = 1 WHERE parsed = 1")
        tx.put("INSERT OR REPLACE INTO meta VALUES ('resolution', ?)", RESOLUTION)


def _fingerprint(database: Database) -> str:
    def work(tx: Tx) -> str | None:
        row = tx.one("SELECT value FROM meta WHERE name = 'fingerprint'")
        known = row is not None or tx.one("SELECT 1 AS one FROM files LIMIT 1") is not None
        return str(row["value"]) if row else "" if known else None

    found = database.read(work)
    if found is None:
        database.write(lambda tx: tx.put("INSERT OR REPLACE INTO meta VALUES ('fingerprint', ?)", FINGERPRINT))
    return FINGERPRINT if found is None else found


class Store:
    def __init__(self, database: RebuildableDatabase) -> None:
        self._database = database
        self.changes = 0  # counts up when files of the graph change; from 0 in each process

    def on_lost(self, tell: Callable[[], None]) -> None:
        """Call `tell` when damage made it start empty: every file must be read again."""
        self._database.lost = tell

    @property
    def restarts(self) -> int:
        """How often damage made it start empty."""
        return self._database.restarts

    def close(self) -> None:
        self._database.close()

    def read(self, work: Callable[[Tx], T]) -> T:
        """One snapshot: no answer mixes two versions of a file."""
        return self._database.read(work)

    def stamps(self) -> dict[str, tuple[Stamp, str]]:
        """Path → (stamp, version) of every file that was read."""
        sql = "SELECT path, size, mtime_ns, ctime_ns, inode, version FROM files"
        return self.read(
            lambda tx: {
                row["path"]: (Stamp(row["size"], row["mtime_ns"], row["ctime_ns"], row["inode"]), row["version"])
                for row in tx.all(sql)
            }
        )

    def stamps_beneath(self, paths: Sequence[str]) -> dict[str, tuple[Stamp, str]]:
        """The same for these files, and for all beneath these folders."""
        sql = (
            "SELECT path, size, mtime_ns, ctime_ns, inode, version FROM files "
            "WHERE path = ? OR (path >= ? || '/' AND path < ? || '0')"
        )

        def work(tx: Tx) -> dict[str, tuple[Stamp, str]]:
            return {
                row["path"]: (Stamp(row["size"], row["mtime_ns"], row["ctime_ns"], row["inode"]), row["version"])
                for path in paths
                for row in tx.all(sql, path, path, path)
            }

        return self.read(work)

    def spans(self, paths: Sequence[str] | None = None) -> dict[str, dict[str, tuple[int, int]]]:
        """Path → symbol → its first line and one past the last; of these files, or of all that are served."""
        sql = (
            "SELECT f.path, n.local, n.line, n.end_line FROM nodes n JOIN files f ON f.number = n.file "
            "WHERE n.type NOT IN (0, 1, 8)"
        )

        def work(tx: Tx) -> dict[str, dict[str, tuple[int, int]]]:
            served = tx.all("SELECT path FROM files WHERE reason = ''")
            chosen = {row["path"] for row in served} if paths is None else {row["path"] for row in served} & set(paths)
            found: dict[str, dict[str, tuple[int, int]]] = {path: {} for path in chosen}
            if paths is None:
                rows = tx.all(sql)
            else:
                rows = [row for path in sorted(chosen) for row in tx.all(f"{sql} AND n.file = ?", number(path))]
            for row in rows:
                if row["path"] in found:
                    found[row["path"]][row["local"]] = (row["line"], row["end_line"] + 1)
            return found

        return self.read(work)

    def versions(self) -> dict[str, str]:
        """Path → version of every file that is served."""
        sql = "SELECT path, version FROM files WHERE reason = ''"
        return self.read(lambda tx: {row["path"]: row["version"] for row in tx.all(sql)})

    def card_ids(self, paths: Sequence[str]) -> dict[str, int]:
        """Id → card of what search knows of these files."""
        sql = "SELECT local, card FROM nodes WHERE file = ? AND card <> 0"

        def work(tx: Tx) -> dict[str, int]:
            return {
                f"{path}#{row['local']}" if row["local"] else path: row["card"]
                for path in paths
                for row in tx.all(sql, number(path))
            }

        return self.read(work)

    def all_cards(self) -> dict[str, int]:
        sql = (
            "SELECT f.path || CASE n.local WHEN '' THEN '' ELSE '#' END || n.local AS id, n.card FROM nodes n "
            "JOIN files f ON f.number = n.file WHERE n.card <> 0"
        )
        return self.read(lambda tx: {row["id"]: row["card"] for row in tx.all(sql)})

    def touch(self, stamps: Iterable[tuple[str, Stamp]]) -> None:
        """The same bytes under another date."""
        rows = [(*stamp, path) for path, stamp in stamps]
        sql = "UPDATE files SET size = ?, mtime_ns = ?, ctime_ns = ?, inode = ? WHERE path = ?"
        if rows:
            self._database.write(lambda tx: tx.many(sql, rows))

    def apply(self, changed: Sequence[Parsed], gone: Sequence[str], *, resolve: bool) -> None:
        """Take in these files and forget those; with `resolve` their edges and all that depend on them, at once."""

        def work(tx: Tx) -> None:
            tx.put(_CACHE)
            _Change(tx, exact=resolve).run(changed, gone)
            if resolve:
                _resolve_stale(tx, World(StoredKeys(tx)), len(changed) + 10**6)

        self._database.write(work)
        self.changes += 1

    def resolve_stale(self, at_once: int) -> None:
        """Resolve all files whose edges are out of date, so many in one transaction."""
        if not self.read(lambda tx: tx.one("SELECT 1 FROM files WHERE stale = 1 LIMIT 1")):
            return
        world = self.read(lambda tx: World(HeldKeys(tx)))  # nothing that it holds changes: this is the only writer

        def work(tx: Tx) -> bool:
            tx.put(_CACHE)
            return _resolve_stale(tx, world, at_once)

        while self._database.write(work):
            pass

    @contextmanager
    def first_build(self) -> Iterator[None]:
        """Without the indexes, which are made at its end; a kill leaves them missing until the next start."""
        self._database.write(_drop_indexes)
        try:
            yield
        finally:
            self._database.write(_make_indexes)

    def clear(self) -> None:
        def work(tx: Tx) -> None:
            for table in ("files", "facts", "nodes", "edges", "published"):
                tx.put(f"DELETE FROM {table}")

        self._database.write(work)
        self.changes += 1


class _Change:
    """One transaction's changes of files: rows replaced, keys compared, those who asked for them marked stale."""

    def __init__(self, tx: Tx, exact: bool) -> None:
        """`exact`: compare what each name means before and after; else every name that was touched counts."""
        self._tx = tx
        self._exact = exact
        self._changed_keys: set[int] = set()
        self._names: dict[str, str | None] = {}  # name → the unique symbol it meant before
        self._folders: set[str] = set()
        self._published = StoredKeys(tx)
        self._nodes: list[tuple[Any, ...]] = []  # rows to write, in one go and in the order of the tree
        self._values: list[tuple[int, int, bytes]] = []

    def run(self, changed: Sequence[Parsed], gone: Sequence[str]) -> None:
        for path in gone:
            self._forget(path)
        for parsed in changed:
            self._replace(parsed)
        self._write_rows()
        for name, before in self._names.items():
            if not self._exact or self._published.unique(name) != before:
                self._changed_keys.add(number(f"n:{name}"))
        self._packages()
        self._mark_stale()

    def _forget(self, path: str) -> None:
        file = number(path)
        self._remember_names(file, ())
        self._publish(file, {})
        self._drop_rows(path, file)
        self._tx.put("DELETE FROM files WHERE number = ?", file)
        self._tx.put("DELETE FROM facts WHERE file = ?", file)
        self._folders.add(path.rpartition("/")[0])

    def _replace(self, parsed: Parsed) -> None:
        file, facts = number(parsed.path), parsed.facts
        is_new = self._tx.one("SELECT 1 FROM files WHERE number = ?", file) is None
        self._remember_names(file, (s.name for s in facts.symbols if s.type in CALLABLE), is_new)
        values = published(parsed.language, parsed.path, facts) if parsed.parsed == PARSED else {}
        self._publish(file, values, is_new)
        if not is_new:
            self._drop_rows(parsed.path, file)
        is_code = parsed.parsed == PARSED
        self._tx.put(
            "INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL)",
            *(
                file,
                parsed.path,
                parsed.language,
                parsed.version,
                *parsed.stamp,
                facts.lines,
                parsed.reason,
                parsed.parsed,
            ),
            *(facts.parse_errors, int(is_code)),
        )
        if is_code:
            self._tx.put("INSERT OR REPLACE INTO facts VALUES (?, ?)", file, _resolvable(facts))
        elif not is_new:
            self._tx.put("DELETE FROM facts WHERE file = ?", file)
        if not parsed.reason:
            self._nodes += _node_rows(parsed, file)
        self._folders.add(parsed.path.rpartition("/")[0])

    def _drop_rows(self, path: str, file: int) -> None:
        self._tx.put("DELETE FROM edges WHERE source IN (SELECT number FROM nodes WHERE file = ?)", file)
        folder = path.rpartition("/")[0]
        self._tx.put("DELETE FROM edges WHERE source = ? AND target = ?", number(f"{folder}/"), file)
        self._tx.put("DELETE FROM nodes WHERE file = ?", file)

    def _remember_names(self, file: int, new: Iterable[str], is_new: bool = False) -> None:
        sql = f"SELECT name FROM nodes WHERE file = ? AND type IN ({_CALLABLE})"
        old = [] if is_new else self._tx.all(sql, file)
        for name in {row["name"] for row in old}.union(new):
            if name not in self._names:
                self._names[name] = self._published.unique(name) if self._exact else None

    def _publish(self, file: int, values: dict[str, Any], is_new: bool = False) -> None:
        new = {number(key): orjson.dumps(value) for key, value in values.items()}
        rows = [] if is_new else self._tx.all("SELECT key, value FROM published WHERE file = ?", file)
        old = {row["key"]: bytes(row["value"]) for row in rows}
        lost = [(key, file) for key in old if key not in new]
        made = [(key, file, value) for key, value in new.items() if old.get(key) != value]
        if lost:
            self._tx.many("DELETE FROM published WHERE key = ? AND file = ?", lost)
        self._values += made
        self._changed_keys.update(key for key, _ in lost)
        self._changed_keys.update(key for key, _, _ in made)

    def _write_rows(self) -> None:
        self._nodes.sort(key=itemgetter(0))
        self._values.sort(key=itemgetter(0, 1))
        self._tx.many(f"INSERT OR REPLACE INTO nodes VALUES ({', '.join('?' * 13)})", self._nodes)
        self._tx.many("INSERT OR REPLACE INTO published VALUES (?, ?, ?)", self._values)

    def _packages(self) -> None:
        """A folder is a package while it holds code."""
        for folder in sorted(self._folders):
            package, prefix = number(f"{folder}/"), f"{folder}/" if folder else ""
            after = f"{folder}0" if folder else "\U0010ffff"  # "0" follows "/": every path beneath comes before it
            sql = (
                "SELECT number FROM files WHERE parsed = 1 AND path >= ? AND path < ?"
                " AND instr(substr(path, ?), '/') = 0 LIMIT 1"
            )
            if self._tx.one(sql, prefix, after, len(prefix) + 1):
                name = folder.rpartition("/")[2] or "/"
                self._tx.put(
                    f"INSERT OR REPLACE INTO nodes VALUES ({', '.join('?' * 13)})",
                    *(package, 0, 0, f"{folder}/", name, int(NodeType.PACKAGE), 0, 0, 0, 0, "", "", 0),
                )
            else:
                self._tx.put("DELETE FROM nodes WHERE number = ?", package)

    def _mark_stale(self) -> None:
        """Files that looked up what changed. One pass over all look-ups: 5 ms for 700,000."""
        if not self._changed_keys:
            return
        import numpy

        changed = numpy.array(sorted(self._changed_keys), dtype=numpy.int64)
        rows = self._tx.all("SELECT number, asked FROM files WHERE stale = 0 AND asked IS NOT NULL")
        stale = []
        for row in rows:
            asked = numpy.frombuffer(row["asked"], dtype=numpy.int64)
            at = numpy.searchsorted(changed, asked)
            at[at == len(changed)] = 0
            if bool((changed[at] == asked).any()):
                stale.append((row["number"],))
        self._tx.many("UPDATE files SET stale = 1 WHERE number = ?", stale)


def _resolvable(facts: Facts) -> bytes:
    """The facts without what only answers need."""
    data = facts.as_json()
    data["symbols"] = [(*row[:8], "", "", "", *row[11:]) for row in data["symbols"]]
    return orjson.dumps(data)


def _node_rows(parsed: Parsed, file: int) -> Iterable[tuple[Any, ...]]:
    path, facts = parsed.path, parsed.facts
    name = path.rpartition("/")[2]
    card = parsed.cards.get("", 0)
    yield file, file, -1, "", name, int(NodeType.FILE), 1, max(facts.lines, 1), 0, parsed.stamp.size, "", "", card
    for place, s in enumerate(facts.symbols):
        yield (
            *(
                number(f"{path}#{s.local}"),
                file,
                place,
                s.local,
                s.name,
                s.type,
                s.line,
                s.end,
                s.start_byte,
                s.end_byte,
            ),
            *(s.signature, s.doc, parsed.cards.get(s.local, 0)),
        )
    modules: dict[str, int] = {}
    for _, _, module, _, line in facts.imports:
        modules.setdefault(module, line)
    for place, (module, line) in enumerate(modules.items(), len(facts.symbols)):
        local = f"import {module}"
        yield number(f"{path}#{local}"), file, place, local, module, int(NodeType.IMPORT), line, line, 0, 0, "", "", 0


def _resolve_stale(tx: Tx, world: World, at_once: int) -> bool:
    sql = (
        "SELECT number, path, language, facts, asked FROM files LEFT JOIN facts ON file = number "
        "WHERE stale = 1 ORDER BY path LIMIT ?"  # neighbours look up the same
    )
    rows = tx.all(sql, at_once + 1)
    found: list[tuple[Any, ...]] = []
    asked: list[tuple[bytes, int]] = []
    for row in rows[:at_once]:
        _resolve_file(world, row, found, asked)
    again = [(row["number"],) for row in rows[:at_once] if row["asked"] is not None]  # resolved before
    if again:
        tx.many("DELETE FROM edges WHERE source IN (SELECT number FROM nodes WHERE file = ?)", again)
    found.sort()  # in the order of the tree
    tx.many("INSERT OR REPLACE INTO edges VALUES (?, ?, ?, ?, ?, ?)", found)
    tx.many("UPDATE files SET stale = 0, asked = ? WHERE number = ?", asked)
    return len(rows) > at_once


def _resolve_file(world: World, row: Row, found: list[tuple[Any, ...]], asked: list[tuple[bytes, int]]) -> None:
    path, file = row["path"], row["number"]
    facts = Facts.from_json(orjson.loads(row["facts"])) if row["facts"] else Facts()
    engine = engine_of(row["language"])(world, path, facts)
    edges, keys = world.record(engine.edges)
    world.forget_local()
    found += _edge_rows(path, edges, engine.confidence, world.number)
    found.append((world.number(f"{path.rpartition('/')[0]}/"), int(EdgeType.DEFINES), file, 0, 1.0, 0))
    asked.append((array("q", sorted(keys)).tobytes(), file))


def _edge_rows(
    path: str, edges: list[Edge], confidence: Mapping[str, float], number: Callable[[str], int]
) -> Iterable[tuple[Any, ...]]:
    """One row per pair and type: the surest finding at its first line."""
    best: dict[tuple[str, int, str], Edge] = {}
    for edge in edges:
        key = (edge.source, edge.type, edge.target)
        known = best.get(key)
        if known is None or confidence[edge.how] > confidence[known.how]:
            best[key] = edge
    sources = {source: number(f"{path}#{source}" if source else path) for source, _, _ in best}
    for (source, kind, target), edge in best.items():
        yield sources[source], int(kind), number(target), HOW[edge.how], confidence[edge.how], edge.line


def _drop_indexes(tx: Tx) -> None:
    for name in INDEXES:
        tx.put(f"DROP INDEX IF EXISTS {name}")


def _make_indexes(tx: Tx) -> None:
    for name, columns in INDEXES.items():
        tx.put(f"CREATE INDEX IF NOT EXISTS {name} ON {columns}")
