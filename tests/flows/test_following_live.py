"""A memory that follows its files by itself: the watcher, and the first look after a start."""

from __future__ import annotations

import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lithos.app import Lithos, open_lithos
from lithos.settings import IndexSettings, LithosConfig, StorageSettings
from lithos.tools.catalogue import catalogue
from tests.support.notes_bench import DEADLINE, Person, assert_index_is_true, paths
from tests.support.waiting import until


@pytest.fixture
def live(data_dir: Path) -> Iterator[Lithos]:
    """With the watcher running and scans so rare that only it can have seen a change."""
    index = IndexSettings(watch_debounce_ms=50, scan_seconds=3600)
    opened = open_lithos(LithosConfig(storage=StorageSettings(data_dir=data_dir), index=index))
    opened.start()
    until(lambda: opened.notes.index.progress.state == "current")
    yield opened
    opened.close()


def test_the_watcher_sees_edits_renames_and_whole_folders(live: Lithos, tmp_path: Path) -> None:
    person = Person(live)
    until(lambda: person.save("probe.md", str(time.monotonic())) and "probe.md" in paths(live))
    person.save("a.md", "one")
    until(lambda: "a.md" in paths(live))
    note_id = paths(live)["a.md"]
    (person.folder / "a.md").rename(person.folder / "b.md")
    until(lambda: paths(live).get("b.md") == note_id)
    for number in range(300):
        path = tmp_path / "many" / f"{number}.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"[[{number + 1}]]")
    shutil.move(tmp_path / "many", person.folder / "many")
    until(lambda: len(paths(live)) == 302)
    shutil.rmtree(person.folder / "many")
    until(lambda: len(paths(live)) == 2)
    live.notes.index.reconcile()
    assert_index_is_true(live)


def test_statistics_tell_how_far_the_index_is(live: Lithos) -> None:
    index = catalogue().call(live, "lithos_stats", {})["index"]
    assert (index["state"], index["held"], index["problem"]) == ("current", 0, None)
    assert index["current_at"] and index["scans"] >= 1


@pytest.mark.torture
@pytest.mark.timeout(3600)
def test_a_checkout_of_10_000_files_converges(live: Lithos) -> None:
    """Another branch: a third of the files gone, a third changed, a third renamed, and back again."""
    live.embedding.pause()
    person = Person(live)
    for number in range(10_000):
        person.save(
            f"{number % 40}/{number}.md", f"# Note {number}\n\n[[{(number + 1) % 10_000}]] and [[{number + 7}]]\n"
        )
    git(person.folder, "init", "-q", "-b", "one")
    commit(person.folder)
    git(person.folder, "checkout", "-q", "-b", "two")
    for number in range(10_000):
        file = person.folder / f"{number % 40}/{number}.md"
        if number % 3 == 0:
            file.unlink()
        elif number % 3 == 1:
            file.write_text(f"# Changed {number}\n\n[[{number - 1}]]\n")
        else:
            file.rename(file.with_name(f"renamed {number}.md"))
    commit(person.folder)
    for branch, notes in (("one", 10_000), ("two", 6_666), ("one", 10_000)):
        git(person.folder, "checkout", "-q", branch)
        until(lambda notes=notes: live.notes.counts()["notes"] == notes, seconds=600)  # type: ignore[misc]
        live.notes.index.reconcile()
        assert_index_is_true(live)


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, check=True, stdin=subprocess.DEVNULL, timeout=300)


def commit(folder: Path) -> None:
    git(folder, "add", "-A")
    git(folder, "-c", "user.name=a", "-c", "user.email=a@localhost", "commit", "-q", "-m", "all")


# The first look after a start


def found(lithos: Lithos) -> dict[str, Any]:
    return catalogue().call(lithos, "lithos_search", {"query": "valve"})


def test_a_search_says_that_files_are_not_read_yet(config: LithosConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lithos.storage.files.watcher._FIRST_LOOK", 0.0)
    lithos = open_lithos(config)
    with lithos.notes.index._lock:  # nobody reads a file meanwhile
        (config.storage.data_dir / "knowledge" / "pump.md").write_text("The valve is stuck.")
        lithos.notes.watcher.start()
        until(lambda: lithos.notes.index.progress.state == "scanning")
        answer = found(lithos)
    assert answer["results"] == [] and "files not read yet: 1" in answer["degraded_reason"]
    until(lambda: len(found(lithos)["results"]) == 1 and not found(lithos)["degraded"])
    lithos.close()


def test_the_first_question_after_a_start_waits_for_the_first_look(
    config: LithosConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lithos.storage.files.watcher._FIRST_LOOK", DEADLINE)
    lithos = open_lithos(config)
    answers: list[dict[str, Any]] = []
    asking = threading.Thread(target=lambda: answers.append(found(lithos)))
    with lithos.notes.index._lock:
        (config.storage.data_dir / "knowledge" / "pump.md").write_text("The valve is stuck.")
        lithos.notes.watcher.start()
        asking.start()
        asking.join(0.3)  # one that does not wait has its answer by now
    asking.join()
    assert [hit["path"] for hit in answers[0]["results"]] == ["pump.md"]
    lithos.close()
