"""A backup of a memory whose shared state is in PostgreSQL."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from lithos.app import open_lithos
from lithos.backup import RestoreOptions, make_backup, restore
from lithos.from_settings import memory_places
from lithos.settings import LithosConfig
from tests.support.note_calls import caller
from tests.support.states import PostgresStates

pytestmark = pytest.mark.postgres


def config(folder: Path, url: str | None) -> LithosConfig:
    return LithosConfig.model_validate({"storage": {"data_dir": str(folder), "database_url": url}})


def test_one_snapshot_comes_back_on_sqlite_in_an_empty_database_and_beside_the_old_one(
    tmp_path: Path, postgres: PostgresStates
) -> None:
    url = postgres.url(tmp_path / "one")
    with closing(open_lithos(config(tmp_path / "one", url))) as lithos:
        call = caller(lithos)
        call("lithos_write", title="Retries", content="Retry three times.", agent="ann")
        call("lithos_task_create", title="Fix the pool", agent="ann")
        make_backup(memory_places(config(tmp_path / "one", url)), tmp_path / "b")
        known = (tmp_path / "one/.lithos/store-id").read_text()

    restore(RestoreOptions(tmp_path / "b", tmp_path / "sqlite"))
    empty = postgres.url(tmp_path / "two")
    assert restore(RestoreOptions(tmp_path / "b", tmp_path / "two", database=empty)).new_store_id is None
    beside = restore(RestoreOptions(tmp_path / "b", tmp_path / "three", database=url))
    assert beside.new_store_id not in (None, known)

    for folder, where in (("sqlite", None), ("two", empty), ("three", url)):
        with closing(open_lithos(config(tmp_path / folder, where))) as lithos:
            call = caller(lithos)
            assert call("lithos_read", path="retries.md")["title"] == "Retries"
            assert [task["title"] for task in call("lithos_task_status")["tasks"]] == ["Fix the pool"]
            assert lithos.storage.database.read(lithos.storage.events.verify)["ok"]
