"""The way to PostgreSQL and back: every row arrives, a broken copy goes on, and what differs is found."""

from __future__ import annotations

import asyncio
import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from lithos.app import open_lithos
from lithos.cli.root import run
from lithos.core.call import Call
from lithos.core.clock import FakeClock
from lithos.errors import Conflict, Damaged, InvalidInput, LithosError, NotFound
from lithos.messages import TakeRequest
from lithos.settings import LithosConfig
from lithos.storage import Crash, PlannedFaults, Transfer, coordination_migrations, database_status, dialect_at
from lithos.tools.caller import Caller
from lithos.tools.catalogue import catalogue
from tests.support.post_office import PERSON, PostOffice
from tests.support.states import PostgresStates, execute

OPERATOR = Caller(operator=True)


@pytest.fixture(autouse=True)
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lithos.storage.database.transfer.PAGE", 7)


def at(data_dir: Path, url: str | None = None) -> LithosConfig:
    return LithosConfig.model_validate({"storage": {"data_dir": str(data_dir), "database_url": url}})


def work(config: LithosConfig, name: str) -> dict[str, Any]:
    """Some of everything that the shared state holds; what a whole audit says in the end."""
    lithos = open_lithos(config, clock=FakeClock())
    call = catalogue().call
    for number in range(12):
        agent = f"{name}-{number}"
        call(lithos, "lithos_agent_register", {"id": agent, "name": "Ä “quoted” \\ 50%"}, None)
        task = call(lithos, "lithos_task_create", {"title": agent, "agent": agent, "idempotency_key": agent}, None)
        call(lithos, "lithos_task_claim", {"task_id": task["task_id"], "aspect": "a", "agent": agent}, None)
    call(lithos, "lithos_keys_rotate", {}, OPERATOR)
    verdict = call(lithos, "lithos_events_verify", {}, OPERATOR)
    lithos.close()
    assert verdict["ok"], verdict
    return dict(verdict)


def sqlite_of(data_dir: Path) -> str:
    return f"sqlite:{data_dir / '.lithos/coordination.db'}"


def transfer(source: str, target: str, **more: Any) -> dict[str, int]:
    return Transfer(dialect_at(source), dialect_at(target), coordination_migrations(), **more).run()


def test_the_state_goes_to_postgresql_is_worked_on_and_comes_back(tmp_path: Path, postgres: PostgresStates) -> None:
    url = postgres.url(tmp_path)
    first = work(at(tmp_path), "on-sqlite")
    counts = transfer(sqlite_of(tmp_path), url)
    assert counts["agents"] == 12
    assert counts["events"] == first["events"]
    second = work(at(tmp_path, url), "on-postgres")
    assert second["events"] > first["events"]
    back = f"sqlite:{tmp_path / 'back.db'}"
    assert transfer(url, back)["events"] == second["events"]
    (tmp_path / ".lithos/coordination.db").unlink()
    (tmp_path / "back.db").rename(tmp_path / ".lithos/coordination.db")
    third = work(at(tmp_path), "back-again")
    assert third["events"] > second["events"]


def mail(config: LithosConfig, name: str) -> str:
    """Messages in every state, for bob; the one that waits, with the token of the one that is worked on."""
    lithos = open_lithos(config, clock=FakeClock())

    def ask(who: str, tool: str, **arguments: Any) -> Any:
        answer = catalogue().ready(tool, arguments, Caller(agent=who)).run(lithos)
        return asyncio.run(answer) if asyncio.iscoroutine(answer) else answer

    bob = f"bob of {name}"
    ask(bob, "lithos_inbox_list")
    send = partial(ask, "ann", "lithos_message_send", target=bob)
    for verb, more in {"ack": {}, "reply": {"body": "yes"}, "fail": {"error": "no", "retry": False}}.items():
        send(body=verb)
        [taken] = ask(bob, "lithos_inbox_take")["messages"]
        ask(bob, f"lithos_inbox_{verb}", message_id=taken["message"]["id"], token=taken["token"], **more)
    ask("ann", "lithos_message_cancel", message_id=send(body="cancelled")["message_id"])
    send(body="expired", ttl_seconds=1)
    send(body="worked on")
    lithos.storage.clock.advance(2)  # type: ignore[attr-defined]
    lithos.messages.tick()
    ask("ann", "lithos_message_send", body="Ä “news”", topic="build.results")
    send(body="delayed", delay_seconds=3_600)
    [held] = ask(bob, "lithos_inbox_take")["messages"]
    waits = send(body="waits", correlation_id=held["message"]["correlation_id"])
    states = {each["status"] for each in ask(bob, "lithos_inbox_list", limit=50)["messages"]}
    assert states == {"queued", "processing", "completed", "failed", "expired", "cancelled"}
    lithos.close()
    return f"{held['message']['id']} {held['token']} {waits['message_id']}"


def settle_after_copy(config: LithosConfig, name: str, left: str) -> None:
    """The lease holds with its token, and what waited for it comes next."""
    lithos = open_lithos(config, clock=FakeClock())
    held, token, waits = left.split()
    bob = Call("test", agent=f"bob of {name}", connection=f"bob of {name}")
    assert lithos.messages.miscounted() == 0
    assert lithos.messages.take_now(bob, TakeRequest(bob.agent or ""))["messages"] == []
    assert lithos.messages.ack(bob, held, int(token) - 1)["reason"] == "claim_lost"
    assert lithos.messages.ack(bob, held, int(token))["success"]
    [taken] = lithos.messages.take_now(bob, TakeRequest(bob.agent or ""))["messages"]
    assert taken["message"]["id"] == waits
    dead = lithos.messages.dead_letters.list(PERSON, limit=9, cursor=None)["dead_letters"]
    assert {each["reason"] for each in dead} == {"rejected", "timeout"}
    lithos.close()


