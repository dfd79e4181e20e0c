"""Rows of the workshop: worktrees, changed files, runs. None of these functions commits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import orjson

from lithos.core.clock import micros
from lithos.storage import Row, Tx
from lithos.workshop.values import Worktree

State = Literal["opening", "open", "removed", "merging", "closing", "closed"]
ChangeKind = Literal["read", "created", "modified", "deleted"]
ALIVE = ("open", "removed", "merging")
STATES = {"alive": f"({', '.join(repr(each) for each in ALIVE)})"}


@dataclass(frozen=True, slots=True)
class WorktreeRow:
    worktree: Worktree
    state: State
    after: tuple[str, ...]
    created_at: int
    used_at: int


class WorktreeRows:
    """Worktrees of one data directory; `mains` gives the checkout of each project that is configured."""

    def __init__(self, store: str, folder: Path, mains: dict[str, Path]) -> None:
        self.store = store
        self._folder = folder
        self._mains = mains

    def parsed(self, row: Row) -> WorktreeRow | None:
        """None: its project is no longer configured."""
        main = self._mains.get(row["project"])
        if main is None:
            return None
        worktree = Worktree(
            row["id"],
            row["session_id"],
            row["project"],
            self._folder / row["id"],
            row["branch"],
            row["base"],
            row["base_commit"],
            main,
            row["pipeline"],
        )
        return WorktreeRow(worktree, row["state"], tuple(orjson.loads(row["after"])), row["created_at"], row["used_at"])

    def insert(self, tx: Tx, worktree: Worktree, after: Sequence[str]) -> None:
        now = micros(tx.now().wall)
        tx.put(
            "INSERT INTO worktrees (id, store, session_id, project, pipeline, after, branch, base, base_commit, state,"
            " created_at, used_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'opening', ?, ?)",
            *(worktree.id, self.store, worktree.session_id, worktree.project, worktree.pipeline),
            *(orjson.dumps(list(after)).decode(), worktree.branch, worktree.base, worktree.base_commit, now, now),
        )

    def find(self, tx: Tx, worktree_id: str) -> WorktreeRow | None:
        row = tx.one("SELECT * FROM worktrees WHERE id = ? AND store = ?", worktree_id, self.store)
        return None if row is None else self.parsed(row)

    def of_session(self, tx: Tx, session_id: str, *, closed: bool = False) -> list[WorktreeRow]:
        """Oldest first."""
        states = "" if closed else f" AND state IN {STATES['alive']}"
        rows = tx.all(
            f"SELECT * FROM worktrees WHERE session_id = ? AND store = ?{states} ORDER BY created_at, id",
            *(session_id, self.store),
        )
        return [each for row in rows if (each := self.parsed(row)) is not None]

    def in_states(self, tx: Tx, *states: State) -> list[WorktreeRow]:
        marks = ", ".join("?" * len(states))
        rows = tx.all(f"SELECT * FROM worktrees WHERE store = ? AND state IN ({marks})", self.store, *states)
        return [each for row in rows if (each := self.parsed(row)) is not None]

    def count(self, tx: Tx) -> int:
        sql = f"SELECT count(*) AS number FROM worktrees WHERE store = ? AND state IN {STATES['alive']}"
        row = tx.one(sql, self.store)
        return int(row["number"]) if row else 0

    def known(self, tx: Tx) -> dict[str, State]:
        rows = tx.all("SELECT id, state FROM worktrees WHERE store = ?", self.store)
        return {row["id"]: row["state"] for row in rows}


def set_state(tx: Tx, worktree_id: str, state: State) -> None:
    now = micros(tx.now().wall)
    closed = now if state == "closed" else None
    tx.put("UPDATE worktrees SET state = ?, used_at = ?, closed_at = ? WHERE id = ?", state, now, closed, worktree_id)


def touch(tx: Tx, worktree_id: str) -> None:
    tx.put("UPDATE worktrees SET used_at = ? WHERE id = ?", micros(tx.now().wall), worktree_id)


def note_change(tx: Tx, worktree: Worktree, path: str, kind: ChangeKind, version: str, agent: str) -> None:
    note_version(tx, worktree.id, path, kind, version, agent)


def note_version(tx: Tx, worktree_id: str, path: str, kind: ChangeKind, version: str, agent: str) -> None:
    tx.put(
        "INSERT INTO work_changes (worktree_id, path, kind, version, agent, at) VALUES (?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (worktree_id, path, kind) DO UPDATE SET version = excluded.version, agent = excluded.agent,"
        " at = excluded.at",
        *(worktree_id, path, kind, version, agent, micros(tx.now().wall)),
    )


def versions(tx: Tx, worktree_id: str, path: str) -> set[str]:
    """The versions of a file that the session read or wrote last."""
    sql = "SELECT version FROM work_changes WHERE worktree_id = ? AND path = ?"
    return {row["version"] for row in tx.all(sql, worktree_id, path)}


def changes(tx: Tx, worktree_id: str) -> dict[str, list[str]]:
    """Kind → paths."""
    found: dict[str, list[str]] = {}
    for row in tx.all("SELECT kind, path FROM work_changes WHERE worktree_id = ? ORDER BY kind, path", worktree_id):
        found.setdefault(row["kind"], []).append(row["path"])
    return found


def insert_run(tx: Tx, run_id: str, store: str, worktree: Worktree, agent: str, kind: str, argv: Sequence[str]) -> None:
    tx.put(
        "INSERT INTO work_runs (id, store, worktree_id, session_id, agent, kind, argv, state, started_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, 'running', ?)",
        *(run_id, store, worktree.id, worktree.session_id, agent, kind),
        *(orjson.dumps(list(argv)).decode(), micros(tx.now().wall)),
    )


def end_run(tx: Tx, run_id: str, state: Literal["done", "failed"], answer: dict[str, Any]) -> None:
    tx.put(
        "UPDATE work_runs SET state = ?, ended_at = ?, answer = ? WHERE id = ?",
        *(state, micros(tx.now().wall), orjson.dumps(answer).decode(), run_id),
    )


def lose_runs(tx: Tx, store: str) -> int:
    """Runs of a host that ended: the kernel killed them with it."""
    now = micros(tx.now().wall)
    return tx.run("UPDATE work_runs SET state = 'lost', ended_at = ? WHERE store = ? AND state = 'running'", now, store)


def find_run(tx: Tx, run_id: str) -> Row | None:
    return tx.one("SELECT * FROM work_runs WHERE id = ?", run_id)


def prune(tx: Tx, before: int, most_runs: int) -> int:
    """Drop closed worktrees with their changes, and runs, that are older; and all but the newest runs."""
    gone = tx.run("DELETE FROM work_runs WHERE started_at < ? AND state <> 'running'", before)
    last = tx.one("SELECT started_at FROM work_runs ORDER BY started_at DESC LIMIT 1 OFFSET ?", most_runs)
    if last is not None:
        gone += tx.run("DELETE FROM work_runs WHERE started_at <= ? AND state <> 'running'", last["started_at"])
    old = "SELECT id FROM worktrees WHERE state = 'closed' AND closed_at < ?"
    gone += tx.run(f"DELETE FROM work_changes WHERE worktree_id IN ({old})", before)
    return gone + tx.run("DELETE FROM worktrees WHERE state = 'closed' AND closed_at < ?", before)
