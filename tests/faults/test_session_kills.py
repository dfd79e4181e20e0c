"""A session's life with a kill at every step: nothing acknowledged is lost, and the same calls again finish it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.session_kills import finish, lived, moved, state
from tests.support.states import PostgresStates

WHOLE = {
    "sessions": 1,
    "state": "completed",
    "messages": ["first", "second"],
    "here": [],
    "entries": ["bucket", "lesson"],
    "public": ["bucket", "lesson"],
}
KILLS = [
    (point, visit) for point in ("commit.begin", "commit.work", "commit.send", "commit.done") for visit in (2, 5, 8)
]
KILLS += [(point, visit) for point in ("ledger.write", "ledger.flush", "ledger.written") for visit in (1, 2)]


ON_POSTGRES = [("commit.send", 5), ("commit.done", 5), ("ledger.flush", 1)]


def survives(folder: Path, point: str, visit: int, url: str | None = None) -> None:
    acknowledged = lived(folder, point, visit, url)
    found = state(folder, url)
    assert found["sessions"] == ("create" in acknowledged or found["sessions"])
    for name in ("first", "second"):
        assert name not in acknowledged or name in found["messages"]
    for step, content in (("decision", "bucket"), ("lesson", "lesson")):
        assert step not in acknowledged or content in found["entries"]
    if "complete" not in acknowledged and found.get("state") != "completed":
        assert found.get("public", []) == []


@pytest.mark.parametrize(("point", "visit"), KILLS)
def test_a_kill_loses_nothing_and_the_same_calls_finish_the_session(tmp_path: Path, point: str, visit: int) -> None:
    survives(tmp_path, point, visit)
    finish(tmp_path)
    assert state(tmp_path) == WHOLE


@pytest.mark.postgres
@pytest.mark.parametrize(
    ("point", "visit"), [*ON_POSTGRES, *(pytest.param(*each, marks=pytest.mark.torture) for each in KILLS)]
)
def test_on_postgres_too(tmp_path: Path, schemas: PostgresStates, point: str, visit: int) -> None:
    url = schemas.url(tmp_path)
    survives(tmp_path, point, visit, url)
    finish(tmp_path, url)
    assert state(tmp_path, url) == WHOLE
    schemas.empty()


@pytest.mark.parametrize(
    ("point", "visit"), [KILLS[4], *(pytest.param(*each, marks=pytest.mark.torture) for each in KILLS)]
)
def test_what_a_kill_left_is_suspended_and_goes_on_in_a_second_store(tmp_path: Path, point: str, visit: int) -> None:
    lived(tmp_path / "one", point, visit)
    briefings = moved(tmp_path / "one", tmp_path / "two")
    assert briefings is None or briefings[0] == briefings[1]


@pytest.mark.postgres
@pytest.mark.parametrize(
    ("point", "visit"), [KILLS[7], *(pytest.param(*each, marks=pytest.mark.torture) for each in KILLS)]
)
def test_the_second_store_may_be_on_postgres(tmp_path: Path, schemas: PostgresStates, point: str, visit: int) -> None:
    lived(tmp_path / "one", point, visit)
    briefings = moved(tmp_path / "one", tmp_path / "two", other_url=schemas.url(tmp_path / "two"))
    assert briefings is None or briefings[0] == briefings[1]
    schemas.empty()
