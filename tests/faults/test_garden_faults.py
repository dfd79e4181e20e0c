"""The garden broken at every step of a change: crash, I/O error, full disk, and a person who saves meanwhile."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from lithos.app import Lithos, open_lithos
from lithos.core.clock import FakeClock, SystemClock
from lithos.errors import Conflict, LithosError
from lithos.settings import LithosConfig, StorageSettings
from lithos.storage import Crash, PlannedFaults
from lithos.tools.catalogue import catalogue

PATH, NOTES = "users/ana/parts/critic/profile.md", "users/ana/notes.md"
PROFILE = "---\nid: 1\n---\n## Concerns\n<!-- @anchor: concerns v1 -->\nOld.\n\n## Change Log\n- made\n"
AFTER = PROFILE.replace("Old.", "New.") + "- 2026-01-01T00:00:00Z me: why\n"
WHO = {"user_id": "ana", "agent": "me"}


def opened(folder: Path, faults: PlannedFaults | None = None) -> Lithos:
    config = LithosConfig(storage=StorageSettings(data_dir=folder, synchronous="NORMAL"))
    return open_lithos(config, clock=FakeClock(), faults=faults)


def planted(folder: Path) -> Path:
    file = folder / "garden" / PATH
    file.parent.mkdir(parents=True)
    file.write_text(PROFILE)
    return file


def call(lithos: Lithos, name: str, **arguments: Any) -> dict[str, Any]:
    return catalogue().call(lithos, name, {**WHO, **arguments})


def patch_one(lithos: Lithos) -> dict[str, Any]:
    request = {"path": PATH, "section_anchor": "concerns v1", "change": {"replace": "New."}, "rationale": "why"}
    return call(lithos, "lithos_md_patch_section", **request, idempotency_key="k")


def apply_two(lithos: Lithos) -> dict[str, Any]:
    edits = [{"path": NOTES, "content": "new\n"}, {"path": PATH, "section_anchor": "Concerns", "content": "New."}]
    proposal = call(lithos, "lithos_propose_change", edits=edits, idempotency_key="p")
    faults = lithos.storage.faults
    if isinstance(faults, PlannedFaults):
        faults.seen.clear()
    return call(
        lithos, "lithos_apply_change", proposal_id=proposal["proposal_id"], rationale="why", idempotency_key="k"
    )


CHANGES: dict[str, tuple[Callable[[Lithos], dict[str, Any]], dict[str, str]]] = {
    "one section": (patch_one, {PATH: AFTER}),
    "two files": (apply_two, {PATH: AFTER, NOTES: "new\n"}),
}


def files(folder: Path) -> dict[str, str]:
    top = folder / "garden"
    return {str(path.relative_to(top)): path.read_text() for path in top.rglob("*") if path.is_file()}


def steps(folder: Path, change: Callable[[Lithos], dict[str, Any]]) -> list[tuple[str, int]]:
    faults = PlannedFaults()
    planted(folder)
    lithos = opened(folder, faults)
    faults.seen.clear()
    change(lithos)
    seen = list(faults.seen)
    lithos.close()
    return [(point, seen[: at + 1].count(point)) for at, point in enumerate(seen) if not point.startswith("commit")]


def judge(folder: Path, change: Callable[[Lithos], dict[str, Any]], done: dict[str, str], where: str) -> None:
    """Reopened: all or nothing, nothing left over, the audit whole; and the retry under the same key makes it once."""
    lithos = opened(folder)
    try:
        lithos.garden.root.sweep(everything=True)
        assert files(folder) in ({PATH: PROFILE}, done), where
        assert lithos.storage.database.read(lithos.storage.events.verify)["ok"], where
        change(lithos)
        lithos.garden.root.sweep(everything=True)
        assert files(folder) == done, where
        rows = call(lithos, "lithos_events_query", path=next(iter(done)))["rows"]
        assert [row["status"] for row in rows].count("committed") == 1, where
        assert not [row for row in rows if row["status"] in ("pending", "written")], where
    finally:
        lithos.close()


@pytest.mark.parametrize("what", CHANGES)
def test_a_crash_at_any_step_leaves_all_or_nothing_and_a_retry_makes_it_once(tmp_path: Path, what: str) -> None:
    change, done = CHANGES[what]
    passed = steps(tmp_path / "rehearsal", change)
    assert len(passed) >= 8
    for number, (point, visit) in enumerate(passed):
        folder, faults = tmp_path / str(number), PlannedFaults()
        planted(folder)
        lithos = opened(folder, faults)
        faults.seen.clear()
        faults.plan(point, "crash", visit)
        with pytest.raises(Crash):
            change(lithos)
        lithos.close()
        judge(folder, change, done, f"crash at {point} ({visit})")


@pytest.mark.parametrize(
    ("what", "code"),
    [
        ("one section", errno.EIO),
        ("two files", errno.ENOSPC),
        pytest.param("one section", errno.ENOSPC, marks=pytest.mark.torture),
        pytest.param("two files", errno.EIO, marks=pytest.mark.torture),
    ],
)
def test_an_error_at_any_step_changes_nothing_and_the_event_says_so(tmp_path: Path, what: str, code: int) -> None:
    change, done = CHANGES[what]
    for number, (point, visit) in enumerate(steps(tmp_path / "rehearsal", change)):
        if point.startswith("saga"):
            continue  # those are the database's, and never an OSError
        folder, faults = tmp_path / str(number), PlannedFaults()
        planted(folder)
        lithos = opened(folder, faults)
        faults.seen.clear()
        faults.plan(point, OSError(code, os.strerror(code)), visit)
        with pytest.raises(LithosError) as refusal:
            change(lithos)
        assert refusal.value.code in ("storage_full", "unavailable")
        lithos.garden.root.sweep(everything=True)
        assert files(folder) == {PATH: PROFILE}, f"{errno.errorcode[code]} at {point} ({visit})"
        lithos.close()
        judge(folder, change, done, f"{errno.errorcode[code]} at {point} ({visit})")


def test_a_person_who_saves_at_any_step_loses_nothing(tmp_path: Path) -> None:
    for number, (point, visit) in enumerate(steps(tmp_path / "rehearsal", patch_one)):
        folder, faults = tmp_path / str(number), PlannedFaults()
        file = planted(folder)
        lithos = opened(folder, faults)
        faults.seen.clear()
        faults.plan(point, lambda file=file: file.write_text("a person's\n") and None, visit)  # type: ignore[misc]
        with suppress(Conflict):
            patch_one(lithos)
        lithos.garden.root.sweep(everything=True)
        assert "a person's\n" in files(folder).values(), f"lost at {point} ({visit})"
        lithos.close()


def test_after_a_crash_a_person_who_edited_meanwhile_keeps_the_file_and_ours_is_beside_it(tmp_path: Path) -> None:
    faults = PlannedFaults()
    file = planted(tmp_path)
    lithos = opened(tmp_path, faults)
    faults.plan("saga.stepped", "crash")
    with pytest.raises(Crash):
        patch_one(lithos)
    lithos.close()
    file.write_text("a person's\n")
    lithos = opened(tmp_path)
    lithos.garden.root.sweep(everything=True)
    found = files(tmp_path)
    assert found.pop(PATH) == "a person's\n"
    assert [*found.values()] == [AFTER] and ".conflict-" in next(iter(found))
    (row,) = call(lithos, "lithos_events_query", path=PATH)["rows"]
    assert row["status"] == "conflict" and row["error"]["copies"] == [*found]
    lithos.close()


PERSON = """
import os, random, sys, time
path, stop = sys.argv[1:]
dice = random.Random(7)
saved = 0
while not os.path.exists(stop):
    time.sleep(dice.random() * 0.12)
    with open(path) as file:
        text = file.read()
    with open(path, "w") as file:
        file.write(text + f"person {saved}\\n")
    saved += 1
    if saved == 1:
        print("begun", flush=True)
