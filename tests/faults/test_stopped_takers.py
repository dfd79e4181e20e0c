"""Takers stopped at named steps, on both databases: the short form of a part of `make torture`, and a planted bug."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lithos.messages import store, taking
from tests.torture import stopped_takers

pytestmark = pytest.mark.both_databases


def test_every_message_is_answered_once_though_its_takers_are_stopped(tmp_path: Path) -> None:
    counts = stopped_takers.campaign(tmp_path, seed=27, stops=50)
    assert counts["messages"] and counts["woken takers"]


def test_a_reply_without_a_check_of_its_token_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = taking.holding

    def unchecked(tx: Any, settlement: taking.Settlement) -> Any:
        row = store.ask_held(tx, settlement.message_id).one()
        assert row is not None
        return real(tx, replace(settlement, token=store.token_of(row)))

    monkeypatch.setattr(taking, "holding", unchecked)
    with pytest.raises(AssertionError, match="an old token was believed"):
        stopped_takers.campaign(tmp_path, seed=1, stops=200)
