"""Events: what is written, found again, and proved whole."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from lithos.core.call import Call, Correlation
from lithos.core.clock import parse_time
from lithos.errors import Damaged, InvalidInput
from lithos.storage import EventDraft, EventFilter, Keyring, store_id
from tests.support.storage_bench import StorageBench, keyed

pytestmark = pytest.mark.both_databases


@pytest.fixture
def bench(tmp_path: Path):
    made = StorageBench(tmp_path)
    yield made
    made.close()


def fill(bench: StorageBench, events: int = 5) -> list[str]:
    """Events of which every second one went from pending to committed."""
    ids = []
    for number in range(events):
        bench.clock.advance(60)
        draft = EventDraft("note", "update", f"thing-{number}", path=f"folder/{number}.md")
        status = "pending" if number % 2 else "committed"
        ids.append(bench.database.write(lambda tx, d=draft, s=status: bench.events.append(tx, keyed(), d, s)))
        if number % 2:
            bench.database.write(lambda tx, i=ids[-1]: bench.events.advance(tx, i, "committed"))
    return ids


def test_an_event_keeps_everything_that_was_said_of_it(bench: StorageBench) -> None:
    call = Call("garden_patch", "ada", "u1", rationale="of the call", correlation=Correlation("c1", "t1", "a1"))
    draft = EventDraft(
        "profile_update",
        "replace_section",
        "p1",
        path="users/u1/parts/p1/profile.md",
        section_anchor="concerns v1",
        before_hash="sha256:a",
        after_hash="sha256:b",
        lint={"warnings": ["long"]},
        details={"evidence": ["ev:1"]},
    )
    event_id = bench.database.write(lambda tx: bench.events.append(tx, call, draft, "pending"))
    bench.clock.advance(1.5)
    bench.database.write(lambda tx: bench.events.advance(tx, event_id, "failed", {"code": "storage_full"}))
    assert bench.found() == [
        {
            "sequence": 1,
            "id": event_id,
            "at": "2026-01-01T00:00:00Z",
            "updated_at": "2026-01-01T00:00:01.500000Z",
            "tool": "garden_patch",
            "type": "profile_update",
            "op": "replace_section",
            "agent": "ada",
            "user": "u1",
            "thing": "p1",
            "path": "users/u1/parts/p1/profile.md",
            "section_anchor": "concerns v1",
            "before_hash": "sha256:a",
            "after_hash": "sha256:b",
            "status": "failed",
            "rationale": "of the call",
            "lint": {"warnings": ["long"]},
            "details": {"evidence": ["ev:1"]},
            "error": {"code": "storage_full"},
            "tool_call_id": "c1",
            "transaction_id": "t1",
            "agent_action_id": "a1",
            "store": "store-1",
        }
    ]
    assert bench.verdict()["ok"]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({}, [4, 3, 2, 1, 0]),
        ({"agent": "ada"}, [4, 3, 2, 1, 0]),
        ({"agent": "bob"}, []),
        ({"path": "folder/3.md"}, [3]),
        ({"thing": "thing-2"}, [2]),
        ({"type": "note", "op": "update"}, [4, 3, 2, 1, 0]),
        ({"type": "task"}, []),
        ({"status": "committed"}, [4, 3, 2, 1, 0]),
        ({"status": "pending"}, []),
        ({"tool_call_id": "x"}, []),
        ({"since": parse_time("2026-01-01T00:03:00Z")}, [4, 3, 2]),
        ({"until": parse_time("2026-01-01T00:03:00Z")}, [1, 0]),
    ],
)
def test_events_are_found_by_what_is_asked_newest_first(bench: StorageBench, wanted, expected) -> None:
    fill(bench)
    assert [event["thing"] for event in bench.found(**wanted)] == [f"thing-{number}" for number in expected]


def test_pages_join_without_gap_or_repetition_even_where_times_are_equal(bench: StorageBench) -> None:
    for number in range(7):
        bench.database.write(lambda tx, n=number: bench.events.append(tx, keyed(), EventDraft("a", "b", str(n))))
    seen, cursor = [], None
    while True:
        page = bench.database.read(lambda tx, c=cursor: bench.events.find(tx, EventFilter(), limit=3, cursor=c))
        seen += [event["thing"] for event in page["events"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert seen == ["6", "5", "4", "3", "2", "1", "0"]


@pytest.mark.parametrize("wrong", [{"cursor": "1"}, {"cursor": "x-1"}, {"cursor": "-"}, {"cursor": "1;--1"}])
def test_a_cursor_that_is_none_is_refused(bench: StorageBench, wrong: dict[str, str]) -> None:
    with pytest.raises(InvalidInput):
        bench.database.read(lambda tx: bench.events.find(tx, EventFilter(), **wrong))


def test_an_unknown_status_is_refused(bench: StorageBench) -> None:
    with pytest.raises(InvalidInput):
        bench.found(status="done")


def test_an_untouched_audit_is_whole_also_after_a_reopening(bench: StorageBench, tmp_path: Path) -> None:
    assert bench.verdict()["ok"]
    fill(bench)
    verdict = bench.verdict()
    assert verdict["ok"]
    assert (verdict["events"], verdict["links"], verdict["problems"]) == (5, 7, [])
    bench.close()
    again = StorageBench(tmp_path)
    assert again.verdict() == verdict
    again.close()


COLUMNS = ["agent", "user_id", "thing", "path", "before_hash", "after_hash", "rationale", "lint", "details", "error"]
TAMPERINGS = {
    **{f"events.{column}": (f"UPDATE events SET {column} = 'x' WHERE sequence = 2", "altered") for column in COLUMNS},
    "events.status": ("UPDATE events SET status = 'failed' WHERE sequence = 2", "altered"),
    "events.at": ("UPDATE events SET at = at + 1 WHERE sequence = 2", "altered"),
    "events.sequence": ("UPDATE events SET sequence = 77 WHERE sequence = 2", "altered"),
    "an older state": ("UPDATE events SET status = 'pending', position = 2 WHERE sequence = 2", "altered"),
    "event gone": ("DELETE FROM events WHERE sequence = 3", "missing"),
    "newest event gone": ("DELETE FROM events WHERE sequence = 5", "missing"),
    "two events exchanged": (
        "UPDATE events SET position = CASE position WHEN 1 THEN 4 WHEN 4 THEN 1 END WHERE position IN (1, 4)",
        "inserted",
    ),
    "event inserted": (
        "INSERT INTO events (id, store, position, at, updated_at, tool, type, op, thing, status, details)"
        " VALUES ('X', 'store-1', 99, 1, 1, 't', 't', 'o', 'th', 'committed', '{}')",
        "inserted",
    ),
    "event copied": (
        "INSERT INTO events (id, store, position, at, updated_at, tool, type, op, thing, status, details)"
        " SELECT 'X', store, position, at, updated_at, tool, type, op, thing, status, details FROM events"
        " WHERE sequence = 1",
        "inserted",
    ),
    "event of another store inserted": (
        "INSERT INTO events (id, store, position, at, updated_at, tool, type, op, thing, status, details)"
        " VALUES ('X', 'nowhere', 1, 1, 1, 't', 't', 'o', 'th', 'committed', '{}')",
        "inserted",
    ),
    "link digest": ("UPDATE event_chain SET digest = 'x' WHERE position = 3", "altered"),
    "link status": ("UPDATE event_chain SET status = 'failed' WHERE position = 3", "altered"),
    "link previous": ("UPDATE event_chain SET previous = 0 WHERE position = 3", "altered"),
    "link mac": ("UPDATE event_chain SET mac = 'x' WHERE position = 3", "altered"),
    "link salt": ("UPDATE event_chain SET salt_version = 2 WHERE position = 3", "altered"),
    "link gone": ("DELETE FROM event_chain WHERE position = 3", "missing"),
    "last link gone": ("DELETE FROM event_chain WHERE position = 7", "missing"),
    "link inserted": (
        "INSERT INTO event_chain SELECT store, 8, previous, event_id, status, digest, salt_version, mac"
        " FROM event_chain WHERE position = 7",
        "inserted",
    ),
    "link far away": (
        "INSERT INTO event_chain SELECT store, 999999999999, previous, event_id, status, digest, salt_version, mac"
        " FROM event_chain WHERE position = 7",
        "inserted",
    ),
    "head gone": ("DELETE FROM event_heads", "missing"),
    "head shortened": ("UPDATE event_heads SET length = 6", "altered"),
    "key record gone": ("DELETE FROM event_keys", "altered"),
    "all gone": ("DELETE FROM events; DELETE FROM event_chain; DELETE FROM event_heads", "missing"),
    "tail cut off": (
        "DELETE FROM events WHERE sequence = 5; DELETE FROM event_chain WHERE position = 7;"
        " UPDATE event_heads SET length = 6, mac = (SELECT mac FROM event_chain WHERE position = 6)",
        "altered",
    ),
}


@pytest.mark.parametrize("name", TAMPERINGS)
def test_verify_finds(bench: StorageBench, name: str) -> None:
    fill(bench)
    bench.effects.recover()
    sql, kind = TAMPERINGS[name]
    for statement in sql.split(";"):
        bench.database.write(lambda tx, s=statement: tx.run(s))
    verdict = bench.verdict()
    assert not verdict["ok"]
    assert kind in {problem["kind"] for problem in verdict["problems"]}, verdict["problems"]


def test_a_database_rolled_back_to_an_older_state_is_found_by_a_head_kept_elsewhere(
    bench: StorageBench, tmp_path: Path
) -> None:
    fill(bench, 3)
    kept = bench.database.read(lambda tx: [tx.all(f"SELECT * FROM {name}") for name in ("event_heads", "events")])
    fill(bench, 2)
    head = bench.verdict()["head"]
    length = kept[0][0]["length"]
    for sql, value in (
        ("DELETE FROM events WHERE position > ?", length),
        ("DELETE FROM event_chain WHERE position > ?", length),
    ):
        bench.database.write(lambda tx, s=sql, v=value: tx.run(s, v))
    restored = (length, kept[0][0]["mac"], kept[0][0]["seal"])
    bench.database.write(lambda tx: tx.run("UPDATE event_heads SET length = ?, mac = ?, seal = ?", *restored))
    (tmp_path / ".lithos/keys/events.head").unlink()  # without the anchor that verify itself dropped …
    assert [problem["kind"] for problem in bench.verdict(head)["problems"]] == ["missing"]
    assert bench.verdict()["ok"]


def test_a_database_restored_from_before_the_last_look_is_found(bench: StorageBench) -> None:
    fill(bench, 2)
    bench.effects.recover()
    bench.database.write(lambda tx: tx.run("DELETE FROM events"))
    bench.database.write(lambda tx: tx.run("DELETE FROM event_chain"))
    bench.database.write(lambda tx: tx.run("DELETE FROM event_heads"))
    fill(bench, 1)
    bench.effects.recover()
    assert [problem["kind"] for problem in bench.verdict()["problems"]] == ["missing"]


def test_problems_are_all_counted_but_not_all_listed(bench: StorageBench) -> None:
    fill(bench, 150)
    bench.database.write(lambda tx: tx.run("UPDATE events SET thing = 'x'"))
    verdict = bench.verdict()
    assert (verdict["problem_count"], len(verdict["problems"])) == (150, 100)


def test_keys_rotate_and_what_older_keys_sealed_stays_verifiable(bench: StorageBench, tmp_path: Path) -> None:
    fill(bench, 2)
    assert bench.database.write(lambda tx: bench.events.rotate(tx, keyed())) == 2
    fill(bench, 2)
    assert bench.verdict()["ok"]
    salts = bench.database.read(lambda tx: tx.all("SELECT salt_version FROM event_chain ORDER BY position"))
    assert [row["salt_version"] for row in salts] == [1, 1, 1, 2, 2, 2, 2]
    assert [event["op"] for event in bench.found(type="key")] == ["rotate"]


def test_keys_are_for_the_owner_alone(bench: StorageBench, tmp_path: Path) -> None:
    fill(bench, 1)
    (key,) = (tmp_path / ".lithos/keys").glob("*.key")
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert stat.S_IMODE(key.parent.stat().st_mode) == 0o700


def test_a_lost_key_stops_nothing_and_is_not_taken_for_tampering(bench: StorageBench, tmp_path: Path) -> None:
    fill(bench, 2)
    bench.close()
    (tmp_path / ".lithos/keys/events-0001.key").unlink()
    again = StorageBench(tmp_path)
    again.clock.advance(3600)
    fill(again, 2)
    assert {problem["kind"] for problem in again.verdict()["problems"]} == {"key_missing"}
    again.close()


def test_another_key_under_an_old_name_is_not_taken_for_tampering(bench: StorageBench, tmp_path: Path) -> None:
    fill(bench, 2)
    bench.close()
    (tmp_path / ".lithos/keys/events-0001.key").write_text("ab" * 32)
    again = StorageBench(tmp_path)
    assert "key_missing" in {problem["kind"] for problem in again.verdict()["problems"]}
    again.close()


def test_a_damaged_key_file_is_refused(tmp_path: Path) -> None:
    keys = Keyring(tmp_path)
    keys.add(1)
    (tmp_path / "events-0001.key").write_text("short")
    with pytest.raises(Damaged):
        Keyring(tmp_path).key(1)


def test_a_store_keeps_its_id(tmp_path: Path) -> None:
    first = store_id(tmp_path)
    assert first == store_id(tmp_path)
    assert store_id(tmp_path / "other") != first


def test_an_event_that_is_gone_cannot_advance(bench: StorageBench) -> None:
    with pytest.raises(Damaged):
        bench.database.write(lambda tx: bench.events.advance(tx, "01J", "committed"))
