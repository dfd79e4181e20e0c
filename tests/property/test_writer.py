"""The writer under any interleaving: whatever was acknowledged before a kill is there after it, whole and once."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.commit_kills import STEPS, acknowledged_until_killed, whole_pairs

killings = {"point": st.sampled_from(STEPS), "visit": st.integers(1, 60), "callers": st.integers(1, 12)}


def check(point: str, visit: int, callers: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "state.db"
        acknowledged = acknowledged_until_killed(path, point, visit, callers)
        there = whole_pairs(path)
        assert acknowledged <= there
        assert len(there - acknowledged) <= callers  # what was in flight, and nothing else


@settings(max_examples=8, deadline=None)
@given(**killings)
def test_every_acknowledged_row_is_there_after_a_kill(point: str, visit: int, callers: int) -> None:
    check(point, visit, callers)


@pytest.mark.torture
@settings(max_examples=200, deadline=None)
@given(**killings)
def test_every_acknowledged_row_is_there_after_many_kills(point: str, visit: int, callers: int) -> None:
    check(point, visit, callers)
