"""Tables of tasks and dependencies. Every change updates `open_blockers`, so that lists need no recursion."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import orjson

from lithos.board.values import Task, TaskStatus
from lithos.core.clock import from_micros, micros, rfc3339
from lithos.core.references import is_part_of_id
from lithos.storage import Deferred, Moment, Row, Tx

# UNION (not ALL) visits each task once, however many ways lead there.
_REACHES = """
WITH RECURSIVE above(id) AS (
    SELECT depends_on FROM dependencies WHERE task_id = ?
    UNION
    SELECT dependencies.depends_on FROM dependencies JOIN above ON dependencies.task_id = above.id
)
SELECT 1 AS found FROM above WHERE id = ? LIMIT 1
"""

_PLAIN = ("id", "seq", "title", "description", "status", "priority", "open_blockers", "created_by")


def ask(tx: Tx, task_id: str) -> Deferred:
    return tx.ask("SELECT * FROM tasks WHERE id = ?", task_id)


def task_in(asked: Deferred) -> Task | None:
    row = asked.one()
    return task_of(row) if row else None


def insert(tx: Tx, task: Task, now: Moment) -> None:
    tx.put(
        "INSERT INTO tasks (id, seq, title, description, status, priority, created_by, created_at, updated_at, tags)"
        " VALUES (?, ?, ?, ?, 'open', ?, ?, ?, ?, ?)",
        *(task.id, task.seq, task.title, task.description, task.priority, task.created_by),
        *(micros(now.wall), micros(now.wall), orjson.dumps(task.tags).decode()),
    )
    _write_tags(tx, task)


def update(tx: Tx, task: Task, now: Moment) -> None:
    """Title, description, priority and tags; status and dependencies have their own functions."""
    tx.put(
        "UPDATE tasks SET title = ?, description = ?, priority = ?, tags = ?, updated_at = ? WHERE id = ?",
        *(task.title, task.description, task.priority, orjson.dumps(task.tags).decode(), micros(now.wall), task.id),
    )
    tx.put("DELETE FROM task_tags WHERE task_id = ?", task.id)
    _write_tags(tx, task)


def set_status(tx: Tx, task_id: str, status: TaskStatus, now: Moment) -> None:
    """To a different status. Opening or closing a task blocks or frees those that depend on it."""
    tx.put("UPDATE tasks SET status = ?, updated_at = ? WHERE id = ?", status, micros(now.wall), task_id)
    tx.put(  # TRANSITIONS has no way between completed and cancelled, so one side of a change is always `open`
        "UPDATE tasks SET open_blockers = open_blockers + ?"
        " WHERE id IN (SELECT task_id FROM dependencies WHERE depends_on = ?)",
        *(1 if status == "open" else -1, task_id),
    )


def set_dependencies(tx: Tx, task_id: str, depends_on: Sequence[str]) -> None:
    tx.put("DELETE FROM dependencies WHERE task_id = ?", task_id)
    tx.many("INSERT INTO dependencies (task_id, depends_on) VALUES (?, ?)", [(task_id, each) for each in depends_on])
    tx.put(
        "UPDATE tasks SET open_blockers = (SELECT count(*) FROM dependencies JOIN tasks AS needed"
        " ON needed.id = dependencies.depends_on WHERE dependencies.task_id = ? AND needed.status = 'open')"
        " WHERE id = ?",
        *(task_id, task_id),
    )


def first_unknown(tx: Tx, task_ids: Sequence[str]) -> str | None:
    return next((each for each in task_ids if not tx.one("SELECT 1 AS found FROM tasks WHERE id = ?", each)), None)


def reaches(tx: Tx, task_id: str, other: str) -> bool:
    """Whether `task_id` needs `other`, directly or through others."""
    return tx.one(_REACHES, task_id, other) is not None


def needed_by(tx: Tx, task_id: str) -> Deferred:
    """The tasks it depends on: `id` and `status` of each."""
    return tx.ask(
        "SELECT tasks.id, tasks.status FROM dependencies JOIN tasks ON tasks.id = dependencies.depends_on"
        " WHERE dependencies.task_id = ? ORDER BY tasks.seq",
        task_id,
    )


def waiting_for(tx: Tx, task_id: str, limit: int = 100) -> Deferred:
    return tx.ask(
        "SELECT tasks.id FROM dependencies JOIN tasks ON tasks.id = dependencies.task_id"
        " WHERE dependencies.depends_on = ? ORDER BY tasks.seq LIMIT ?",
        *(task_id, limit),
    )


@dataclass(frozen=True, slots=True)
class BoardText:
    """A task or a finding, as search sees it."""

    kind: Literal["task", "finding"]
    id: str
    title: str
    text: str
    agent: str
    tags: tuple[str, ...] = ()
    status: str = ""
    task_id: str = ""
    at: int = 0  # microseconds: when a finding was posted, when a task last changed


def texts(tx: Tx, task_ids: Collection[str] | None) -> list[BoardText]:
    if task_ids is None:
        rows = tx.all("SELECT * FROM tasks")
        found = tx.all("SELECT f.*, t.title FROM findings f JOIN tasks t ON t.id = f.task_id")
    else:
        rows = [row for each in task_ids if (row := tx.one("SELECT * FROM tasks WHERE id = ?", each)) is not None]
        one = "SELECT f.*, t.title FROM findings f JOIN tasks t ON t.id = f.task_id WHERE f.task_id = ?"
        found = [row for each in task_ids for row in tx.all(one, each)]
    return [*map(_task_text, rows), *map(_finding_text, found)]


def finding_text(tx: Tx, finding_id: str) -> BoardText | None:
    sql = "SELECT f.*, t.title FROM findings f JOIN tasks t ON t.id = f.task_id WHERE f.id = ?"
    row = tx.one(sql, finding_id)
    return None if row is None else _finding_text(row)


def _finding_text(row: Row) -> BoardText:
    at, task = row["created_at"], row["task_id"]
    return BoardText("finding", row["id"], row["title"], row["summary"], row["agent"], task_id=task, at=at)


def _task_text(row: Row) -> BoardText:
    tags = tuple(orjson.loads(row["tags"]))
    text = row["description"] or row["title"]
    return BoardText(
        "task", row["id"], row["title"], text, row["created_by"], tags, row["status"], at=row["updated_at"]
    )


def candidates(tx: Tx, name: str | None) -> list[Row]:
    """Rows that a name could mean, or the newest tasks."""
    if name is None:
        return tx.all("SELECT id, title FROM tasks ORDER BY seq DESC LIMIT 2000")
    whole, part = name.strip(), name.strip().lstrip("…").lower()
    if by_id := tx.all("SELECT id, title FROM tasks WHERE id = ?", whole.lstrip("…")):  # the rest reads the whole table
        return by_id
    named, values = "id = ? OR lower(title) = lower(?)", [whole, whole]
    if is_part_of_id(part):  # never a name as it came: its % would match every id
        named, values = f"{named} OR id LIKE ? OR id LIKE ?", [*values, f"{part}%", f"%{part}"]
    return tx.all(f"SELECT id, title FROM tasks WHERE {named} LIMIT 20", *values)


def ids(asked: Deferred, status: TaskStatus | None = None) -> list[str]:
    """All ids, or those in one status."""
    return [row["id"] for row in asked.all() if status in (None, row.get("status"))]


def count(tx: Tx) -> dict[str, int]:
    found = {row["status"]: row["n"] for row in tx.all("SELECT status, count(*) AS n FROM tasks GROUP BY status")}
    return {status: found.get(status, 0) for status in ("open", "completed", "cancelled")}


def task_of(row: Row) -> Task:
    fields: dict[str, Any] = {name: row[name] for name in _PLAIN}
    fields |= {name: rfc3339(from_micros(row[name])) for name in ("created_at", "updated_at")}
    return Task(**fields, tags=tuple(orjson.loads(row["tags"])))


def _write_tags(tx: Tx, task: Task) -> None:
    tx.many("INSERT INTO task_tags (tag, task_id) VALUES (?, ?)", [(tag, task.id) for tag in task.tags])
