"""Steps of the board's transactions; none of them commits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from lithos.board import changes, claim_rows, tasks
from lithos.board.answers import BoardCounts, TaskShown
from lithos.board.inputs import NewTask, TaskEdit
from lithos.board.lists import show_task
from lithos.board.rules import (
    Duration,
    Refusal,
    decide_hold,
    decide_limits,
    is_near,
    need_open,
    task_time_left,
)
from lithos.board.values import Claim, LockedBoard, Task, TaskStatus
from lithos.core.clock import rfc3339
from lithos.errors import ClaimLost, Conflict, Forbidden, InvalidInput, LithosError, NotFound
from lithos.sessions import ClaimLimits
from lithos.storage import Answer, EventDraft, Moment, Outcome, Tx

_ENTRY_OF_STATUS: dict[TaskStatus, changes.ChangeKind] = {
    "completed": "completed",
    "cancelled": "cancelled",
    "open": "reopened",
}
_ERRORS: dict[str, type[LithosError]] = {
    "unknown_task": NotFound,
    "claim_lost": ClaimLost,
    "wrong_token": InvalidInput,
    "wrong_agent": Forbidden,
}


def lock(tx: Tx, task_id: str | None = None, aspect: str | None = None) -> LockedBoard:
    """Every change of the board begins here: one at a time, from the lock until the commit."""
    head = changes.JOURNAL.lock(tx)
    task = tasks.ask(tx, task_id) if task_id is not None else None
    asked = claim_rows.ask_all(tx, task_id) if task_id is not None and aspect is not None else None
    found = {claim.aspect: claim for claim in claim_rows.claims_in(asked)} if asked else {}
    held = found.pop(aspect, None) if aspect is not None else None
    begun = head()
    near = [claim for claim in found.values() if is_near(claim.aspect, aspect or "")]
    alive = tuple(claim for claim in near if claim.alive(begun.now))
    return LockedBoard(begun, tasks.task_in(task) if task else None, held, alive)


def new_task(task_id: str, seq: int, wanted: NewTask, now: Moment) -> Task:
    made = rfc3339(now.wall)
    return Task(
        id=task_id,
        title=wanted.title,
        status="open",
        created_by=wanted.agent,
        created_at=made,
        updated_at=made,
        seq=seq,
        description=wanted.description,
        tags=tuple(wanted.tags),
        priority=wanted.priority,
    )


def edit(tx: Tx, task: Task, wanted: TaskEdit, now: Moment) -> None:
    changed = replace(
        task,
        title=task.title if wanted.title is None else wanted.title,
        description=task.description if wanted.description is None else wanted.description,
        priority=task.priority if wanted.priority is None else wanted.priority,
        tags=task.tags if wanted.tags is None else tuple(wanted.tags),
    )
    tasks.update(tx, changed, now)
    if wanted.depends_on is not None:
        need_known(tx, wanted.depends_on)
        _need_no_cycle(tx, task.id, wanted.depends_on)
        tasks.set_dependencies(tx, task.id, wanted.depends_on)


def replaced(tx: Tx, task: Task, wanted: TaskEdit) -> dict[str, Any]:
    """The values that an edit is about to replace, as another edit that would bring them back."""
    known: dict[str, Any] = {"title": task.title, "description": task.description or "", "priority": task.priority}
    known |= {"tags": list(task.tags), "status": task.status}
    if wanted.depends_on is not None:
        known["depends_on"] = tasks.ids(tasks.needed_by(tx, task.id))
    return {name: value for name, value in known.items() if getattr(wanted, name) is not None}


def is_equal(wanted: TaskEdit, before: dict[str, Any]) -> bool:
    """Whether an edit gives only values that are there: it changes nothing, and is no event."""
    given = {name: getattr(wanted, name) for name in before}
    return all(_listed(given[name]) == _listed(value) for name, value in before.items())


def _listed(value: Any) -> Any:
    return sorted(value) if isinstance(value, (list, tuple)) else value


def turn(tx: Tx, board: LockedBoard, task: Task, agent: str, before: dict[str, Any] | None = None) -> Outcome:
    """Set the status that `task` has. Ending a task deletes its claims, so their tokens are lost."""
    turned = board.task is not None and board.task.status != task.status
    if turned:
        tasks.set_status(tx, task.id, task.status, board.now)
    if turned and task.status != "open":
        claim_rows.drop_all(tx, task.id)
    kind = _ENTRY_OF_STATUS[task.status] if turned else "updated"
    changes.record(tx, board.head, kind, task.id, agent)
    details = {"before": before} if before else {}
    return Outcome({"success": True}, (event(kind, task.id, **details),))


def take(tx: Tx, board: LockedBoard, wanted: Claim) -> tuple[Claim, bool]:
    """Take or renew the claim; whether it was renewed. A live claim keeps its token."""
    if board.held and board.held.alive(board.now):
        claim_rows.renew(tx, board.held.token, wanted.lease)
        return replace(board.held, lease=wanted.lease), True
    token = changes.record(tx, board.head, "claimed", wanted.task_id, wanted.agent, aspect=wanted.aspect)
    claim = replace(wanted, token=token)
    claim_rows.take(tx, claim, board.now)
    return claim, False


def within_limits(
    tx: Tx, board: LockedBoard, limits: ClaimLimits | None, task_id: str, agent: str, duration: Duration
) -> Duration | Refusal:
    """How long the claim may last in the agent's session, or why the session takes no more."""
    if limits is None:
        return duration
    held = board.held
    if held is not None and held.alive(board.now) and held.agent == agent and held.session_id == limits.session_id:
        return task_time_left(held, limits, duration, board.now)
    return decide_limits(claim_rows.of_session(tx, limits.session_id, board.now), limits, task_id, agent, duration)


