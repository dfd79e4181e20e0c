"""The short form of `make torture`, and a planted bug for each part that turns it red."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import lithos.app
from tests.support.post_office import PostOffice, by
from tests.torture import claims, crash, growth, hostile, judge, mail, overload, people, power_loss, soak, sums
from tests.torture.load import Told
from tests.torture.system_calls import NO_COMPILER, library

needs_compiler = pytest.mark.skipif(library() is None, reason=NO_COMPILER)


@pytest.fixture(autouse=True)
def cheap_vectors() -> Iterator[None]:
    real = lithos.app.open_embedder  # type: ignore[attr-defined]
    judge.embed_cheaply()
    yield
    lithos.app.open_embedder = real  # type: ignore[attr-defined]


def test_every_acknowledged_operation_survives_kills_and_is_found(tmp_path: Path) -> None:
    told, counts = crash.campaign(tmp_path, seed=16, kills=5)
    print(counts)
    assert counts["kills"] >= 5
    judge.judge(tmp_path / "data", told)
    told.acknowledge(("note", "one that was never written"), "lost")  # the judge bites
    with pytest.raises(AssertionError, match="never written"):
        judge.judge(tmp_path / "data", told)


@needs_compiler
def test_what_was_acknowledged_survives_a_power_cut_at_any_change(tmp_path: Path) -> None:
    counts = power_loss.campaign(tmp_path, seed=5, cuts=12, operations=30)
    assert counts["cuts"] == 12


@needs_compiler
def test_what_was_acknowledged_survives_a_kill_between_any_two_system_calls(tmp_path: Path) -> None:
    counts = power_loss.campaign(tmp_path, seed=6, cuts=8, operations=30, kind="kill")
    assert counts["replayed kills"] == 8


@needs_compiler
@pytest.mark.parametrize("bug", ["the folder of a note is not flushed", "SQLite does not flush its log"])
def test_a_flush_that_is_left_out_turns_the_power_cuts_red(tmp_path: Path, bug: str) -> None:
    with pytest.raises(AssertionError, match="seed 5"):
        power_loss.campaign(tmp_path, seed=5, cuts=60, operations=30, without_flush_of=FLUSHES[bug])


FLUSHES = {"the folder of a note is not flushed": "/knowledge", "SQLite does not flush its log": "coordination.db-wal"}


def test_a_claim_has_one_holder_while_hosts_and_clients_are_killed(tmp_path: Path) -> None:
    counts = claims.campaign(tmp_path, seed=1, kills=1, turns=8, clients_killed=1)
    assert counts["clients killed"] == 1 and counts["claims granted"]


def test_two_holders_of_one_claim_turn_the_histories_red(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="claim"):
        claims.campaign(tmp_path, seed=1, kills=0, turns=8, clients_killed=0, lease=600.0, bug="two holders")


def test_mail_arrives_once_and_is_settled_once_while_processes_are_killed(tmp_path: Path) -> None:
    counts = mail.campaign(tmp_path, seed=27, kills=3)
    assert counts["kills"] + counts.get("clients killed", 0) >= 3 and counts["messages"]


def test_a_lost_a_doubled_and_a_twice_settled_message_turn_the_mail_red(tmp_path: Path) -> None:
    office = PostOffice(tmp_path / ".lithos")
    sent = [office.send("ann", "bob", "one"), office.send("ann", "bob", "two")]
    told = mail.Told()
    for each, taken in zip(sent, office.take("bob", 2), strict=True):
        told.sent[each["message_id"]] = each["message_id"]
        told.settled[each["message_id"]] = [taken["token"]]
        office.messages.ack(by("bob"), each["message_id"], taken["token"])
    office.close()
    mail.judge(tmp_path, told)
    first = sent[0]["message_id"]
    for wrong, said in (
        ({"sent": {**told.sent, "lost": "no such id"}}, "lost"),
        ({"sent": {first: first}}, "there twice"),
        ({"settled": {first: [*told.settled[first], 9]}}, "settled twice"),
        ({"settled": {first: [1]}}, "old token"),
    ):
        other = mail.Told()
        other.sent, other.settled = wrong.get("sent", told.sent), wrong.get("settled", told.settled)
        with pytest.raises(AssertionError, match=said):
            mail.judge(tmp_path, other)


def test_saves_of_people_and_versions_of_agents_stay_in_reach(tmp_path: Path) -> None:
    counts = people.campaign(tmp_path, seed=1, saves=30, checkouts=2, git_files=20)
    assert counts["acknowledged versions"]


def test_an_overwritten_version_that_is_not_kept_is_missed(tmp_path: Path) -> None:
    bug = "overwritten versions are not kept"
    with pytest.raises(AssertionError, match="nowhere"):
        people.campaign(tmp_path, seed=1, saves=30, checkouts=0, git_files=1, bug=bug)


def test_hostile_arguments_get_typed_answers(tmp_path: Path) -> None:
    corpus = list(hostile.cases())
    assert len(corpus) >= 300
    assert set(hostile.every_case()) == {(case.tool, case.argument) for case in corpus}
    with hostile.Room(tmp_path) as room:
        hostile.check_all(room, corpus[::40])
        for bug in ("internal", "reads outside", "writes outside"):
            with pytest.raises(AssertionError, match=bug.removeprefix("reads ").removeprefix("writes ")):
                hostile.check_all(room, corpus[:1], send=_with_bug(tmp_path, bug))


def _with_bug(folder: Path, bug: str) -> hostile.Send:
    def send(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        if bug == "writes outside":
            (folder / "outside" / "new.md").write_text("x")
        error = {"code": "internal", "message": "", "hint": "", "retryable": False}
        content = {"error": error} if bug == "internal" else {"content": hostile.SECRET if "reads" in bug else ""}
        return {"result": {"structuredContent": content, "isError": bug == "internal"}}

    return send


def test_what_clients_leave_behind_is_bounded(tmp_path: Path) -> None:
    growth.campaign(tmp_path, times=40, things={name: growth.THINGS[name] for name in ("connections", "initializes")})


def test_connections_that_stay_open_turn_the_growth_red(tmp_path: Path) -> None:
    (tmp_path / "connections").mkdir()
    no_time_outs = {"server": {"header_seconds": 3600, "idle_seconds": 3600}}
    (tmp_path / "connections" / "config.yaml").write_text(json.dumps(no_time_outs))
    kept: list[socket.socket] = []
    leak = {"connections": (lambda host, number: kept.append(host.connect()), 2.0)}
    with pytest.raises(AssertionError, match="descriptors"):
        growth.campaign(tmp_path, times=60, things=leak, patience=1.0)  # type: ignore[arg-type]
    for each in kept:
        each.close()


def test_a_crowd_gets_its_work_done_and_renewals_are_served(tmp_path: Path) -> None:
    counts = overload.campaign(tmp_path, calls=80, least=0.2)  # so few calls say little about the rate
    assert counts["renewals"]


def test_a_renewal_that_is_refused_turns_the_load_red(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="success"):
        overload.campaign(tmp_path, calls=40, disturb=lambda host, task: host.call("lithos_task_cancel", **task))


def test_less_work_of_a_crowd_turns_the_load_red() -> None:
    overload.check_goodput(100.0, 81.0)
    with pytest.raises(AssertionError, match="CPU second"):
        overload.check_goodput(100.0, 79.0)


def test_a_soak_measures_memory_descriptors_and_threads(tmp_path: Path) -> None:
    samples = soak.soak(tmp_path, minutes=0.01)
    assert all(each.memory_mb > 10 and each.threads for each in samples)
    steady = [soak.Sample(n / 100, 80.0 + n % 2, 50, 20) for n in range(100)]
    soak.check(steady)
    for leak in ("memory_mb", "descriptors", "threads"):
        with pytest.raises(AssertionError, match="grow"):
            soak.check([replace(each, **{leak: getattr(each, leak) + n}) for n, each in enumerate(steady)])


def test_a_row_of_the_promises_adds_runs_up() -> None:
    page = f"before {sums.BEGIN}\n{sums.END} after"
    for seed, failed in ((7, False), (9, True)):
        page = sums.with_run(page, "2026-01-02", "crash", seed, {"kills": 1000, "calls": 5}, failed)
    page = sums.with_run(page, "2026-01-03", "crash", 11, {"kills": 1}, False)
    assert "| 2026-01-02 | crash | 2 | 7–9 | 2,000 kills, 10 calls | 1 |" in page
    assert "All runs: 2,001 kills, 10 calls; 1 failed." in page
    assert page.startswith("before ") and page.endswith(" after")


def test_a_call_in_flight_may_have_had_its_effect_or_not() -> None:
    told = Told()
    told.begin(("note", "a"), "one")
    assert told.may_be["note", "a"] == {None, "one"}
    told.acknowledge(("note", "a"), "one")
    told.begin(("note", "a"), None)
    told.fail()
    assert told.may_be["note", "a"] == {"one", None}
    assert told.sure("note") == {}
