"""A session's life with a kill at every step: nothing acknowledged is lost, and the same calls again finish it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.session_kills import lived, state

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


@pytest.mark.parametrize(("point", "visit"), KILLS)
def test_a_kill_loses_nothing_and_the_same_calls_finish_the_session(tmp_path: Path, point: str, visit: int) -> None:
    acknowledged = lived(tmp_path, point, visit)
    found = state(tmp_path)
    assert found["sessions"] == ("create" in acknowledged or found["sessions"])
    for name in ("first", "second"):
        assert name not in acknowledged or name in found["messages"]
    for step, content in (("decision", "bucket"), ("lesson", "lesson")):
        assert step not in acknowledged or content in found["entries"]
    if "complete" not in acknowledged and found.get("state") != "completed":
        assert found.get("public", []) == []
    lived(tmp_path)
    assert state(tmp_path) == WHOLE
