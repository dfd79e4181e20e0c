"""Task, Claim, and what a change reads under the lock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from lithos.storage import JournalHead, Lease, Moment

TaskStatus = Literal["open", "completed", "cancelled"]
URGENT, USUAL, SOMEDAY = 0, 2, 4


@dataclass(frozen=True, slots=True)
class Task:
    id: str
    title: str
    status: TaskStatus
    created_by: str
    created_at: str
    updated_at: str
    seq: int
    description: str | None = None
    tags: tuple[str, ...] = ()
    priority: int = USUAL
    open_blockers: int = 0

    @property
    def blocked(self) -> bool:
        return self.status == "open" and self.open_blockers > 0

    @property
    def ready(self) -> bool:
        return self.status == "open" and self.open_blockers == 0


@dataclass(frozen=True, slots=True)
class Claim:
    """A lease on one aspect of a task. `token`, a number of the board's journal, identifies it."""

    token: int
    task_id: str
    aspect: str
    agent: str
    lease: Lease
    session_id: str | None = None  # the session it was made in, whose limits hold
    began: float | None = None  # the steady clock of the lease's era when it was made

    def alive(self, now: Moment) -> bool:
        return self.lease.alive(now)


@dataclass(frozen=True, slots=True)
class LockedBoard:
    """The rows that a change of the board reads under the board's lock, which it holds until it is committed."""

    head: JournalHead
    task: Task | None = None
    held: Claim | None = None  # the row of the aspect; its lease may have ended
    near: tuple[Claim, ...] = ()  # live claims whose aspect differs in spelling only

    @property
    def now(self) -> Moment:
        return self.head.now
