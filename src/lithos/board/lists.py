"""Pages of tasks and findings, filtered and counted by the database."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from lithos.board.answers import ClaimShown, FindingPage, FindingShown, TaskPage, TaskShown
from lithos.board.claim_rows import live_claims
from lithos.board.tasks import task_of
from lithos.board.values import Claim, Task
from lithos.core.clock import from_micros, micros, parse_time, rfc3339
from lithos.errors import InvalidInput
from lithos.storage import ALIVE_SQL, Deferred, Moment, Row, Tx

USUAL_PAGE = 100
LARGEST_PAGE = 500  # a page of tasks with claims is then ~150 kB, and its ids fit one statement's parameters


@dataclass(frozen=True, slots=True)
class Page:
    limit: int = USUAL_PAGE
    cursor: str | None = None

    @property
    def size(self) -> int:
        return min(self.limit, LARGEST_PAGE)


@dataclass(frozen=True, slots=True)
class TaskFilter:
    status: Literal["open", "completed", "cancelled", "all"] = "open"
    tags: tuple[str, ...] = ()
    created_by: str | None = None
    claimed_by: str | None = None
    blocked: bool | None = None
    since: str | None = None


class Where:
    """Conditions joined by AND, with their values in order."""

    def __init__(self) -> None:
        self._parts: list[str] = ["1 = 1"]
        self.values: list[Any] = []

    def add(self, condition: str, *values: Any) -> None:
        self._parts.append(condition)
        self.values.extend(values)

    def __str__(self) -> str:
        return " AND ".join(self._parts)


def list_tasks(tx: Tx, wanted: TaskFilter, page: Page, now: Moment) -> TaskPage:
    """Oldest first."""
    where = _task_conditions(wanted, now)
    total = _ask_count(tx, "tasks", where)
    where.add("seq > ?", _after(page.cursor))
    rows = tx.all(f"SELECT * FROM tasks WHERE {where} ORDER BY seq LIMIT ?", *where.values, page.size + 1)
    return _task_page(tx, rows, page, _number(total), now, lambda task: str(task.seq))


def list_ready(tx: Tx, page: Page, now: Moment, *, tags: Sequence[str] = (), claimed: bool = False) -> TaskPage:
    """Open, not blocked and (unless `claimed`) not held: the most urgent first, then the oldest."""
    where = Where()
    where.add("status = 'open' AND open_blockers = 0")
    _with_tags(where, tags)
    if not claimed:
        where.add(f"id NOT IN (SELECT task_id FROM claims WHERE {ALIVE_SQL})", now.era, now.steady)
    total = _ask_count(tx, "tasks", where)
    if page.cursor:
        where.add("(priority, seq) > (?, ?)", *_urgency_after(page.cursor))
    rows = tx.all(f"SELECT * FROM tasks WHERE {where} ORDER BY priority, seq LIMIT ?", *where.values, page.size + 1)
    return _task_page(tx, rows, page, _number(total), now, lambda task: f"{task.priority}.{task.seq}")


def list_findings(
    tx: Tx, page: Page, *, task_id: str | None = None, note_id: str | None = None, since: str | None = None
) -> FindingPage:
    """Oldest first; `since` is exclusive, as the spec's "after this time"."""
    where = Where()
    if task_id is not None:
        where.add("task_id = ?", task_id)
    if note_id is not None:
        where.add("knowledge_id = ?", note_id)
    if since:
        where.add("created_at > ?", micros(parse_time(since, "since")))
    total = _ask_count(tx, "findings", where)
    where.add("seq > ?", _after(page.cursor))
    rows = tx.all(f"SELECT * FROM findings WHERE {where} ORDER BY seq LIMIT ?", *where.values, page.size + 1)
    more = len(rows) > page.size
    shown = [_finding(row) for row in rows[: page.size]]
    return {
        "findings": shown,
        "total": _number(total),
        "next_cursor": str(rows[page.size - 1]["seq"]) if more else None,
    }


def show_task(task: Task, claims: Sequence[Claim], now: Moment) -> TaskShown:
    return {
        "id": task.id,
        "title": task.title,
        "status": task.status,
        "priority": task.priority,
        "tags": list(task.tags),
        "created_by": task.created_by,
        "created_at": task.created_at,
        "updated_at": task.updated_at,
        "blocked": task.blocked,
        "ready": task.ready,
        "claims": [show_claim(claim, now) for claim in claims],
    }


def show_claim(claim: Claim, now: Moment) -> ClaimShown:
    until = rfc3339(claim.lease.shown_until(now))
    return {"agent": claim.agent, "aspect": claim.aspect, "expires_at": until}


def _task_conditions(wanted: TaskFilter, now: Moment) -> Where:
    where = Where()
    if wanted.status != "all":
        where.add("status = ?", wanted.status)
    _with_tags(where, wanted.tags)
    if wanted.created_by:
        where.add("created_by = ?", wanted.created_by)
    if wanted.claimed_by:
        held = f"SELECT task_id FROM claims WHERE agent = ? AND {ALIVE_SQL}"
        where.add(f"id IN ({held})", wanted.claimed_by, now.era, now.steady)
    if wanted.blocked is not None:
        where.add(f"status = 'open' AND open_blockers {'>' if wanted.blocked else '='} 0")
    if wanted.since:
        where.add("updated_at > ?", micros(parse_time(wanted.since, "since")))
    return where


def _with_tags(where: Where, tags: Sequence[str]) -> None:
    for tag in tags:
        where.add("id IN (SELECT task_id FROM task_tags WHERE tag = ?)", tag)


def _task_page(
    tx: Tx, rows: list[Row], page: Page, total: int, now: Moment, cursor_of: Callable[[Task], str]
) -> TaskPage:
    tasks = [task_of(row) for row in rows[: page.size]]
    claims = live_claims(tx, [task.id for task in tasks], now)
    shown = [show_task(task, claims.get(task.id, ()), now) for task in tasks]
    more = len(rows) > page.size
    return {"tasks": shown, "total": total, "next_cursor": cursor_of(tasks[-1]) if more else None}


def _ask_count(tx: Tx, table: str, where: Where) -> Deferred:
    return tx.ask(f"SELECT count(*) AS n FROM {table} WHERE {where}", *where.values)


def _number(asked: Deferred) -> int:
    row = asked.one()
    return int(row["n"]) if row else 0


def _finding(row: Row) -> FindingShown:
    return {
        "id": row["id"],
        "task_id": row["task_id"],
        "agent": row["agent"],
        "summary": row["summary"],
        "knowledge_id": row["knowledge_id"],
        "created_at": rfc3339(from_micros(row["created_at"])),
    }


def _after(cursor: str | None) -> int:
    if not cursor:
        return 0
    if not cursor.isascii() or not cursor.isdigit() or len(cursor) > 15:
        raise _bad_cursor(cursor)
    return int(cursor)


def _urgency_after(cursor: str) -> tuple[int, int]:
    priority, _, seq = cursor.partition(".")
    return _after(priority), _after(seq)


def _bad_cursor(cursor: str) -> InvalidInput:
    return InvalidInput(
        f"cursor {cursor[:40]!r} is not one that we returned", hint="Pass next_cursor of the page before."
    )
