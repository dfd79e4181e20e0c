"""`lithos decay|promote|feedback|conflicts` and `lithos validate --duplicates`."""

from __future__ import annotations

import pytest

from tests.support.shell import Shell


def write(shell: Shell, title: str, content: str, *more: str) -> str:
    arguments = [f"title={title}", f"content={content}", "agent=ann", *more]
    return str(shell.call("lithos_write", *arguments)["id"])


def test_decay_shows_a_table_first_and_then_marks(shell: Shell) -> None:
    write(shell, "Old", "Text.", "ttl_policy=decay", "expires_at=2020-01-01")
    assert "Would become stale" in (shown := shell("decay", "--dry-run")) and "old.md" in shown
    assert ": 1" in shell("decay")
    assert ": 0" in shell("decay", "--dry-run")


def test_a_person_promotes_and_gives_feedback(shell: Shell) -> None:
    note = write(shell, "Rule", "Text.")
    words = ["--evidence", "commit:ab", "--approved-by", "eve", "--actor", "ann", "--reason", "holds"]
    provenance = shell("promote", note, *words)
    assert provenance.startswith("event:")
    assert write(shell, "Rule", "Text.", "path=procedural", f"provenance={provenance}")
    assert len(shell("feedback", "the rule", "--outcome", "helped", "--used", note)) == 26


def test_conflicts_and_duplicates_are_listed(shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    assert "Nothing contradicts" in shell("conflicts")
    write(shell, "One", "Calls are tried again three times with a growing pause.", "claim_id=c")
    write(shell, "Two", "Calls are tried again four times with a growing pause.", "claim_id=c")
    assert "same claim_id: c" in shell("conflicts", "--claim", "c")
    assert "nearly the same" in shell("validate", "--duplicates")
