"""The saga, broken at every one of its steps: by an error, by a crash, by somebody who edits meanwhile."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from lithos.core.call import Call, Delivery
from lithos.core.canonical import version_of
from lithos.errors import Conflict, Damaged, LithosError, NotFound, Unavailable
from lithos.storage import Crash, EventDraft, FileChange, Outcome, Plan, PlannedFaults, Tx
from tests.support import fork_server, states
from tests.support.storage_bench import StorageBench, keyed

pytestmark = pytest.mark.both_databases

BEFORE = {"old.md": b"old 1", "moved.md": b"moved 1", "gone.md": b"gone 1"}
AFTER = {"new.md": b"new 2", "old.md": b"old 2", "there/moved.md": b"moved 2"}
ANSWER = {"status": "done"}


def start(folder: Path) -> None:
    (folder / "knowledge").mkdir(parents=True)
    for name, data in BEFORE.items():
        (folder / "knowledge" / name).write_bytes(data)


def files(folder: Path) -> dict[str, bytes]:
    """What people see: everything but our own hidden leftovers."""
    top = folder / "knowledge"
    found = (path for path in top.rglob("*") if path.is_file() and not path.name.startswith(".lithos"))
    return {str(path.relative_to(top)): path.read_bytes() for path in found}


def plan(bench: StorageBench) -> Plan:
    """A new file, a rewritten one, one moved and rewritten, one taken away, and a row."""
    changes = (
        FileChange("vault", "new.md", None, AFTER["new.md"]),
        FileChange("vault", "old.md", version_of(BEFORE["old.md"]), AFTER["old.md"]),
        FileChange("vault", "moved.md", version_of(BEFORE["moved.md"]), AFTER["there/moved.md"], "there/moved.md"),
        FileChange("vault", "gone.md", version_of(BEFORE["gone.md"]), None),
    )
    event = EventDraft("note", "rename", "n1", path="moved.md", details={"rows": 1})
    return Plan(changes, event, ANSWER, after=lambda tx: count(bench, tx))


def count(bench: StorageBench, tx: Tx) -> None:
    bench.count(tx)


def opened(folder: Path, faults: PlannedFaults | None = None) -> StorageBench:
    bench = StorageBench(folder, faults)
    bench.effects.on_recovered("note", lambda tx, recovered: count(bench, tx))
    return bench


def points(tmp_path: Path) -> list[tuple[str, int]]:
    """Every point that the plan passes, with its how-manieth visit."""
    folder = tmp_path / "rehearsal"
    start(folder)
    faults = PlannedFaults()
    bench = opened(folder, faults)
    faults.seen.clear()
    assert bench.effects.apply(keyed(), lambda: plan(bench)).answer == ANSWER
    bench.close()
    passed = [(point, faults.seen[: at + 1].count(point)) for at, point in enumerate(faults.seen)]
    if isinstance(states.current, states.PostgresStates):  # where files fail they fail alike on both
        return [each for each in passed if each[0].startswith(("commit", "saga.open", "saga.close"))]
    return passed


def check_whole(bench: StorageBench, folder: Path) -> bool:
    """All or nothing, in files, rows and audit alike; whether it was all."""
    (event,) = bench.found() or [None]
    done = event is not None and event["status"] == "committed"
    assert files(folder) == (AFTER if done else BEFORE)
    assert bench.counted() == int(done)
    assert event is None or event["status"] in ("committed", "failed", "conflict")
    assert bench.rows("intents") == bench.rows("intent_changes") == 0
    assert bench.verdict()["ok"]
    return done


def check_a_retry_takes_effect_once(bench: StorageBench, folder: Path) -> None:
    assert bench.effects.apply(keyed(), lambda: plan(bench)).answer == ANSWER
    assert files(folder) == AFTER
    assert bench.counted() == 1
    assert [event["status"] for event in bench.found(status="committed")] == ["committed"]
    assert bench.verdict()["ok"]


def test_a_plan_changes_all_of_its_files_and_rows_and_its_event_passes_through_every_status(tmp_path: Path) -> None:
    start(tmp_path)
    bench = opened(tmp_path)
    assert bench.effects.apply(keyed(), lambda: plan(bench)).answer == ANSWER
    assert check_whole(bench, tmp_path)
    passed = bench.database.read(lambda tx: tx.all("SELECT status FROM event_chain ORDER BY position"))
    assert [row["status"] for row in passed] == ["pending", "written", "committed"]
    check_a_retry_takes_effect_once(bench, tmp_path)
    assert {kept.version for kept in bench.root.history("old.md")} == {version_of(BEFORE["old.md"])}
    bench.close()


def test_a_check_that_fails_takes_every_file_back_and_leaves_the_key_free(tmp_path: Path) -> None:
    start(tmp_path)
    bench = opened(tmp_path)

    def fail() -> None:
        assert files(tmp_path) == AFTER
        raise Damaged("not what was promised")

    with pytest.raises(Damaged):
        bench.effects.apply(keyed(), lambda: replace(plan(bench), check=fail))
    assert not check_whole(bench, tmp_path)
    check_a_retry_takes_effect_once(bench, tmp_path)
    bench.close()


def test_an_error_at_any_step_leaves_all_or_nothing(tmp_path: Path) -> None:
    for number, (point, visit) in enumerate(points(tmp_path)):
        folder = tmp_path / str(number)
        start(folder)
        faults = PlannedFaults()
        faults.plan(point, OSError(5, "Input/output error"), visit)
        bench = opened(folder, PlannedFaults())
        bench.close()
        bench = opened(folder, faults)
        try:
            bench.effects.apply(keyed(), lambda bench=bench: plan(bench))
        except (LithosError, OSError):
            bench.effects.settle()
            check_whole(bench, folder)
        check_a_retry_takes_effect_once(bench, folder)
        bench.close()
        states.current.empty()


def test_a_crash_at_any_step_is_settled_at_the_next_start(tmp_path: Path) -> None:
    outcomes = set()
    for number, (point, visit) in enumerate(points(tmp_path)):
        folder = tmp_path / str(number)
        start(folder)
        faults = PlannedFaults()
        bench = opened(folder, faults)
        faults.seen.clear()
        faults.plan(point, "crash", visit)
        with pytest.raises((Crash, Unavailable)):
            bench.effects.apply(keyed(), lambda bench=bench: plan(bench))
        bench.close()
        again = opened(folder)
        again.effects.recover()
        outcomes.add(check_whole(again, folder))
        check_a_retry_takes_effect_once(again, folder)
        again.close()
        states.current.empty()
    assert outcomes == {True, False}


@pytest.mark.parametrize(
    "point", ["write:flush", "exchange", "rename-new", "flush-folder", "commit.send", "commit.done"]
)
def test_a_crash_during_recovery_is_recovered_too(tmp_path: Path, point: str) -> None:
    start(tmp_path)
    faults = PlannedFaults()
    faults.plan("saga.stepped", "crash", 2)
    bench = opened(tmp_path, faults)
    with pytest.raises(Crash):
        bench.effects.apply(keyed(), lambda: plan(bench))
    bench.close()
    faults = PlannedFaults()
    faults.plan(point, "crash")
    bench = opened(tmp_path, faults)
    with pytest.raises(Crash):
        bench.effects.recover()
    bench.close()
    again = opened(tmp_path)
    again.effects.recover()
    assert check_whole(again, tmp_path)
    check_a_retry_takes_effect_once(again, tmp_path)
    again.close()


CHILD = """
import sys
from pathlib import Path
from lithos.storage import PlannedFaults
from tests.faults.test_saga_faults import opened, plan
from tests.support import states
from tests.support.storage_bench import keyed
faults = PlannedFaults()
bench = opened(Path(sys.argv[1]), faults)
faults.seen.clear()
faults.plan(sys.argv[2], "kill", int(sys.argv[3]))
bench.effects.apply(keyed(), lambda: plan(bench))
"""


@pytest.mark.sqlite_only("a process per step is slow there; the last commit is tested below")
@pytest.mark.parametrize(
    ("point", "visit"),
    [("saga.opened", 1), ("saga.stepped", 1), ("saga.stepped", 3), ("commit.send", 2), ("saga.close", 1)],
)
def test_a_killed_process_is_settled_at_the_next_start(tmp_path: Path, point: str, visit: int) -> None:
    start(tmp_path)
    command = [sys.executable, "-c", CHILD, str(tmp_path), point, str(visit)]
    where, environment = Path(__file__).parents[2], states.for_child(tmp_path / ".lithos")
    ended = fork_server.run(command, cwd=where, env=environment, timeout=60)
    assert ended.returncode == 137, ended.stderr
    bench = opened(tmp_path)
    bench.effects.recover()
    assert check_whole(bench, tmp_path) == (point != "saga.opened")
    check_a_retry_takes_effect_once(bench, tmp_path)
    bench.close()


def test_a_resent_delivery_is_answered_by_what_recovery_found(tmp_path: Path) -> None:
    start(tmp_path)
    faults = PlannedFaults()
    faults.plan("saga.close", "crash")
    bench = opened(tmp_path, faults)
    call = Call("note_write", "ada", arguments_hash="h", delivery=Delivery("guest", "1"))
    with pytest.raises(Crash):
        bench.effects.apply(call, lambda: plan(bench))
    bench.close()
    again = opened(tmp_path)
    again.effects.recover()
    resent = Call("note_write", "ada", arguments_hash="h", delivery=Delivery("guest", "1", resent=True))
    assert again.effects.apply(resent, lambda: pytest.fail("decided twice")).answer == ANSWER
    again.close()


def test_an_edit_by_someone_else_before_the_first_step_is_a_conflict_and_changes_nothing(tmp_path: Path) -> None:
    start(tmp_path)
    bench = opened(tmp_path)
    made = plan(bench)
    (tmp_path / "knowledge/moved.md").write_bytes(b"theirs")
    with pytest.raises(Conflict) as refusal:
        bench.effects.apply(keyed(), lambda: made)
    assert refusal.value.details["version"] == version_of(b"theirs")
    assert files(tmp_path) == {**BEFORE, "moved.md": b"theirs"}
    assert [event["status"] for event in bench.found()] == ["conflict"]
    assert (bench.rows("intents"), bench.rows("once"), bench.counted()) == (0, 0, 0)
    bench.close()


def test_an_edit_after_the_crash_is_kept_and_ours_is_beside_it(tmp_path: Path) -> None:
    start(tmp_path)
    faults = PlannedFaults()
    faults.plan("saga.stepped", "crash", 2)
    bench = opened(tmp_path, faults)
    with pytest.raises(Crash):
        bench.effects.apply(keyed(), lambda: plan(bench))
    bench.close()
    (tmp_path / "knowledge/old.md").write_bytes(b"theirs, on top of ours")
    (tmp_path / "knowledge/gone.md").write_bytes(b"theirs, so it stays")
    again = opened(tmp_path)
    again.effects.recover()
    (event,) = again.found()
    assert event["status"] == "conflict"
    assert event["error"] is not None
    (copy,) = event["error"]["copies"]
    expected = {**AFTER, "old.md": b"theirs, on top of ours", "gone.md": b"theirs, so it stays", copy: b"old 2"}
    assert files(tmp_path) == expected
    assert (again.rows("intents"), again.rows("once")) == (0, 0)
    assert again.verdict()["ok"]
    again.close()


def test_an_undo_never_overwrites_what_someone_saved_meanwhile(tmp_path: Path) -> None:
    start(tmp_path)
    faults = PlannedFaults()
    bench = opened(tmp_path, faults)
    made = plan(bench)

    def interfere() -> None:
        (tmp_path / "knowledge/new.md").write_bytes(b"theirs, on top of ours")
        raise OSError(5, "Input/output error")

    faults.plan("saga.stepped", interfere, 3)
    with pytest.raises(OSError, match="Input/output"):
        bench.effects.apply(keyed(), lambda: made)
    assert files(tmp_path) == {**BEFORE, "new.md": b"theirs, on top of ours"}
    (event,) = bench.found()
    assert event["status"] == "conflict"
    assert event["error"] is not None
    assert event["error"]["left"] == ["new.md"]
    bench.close()


def test_what_the_plan_checks_first_stops_it_before_any_file(tmp_path: Path) -> None:
    start(tmp_path)
    bench = opened(tmp_path)

    def refuse(tx: Tx) -> None:
        raise NotFound("the claim is lost")

    with pytest.raises(NotFound):
        bench.effects.apply(
            keyed(), lambda: Plan((FileChange("vault", "x.md", None, b"x"),), EventDraft("a", "b"), {}, refuse)
        )
    assert files(tmp_path) == BEFORE
    assert bench.rows("events") == bench.rows("intents") == 0
    bench.close()


def test_an_error_in_the_closing_rows_undoes_the_files(tmp_path: Path) -> None:
    start(tmp_path)
    bench = opened(tmp_path)

    def refuse(tx: Tx) -> None:
        raise NotFound("the task is gone")

    made = plan(bench)
    with pytest.raises(NotFound):
        bench.effects.apply(keyed(), lambda: Plan(made.changes, made.event, ANSWER, after=refuse))
    assert not check_whole(bench, tmp_path)
    bench.close()


def test_a_plan_may_turn_out_to_be_an_outcome(tmp_path: Path) -> None:
    start(tmp_path)
    bench = opened(tmp_path)
    outcome = Outcome({"status": "unchanged"}, (EventDraft("note", "noop"),))
    assert bench.effects.apply(keyed(), lambda: outcome).answer == {"status": "unchanged"}
    assert bench.effects.apply(keyed(), lambda: pytest.fail("decided twice")).answer == {"status": "unchanged"}
    refused = Outcome({"success": False}, refused=True)
    assert bench.effects.apply(keyed("k2"), lambda: refused).answer == {"success": False}
    assert (bench.rows("once"), bench.rows("events")) == (1, 1)
    bench.close()


def test_a_process_killed_in_its_last_commit_is_settled_at_the_next_start(tmp_path: Path) -> None:
    test_a_killed_process_is_settled_at_the_next_start(tmp_path, "commit.send", 2)
