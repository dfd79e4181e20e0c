"""A person with an editor and an agent with the tools change the same note at random moments: no save is lost."""

from __future__ import annotations

import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from lithos.core.call import Call
from lithos.core.clock import SystemClock
from lithos.errors import Conflict
from lithos.notes import WriteRequest
from lithos.storage import Limits
from tests.support.notes_bench import NotesBench, dump
from tests.support.person import PERSON

# Slower than in the fight over bare files: a write of the agent takes some milliseconds, and some must get through.
SLOW_PERSON = PERSON.replace("dice.random() * 0.003", "dice.random() * 0.05")
KEEP_ALL = Limits(history_versions=100_000, grace_seconds=0.2)


class Agent:
    """Adds lines in every way that the tools offer; `told` are those that it was told were written."""

    def __init__(self, bench: NotesBench, note_id: str, seed: int) -> None:
        self._vault, self._reader = bench.notes.vault, bench.notes.reader
        self._id = note_id
        self._dice = random.Random(seed)
        self.told: list[str] = []
        self.refused = 0

    def acts(self, number: int) -> None:
        line = f"agent {number}"
        try:
            self._dice.choice([self._append, self._replace, self._replace_blindly, self._tag])(line)
            self.told.append(line)
        except Conflict:
            self.refused += 1

    def _write(self, request: WriteRequest, if_match: str | None = None) -> None:
        self._vault.write(Call("lithos_write", "agent"), replace(request, id=self._id, if_match=if_match))

    def _append(self, line: str) -> None:
        self._write(WriteRequest("agent", content=line, append=True))

    def _replace(self, line: str) -> None:
        note = self._reader.read(self._id)
        self._write(WriteRequest("agent", content=f"{note['content']}\n{line}"), note["version"])

    def _replace_blindly(self, line: str) -> None:
        self._write(WriteRequest("agent", content=f"{self._reader.read(self._id)['content']}\n{line}"))

    def _tag(self, line: str) -> None:
        self._write(WriteRequest("agent", tags=(line,)))


def fight(tmp_path: Path, rounds: int, style: str, seed: int) -> tuple[list[str], NotesBench]:
    """The lines that are nowhere any more."""
    bench = NotesBench(tmp_path, limits=KEEP_ALL)
    bench.clock = SystemClock()  # type: ignore[assignment]
    made = bench.notes.vault.write(Call("lithos_write", "agent"), WriteRequest("agent", "Shared", "start"))
    target = bench.root.path / made["path"]
    person = subprocess.Popen(
        [sys.executable, "-c", SLOW_PERSON, str(target), str(rounds), style, str(seed)], stdout=subprocess.DEVNULL
    )
    agent = Agent(bench, made["id"], seed)
    try:
        number = 0
        while person.poll() is None or not agent.told:
            agent.acts(number)
            number += 1
    finally:
        person.kill()
        person.wait()
    bench.notes.index.reconcile()
    bench.root.sweep(everything=True)
    bench.notes.index.reconcile()
    saved = [f"person {number}" for number in range(rounds)] + agent.told
    everywhere = _lines(bench)
    return [line for line in saved if line not in everywhere], bench


def _lines(bench: NotesBench) -> set[str]:
    """Every line that is in the note, in a conflict copy beside it, or in its history."""
    texts = [file.read_text() for file in bench.root.path.glob("*.md")]
    texts += [file.read_text() for file in (bench.folder / ".lithos").rglob("*.md") if file.is_file()]
    return {line.strip().removeprefix("- ") for text in texts for line in text.splitlines()}


@pytest.mark.parametrize("style", ["mixed", "rename", "truncate"])
def test_no_save_of_a_person_or_an_agent_is_lost(tmp_path: Path, style: str) -> None:
    lost, bench = fight(tmp_path, 50, style, seed=1)
    assert lost == []
    assert dump(bench.notes.catalogue) == bench.rebuilt()
    bench.close()


@pytest.mark.torture
@pytest.mark.parametrize("style", ["mixed", "rename", "truncate"])
def test_no_save_is_lost_in_1500_rounds(tmp_path: Path, style: str) -> None:
    lost, bench = fight(tmp_path, 1500, style, seed=2)
    assert lost == []
    assert dump(bench.notes.catalogue) == bench.rebuilt()
    bench.close()
