"""Commits and the code that each touched, in `.graph/knowledge.db`; rows of numbers, because there are many."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from lithos.graph.code import OpenRoot, nodes, number
from lithos.graph.code.questions.lookup import symbol_id
from lithos.graph.history.commits import Commit, FileDiff, Touch, described
from lithos.graph.history.commits.ranges import Hunk
from lithos.graph.knowledge.edges import Edge
from lithos.graph.knowledge.store import KnowledgeStore
from lithos.graph.model import EDGE_RULES, KnowledgeEdge
from lithos.storage import Row, Tx

GONE = 0  # the file of edges to code that is gone
HOW = "commit"
_SHOWN = "c.number, c.root, c.sha, c.at, c.author, c.subject, c.body, c.summary_type"  # diffs are large


@dataclass(frozen=True, slots=True)
class Tombstone:
    """A symbol or file that a commit removed."""

    sha: str
    id: str  # within the root
    type: str


def commit_id(root: str, sha: str) -> str:
    return f"commit:{root}:{sha}"


class CommitStore:
    def __init__(self, store: KnowledgeStore) -> None:
        self._store = store

    # Writing

    def known(self, root: str) -> dict[str, Commit]:
        """Commits whose diffs were read, by sha."""
        sql = "SELECT * FROM commits WHERE root = ? AND diffs IS NOT NULL ORDER BY place"
        return {row["sha"]: _commit(row) for row in self._store.read(lambda tx: tx.all(sql, root))}

    def save(self, root: str, commits: Sequence[Commit], known: Mapping[str, Commit], read: set[str]) -> None:
        """The commits of a root become these. `read`: those whose diffs are complete."""
        current = {each.sha for each in commits}
        gone = [sha for sha in self._shas(root) if sha not in current]
        rows = [
            _row(root, place, each, each.sha in read) for place, each in enumerate(commits) if each.sha not in known
        ]
        places = [(place, " ".join(each.parents), root, each.sha) for place, each in enumerate(commits)]

        def work(tx: Tx) -> None:
            for sha in gone:
                tx.put(f'DELETE FROM commit_edges WHERE "commit" = {_NUMBER}', root, sha)
                tx.put("DELETE FROM commits WHERE root = ? AND sha = ?", root, sha)
            if gone:
                tx.put(_UNBURY, root, root, int(KnowledgeEdge.DELETED))
            tx.many(_INSERT, rows)
            tx.many("UPDATE commits SET place = ?, parents = ? WHERE root = ? AND sha = ?", places)

        self._store.write(work)

    def _shas(self, root: str) -> list[str]:
        rows = self._store.read(lambda tx: tx.all("SELECT sha FROM commits WHERE root = ?", root))
        return [row["sha"] for row in rows]

    def touch(self, root: str, touches: Iterable[Touch], paths: Mapping[str, str], gone: Sequence[str]) -> None:
        """The edges of these files become these; `paths`: path → version, `gone`: files that are no more."""
        numbers = self._numbers(root)
        rows = {
            (root, number(_inside(each.path, each.symbol)), numbers[each.sha], int(each.edge), number(each.path))
            for each in touches
            if each.sha in numbers
        }

        def work(tx: Tx) -> None:
            files = [(root, number(path)) for path in (*paths, *gone)]
            tx.many("DELETE FROM commit_edges WHERE root = ? AND file = ?", files)
            tx.many("INSERT OR REPLACE INTO commit_edges VALUES (?, ?, ?, ?, ?)", sorted(rows))
            tx.many("DELETE FROM tracked WHERE root = ? AND path = ?", [(root, path) for path in gone])
            tx.many("INSERT OR REPLACE INTO tracked VALUES (?, ?, ?)", [(root, *each) for each in paths.items()])

        self._store.write(work)

    def bury(self, root: str, stones: Sequence[Tombstone]) -> None:
        numbers = self._numbers(root)
        edges = [
            (root, number(each.id), numbers[each.sha], int(KnowledgeEdge.DELETED), GONE)
            for each in stones
            if each.sha in numbers
        ]

        def work(tx: Tx) -> None:
            tx.many("INSERT OR REPLACE INTO commit_edges VALUES (?, ?, ?, ?, ?)", edges)
            rows = [(root, number(each.id), each.id, each.type) for each in stones]
            tx.many("INSERT OR REPLACE INTO tombstones VALUES (?, ?, ?, ?)", rows)

        self._store.write(work)

    def forget_root(self, root: str) -> None:
        def work(tx: Tx) -> None:
            for table in ("commits", "commit_edges", "tracked", "tombstones"):
                tx.put(f"DELETE FROM {table} WHERE root = ?", root)

        self._store.write(work)

    def roots(self) -> set[str]:
        rows = self._store.read(
            lambda tx: tx.all("SELECT DISTINCT root FROM commits UNION SELECT DISTINCT root FROM tracked")
        )
        return {row["root"] for row in rows}

    def tracked(self, root: str) -> dict[str, str]:
        rows = self._store.read(lambda tx: tx.all("SELECT path, version FROM tracked WHERE root = ?", root))
        return {row["path"]: row["version"] for row in rows}

    def _numbers(self, root: str) -> dict[str, int]:
        rows = self._store.read(lambda tx: tx.all("SELECT sha, number FROM commits WHERE root = ?", root))
        return {row["sha"]: row["number"] for row in rows}

    # Reading

    def find(self, root: str, sha: str) -> Row | None:
        """By its id or the beginning of it, if that is one commit."""
        sql = f"SELECT {_SHOWN} FROM commits c WHERE root = ? AND sha >= ? AND sha < ? || 'g' LIMIT 2"
        rows = self._store.read(lambda tx: tx.all(sql, root, sha, sha)) if len(sha) >= 7 else []
        return rows[0] if len(rows) == 1 else None

    def page(self, root: str, after: int, most: int) -> list[Row]:
        sql = f"SELECT {_SHOWN} FROM commits c WHERE root = ? AND number > ? ORDER BY number LIMIT ?"
        return self._store.read(lambda tx: tx.all(sql, root, after, most))

    def stone(self, root: str, inside: str) -> Row | None:
        sql = "SELECT * FROM tombstones WHERE root = ? AND number = ?"
        return self._store.read(lambda tx: tx.one(sql, root, number(inside)))

    def removed(self, roots: Sequence[str], name: str) -> list[str]:
        """Ids of removed files and symbols whose path or name ends so."""
        ends = [f"{before}{name}" for before in ("/", "#", ".")]
        last = " OR ".join("substr(id, -length(?)) = ?" for _ in ends)
        sql = f"SELECT root, id FROM tombstones WHERE id = ? OR {last} ORDER BY root, id"
        rows = self._store.read(lambda tx: tx.all(sql, name, *(each for end in ends for each in (end, end))))
        return [f"{row['root']}:{row['id']}" for row in rows if row["root"] in roots]

    def into(self, root: str, inside: str) -> list[tuple[Row, KnowledgeEdge]]:
        """Commits that touched a file or symbol, newest first."""
        sql = (
            f'SELECT {_SHOWN}, e.type AS edge FROM commit_edges e JOIN commits c ON c.number = e."commit" '
            "WHERE e.root = ? AND e.target = ? ORDER BY c.at DESC, c.place"
        )
        rows = self._store.read(lambda tx: tx.all(sql, root, number(inside)))
        return [(row, KnowledgeEdge(row["edge"])) for row in rows]

    def edges_into(self, root: str, inside: str) -> list[Edge]:
        return [
            Edge(commit_id(root, row["sha"]), f"{root}:{inside}", edge, EDGE_RULES[edge].weight, HOW)
            for row, edge in self.into(root, inside)
        ]

    def edges_out(self, root: OpenRoot, sha: str) -> list[Edge]:
        """The code that a commit touched, as far as it is there or remembered."""
        name = root.spec.name
        commit = self.find(name, sha)
        if commit is None:
            return []
        sql = 'SELECT target, type FROM commit_edges WHERE "commit" = ?'
        rows = self._store.read(lambda tx: tx.all(sql, commit["number"]))
        targets = [row["target"] for row in rows]
        present = root.store.read(lambda tx: nodes(tx, targets))
        stones = self._stones(name, [each for each in targets if each not in present])
        source = commit_id(name, commit["sha"])
        edges = []
        for row in rows:
            found = present.get(row["target"])
            target = symbol_id(name, found) if found else stones.get(row["target"])
            if target:
                kind = KnowledgeEdge(row["type"])
                edges.append(Edge(source, target, kind, EDGE_RULES[kind].weight, HOW))
        return edges

    def _stones(self, root: str, numbers: Sequence[int]) -> dict[int, str]:
        def work(tx: Tx) -> dict[int, str]:
            sql = "SELECT number, id FROM tombstones WHERE root = ? AND number = ?"
            rows = [row for each in numbers if (row := tx.one(sql, root, each)) is not None]
            return {row["number"]: f"{root}:{row['id']}" for row in rows}

        return self._store.read(work)


_NUMBER = "(SELECT number FROM commits WHERE root = ? AND sha = ?)"
_UNBURY = """
DELETE FROM tombstones WHERE root = ? AND number NOT IN (SELECT target FROM commit_edges WHERE root = ? AND type = ?)
"""
_INSERT = """
INSERT OR REPLACE INTO commits (root, sha, place, parents, at, author, subject, body, summary_type, diffs)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""


