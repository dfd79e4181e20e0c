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
from tests.support.states import PostgresStates
from tests.support.waiting import until

KINDS = ("thoughts", "tasks", "messages", "sessions")


class Writer(threading.Thread):
    """One agent: writes, moves, appends and sends, and keeps what was acknowledged."""

    def __init__(self, guest: GuestProcess, name: str) -> None:
        super().__init__(daemon=True)
        self.guest, self.agent = guest, name
        self.notes: list[str] = []
        self.count = dict.fromkeys(KINDS, 0)
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
            self._count("thoughts", "mentisdb_append", thought_type="Idea", content=f"{number}", agent_id=self.agent)
            self._count("tasks", "lithos_task_create", title=f"Task {number}", agent=self.agent)
            self._count("messages", "lithos_message_send", target="reader", body=f"{number}", agent=self.agent)
            self._count("sessions", "lithos_session_create", name=f"{self.agent} {number}", agent=self.agent)

    def _count(self, kind: str, tool: str, **arguments: str) -> None:
        self.count[kind] += "error" not in self.guest.call(tool, **arguments)


def judge(folder: Path, notes: list[str], count: dict[str, int]) -> None:
    assert run(["doctor", "--full", "--data-dir", str(folder)]) == 0
    with closing(open_lithos(LithosConfig(storage=StorageSettings(data_dir=folder)))) as lithos:
        call = caller(lithos)
        for note in notes:
            assert call("lithos_read", id=note)["content"].strip().endswith("x")
        assert sum(chain["thought_count"] for chain in call("mentisdb_list_chains")["chains"]) >= count["thoughts"]
        assert call("lithos_task_ready", agent="judge", limit=1)["total"] >= count["tasks"]
        assert call("lithos_inbox_list", agent="reader", limit=1)["waiting"] >= count["messages"]
        assert call("lithos_session_list", agent="judge", limit=1)["total"] >= count["sessions"]


def rounds(home: Household, tmp_path: Path, how_many: int, *, kills: bool, database: str | None = None) -> None:
    config = LithosConfig.model_validate({"storage": {"data_dir": str(home.data_dir), "database_url": database}})
    home.data_dir.mkdir(parents=True, exist_ok=True)
    (home.data_dir / "config.yaml").write_text(f"storage:\n  database_url: {database}\n" if database else "")
    writers = [Writer(home.guest("--toolsets", "all"), f"agent{number}") for number in range(3)]
    for writer in writers:
        writer.guest.initialize()
        writer.start()
    until(lambda: all(writer.count["sessions"] > 3 for writer in writers), "some writes")
    for number in range(how_many):
        before = [(list(writer.notes), dict(writer.count)) for writer in writers]
        killer = threading.Timer(0.05, lambda: home.kill_pid(home.host_pid())) if kills else None
        if killer:
            killer.start()
        make_backup(memory_places(config), tmp_path / f"b{number}")
        if killer:
            killer.join()
        restore(RestoreOptions(tmp_path / f"b{number}", tmp_path / f"r{number}"))
        notes = [note for notes, _ in before for note in notes]
        judge(tmp_path / f"r{number}", notes, {kind: sum(count[kind] for _, count in before) for kind in KINDS})
    for writer in writers:
        writer.stop.set()
        writer.join(60)


def test_a_backup_holds_what_was_acknowledged_before_it_began(home: Household, tmp_path: Path) -> None:
    rounds(home, tmp_path, 2, kills=False)


@pytest.mark.torture
def test_backups_under_load_with_kills(home: Household, tmp_path: Path) -> None:
    rounds(home, tmp_path, 20, kills=True)


@pytest.mark.torture
@pytest.mark.postgres
def test_backups_of_postgres_under_load_with_kills(home: Household, tmp_path: Path, schemas: PostgresStates) -> None:
    rounds(home, tmp_path, 20, kills=True, database=schemas.url(home.data_dir))