def holder(tx: Tx, board: LockedBoard, aspect: str, agent: str, token: int | None) -> Claim | Refusal:
    task = need_open(board.task)
    if isinstance(task, Refusal):
        return task
    decided = decide_hold(board.held, agent, token, board.now)
    if not isinstance(decided, Refusal):
        return decided
    named = claim_rows.claim_of_token(tx, token) if token is not None else None
    if named and (named.task_id, named.aspect) != (task.id, aspect):
        return Refusal("wrong_token", token_of=(named.task_id, named.aspect))
    decided = _unless_invented(tx, token, decided)
    return replace(decided, near=board.near if decided.reason in ("not_claimed", "claim_lost") else ())


def holding(tx: Tx, task: Task, token: int, agent: str, now: Moment) -> Task | Refusal:
    return token_refusal(tx, token, agent, now, task.id) or task


def token_refusal(tx: Tx, token: int, agent: str | None, now: Moment, task_id: str | None = None) -> Refusal | None:
    """Why a token is not valid: it must be alive, the agent's and, if a task is given, the task's."""
    named = claim_rows.claim_of_token(tx, token)
    if named and task_id not in (None, named.task_id):
        return Refusal("wrong_token", token_of=(named.task_id, named.aspect))
    decided = decide_hold(named, agent, token, now)
    return _unless_invented(tx, token, decided) if isinstance(decided, Refusal) else None


def _unless_invented(tx: Tx, token: int | None, decided: Refusal) -> Refusal:
    """Nothing was lost under a token that no claim ever had."""
    if decided.reason != "claim_lost" or token is None or claim_rows.was_given(tx, token):
        return decided
    return Refusal("wrong_token", never_given=True)


def check_token(tx: Tx, token: int, agent: str | None = None) -> None:
    """Raise `ClaimLost` unless the claim is alive. For other work under a claim, in the transaction that commits it."""
    tx.lock(changes.JOURNAL.channel)
    refusal = token_refusal(tx, token, agent, tx.now())
    if refusal:
        raise as_error(refusal)


def need_finding_allowed(tx: Tx, board: LockedBoard, agent: str, token: int | None) -> None:
    task = board.task
    decided = task if task and task.status == "completed" else need_open(task)
    if not isinstance(decided, Refusal) and token is not None:
        decided = holding(tx, decided, token, agent, board.now)
    if isinstance(decided, Refusal):
        raise as_error(decided)


def need_known(tx: Tx, task_ids: Sequence[str]) -> None:
    unknown = tasks.first_unknown(tx, task_ids)
    if unknown is not None:
        raise NotFound(f"depends_on: there is no task {unknown!r}", hint="lithos_task_list names the tasks.")


def _need_no_cycle(tx: Tx, task_id: str, depends_on: Sequence[str]) -> None:
    for each in depends_on:
        if each == task_id or tasks.reaches(tx, each, task_id):
            way = "itself" if each == task_id else f"{each}, which already waits for it"
            raise InvalidInput(f"depends_on: {task_id} would wait for {way}", hint="Leave that dependency out.")


def show(tx: Tx, task_id: str) -> TaskShown | None:
    asked, asked_now, held = tasks.ask(tx, task_id), tx.ask_now(), claim_rows.ask_all(tx, task_id)
    needed, waiting = tasks.needed_by(tx, task_id), tasks.waiting_for(tx, task_id)
    found = tx.ask("SELECT count(*) AS n FROM findings WHERE task_id = ?", task_id)
    task, now = tasks.task_in(asked), asked_now()
    if task is None:
        return None
    count = found.one()
    return {
        **show_task(task, [claim for claim in claim_rows.claims_in(held) if claim.alive(now)], now),
        "description": task.description,
        "depends_on": tasks.ids(needed),
        "blocked_by": tasks.ids(needed, "open"),
        "blocks": tasks.ids(waiting),
        "findings": count["n"] if count else 0,
    }


def counts(tx: Tx) -> BoardCounts:
    by_status = tasks.count(tx)
    found = tx.one("SELECT count(*) AS n FROM findings")
    return {
        "active_tasks": by_status["open"],
        "open_claims": claim_rows.count_live(tx, tx.now()),
        "completed_tasks": by_status["completed"],
        "cancelled_tasks": by_status["cancelled"],
        "findings": found["n"] if found else 0,
    }


def granted(field: str, claim: Claim, duration: Duration) -> Answer:
    clamped = {"clamped": True} if duration.clamped else {}
    return {"success": True, field: rfc3339(claim.lease.expires_at), "token": claim.token, **clamped}


def refused(refusal: Refusal) -> Outcome:
    return Outcome(refusal.as_answer(), refused=True)


def as_error(refusal: Refusal) -> LithosError:
    """The refusal as an error, for answers without `success`."""
    kind = _ERRORS.get(refusal.reason, Conflict)
    return kind(refusal.message, hint=refusal.hint, reason=refusal.reason, **refusal.held_by)


def claim_event(op: str, claim: Claim) -> EventDraft:
    return event(op, claim.task_id, aspect=claim.aspect, token=claim.token)


def event(op: str, task_id: str, **details: object) -> EventDraft:
    return EventDraft("task", op, thing=task_id, details=details)
