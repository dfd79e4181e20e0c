"""Two hosts change the same thing at once: neither loses what the other did.

A lock taken from outside holds both where they would overtake each other; only once both stand still is it let go.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from lithos.app import Lithos, open_lithos
from lithos.core.call import Call
from lithos.errors import LithosError
from lithos.settings import LithosConfig
from lithos.storage.database.postgres import LIMITS
from lithos.tools.caller import Caller
from lithos.tools.catalogue import catalogue
from tests.support.skill_text import SKILL
from tests.support.states import PostgresStates, execute
from tests.support.waiting import until

DEADLINE_S = 60
BOARD = "SELECT pg_advisory_xact_lock(hashtextextended('journal board', 0))"
WAITING = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'lithos' AND wait_event_type = 'Lock'"


@pytest.fixture
def url(postgres: PostgresStates, tmp_path: Path) -> str:
    return postgres.url(tmp_path)


@pytest.fixture
def hosts(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Lithos]]:
    monkeypatch.setitem(LIMITS, "lock_timeout", "120s")  # the first waits for the second to arrive, on any machine
    opened = [open_lithos(_config(tmp_path / name, url)) for name in ("here", "there")]
    yield opened
    for lithos in opened:
        lithos.close()


def _config(folder: Path, url: str) -> LithosConfig:
    return LithosConfig.model_validate({"storage": {"data_dir": str(folder), "database_url": url}})


def tool(lithos: Lithos, name: str, /, **arguments: Any) -> dict[str, Any]:
    try:
        return catalogue().call(lithos, name, arguments, Caller(operator=True))
    except LithosError as error:
        return {"error": error.code}


def held_and_let_go(url: str, lock: str, *works: Callable[[], Any]) -> list[Any]:
    """What each work gave, all of them begun while `lock` was held, and stopped by it or by each other."""
    given: list[Any] = [None] * len(works)

    def run(number: int) -> None:
        given[number] = works[number]()

    threads = [threading.Thread(target=run, args=(number,)) for number in range(len(works))]
    with psycopg.connect(url) as connection:  # its end commits, and lets go
        connection.execute(lock)  # type: ignore[call-overload]
        for thread in threads:
            thread.start()
        until(lambda: execute(url, WAITING)[0][0] >= len(works), "all of them wait", DEADLINE_S)
    for thread in threads:
        thread.join(DEADLINE_S)
    return given


def test_what_two_hosts_learn_of_one_agent_is_all_kept(url: str, hosts: list[Lithos]) -> None:
    here, there = hosts
    assert tool(here, "lithos_agent_register", id="ada")["created"]
    held_and_let_go(
        url,
        "SELECT 1 FROM agents WHERE id = 'ada' FOR UPDATE",
        lambda: tool(here, "lithos_agent_register", id="ada", name="Ada"),
        lambda: tool(there, "lithos_agent_register", id="ada", type="reviewer", metadata={"model": "x"}),
    )
    info = tool(here, "lithos_agent_info", id="ada")
    assert (info["name"], info["type"], info["metadata"]) == ("Ada", "reviewer", {"model": "x"})


def test_two_versions_of_a_skill_get_two_numbers(url: str, hosts: list[Lithos]) -> None:
    for host in hosts:
        tool(host, "mentisdb_upsert_agent", agent_id="ada")
    upload = {"skill_id": "deploys", "agent_id": "ada"}
    assert "skill" in tool(hosts[0], "mentisdb_upload_skill", **upload, content=SKILL)
    held_and_let_go(
        url,
        "LOCK TABLE skill_versions IN SHARE MODE",
        lambda: tool(hosts[0], "mentisdb_upload_skill", **upload, content=f"{SKILL}\nHere.\n"),
        lambda: tool(hosts[1], "mentisdb_upload_skill", **upload, content=f"{SKILL}\nThere.\n"),
    )
    versions = tool(hosts[0], "mentisdb_skill_versions", skill_id="deploys")["versions"]
    assert len({each["version_id"] for each in versions}) == 3


def test_a_token_is_revoked_by_one_of_two_hosts(url: str, hosts: list[Lithos]) -> None:
    token = hosts[0].tokens.new(Call("token"), "ci")["id"]
    given = held_and_let_go(
        url,
        f"SELECT 1 FROM tokens WHERE id = '{token}' FOR UPDATE",
        *(lambda host=host: _revoked(host, token) for host in hosts),
    )
    assert sorted(given) == ["not_found", "revoked"]


def _revoked(host: Lithos, token: str) -> str:
    try:
        host.tokens.revoke(Call("token"), token)
    except LithosError as error:
        return error.code
    return "revoked"


def test_one_key_on_two_hosts_has_one_effect_and_one_answer(url: str, hosts: list[Lithos]) -> None:
    wish = {"title": "t", "agent": "ada", "idempotency_key": "k"}
    given = held_and_let_go(url, BOARD, *(lambda host=host: tool(host, "lithos_task_create", **wish) for host in hosts))
    assert given[0] == given[1] and "task_id" in given[0]
    assert tool(hosts[0], "lithos_task_list")["total"] == 1


def test_a_host_that_starts_carries_leases_over_only_under_the_boards_lock(url: str, hosts: list[Lithos]) -> None:
    held_and_let_go(url, BOARD, hosts[0].board.open)


def test_a_statement_leaves_the_events_of_another_host_alone(hosts: list[Lithos]) -> None:
    here, there = hosts
    said = {"user_id": "ana", "agent": "gardener", "rationale": "r", "transaction_id": "t-1"}
    for host in hosts:
        path = host.storage.data_dir / "garden" / "users" / "ana" / "notes.md"
        path.parent.mkdir(parents=True)
        path.write_text("# Notes\n")
    tool(here, "lithos_fs_append", path="users/ana/notes.md", text="one", **said)
    statement = {"type": "observation", "op": "append", "path": "users/ana/notes.md", **said}
    assert tool(there, "lithos_events_log", **statement)["completes"] is None
    assert tool(here, "lithos_events_log", **statement)["completes"]
    assert all(tool(host, "lithos_events_verify")["ok"] for host in hosts)


def test_what_another_host_does_on_the_board_is_among_the_changes(hosts: list[Lithos]) -> None:
    here, there = hosts
    heard = threading.Event()
    stop = there.changes.listen(heard.set)
    cursor = tool(there, "lithos_changes", since="1d")["cursor"]
    task = tool(here, "lithos_task_create", title="Shared work", agent="ada")["task_id"]
    tool(here, "lithos_write", title="A note of this folder", content="x", agent="ada")
    assert heard.wait(DEADLINE_S)
    found = tool(there, "lithos_changes", since=cursor)
    assert list(found["changes"]) == ["task"] and "Shared work" in found["changes"]["task"][0]
    assert tool(there, "lithos_changes", since=found["cursor"])["total"] == 0
    tool(there, "lithos_task_update", task_id=task, title="Ours", agent="bo")
    stop()
    assert "error" in tool(here, "lithos_undo", agent="ada", event=_last_task_event(here))


def _last_task_event(lithos: Lithos) -> str:
    rows = tool(lithos, "lithos_events_query", agent="ada", type="task")["rows"]
    return str(rows[0]["id"])
