"""The parts of a running Lithos: opened and closed in order, and honest about what is wrong with them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from lithos.app import Lithos, open_lithos
from lithos.core.part import Part
from lithos.errors import Damaged
from lithos.settings import LithosConfig
from lithos.tools.catalogue import catalogue


def remove_the_database(lithos: Lithos) -> None:
    (lithos.storage.state / "coordination.db").unlink()


def replace_the_database(lithos: Lithos) -> None:
    path = lithos.storage.state / "coordination.db"
    path.rename(path.with_name("old.db"))
    path.touch()


def remove_the_vault(lithos: Lithos) -> None:
    folder = lithos.storage.roots["vault"].path
    folder.rename(folder.with_name("elsewhere"))
    lithos.notes.index.reconcile()


PROBLEMS: list[tuple[Callable[[Lithos], None], str]] = [
    (remove_the_database, "coordination.db was removed or replaced"),
    (replace_the_database, "coordination.db was removed or replaced"),
    (remove_the_vault, "the folder of notes cannot be read"),
]


@pytest.mark.parametrize(("break_it", "problem"), PROBLEMS, ids=lambda each: getattr(each, "__name__", ""))
def test_health_names_what_is_wrong_and_no_path(
    config: LithosConfig, data_dir: Path, break_it: Callable[[Lithos], None], problem: str
) -> None:
    lithos = open_lithos(config)
    try:
        catalogue().call(lithos, "lithos_write", {"title": "A note", "content": "text", "agent": "ann"})
        assert lithos.health() is None
        break_it(lithos)
        assert problem in (lithos.health() or "")
        assert str(data_dir) not in (lithos.health() or "")
    finally:
        with suppress(Damaged):  # the last times of agents and tokens find no database
            lithos.close()


def test_health_names_a_damaged_chain_once_it_was_found(config: LithosConfig, data_dir: Path) -> None:
    lithos = open_lithos(config)
    for number in range(3):
        thought = {"thought_type": "Insight", "content": f"thought {number}", "agent_id": "ann"}
        catalogue().call(lithos, "mentisdb_append", thought)
    lithos.close()
    segment = next((data_dir / ".lithos" / "ledger").rglob("0*.bin"))
    data = bytearray(segment.read_bytes())
    data[len(data) // 2] ^= 1
    segment.write_bytes(data)
    again = open_lithos(config)
    try:
        again.ledger.head(None)
        again.ledger.verify_some(60.0)
        assert "a chain of the ledger is damaged" in (again.health() or "")
    finally:
        again.close()


def test_what_fails_half_way_closes_what_was_built_before_it(
    config: LithosConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[str] = []

    class Broken(Exception):
        pass

    def refuse(*arguments: object, **named: object) -> Part:
        raise Broken

    for part in ("Storage", "Agents", "Tokens"):
        found = getattr(__import__("lithos.app", fromlist=[part]), part)
        monkeypatch.setattr(
            found, "close", lambda self, name=part, close=found.close: (closed.append(name), close(self))
        )
    monkeypatch.setattr("lithos.from_settings.ledger", refuse)
    with pytest.raises(Broken):
        open_lithos(config)
    assert closed == ["Tokens", "Agents", "Storage"]
    monkeypatch.undo()
    open_lithos(config).close()


def test_every_part_of_a_new_memory_is_well_idle_and_weighed(lithos: Lithos) -> None:
    lithos.notes.ensure_scanned()
    assert [part.problem() for part in lithos.parts] == [None] * len(lithos.parts)
    assert not lithos.busy()
    assert {"coordination", "history", "trash", "ledger", "thoughts", "catalogue", "search"} <= set(lithos.sizes())
    lithos.close()
    lithos.close()