print(saved)
"""


def fight(folder: Path, edits: int) -> tuple[set[str], int, int]:
    """Lines of the person that are nowhere any more, how many they saved, and how often the agent was refused."""
    file, stop = folder / "garden" / NOTES, folder / "stop"
    file.parent.mkdir(parents=True)
    file.write_text("## Log\nstart\n\n## Person\n")
    config = LithosConfig(storage=StorageSettings(data_dir=folder, synchronous="NORMAL"))
    lithos = open_lithos(config, clock=SystemClock())
    person = subprocess.Popen([sys.executable, "-c", PERSON, str(file), str(stop)], stdout=subprocess.PIPE, text=True)
    assert person.stdout and person.stdout.readline() == "begun\n"
    done = refused = 0
    try:
        while done < edits and refused < 50 * edits:
            request = {"path": NOTES, "section_anchor": "Log", "change": {"replace": f"agent {done}"}, "rationale": "r"}
            try:
                call(lithos, "lithos_md_patch_section", **request)
                done += 1
            except LithosError as refusal:
                assert refusal.code in ("conflict", "not_found"), refusal.message
                refused += 1
    finally:
        stop.touch()
        saved = int(person.communicate(timeout=60)[0])
        lithos.garden.root.sweep(everything=True)
        lithos.close()
    assert done == edits
    kept = "".join(files(folder).values()).split("\n")
    return {f"person {number}" for number in range(saved)} - set(kept), saved, refused


def test_an_editor_that_saves_at_random_moments_loses_nothing(tmp_path: Path) -> None:
    lost, _, _ = fight(tmp_path, 30)
    assert lost == set()


@pytest.mark.torture
def test_an_editor_that_saves_at_random_moments_during_1500_edits_loses_nothing(tmp_path: Path) -> None:
    lost, saved, refused = fight(tmp_path, 1_500)
    assert lost == set() and saved >= 100 and refused > 0
