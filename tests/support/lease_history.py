"""Is a recorded history of one (task, aspect) possible, if every call took effect at one moment before its answer?

A search over the orders that real time allows. A lease's end is known as an interval, because the moment of its grant
is: what the search rejects is impossible for certain; what it accepts was possible up to that vagueness.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal


@dataclass(frozen=True)
class Op:
    kind: Literal["claim", "renew", "release", "write"]
    agent: str
    called: float
    answered: float = math.inf
    shown: int | None = None  # the token that the caller showed
    answer: dict[str, Any] | None = None  # None: it never came; the call may have had its effect or not

    @property
    def granted(self) -> bool:
        return bool(self.answer and self.answer["success"])


@dataclass(frozen=True)
class Lease:
    """What the aspect is like at some moment not before `now`: held until somewhere in [earliest, latest], or free."""

    now: float = -math.inf
    holder: str | None = None
    token: int | None = None  # None with a holder: granted by a call whose answer nobody saw
    earliest: float = -math.inf
    latest: float = -math.inf
    newest: int = 0  # the highest token given so far


def possible(history: Sequence[Op], seconds: float) -> bool:
    """Whether some order of the operations explains every answer; every granted lease lasts so many `seconds`."""
    start = (frozenset(range(len(history))), Lease())
    pending, seen = [start], {start}
    while pending:
        left, lease = pending.pop()
        answers = [history[each].answered for each in left if history[each].answer is not None]
        if not answers:
            return True
        for each in left:
            if history[each].called > min(answers):
                continue  # another call was answered before this one was made
            for after in _after(lease, history[each], seconds):
                found = (left - {each}, after)
                if found not in seen:
                    seen.add(found)
                    pending.append(found)
    return False


def _after(lease: Lease, op: Op, seconds: float) -> Iterator[Lease]:
    """Every state in which the operation may leave the aspect, consistent with its answer."""
    earliest = max(lease.now, op.called)
    if earliest > op.answered:
        return
    if lease.holder is not None and earliest <= lease.latest:
        held = replace(lease, now=earliest, earliest=max(lease.earliest, earliest))
        yield from _while_held(held, op, min(op.answered, lease.latest), seconds)
    if lease.holder is None or op.answered > lease.earliest:
        began = earliest if lease.holder is None else max(earliest, lease.earliest)
        yield from _while_free(Lease(now=began, newest=lease.newest), op, seconds)


def _while_held(lease: Lease, op: Op, latest: float, seconds: float) -> Iterator[Lease]:
    known = lease.token is not None
    mine = op.agent == lease.holder and (op.shown is None or not known or op.shown == lease.token)
    if op.answer is None:
        yield lease
        if mine:
            yield _granted(lease, op, lease.token, latest, seconds)
    elif op.granted == mine:
        if op.granted and known and op.answer.get("token", lease.token) != lease.token:
            return
        if op.kind == "claim" and not op.granted and op.answer["holder"] != lease.holder:
            return
        yield _granted(lease, op, op.answer.get("token", lease.token), latest, seconds) if op.granted else lease


def _while_free(lease: Lease, op: Op, seconds: float) -> Iterator[Lease]:
    if op.kind != "claim":
        if not op.granted:
            yield lease
        return
    if op.answer is None:
        yield lease
        yield _granted(lease, op, None, op.answered, seconds)
    elif op.granted and op.answer["token"] > lease.newest:
        yield replace(_granted(lease, op, op.answer["token"], op.answered, seconds), newest=op.answer["token"])


def _granted(lease: Lease, op: Op, token: int | None, latest: float, seconds: float) -> Lease:
    if op.kind == "release":
        return Lease(now=lease.now, newest=lease.newest)
    if op.kind == "write":
        return replace(lease, token=token)
    return replace(lease, holder=op.agent, token=token, earliest=lease.now + seconds, latest=latest + seconds)
