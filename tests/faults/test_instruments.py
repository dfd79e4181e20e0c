"""Truth of the instruments: a fault that is planted under a running memory turns `/health`, stats, `doctor`, `validate`
or the `degraded` of a search red; when it is put right, all are green again."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lithos.app import Lithos
from lithos.errors import LithosError
from lithos.tools.catalogue import catalogue
from tests.faults.damage import Case, red
from tests.faults.data import OPERATOR, everything, opened
from tests.support.waiting import until


def database_gone(data: Path) -> None:
    (data / ".lithos" / "coordination.db").rename(data / "away.db")


def database_back(data: Path) -> None:
    (data / "away.db").rename(data / ".lithos" / "coordination.db")


def database_flipped(data: Path) -> None:
    _flip(data / ".lithos" / "coordination.db", 3 * 4096 + 2000)


def database_zeroed(data: Path) -> None:
    """A page of zeros has a right checksum."""
    database = data / ".lithos" / "coordination.db"
    (data / "sound.db").write_bytes(database.read_bytes())
    with database.open("r+b") as file:
        file.seek(4 * 4096)
        file.write(bytes(4096))


def database_sound(data: Path) -> None:
    with (data / ".lithos" / "coordination.db").open("r+b") as file:
        file.write((data / "sound.db").read_bytes())


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


def _one(data: Path, pattern: str) -> Path:
    return sorted(data.glob(pattern))[0]


def _aside(pattern: str) -> tuple[Plant, Plant]:
    """A file that is gone, and back."""

    def gone(data: Path) -> None:
        file = _one(data, pattern)
        (data / "away").write_text(str(file))
        file.rename(data / "away.file")

    def back(data: Path) -> None:
        (data / "away.file").rename((data / "away").read_text())

    return gone, back


def _flipped(pattern: str, place: int) -> tuple[Plant, Plant]:
    def flip(data: Path) -> None:
        _flip(_one(data, pattern), place)

    return flip, flip


def _overwritten(pattern: str) -> tuple[Plant, Plant]:
    """Derived: nobody puts it right, it heals."""

    def overwrite(data: Path) -> None:
        for file in data.glob(pattern):
            with file.open("r+b") as opened_file:
                opened_file.write(bytes(file.stat().st_size))

    return overwrite, lambda data: None


def _fifo(place: str) -> tuple[Plant, Plant]:
    """In place of a folder that is not there yet."""

    def plant(data: Path) -> None:
        (data / place).parent.mkdir(exist_ok=True)
        os.mkfifo(data / place)

    return plant, lambda data: (data / place).unlink()


def _note(name: str, text: str) -> tuple[Plant, Plant]:
    return (
        lambda data: (data / "knowledge" / name).write_text(text) and None,
        lambda data: (data / "knowledge" / name).unlink(),
    )


ID = "11111111-2222-4333-8444-555555555555"
CHAIN = ".lithos/ledger/lithos-*"


@dataclass(frozen=True)
class Fault:
    name: str
    planted: tuple[Plant, Plant]  # and put right
    shown_by: frozenset[str]  # instruments that owe it; any other may show it too
    reopened: bool = False  # put right for the next start only: what is damaged under a host stays refused


def fault(name: str, planted: tuple[Plant, Plant], *shown_by: str, reopened: bool = False) -> Fault:
    return Fault(name, planted, frozenset(shown_by), reopened)


EVERYWHERE = ("health", "stats", "doctor")
FAULTS = (
    fault("database gone", (database_gone, database_back), "health", "doctor"),
    fault("database flipped", (database_flipped, database_flipped), "health", "doctor"),
    fault("database zeroed", (database_zeroed, database_sound), *EVERYWHERE),
    fault("worktrees are a FIFO", _fifo(".lithos/worktrees"), "doctor"),
    fault("surveys are a FIFO", _fifo(".graph/surveys"), "doctor"),
    fault(
        "public key", (signing_key_flipped, lambda data: (data / ".lithos/keys/ledger_ed25519.pub").unlink()), "doctor"
    ),
    fault("key of the audit gone", _aside(".lithos/keys/events-0001.key"), "doctor"),
    fault("segment gone", _aside(f"{CHAIN}/*0.bin"), *EVERYWHERE, reopened=True),
    fault("segment flipped", _flipped(f"{CHAIN}/*0.bin", 300), *EVERYWHERE, reopened=True),
    fault("head of a segment", _flipped(f"{CHAIN}/*0.bin", 2), *EVERYWHERE, reopened=True),
    fault("chain.json gone", _aside(f"{CHAIN}/chain.json"), "doctor"),
    fault("registry of a chain", _flipped(f"{CHAIN}/registry.jsonl", 40), *EVERYWHERE),
    fault("checkpoints", _flipped(".lithos/checkpoints/lithos-*.jsonl", 20), *EVERYWHERE),
    fault("words overwritten", _overwritten(".tantivy/notes/text*/documents/**/*.idx"), "search"),
    fault(
        "words of thoughts gone",
        (_aside(".tantivy/thoughts/text*/passages/**/meta.json")[0], lambda data: None),
        "search",
    ),
    fault("broken frontmatter", _note("odd.md", "---\ntitle: [x\n---\ntext\n"), "validate"),
    fault("the same id twice", _note("twin.md", f"---\nid: {ID}\n---\na\n"), "validate"),
    fault("a link that leads nowhere", _note("link.md", "see [[nothing of the kind]]\n"), "validate"),
    fault("a conflict copy", _note("note-1.conflict-20260131T120000Z.md", "other\n"), "validate"),
    fault("a credential", _note("key.md", f"token {'ghp_' + 'a1B2' * 9}\n"), "validate"),
    fault(
        "a file that is none of ours",
        (lambda data: (data / ".lithos/odd").touch(), lambda data: (data / ".lithos/odd").unlink()),
        "doctor",
    ),
)


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data = tmp_path_factory.mktemp("instruments") / "pristine"
    everything(data)
    return data


def _health(memory: Lithos) -> str | None:
    memory.storage.check_some_pages()  # a host does it every few seconds
    return memory.health()


def reading(memory: Lithos, valid: dict[str, int]) -> set[str]:
    """The instruments that are red; `valid` is what `validate` counts while all is well. A host looks at pages and at
    chains every few seconds, and at files when they change."""
    degraded = [_call(memory, *asked)["degraded"] for asked in SEARCHES]
    memory.notes.reindex()
    memory.ledger.verify_some()
    shown = {
        "search": any(degraded),
        "health": _health(memory) is not None,
        "doctor": bool(red(memory)),
        "validate": _call(memory, "lithos_validate", {})["counts"] != valid,
        "stats": _call(memory, "lithos_stats", {}).get("problem") is not None,
    }
    return {name for name, is_red in shown.items() if is_red}


SEARCHES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("lithos_search", {"query": "word1"}),
    ("mentisdb_search", {"text": "thought"}),
)


def _call(memory: Lithos, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """An instrument that cannot be read is red too."""
    try:
        return catalogue().call(memory, tool, arguments, OPERATOR)
    except LithosError as error:
        assert error.hint, error.as_dict()
        return {"counts": {"error": 1}, "degraded": True, "problem": error.message}


def judge(pristine: Path, folder: Path, case: Fault) -> None:
    data = Case(pristine, folder).data
    plant, heal = case.planted
    with opened(data) as memory:
        if case.name == "the same id twice":
            (data / "knowledge/first.md").write_text(f"---\nid: {ID}\n---\nfirst text\n")
        memory.notes.reindex()
        valid = _call(memory, "lithos_validate", {})["counts"]
        assert reading(memory, valid) == set()
        plant(data)
        assert case.shown_by <= reading(memory, valid)
        heal(data)
        if not case.reopened:
            until(lambda: reading(memory, valid) == set(), "green again")
    if case.reopened:
        with opened(data) as memory:
            assert reading(memory, valid) == set()


@pytest.mark.parametrize("case", FAULTS, ids=lambda each: each.name)
def test_a_planted_fault_turns_the_instruments_red_and_its_end_green(
    pristine: Path, tmp_path: Path, case: Fault
) -> None:
    judge(pristine, tmp_path / "case", case)


@pytest.mark.parametrize(("name", "bug"), [("chain.json gone", "lithos.tools.doctor.CHECKS")])
def test_an_instrument_that_does_not_look_turns_this_red(
    pristine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, bug: str
) -> None:
    monkeypatch.setattr(bug, ())
    with pytest.raises(AssertionError, match="doctor"):
        judge(pristine, tmp_path / "case", next(each for each in FAULTS if each.name == name))