def test_messages_in_every_state_are_copied_both_ways_and_are_worked_on_there(
    tmp_path: Path, postgres: PostgresStates
) -> None:
    url, back = postgres.url(tmp_path), tmp_path / "back"
    left = mail(at(tmp_path), "sqlite")
    counts = transfer(sqlite_of(tmp_path), url)
    assert all(counts[each] for each in ("messages", "message_dead_letters", "message_lanes", "message_agents"))
    settle_after_copy(at(tmp_path, url), "sqlite", left)
    left = mail(at(tmp_path, url), "postgres")
    (back / ".lithos").mkdir(parents=True)
    again = transfer(url, sqlite_of(back))
    assert again["messages"] > counts["messages"]
    settle_after_copy(at(back), "postgres", left)


def test_a_target_with_messages_alone_is_not_empty(tmp_path: Path, postgres: PostgresStates) -> None:
    url = postgres.url(tmp_path)
    work(at(tmp_path), "a")
    office = PostOffice(tmp_path / "other")
    office.send("ann", "bob")
    office.close()
    with pytest.raises(Conflict, match="rows in messages"):
        transfer(sqlite_of(tmp_path), postgres.url(tmp_path / "other"))
    assert url


@pytest.mark.parametrize("pages", [1, 2, 5, 9])
def test_a_copy_that_was_broken_off_goes_on_where_it_was(tmp_path: Path, postgres: PostgresStates, pages: int) -> None:
    url = postgres.url(tmp_path)
    work(at(tmp_path), "a")
    faults = PlannedFaults()
    faults.plan("copy.page", "crash", pages)
    with pytest.raises(Crash):
        transfer(sqlite_of(tmp_path), url, faults=faults)
    rest = PlannedFaults()
    counts = transfer(sqlite_of(tmp_path), url, faults=rest)
    whole = PlannedFaults()
    assert counts == transfer(sqlite_of(tmp_path), f"sqlite:{tmp_path / 'other.db'}", faults=whole)
    assert rest.seen.count("copy.page") == whole.seen.count("copy.page") - pages + 1


def test_a_target_that_is_not_empty_is_refused_and_left_alone(tmp_path: Path, postgres: PostgresStates) -> None:
    url = postgres.url(tmp_path)
    work(at(tmp_path), "here")
    work(at(tmp_path / "other", url), "there")
    before = execute(url, "SELECT count(*) FROM agents")
    with pytest.raises(Conflict, match="is not empty"):
        transfer(sqlite_of(tmp_path), url)
    assert execute(url, "SELECT count(*) FROM agents") == before


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE agents SET name = 'x' WHERE id = 'a-3'",
        "DELETE FROM agents WHERE id = 'a-3'",
        "INSERT INTO agents (id, metadata, first_seen_at, last_seen_at) VALUES ('zz', '{}', 1, 1)",
    ],
)
def test_what_arrived_otherwise_is_found(tmp_path: Path, postgres: PostgresStates, damage: str) -> None:
    url = postgres.url(tmp_path)
    work(at(tmp_path), "a")
    done: list[str] = []

    def interfere(table: str, rows: int) -> None:
        if table == "events" and not done:  # agents are copied by then
            execute(url, damage)
            done.append(table)

    with pytest.raises(Damaged, match="agents differs"):
        transfer(sqlite_of(tmp_path), url, on_progress=interfere)


def test_an_audit_that_is_not_whole_is_reported(tmp_path: Path, postgres: PostgresStates, capsys) -> None:
    url = postgres.url(tmp_path)
    work(at(tmp_path), "a")
    dialect = dialect_at(sqlite_of(tmp_path))
    session = dialect.connect(write=True)
    session.tx.run("UPDATE events SET thing = 'x' WHERE sequence = 2")
    session.close()
    assert run(["db", "copy", "--data-dir", str(tmp_path), "--to", url]) == 7
    assert "the audit is not whole" in capsys.readouterr().err


def test_the_verbs_show_migrate_and_copy(tmp_path: Path, postgres: PostgresStates, capsys) -> None:
    url, here = postgres.fresh(tmp_path / "fresh"), ["--data-dir", str(tmp_path)]
    work(at(tmp_path), "a")
    assert run(["db", "status", *here, "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["dialect"], shown["pending"], shown["unknown"]) == ("sqlite", [], [])
    assert "0001_ground" in shown["applied"]
    (tmp_path / "config.yaml").write_text(f"storage:\n  database_url: {json.dumps(url)}\n")
    assert run(["db", "status", *here]) == 0
    assert "pending  0001_ground" in capsys.readouterr().out
    assert run(["db", "migrate", *here]) == 0
    assert "applied  0001_ground" in capsys.readouterr().out
    assert run(["db", "copy", *here]) == 0
    assert "each as it was" in capsys.readouterr().out
    assert work(at(tmp_path, url), "b")["ok"]


def test_wrong_addresses_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput):
        dialect_at("mysql://x")
    with pytest.raises(NotFound):
        database_status(dialect_at(f"sqlite:{tmp_path / 'none.db'}"), coordination_migrations())
    assert not (tmp_path / "none.db").exists()
    with pytest.raises(LithosError):
        transfer(f"sqlite:{tmp_path / 'none.db'}", f"sqlite:{tmp_path / 'other.db'}")
    assert run(["db", "copy", "--data-dir", str(tmp_path)]) == 2
