"""`lithos session …`, and `lithos ledger export` of entries that are not everyone's yet."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.shell import Shell

ANN = ("--agent", "ann")


def test_a_session_goes_from_new_to_complete(shell: Shell) -> None:
    first = shell("session", "new", "rate limiter", "--base-branch", "main", *ANN)
    second = shell("session", "new", "second", *ANN)
    listed = shell("session", "list", *ANN)
    assert f"* {second}  active" in listed and f"  {first}  active" in listed
    assert f"{first} active" in shell("session", "switch", first, *ANN)
    assert second in shell("session", "list", "--state", "suspended", *ANN)
    assert f"{first} suspended" in shell("session", "suspend", *ANN)
    assert f"{first} active" in shell("session", "resume", first, *ANN)
    shown = shell("session", "show", *ANN)
    assert "name: rate limiter" in shown and "base_branch: main" in shown
    assert shell.json("session", "show", first, *ANN)["state"] == "active"
    assert f"{first} completed" in shell("session", "complete", "--summary", "100 per minute", *ANN)
    assert "100 per minute" in shell("session", "show", first, *ANN)
    assert "100 per minute" in shell("session", "summary", first, *ANN)
    assert "completed" in shell("session", "suspend", first, *ANN, code=4)


def test_fail_close_and_close_all(shell: Shell) -> None:
    first = shell("session", "new", "one", *ANN)
    assert f"{first} failed" in shell("session", "fail", "no way", *ANN)
    assert f"{first} failed" in shell("session", "close", first, *ANN)
    assert shell("session", "list") == ""
    assert first in shell("session", "list", "--closed")
    shell("session", "new", "two", *ANN)
    assert shell("session", "close-all") == "1 closed"
    assert "no session" in shell("session", "show", "0190a0b0-0000-7000-8000-000000000000", code=3)


def test_entries_are_promoted_taken_back_and_moved(shell: Shell, tmp_path: Path) -> None:
    session = shell("session", "new", "one", *ANN)
    given = ("thought_type=Decision", "content=a bucket", "agent_id=ann")
    entry = shell.call("mentisdb_append", *given)["thought"]["id"]
    assert shell("session", "promote", entry, "--reason", "it holds") == "1 promoted"
    assert shell("session", "demote", entry, "--reason", "it does not") == "1 taken back"
    shell("session", "promote", entry, "--reason", "it holds")
    assert shell("session", "rollback", session) == "1 taken back"
    file = tmp_path / "one.json"
    file.write_text(shell("session", "snapshot", session, "--entries", *ANN))
    assert "already" in shell("session", "restore", str(file), *ANN, code=4)
    new = shell("session", "restore", str(file), "--as-new", "--entries", *ANN)
    assert new != session and "a bucket" in shell("session", "summary", new, *ANN)


@pytest.mark.parametrize("promoted", [False, True])
def test_an_export_of_private_entries_leaves_a_look_event(shell: Shell, tmp_path: Path, promoted: bool) -> None:
    session = shell("session", "new", "one", *ANN)
    shell.call("mentisdb_append", "thought_type=Decision", "content=a bucket", "agent_id=ann")
    if promoted:
        shell("session", "complete", *ANN)
    shell("ledger", "export", "history", "--out", str(tmp_path / "bundle"))
    looks = [each for each in shell.call("lithos_events_query", "type=session")["rows"] if each["op"] == "look"]
    assert [each["details"]["first"] for each in looks] == ([] if promoted else [[session]])
