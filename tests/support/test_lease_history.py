"""The checker of recorded histories, tested with histories that were forged."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.lease_history import Op, possible

LEASE = 10.0


def claim(agent: str, called: float, answered: float, token: int | None = None, holder: str = "") -> Op:
    answer: dict[str, Any] = {"success": True, "token": token} if token else {"success": False, "holder": holder}
    return Op("claim", agent, called, answered, answer=answer)


def use(kind: Any, agent: str, shown: int, called: float, answered: float, success: bool) -> Op:
    return Op(kind, agent, called, answered, shown, {"success": success})


TRUE: dict[str, list[Op]] = {
    "one after the other": [claim("ann", 0, 1, 1), claim("bob", 11.5, 12, 2)],
    "the second is refused": [claim("ann", 0, 1, 1), claim("bob", 2, 3, holder="ann")],
    "at once, one of them wins": [claim("ann", 0, 5, holder="bob"), claim("bob", 0, 5, 1)],
    "the holder renews": [
        claim("ann", 0, 1, 1),
        use("renew", "ann", 1, 9, 9.5, True),
        claim("bob", 15, 16, holder="ann"),
        claim("bob", 19.6, 20, 2),
    ],
    "released, then taken": [
        claim("ann", 0, 1, 1),
        use("release", "ann", 1, 2, 3, True),
        claim("bob", 3, 4, 2),
        use("write", "ann", 1, 5, 6, False),
    ],
    "an answer that never came explains the holder": [
        Op("claim", "ann", 0),
        claim("bob", 1, 2, holder="ann"),
    ],
    "a slept lease is refused": [claim("ann", 0, 1, 1), use("write", "ann", 1, 12, 13, False)],
    "on the edge either is possible": [claim("ann", 0, 1, 1), claim("bob", 10.5, 10.6, 2)],
    "claiming again keeps the token": [claim("ann", 0, 1, 1), claim("ann", 2, 3, 1)],
}

FORGED: dict[str, list[Op]] = {
    "two holders": [claim("ann", 0, 1, 1), claim("bob", 2, 3, 2)],
    "a stale write was accepted": [
        claim("ann", 0, 1, 1),
        claim("bob", 12, 13, 2),
        use("write", "ann", 1, 14, 15, True),
    ],
    "a write after the end was accepted": [claim("ann", 0, 1, 1), use("write", "ann", 1, 12, 13, True)],
    "a live holder was refused": [claim("ann", 0, 1, 1), use("write", "ann", 1, 2, 3, False)],
    "a free aspect was refused": [claim("bob", 0, 1, holder="ann")],
    "the wrong holder was named": [claim("ann", 0, 1, 1), claim("bob", 2, 3, holder="eve")],
    "a token went back": [claim("ann", 0, 1, 5), claim("bob", 12, 13, 4)],
    "claiming again changed the token": [claim("ann", 0, 1, 1), claim("ann", 2, 3, 2)],
    "a renewal was forgotten": [
        claim("ann", 0, 1, 1),
        use("renew", "ann", 1, 9, 9.5, True),
        claim("bob", 12, 13, 2),
    ],
    "a release was forgotten": [
        claim("ann", 0, 1, 1),
        use("release", "ann", 1, 2, 3, True),
        claim("bob", 4, 5, holder="ann"),
    ],
}


@pytest.mark.parametrize("name", TRUE)
def test_a_true_history_is_possible(name: str) -> None:
    assert possible(TRUE[name], LEASE)


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_history_is_impossible(name: str) -> None:
    assert not possible(FORGED[name], LEASE)


def test_one_forged_answer_in_a_long_history_is_found() -> None:
    history: list[Op] = []
    for turn in range(40):
        start, agent = turn * 20.0, f"agent-{turn % 3}"
        history += [claim(agent, start, start + 1, turn + 1), claim("eve", start + 2, start + 3, holder=agent)]
        history.append(use("write", agent, turn + 1, start + 4, start + 5, True))
    assert possible(history, LEASE)
    history[62] = use("write", "agent-2", 21, 404, 405, False)
    assert not possible(history, LEASE)
