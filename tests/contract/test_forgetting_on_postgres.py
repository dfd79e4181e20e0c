"""What a forgotten thought left in PostgreSQL's tables: its rows go, and so do the files that held them."""

from __future__ import annotations

from pathlib import Path

from lithos.storage import Tx, coordination_migrations, open_postgres
from lithos.storage.effects.scrub import scrub
from tests.support.states import PostgresStates

REMEMBER = "INSERT INTO once (tool, agent, key, arguments_hash, answer, at) VALUES ('t', 'a', ?, 'h', ?, 1)"


def files(tx: Tx) -> list[str]:
    names = ("once", "deliveries")
    return [str((tx.one("SELECT pg_relation_filepath(?) AS path", name) or {})["path"]) for name in names]


def test_remembered_answers_go_with_the_files_that_held_them(tmp_path: Path, postgres: PostgresStates) -> None:
    database = open_postgres(postgres.fresh(tmp_path), coordination_migrations())
    try:
        database.write(lambda tx: tx.many(REMEMBER, [("k1", '{"id":"gone-1"}'), ("k2", '{"id":"kept"}')]))
        before = database.read(files)
        assert scrub(database, "gone-1") == 1
        assert not set(before) & set(database.read(files))
        left = database.read(lambda tx: tx.all("SELECT answer FROM once"))
        assert [row["answer"] for row in left] == ['{"id":"kept"}']
        assert scrub(database, "gone-1") == 0
    finally:
        database.close()
