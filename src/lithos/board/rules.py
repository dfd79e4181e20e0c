"""Decisions of the board, without I/O: who gets a claim, which token is valid, which status may follow."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from lithos.board.values import Claim, Task, TaskStatus
from lithos.core.clock import rfc3339
from lithos.core.names import folded
from lithos.sessions import ClaimLimits
from lithos.storage import Lease, Moment, lease_from

NEAR = 0.8  # "reveiw" and "review" are 0.83 alike, "frontend" and "backend" 0.53
_WORD = re.compile(r"[^\W_]+")
Reason = Literal[
    "unknown_task",
    "task_completed",
    "task_cancelled",
    "claim_held",
    "claim_lost",
    "not_claimed",
    "wrong_token",
    "wrong_agent",
    "session_full",
    "task_timeout",
]

# A closed task can be reopened, but not turn from completed into cancelled, or back, without being open between.
TRANSITIONS: dict[TaskStatus, frozenset[TaskStatus]] = {
    "open": frozenset({"open", "completed", "cancelled"}),
    "completed": frozenset({"completed", "open"}),
    "cancelled": frozenset({"cancelled", "open"}),
}

# Message and hint.
_WORDS: dict[Reason, tuple[str, str]] = {
    "unknown_task": ("there is no such task", "lithos_task_status lists the open tasks."),
    "task_completed": ("the task is completed", "lithos_task_update with status open takes it up again."),
    "task_cancelled": ("the task is cancelled", "lithos_task_update with status open takes it up again."),
    "claim_held": ("another agent holds this aspect", "Take another aspect or task, or wait until the claim ends."),
    "claim_lost": ("the claim has ended", "Stop this work, read what others did meanwhile, then claim again."),
    "not_claimed": ("no agent holds this aspect", "Take it with lithos_task_claim."),
    "wrong_token": ("the token is of another claim", "Send the token that the claim on this aspect returned."),
    "wrong_agent": ("another agent holds this claim", "Only its holder may do this."),
    "session_full": (
        "your session holds as many tasks, or has as many agents at work, as its limits allow",
        "Complete or release something first; lithos_session_get shows the limits.",
    ),
    "task_timeout": (
        "the claim has lasted as long as your session's task_timeout allows",
        "Report what you found, then let it end; claim again if you go on.",
    ),
}


@dataclass(frozen=True, slots=True)
class Refusal:
    """An expected refusal: `success` false, with a reason for programs and a hint for the model."""

    reason: Reason
    holder: str | None = None
    until: str | None = None
    token_of: tuple[str, str] | None = None  # the task and aspect that the shown token is for
    never_given: bool = False  # no claim had the shown token
    near: tuple[Claim, ...] = ()  # claims whose aspect differs in spelling only

    @property
    def message(self) -> str:
        return "no claim ever had this token" if self.never_given else _WORDS[self.reason][0]

    @property
    def hint(self) -> str:
        return " ".join([*map(near_miss, self.near), *self._whose_token, _WORDS[self.reason][1]])

    @property
    def _whose_token(self) -> list[str]:
        if self.never_given:
            return ["No claim ever had this token."]
        return [f"It is for {self.token_of[1]!r} of task {self.token_of[0]}."] if self.token_of else []

    @property
    def held_by(self) -> dict[str, Any]:
        return {"holder": self.holder, "until": self.until} if self.holder is not None else {}

    def as_answer(self) -> dict[str, Any]:
        return {"success": False, "reason": self.reason, "hint": self.hint, **self.held_by}


def near_miss(claim: Claim) -> str:
    return f"{claim.agent} holds {claim.aspect!r}: is that the aspect you mean?"


def is_near(one: str, other: str) -> bool:
    """Whether two aspects are spellings of one: case, blanks, points, plurals, or one word with a typing error."""
    ours, theirs = _words(one), _words(other)
    if "".join(ours) == "".join(theirs):
        return True
    differing = [pair for pair in zip(ours, theirs, strict=False) if pair[0] != pair[1]]
    return len(ours) == len(theirs) and len(differing) == 1 and _is_typo(*differing[0])


def _words(aspect: str) -> list[str]:
    """Without the plural's s. Letters and digits alone count, unless there are none."""
    words = _WORD.findall(folded(aspect)) or folded(aspect).split()
    return [word[:-1] if len(word) > 3 and word.endswith("s") else word for word in words]


def _is_typo(one: str, other: str) -> bool:
    """Numbers never: "part 11" and "part 12" are two aspects."""
    letters = one.isalpha() and other.isalpha() and min(len(one), len(other)) >= 5
    return letters and difflib.SequenceMatcher(None, one, other).ratio() >= NEAR


@dataclass(frozen=True, slots=True)
class Duration:
    seconds: float
    clamped: bool


def clamp(minutes: float, longest: float) -> Duration:
    return Duration(min(minutes, longest) * 60, minutes > longest)


def decide_limits(
    held: Sequence[Claim], limits: ClaimLimits, task_id: str, agent: str, duration: Duration
) -> Duration | Refusal:
    """`held`: the live claims of the session."""
    tasks, agents = {each.task_id for each in held}, {each.agent for each in held}
    if len(tasks | {task_id}) > max(limits.max_concurrent_tasks, len(tasks)):
        return Refusal("session_full")
    if len(agents | {agent}) > max(limits.max_engineers, len(agents)):
        return Refusal("session_full")
    return _within(duration, limits.task_seconds)


def task_time_left(held: Claim, limits: ClaimLimits | None, duration: Duration, now: Moment) -> Duration | Refusal:
    """How long a renewal may last: a session's `task_timeout` counts from the claim on, renewed or not."""
    if limits is None or limits.task_seconds is None or held.began is None or held.lease.grace:
        return duration
    left = held.began + limits.task_seconds - now.steady
    return Refusal("task_timeout") if left <= 0 else _within(duration, left)


def _within(duration: Duration, seconds: float | None) -> Duration:
    return duration if seconds is None or duration.seconds <= seconds else Duration(seconds, True)


def need_open(task: Task | None) -> Task | Refusal:
    """The task if it is open."""
    if task is None:
        return Refusal("unknown_task")
    return task if task.status == "open" else _closed(task)


def decide_claim(held: Claim | None, agent: str, seconds: float, now: Moment) -> Lease | Refusal:
    """`held` is the row of the aspect; an expired lease does not count. The holder's own claim is renewed."""
    if held and held.alive(now) and held.agent != agent:
        return _naming("claim_held", held, now)
    return lease_from(now, seconds)


def decide_hold(held: Claim | None, agent: str | None, token: int | None, now: Moment) -> Claim | Refusal:
    """Whether `agent` holds the claim under this token. An expired or overtaken lease is lost for good."""
    if held is None and token is None:
        return Refusal("not_claimed")
    if held is None or not held.alive(now):
        return Refusal("claim_lost")
    if token is not None and held.token != token:
        return _naming("claim_lost", held, now)
    return held if agent in (None, held.agent) else _naming("wrong_agent", held, now)


def decide_status(task: Task | None, wanted: TaskStatus | None) -> Task | Refusal:
    """The task in its new status (None: unchanged), or the reason for a refusal."""
    if task is None:
        return Refusal("unknown_task")
    if wanted is None or wanted in TRANSITIONS[task.status]:
        return replace(task, status=wanted or task.status)
    return _closed(task)


def _closed(task: Task) -> Refusal:
    return Refusal("task_completed" if task.status == "completed" else "task_cancelled")


def _naming(reason: Reason, held: Claim, now: Moment) -> Refusal:
    return Refusal(reason, held.agent, rfc3339(held.lease.shown_until(now)))