def _inside(path: str, symbol: str) -> str:
    return f"{path}#{symbol}" if symbol else path


def _row(root: str, place: int, each: Commit, is_read: bool) -> tuple[Any, ...]:
    kind = described(each.subject, each.body).summary_type
    diffs = _packed(each) if is_read else None
    parents = " ".join(each.parents)
    return root, each.sha, place, parents, each.at, each.author, each.subject, each.body, kind, diffs


def _packed(each: Commit) -> bytes:
    files = [_file(diff) for diff in each.files]
    against = [[_file(diff) for diff in diffs] for diffs in each.against]
    return orjson.dumps([files, [sorted(paths) for paths in each.changed], against])


def _file(diff: FileDiff) -> list[Any]:
    return [_text(diff.old), _text(diff.new), [number for hunk in diff.hunks for number in hunk], sorted(diff.lost)]


def _text(path: str) -> str:
    """Names that are no UTF-8 are no names of files that the graph serves."""
    return path.encode("utf-8", "replace").decode()


def _commit(row: Row) -> Commit:
    files, changed, against = orjson.loads(row["diffs"])
    return Commit(
        row["sha"],
        tuple(row["parents"].split()),
        row["at"],
        row["author"],
        row["subject"],
        row["body"],
        [_diff(each) for each in files],
        tuple(frozenset(paths) for paths in changed),
        tuple([_diff(each) for each in diffs] for diffs in against),
    )


def _diff(packed: list[Any]) -> FileDiff:
    old, new, numbers, lost = packed
    hunks = [Hunk(*numbers[start : start + 4]) for start in range(0, len(numbers), 4)]
    return FileDiff(old, new, hunks, frozenset(lost))
