"""The session: its states, its limits, the fields of its context. Decisions without I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from datetime import datetime
from typing import Any, Literal, get_args

from lithos.core.clock import from_micros
from lithos.core.names import one_line, plain_text
from lithos.core.text import nearest
from lithos.errors import Conflict, InvalidInput
from lithos.storage import Moment, Row

SessionState = Literal["created", "active", "suspended", "completed", "failed"]
STATES: tuple[SessionState, ...] = get_args(SessionState)
Verb = Literal["activate", "suspend", "resume", "complete", "fail"]
LONGEST_NAME = 200
LONGEST_SUMMARY = 20_000
LONGEST_BRANCH = 250

# The specification forgets the last three pairs: a session that never began, and a suspended one that failed.
TRANSITIONS: Mapping[Verb, tuple[frozenset[SessionState], SessionState]] = {
    "activate": (frozenset({"created"}), "active"),
    "suspend": (frozenset({"active"}), "suspended"),
    "resume": (frozenset({"suspended"}), "active"),
    "complete": (frozenset({"active", "suspended", "created"}), "completed"),
    "fail": (frozenset({"active", "suspended", "created"}), "failed"),
}
DONE: Mapping[Verb, str] = {
    "activate": "activated",
    "suspend": "suspended",
    "resume": "resumed",
    "complete": "completed",
    "fail": "failed",
}
_NEXT: Mapping[SessionState, str] = {
    "created": "lithos_session_activate begins it.",
    "active": "lithos_session_suspend pauses it, lithos_session_complete ends it.",
    "suspended": "lithos_session_resume takes it up again.",
    "completed": "It is over: lithos_session_create begins a new one.",
    "failed": "It is over: lithos_session_create begins a new one.",
}
WRITABLE = frozenset({"created", "active"})  # a suspended session is frozen, an ended one is over


@dataclass(frozen=True, slots=True)
class SessionConfig:
    """Limits of one session; minutes. None: no limit of time."""

    max_concurrent_tasks: int = 4
    max_engineers: int = 2
    task_timeout: float | None = 30
    session_timeout: float | None = None
    auto_suspend_after: float | None = 60
    enable_git_isolation: bool = False
    message_weight: int = 1  # its share of turns when messages of several sessions wait: 1 to 4

    def with_changes(self, given: Mapping[str, Any] | None) -> SessionConfig:
        """These values in place of ours; an unknown name or a wrong value is refused."""
        known = {each.name for each in fields(SessionConfig)}
        for name, value in (given or {}).items():
            if name not in known:
                meant = nearest(name, known)
                hint = f"Did you mean {meant}?" if meant else f"Use {', '.join(sorted(known))}."
                raise InvalidInput(f"config: there is no {name[:80]!r}", hint=hint)
            _check_option(name, value)
        return replace(self, **dict(given or {}))

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def _check_option(name: str, value: Any) -> None:
    if name == "enable_git_isolation":
        right = isinstance(value, bool)
    elif name == "message_weight":
        right = isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= 4
    elif name.startswith("max_"):
        right = isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= 10_000
    else:
        right = value is None or (isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= 10**7)
    if not right:
        raise InvalidInput(
            f"config: {name} is {str(value)[:40]!r}",
            hint="max_* are whole numbers from 1, message_weight is 1 to 4; time-outs are minutes above 0, or null.",
        )


@dataclass(frozen=True, slots=True)
class ClaimLimits:
    """Limits of a session on the claims that are made in it."""

    session_id: str
    max_concurrent_tasks: int
    max_engineers: int
    task_seconds: float | None


@dataclass(frozen=True, slots=True)
class Session:
    """One row of `sessions`. What is private of it is shown to members alone."""

    id: str
    seq: int
    name: str
    state: SessionState
    owner: str
    owner_bound: bool
    created_at: datetime
    activated_at: datetime | None
    suspended_at: datetime | None
    completed_at: datetime | None
    closed_at: datetime | None
    last_active_at: datetime
    summary: str | None
    reason: str | None
    scalars: Mapping[str, str | None]  # the context's fields of one value
    config: SessionConfig
    version: int  # of the context; counts up with each change
    bytes: int
    era: str
    steady: float

    @property
    def claim_limits(self) -> ClaimLimits:
        minutes = self.config.task_timeout
        seconds = None if minutes is None else minutes * 60
        return ClaimLimits(self.id, self.config.max_concurrent_tasks, self.config.max_engineers, seconds)

    def due(self, now: Moment) -> Verb | None:
        """The effect of a time-out on an active session now. After a reboot a session counts as idle since the boot."""
        if self.state != "active" or self.closed_at is not None:
            return None
        idle, whole = self.config.auto_suspend_after, self.config.session_timeout
        if whole is not None and self.activated_at is not None and self._open_seconds(now) >= whole * 60:
            return "fail"
        return "suspend" if idle is not None and self.idle_seconds(now) >= idle * 60 else None

    def _open_seconds(self, now: Moment) -> float:
        """Since its activation: to the last activity by the times recorded then, from there on the lease clock."""
        recorded = (self.last_active_at - (self.activated_at or self.last_active_at)).total_seconds()
        return max(0.0, recorded) + self.idle_seconds(now)

    def idle_seconds(self, now: Moment) -> float:
        """Since the last activity, on the lease clock; across a reboot, as long as the machine has been up."""
        return now.steady - self.steady if self.era == now.era else now.steady


SCALARS = (
    "current_task",
    "current_step",
    "current_objective",
    "conversation_id",
    "active_dag_id",
    "branch_name",
    "base_branch",
    "worktree",
)
# A list holds each value once, so that an addition can be repeated; a log keeps repetitions.
LISTS = (
    "completed_steps",
    "next_steps",
    "blockers",
    "local_patterns",
    "local_failures",
    "user_wants",
    "user_rejects",
    "clarifications",
)
LOGS = ("message_history", "dag_history")
MAPS = ("modified_files", "read_files", "created_files", "active_agents", "scratchpad", "metadata")
FIELDS = (*SCALARS, *LISTS, *LOGS, *MAPS)
OF_THE_SESSION = frozenset({"active_dag_id", "dag_history", "branch_name", "base_branch", "worktree", "metadata"})


def session_of(row: Row) -> Session:
    import orjson

    def time(name: str) -> datetime | None:
        return None if row[name] is None else from_micros(row[name])

    return Session(
        id=row["id"],
        seq=row["seq"],
        name=row["name"],
        state=row["state"],
        owner=row["owner"],
        owner_bound=bool(row["owner_bound"]),
        created_at=from_micros(row["created_at"]),
        activated_at=time("activated_at"),
        suspended_at=time("suspended_at"),
        completed_at=time("completed_at"),
        closed_at=time("closed_at"),
        last_active_at=from_micros(row["last_active_at"]),
        summary=row["summary"],
        reason=row["reason"],
        scalars={name: row[name] for name in SCALARS},
        config=SessionConfig(**orjson.loads(row["config"])),
        version=row["version"],
        bytes=row["bytes"],
        era=row["era"],
        steady=row["steady"],
    )


def next_state(session: Session, verb: Verb) -> SessionState:
    """The state after `verb`. Conflict, naming the state, where the verb does not apply."""
    need_open(session, verb)
    before, after = TRANSITIONS[verb]
    if session.state not in before:
        raise Conflict(
            f"the session is {session.state}; {verb} applies to {' or '.join(sorted(before))}",
            hint=_NEXT[session.state],
            state=session.state,
        )
    return after


def need_open(session: Session, verb: str) -> None:
    if session.closed_at is not None:
        raise Conflict(
            f"the session is closed ({session.state}) and read-only: no {verb}",
            hint="lithos_session_create begins a new one.",
            state=session.state,
            closed=True,
        )


def need_writable(session: Session, verb: str) -> None:
    """Context and entries change while the session is created or active; suspended means frozen."""
    need_open(session, verb)
    if session.state not in WRITABLE:
        raise Conflict(f"the session is {session.state}: no {verb}", hint=_NEXT[session.state], state=session.state)


def session_name(text: str) -> str:
    return one_line(text, "name", LONGEST_NAME, hint="Name the undertaking in one line.")


def closing_text(text: str | None, field: str) -> str | None:
    return None if text is None or not text.strip() else plain_text(text.strip(), field, LONGEST_SUMMARY)
