"""Truth of the instruments: a fault that is planted under a running memory turns `/health` and `doctor` red, or is
healed; when it is put right, both are green again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from lithos.app import Lithos
from tests.faults.damage import Case, red
from tests.faults.data import everything, opened
from tests.support.waiting import until


def database_gone(data: Path) -> None:
    (data / ".lithos" / "coordination.db").rename(data / "away.db")


def database_back(data: Path) -> None:
    (data / "away.db").rename(data / ".lithos" / "coordination.db")


def database_flipped(data: Path) -> None:
    _flip(data / ".lithos" / "coordination.db", 3 * 4096 + 2000)


def signing_key_flipped(data: Path) -> None:
    key = data / ".lithos" / "keys" / "ledger_ed25519.pub"
    key.write_text("0" if key.read_text()[0] != "0" else "1" + key.read_text()[1:])


def _flip(path: Path, place: int) -> None:
    with path.open("r+b") as file:
        file.seek(place)
        byte = file.read(1)[0]
        file.seek(place)
        file.write(bytes([byte ^ 0x15]))


Plant = Callable[[Path], None]
# Fault, how it is put right, and whether `/health` owes it too: `doctor` owes every one.
FAULTS: list[tuple[Plant, Plant, bool]] = [
    (database_gone, database_back, True),
    (database_flipped, database_flipped, True),
    (signing_key_flipped, lambda data: (data / ".lithos/keys/ledger_ed25519.pub").unlink(), False),
]


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data = tmp_path_factory.mktemp("instruments") / "pristine"
    everything(data)
    return data


def _health(memory: Lithos) -> str | None:
    memory.storage.check_some_pages()  # a host does it every few seconds
    return memory.health()


@pytest.mark.parametrize(("plant", "heal", "in_health"), FAULTS, ids=lambda each: getattr(each, "__name__", ""))
def test_a_planted_fault_turns_the_instruments_red_and_its_end_green(
    pristine: Path, tmp_path: Path, plant: Plant, heal: Plant, in_health: bool
) -> None:
    data = Case(pristine, tmp_path / "case").data
    with opened(data) as memory:
        assert red(memory) == []
        plant(data)
        assert (_health(memory) is not None) or not in_health
        assert red(memory), "doctor is green"
        heal(data)
        until(lambda: _health(memory) is None and red(memory) == [], "green again")
