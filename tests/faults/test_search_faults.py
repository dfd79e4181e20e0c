"""A collection, killed at every step and damaged in every file: nothing lost, nothing twice, nothing wrong for long."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from lithos.errors import StorageFull
from lithos.search import Collection, Document, Query, Remove
from lithos.search.text.fulltext import FullText
from lithos.storage import PlannedFaults
from tests.support import fork_server
from tests.support.collections_at_hand import answers, collection, note, reconcile
from tests.support.waiting import until

PROJECT = Path(__file__).parents[2]
VISITS = [2, *(pytest.param(visit, marks=pytest.mark.torture) for visit in (1, 3))]
MORE = 80
STEPS = ("search.begun", "search.half", "search.committed", "search.finished")
WORDS = ("lava", "sheep", "river3", "version2")

CHILD = """
import sys
from pathlib import Path
from lithos.storage import PlannedFaults
from tests.support.collections_at_hand import collection, reconcile
from tests.faults.test_search_faults import MORE, story
faults = PlannedFaults()
faults.plan(sys.argv[2], "kill", int(sys.argv[3]))
with collection(Path(sys.argv[1]), faults) as made:
    for chapter in story(MORE):
        reconcile(made, chapter)
        made.settle()
"""


def story(more: int = 0) -> list[dict[str, Document]]:
    """What the owner has, one state after the other: made, changed, partly removed.

    `more` notes on top keep the share of deleted ones so low that no index is renewed, which would hide its orphans.
    """
    first = {f"n{number}": note(f"n{number}", f"lava and river{number}") for number in range(6)}
    first |= {f"m{number}": note(f"m{number}", f"meadow{number}") for number in range(more)}
    second = {**first, "n1": note("n1", "version2 of sheep"), "n2": note("n2", "version2 of lava")}
    third = {id: document for id, document in second.items() if id not in ("n2", "n3")}
    return [first, second, third]


def healthy(folder: Path, more: int = 0) -> dict[str, Any]:
    with collection(folder / "healthy") as made:
        made.apply(story(more)[-1].values())
        assert made.settle()
        return answers(made, WORDS)


def found_by(seen: dict[str, Any]) -> dict[str, Any]:
    """Who is found, without scores: those of BM25 drift a little while deleted documents are counted."""
    words = {query: sorted(hit[0] for hit in hits) for query, hits in seen.items() if query.startswith("words")}
    return {**words, "known": seen["known"]}


@pytest.mark.parametrize("visit", VISITS)
@pytest.mark.parametrize("step", STEPS)
def test_a_kill_at_any_step_loses_nothing_and_leaves_nothing_twice(tmp_path: Path, step: str, visit: int) -> None:
    command = [sys.executable, "-c", CHILD, str(tmp_path / "killed"), step, str(visit)]
    assert fork_server.run(command, cwd=PROJECT, timeout=60).returncode == 137
    with collection(tmp_path / "killed") as made:
        reconcile(made, story(MORE)[-1])
        assert made.settle()
        assert found_by(answers(made, WORDS)) == found_by(healthy(tmp_path, MORE))
        engine = made._indexer.fulltext()
        assert engine.counts() == (MORE + 4, MORE + 4), "orphans are left in the full-text index"


@pytest.mark.parametrize("step", STEPS[:3])
def test_a_failing_disk_delays_changes_and_loses_none(tmp_path: Path, step: str) -> None:
    faults = PlannedFaults({step: StorageFull("no space")})
    with collection(tmp_path, faults) as made:
        made.apply(story()[-1].values())
        assert made.settle(30)
        assert answers(made, WORDS) == healthy(tmp_path)


def files_of(folder: Path) -> list[Path]:
    kept = [path for path in folder.rglob("*") if path.is_file() and path.stat().st_size]
    return sorted(path for path in kept if not path.name.endswith((".lock", ".reserve", "-shm")))


def grown(folder: Path) -> None:
    with collection(folder) as made:
        for chapter in story():
            reconcile(made, chapter)
            assert made.settle()


def flip(path: Path, share: float) -> None:
    data = bytearray(path.read_bytes())
    data[min(len(data) - 1, int(len(data) * share))] ^= 0x10
    path.write_bytes(data)


SHARES = [0.4, *(pytest.param(share, marks=pytest.mark.torture) for share in (0.0, 0.2, 0.6, 0.999))]


@pytest.mark.parametrize("share", SHARES)
def test_a_flipped_bit_in_any_file_is_noticed_at_start_and_healed(tmp_path: Path, share: float) -> None:
    expected = healthy(tmp_path)
    grown(tmp_path / "whole")
    for number, path in enumerate(files_of(tmp_path / "whole")):
        copy = tmp_path / f"copy{number}"
        subprocess.run(["cp", "-r", str(tmp_path / "whole"), str(copy)], check=True)
        flip(copy / path.relative_to(tmp_path / "whole"), share)
        with collection(copy) as made:
            reconcile(made, story()[-1])
            made.query(Query("lava"))
            assert made.settle(), path
            made.verify()
            reconcile(made, story()[-1])
            assert made.settle(), path
            assert answers(made, WORDS) == expected, path


def test_a_kill_before_a_commit_does_not_rebuild_the_index(tmp_path: Path) -> None:
    """tantivy lists a file before it writes it, and names it in its table of contents only with the commit."""
    grown(tmp_path)
    for managed in tmp_path.rglob(".managed.json"):
        listed = json.loads(managed.read_bytes())
        managed.write_text(json.dumps([*listed, "0123456789abcdef0123456789abcdef.idx"]))
    with collection(tmp_path) as made:
        generation = made._indexer.catalogue().generation()
        made.query(Query("lava"))
        assert made.settle()
        assert (made._indexer.catalogue().generation(), made._indexer.problems) == (generation, {})


def hurt(path: Path, harm: str) -> None:
    if harm == "flip":
        flip(path, 0.5)
    elif harm == "cut":
        path.write_bytes(b"")
    else:
        path.unlink()


@pytest.mark.parametrize("harm", ["flip", "cut", "gone"])
def test_damage_under_a_running_collection_is_healed_by_verify(tmp_path: Path, harm: str) -> None:
    expected = healthy(tmp_path)
    with collection(tmp_path / "live") as made:
        made.apply(story()[-1].values())
        assert made.settle()
        for path in files_of(tmp_path / "live"):
            if "catalogue" in path.name or not path.exists() or "damaged" in path.parts:
                continue
            hurt(path, harm)
            made.verify()
            assert made.settle()
            assert answers(made, WORDS) == expected, path


@pytest.mark.parametrize("gone", [".tantivy", ".tantivy/notes/text*", ".tantivy/notes/text*/*", ".vectors"])
def test_folders_deleted_under_a_running_collection_are_rebuilt_by_the_next_change(tmp_path: Path, gone: str) -> None:
    truth = story()[-1]
    with collection(tmp_path / "live") as made:
        made.on_lost(lambda: reconcile(made, truth))
        made.apply(document for id, document in truth.items() if id != "n1")
        assert made.settle()
        for folder in (tmp_path / "live").glob(gone):
            shutil.rmtree(folder)
        made.apply([truth["n1"]])
        assert made.settle()
        assert answers(made, WORDS) == healthy(tmp_path)
        assert made.query(Query("lava")).degraded == ""
    with collection(tmp_path / "live") as again:
        assert again.known() == {id: document.hash for id, document in truth.items()}
        assert answers(again, WORDS) == healthy(tmp_path)


def test_a_question_that_meets_damage_is_answered_and_starts_the_repair(tmp_path: Path) -> None:
    expected = healthy(tmp_path)
    with collection(tmp_path / "live") as made:
        made.apply(story()[-1].values())
        assert made.settle()
        for _ in range(2):  # the second does not look at the files: nothing happened since the first did
            assert made.query(Query("lava", by="words")).degraded == ""
        for path in (tmp_path / "live").rglob("*.fast"):
            with open(path, "r+b") as file:  # in place: tantivy has it mapped
                file.write(b"\xff" * path.stat().st_size)
        assert made.query(Query("lava", by="words")).degraded
        until(lambda: answers(made, WORDS) == expected, "the same answers as before")
        assert made.query(Query("lava")).degraded == ""


@pytest.mark.parametrize("moved", ["notes", "notes/text*", "notes/text*/documents"])
def test_a_folder_that_is_moved_away_between_two_questions_is_noticed_by_the_second(tmp_path: Path, moved: str) -> None:
    with collection(tmp_path) as made:
        made.apply(story()[-1].values())
        assert made.settle()
        for _ in range(2):  # the second does not look at the files
            assert made.query(Query("lava", by="words")).degraded == ""
        folder = next((tmp_path / ".tantivy").glob(moved))
        folder.rename(tmp_path / "elsewhere")
        assert made.query(Query("lava", by="words")).degraded


def test_a_lost_catalogue_makes_the_owner_apply_all_again(tmp_path: Path) -> None:
    truth = story()[-1]
    told = threading.Event()
    with collection(tmp_path) as made:
        made.on_lost(lambda: (reconcile(made, truth), told.set()))
        made.apply(truth.values())
        assert made.settle()
        spoil_rows(tmp_path / ".tantivy" / "notes" / "catalogue.db")
        made.verify()
        assert told.wait(60)
        assert made.settle()
        assert sorted(hit.id for hit in made.query(Query("lava", limit=50, by="words")).hits) == ["n0", "n4", "n5"]


def spoil_rows(path: Path) -> None:
    import apsw

    connection = apsw.Connection(str(path))
    connection.set_busy_timeout(10_000)  # the collection may be noting that everything is embedded
    connection.execute("UPDATE documents SET hash = 'other'").fetchall()
    connection.close()


def test_what_is_being_rebuilt_says_that_it_is_degraded(tmp_path: Path) -> None:
    grown(tmp_path)
    victim = next((tmp_path / ".tantivy" / "notes").glob("text*/documents/*.idx"))
    flip(victim, 0.5)
    with collection(tmp_path) as made:
        hold = threading.Event()
        made._indexer.run_soon(lambda: hold.wait(60) and None)
        assert "rebuilt" in made.query(Query("lava", by="words")).degraded
        hold.set()
        assert eventually_whole(made)
        assert [hit.id for hit in made.query(Query("sheep", by="words")).hits] == ["n1"]


def test_an_answer_of_an_empty_index_is_degraded_although_the_rebuild_ends_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grown(tmp_path)
    flip(next((tmp_path / ".tantivy" / "notes").glob("text*/documents/*.idx")), 0.5)
    with collection(tmp_path) as made:
        search = FullText.words

        def search_slowly(self: FullText, *arguments: Any) -> Any:
            found = search(self, *arguments)
            until(lambda: not made._indexer.problems, "the end of the rebuild")
            return found

        monkeypatch.setattr(FullText, "words", search_slowly)
        answer = made.query(Query("sheep", by="words"))
        assert answer.hits or answer.degraded
        assert [hit.id for hit in made.query(Query("sheep", by="words")).hits] == ["n1"]


def eventually_whole(made: Collection) -> bool:
    made._indexer.run(lambda: None)
    return made.query(Query("lava", by="words")).degraded == ""


def test_removal_survives_a_kill_before_it_is_indexed(tmp_path: Path) -> None:
    grown(tmp_path)
    with collection(tmp_path) as made:
        made.apply([Remove("n0")])
        assert "n0" not in {hit.id for hit in made.query(Query("lava", limit=50)).hits}
    truth = {id: document for id, document in story()[-1].items() if id != "n0"}
    with collection(tmp_path) as made:
        reconcile(made, truth)
        assert "n0" not in {hit.id for hit in made.query(Query("lava", limit=50)).hits}


CUT_SHORT = """
import sys
from pathlib import Path
from lithos.search import Query
from tests.support.collections_at_hand import collection
with collection(Path(sys.argv[1])) as made:
    made.query(Query("lava"))
    for path in Path(sys.argv[1], ".tantivy").glob("notes/text*/*/*.*"):
        if path.suffix not in (".json", ".lock"):
            with open(path, "r+b") as file:
                file.truncate(path.stat().st_size // 2)
    for word in ("lava", "sheep", "river3"):
        made.query(Query(word))
"""


def test_files_cut_short_under_a_running_process_are_healed_at_the_next_start(tmp_path: Path) -> None:
    """tantivy maps its files: the process may die of it (SIGBUS), or not; what follows must be whole either way."""
    expected = healthy(tmp_path)
    grown(tmp_path / "cut")
    fork_server.run([sys.executable, "-c", CUT_SHORT, str(tmp_path / "cut")], cwd=PROJECT, timeout=120)
    with collection(tmp_path / "cut") as made:
        reconcile(made, story()[-1])
        made.query(Query("lava"))
        assert made.settle()
        assert eventually_whole(made)
        assert answers(made, WORDS) == expected
