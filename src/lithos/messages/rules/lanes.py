"""Which lane and which session is served next: decided without I/O."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lithos.core.fair_turns import Contender, next_turn

LOWEST_EVERY = 8  # of so many picks, one serves the lowest lane that has something


@dataclass(frozen=True, slots=True)
class LaneRow:
    """Messages that wait for one receiver in one lane of one session."""

    lane: int
    session_id: str
    ready: int
    contender: Contender[tuple[int, str]]


def next_lane(rows: Sequence[LaneRow], pick: int) -> LaneRow | None:
    """The highest lane first, every eighth time the lowest; within a lane, sessions take turns."""
    waiting = [each for each in rows if each.ready > 0]
    if not waiting:
        return None
    choose = min if pick % LOWEST_EVERY == LOWEST_EVERY - 1 else max
    lane = choose(each.lane for each in waiting)
    chosen = {each.contender.key: each for each in waiting if each.lane == lane}
    turn = next_turn(each.contender for each in chosen.values())
    return None if turn is None else chosen[turn.key]
