"""`lithos task` and `lithos board`."""

from __future__ import annotations

from lithos.cli.board import rows_of
from lithos.core.clock import parse_time
from tests.support.shell import Shell


def test_a_task_goes_from_create_to_complete(shell: Shell) -> None:
    first = shell("task", "create", "Write it", "--priority", "0", "--tag", "now", "--description", "All of it.")
    second = shell("task", "create", "Read it", "--needs", first)
    assert first in shell("task", "ready") and second not in shell("task", "ready")
    assert "token 3" in shell("task", "claim", first, "code", "--agent", "ann", "--minutes", "5")
    assert "code: ann" in shell("task", "list")
    assert "Yours until" in shell("task", "renew", first, "code", "--agent", "ann", "--token", "3")
    shown = shell("task", "show", first)
    assert "ann holds 'code'" in shown and "All of it." in shown and f"blocks: {second}" in shown
    shell("task", "post", first, "It is long.", "--agent", "ann")
    assert "ann: It is long." in shell("task", "findings", first)
    assert "Released." in shell("task", "release", first, "code", "--agent", "ann")
    assert "Completed." in shell("task", "complete", first)
    assert second in shell("task", "ready", "--limit", "1")
    assert "Changed." in shell("task", "update", second, "--title", "Read it twice")
    assert "Cancelled." in shell("task", "cancel", second)
    assert [each["title"] for each in shell.json("task", "list", "--status", "all")["tasks"]] == [
        "Write it",
        "Read it twice",
    ]


def test_a_refusal_says_who_holds_it_and_fails_the_command(shell: Shell) -> None:
    task = shell("task", "create", "x")
    shell("task", "claim", task, "code", "--agent", "ann")
    told = shell("task", "claim", task, "code", "--agent", "bob", code=4)
    assert "claim_held (ann holds it until" in told
    assert shell.json("task", "claim", task, "code", "--agent", "bob", code=4)["holder"] == "ann"
    assert "no task" in shell("task", "show", "nowhere", code=3)


def test_the_board_is_a_table_of_claims(shell: Shell) -> None:
    task = shell("task", "create", "Write [it]")
    shell("task", "claim", task, "code", "--agent", "ann", "--minutes", "5")
    shown = shell("board", "--once")
    assert "Write [it]" in shown and "ann" in shown and "4:5" in shown


def test_a_task_with_several_claims_has_a_row_for_each() -> None:
    claims = [
        {"aspect": "code", "agent": "ann", "expires_at": "2026-01-01T01:00:05Z"},
        {"aspect": "docs", "agent": "bob", "expires_at": "2026-01-01T00:00:59Z"},
    ]
    task = {"priority": 1, "title": "T", "blocked": True, "claims": claims}
    assert rows_of(task, parse_time("2026-01-01")) == [
        ("1", "T", "blocked", "code", "ann", "1:00:05"),
        ("", "", "", "docs", "bob", "0:59"),
    ]
