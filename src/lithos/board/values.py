"""What the board is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from lithos.board.leases import Lease
from lithos.storage import Moment

Status = Literal["open", "completed", "cancelled"]
URGENT, USUAL, SOMEDAY = 0, 2, 4


@dataclass(frozen=True, slots=True)
class Task:
    id: str
    title: str
    status: Status
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
    """A lease on one aspect of a task. `token` comes from the board's one counter and alone names the claim."""

    token: int
    task_id: str
    aspect: str
    agent: str
    lease: Lease

    def alive(self, now: Moment) -> bool:
        return self.lease.alive(now)


@dataclass(frozen=True, slots=True)
class Sight:
    """What a change of the board sees: looked at under the board's lock, which holds until the change is committed."""

    now: Moment
    counter: int  # the number of the newest change
    task: Task | None = None
    held: Claim | None = None  # whatever row the aspect has; its lease may have ended
