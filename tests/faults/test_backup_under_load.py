"""A backup while agents write and the host is killed: what was acknowledged before it began is in it."""

from __future__ import annotations

import threading
from contextlib import closing
from pathlib import Path

import pytest

from lithos.app import open_lithos
from lithos.backup import RestoreOptions, make_backup, restore
from lithos.cli.root import run
from lithos.from_settings import memory_places
from lithos.settings import LithosConfig, StorageSettings
from tests.support.guests import GuestProcess, Household
from tests.support.note_calls import caller
from tests.support.waiting import until


class Writer(threading.Thread):
    """One agent: writes, moves and appends, and keeps what was acknowledged."""

    def __init__(self, guest: GuestProcess, name: str) -> None:
        super().__init__(daemon=True)
        self.guest, self.agent = guest, name
        self.notes: list[str] = []
        self.thoughts = 0
        self.stop = threading.Event()

    def run(self) -> None:
        number = 0
        while not self.stop.is_set():
            number += 1
            made = self.guest.call("lithos_write", title=f"{self.agent} {number}", content="x", agent=self.agent)
            if "error" in made:  # the host was killed twice during one call
                continue
            self.notes.append(made["id"])
            if number % 3 == 0:
                self.guest.call("lithos_move", id=made["id"], to=f"moved/{self.agent}-{number}.md", agent=self.agent)
            said = self.guest.call("mentisdb_append", thought_type="Idea", content=f"{number}", agent_id=self.agent)
            self.thoughts += "error" not in said


def judge(folder: Path, notes: list[str], thoughts: int) -> None:
    assert run(["doctor", "--full", "--data-dir", str(folder)]) == 0
    with closing(open_lithos(LithosConfig(storage=StorageSettings(data_dir=folder)))) as lithos:
        call = caller(lithos)
        for note in notes:
            assert call("lithos_read", id=note)["content"].strip().endswith("x")
        assert sum(chain["thought_count"] for chain in call("mentisdb_list_chains")["chains"]) >= thoughts


def rounds(home: Household, tmp_path: Path, how_many: int, kills: bool) -> None:
    writers = [Writer(home.guest(), f"agent{number}") for number in range(3)]
    for writer in writers:
        writer.guest.initialize()
        writer.start()
    places = memory_places(LithosConfig(storage=StorageSettings(data_dir=home.data_dir)))
    until(lambda: all(writer.thoughts > 3 for writer in writers), "some writes")
    for number in range(how_many):
        before = [(list(writer.notes), writer.thoughts) for writer in writers]
        killer = threading.Timer(0.05, lambda: home.kill_pid(home.host_pid())) if kills else None
        if killer:
            killer.start()
        make_backup(places, tmp_path / f"b{number}")
        if killer:
            killer.join()
        restore(RestoreOptions(tmp_path / f"b{number}", tmp_path / f"r{number}"))
        judge(tmp_path / f"r{number}", [note for notes, _ in before for note in notes], sum(each for _, each in before))
    for writer in writers:
        writer.stop.set()
        writer.join(60)
    assert sum(writer.thoughts for writer in writers) > 0


def test_a_backup_holds_what_was_acknowledged_before_it_began(home: Household, tmp_path: Path) -> None:
    rounds(home, tmp_path, 2, kills=False)


@pytest.mark.torture
def test_backups_under_load_with_kills(home: Household, tmp_path: Path) -> None:
    rounds(home, tmp_path, 20, kills=True)
