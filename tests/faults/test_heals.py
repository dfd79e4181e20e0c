"""Everything derived heals by itself, whatever is wrong with it: damage it, start again, and search finds all."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from lithos.app import Lithos
from lithos.search import Collection, Remove
from tests.support.damage import (
    NOTES,
    a_folder_instead,
    a_search_catalogue_scribbled_over,
    a_segment_gone,
    call,
    cut_in_half,
    everything_of_search_a_file,
    fill,
    half_malformed,
    opened,
    text_indexes,
    vectors_cut,
    zeroed,
)
from tests.support.served import lithos, served
from tests.support.waiting import until

Damage = Callable[[Path], None]


def found(memory: Lithos, word: str) -> list[str]:
    answer = call(memory, "lithos_search", query=word)
    assert not answer.get("degraded"), answer
    return [hit["id"] for hit in answer["results"]]


def all_found(memory: Lithos, expected: dict[str, str]) -> bool:
    return all(found(memory, word) == [note_id] for word, note_id in expected.items())


def finds_all(memory: Lithos, expected: dict[str, str]) -> bool:
    """False while it says itself that it is still healing."""
    answers = {word: call(memory, "lithos_search", query=word) for word in expected}
    if any(answer.get("degraded") for answer in answers.values()):
        return False
    ids = {word: [hit["id"] for hit in answer["results"]] for word, answer in answers.items()}
    assert ids == {word: [note_id] for word, note_id in expected.items()}
    return True


def thoughts(memory: Lithos) -> Collection:
    projector = memory.ledger._search._projector
    assert projector is not None
    return projector.collection


def plant_deletes(data_dir: Path) -> None:
    """What a kill leaves between tantivy's `<segment>.<opstamp>.del` and its meta.json."""
    for folder in text_indexes(data_dir):
        meta = json.loads((folder / "meta.json").read_bytes())
        managed = json.loads((folder / ".managed.json").read_bytes())
        for segment in meta["segments"]:
            for step in range(1, 40):
                name = f"{segment['segment_id'].replace('-', '')}.{meta['opstamp'] + step}.del"
                (folder / name).write_bytes(b"torn")
                managed.append(name)
        (folder / ".managed.json").write_text(json.dumps(managed))


def test_search_heals_after_a_kill_inside_a_commit_of_the_text_index(data_dir: Path) -> None:
    expected = fill(data_dir)
    plant_deletes(data_dir)
    with opened(data_dir) as memory:
        for number in range(0, NOTES, 3):
            note_id = expected.pop(f"word{number}")
            call(memory, "lithos_write", id=note_id, title=f"note {number}", content=f"fresh{number}", agent="a")
            expected[f"fresh{number}"] = note_id
        until(lambda: finds_all(memory, expected), "a healed search")
        assert memory.note_search.collection.settle(30)
    with opened(data_dir) as memory:
        assert memory.note_search.collection.settle(30)
        assert all_found(memory, expected)


def test_a_text_index_of_the_same_size_and_other_contents_is_rebuilt(data_dir: Path) -> None:
    """An older copy of it, whole in itself: only a comparison of versions shows it."""
    expected = fill(data_dir)
    copies = {folder: shutil.copytree(folder, data_dir / f"copy{n}") for n, folder in enumerate(text_indexes(data_dir))}
    with opened(data_dir) as memory:
        note_id = expected.pop("word0")
        call(memory, "lithos_write", id=note_id, title="note 0", content="fresh", agent="a")
        expected["fresh"] = note_id
        assert memory.note_search.collection.settle(30)
    for folder, copy in copies.items():
        shutil.rmtree(folder)
        copy.rename(folder)
    with opened(data_dir) as memory:
        until(lambda: finds_all(memory, expected), "a healed search")


@pytest.mark.parametrize("lost", ["search", "thoughts"])
def test_a_collection_that_lost_rows_is_completed_within_a_minute(data_dir: Path, lost: str) -> None:
    """Whole in itself, and less than its owner has: rows of it were deleted together with their documents."""
    expected = fill(data_dir)
    with opened(data_dir) as memory:
        thought = {"thought_type": "Insight", "content": "a thought about otters", "agent_id": "ann"}
        call(memory, "mentisdb_append", **thought)
        call(memory, "mentisdb_append", **thought | {"content": "badgers"})
        if lost == "search":
            memory.note_search.collection.apply([Remove(expected["word3"])])
            assert found(memory, "word3") == []
        else:
            assert call(memory, "mentisdb_search", text="otters")["thoughts"]
            thoughts(memory).apply([Remove(min(thoughts(memory).known()))])
            assert thoughts(memory).settle(30)
            assert "otters" not in str(call(memory, "mentisdb_search", text="otters"))
        memory.compare_indexes()
        assert found(memory, "word3") == [expected["word3"]]
        assert call(memory, "mentisdb_search", text="otters")["thoughts"]


DERIVED = [half_malformed, cut_in_half, zeroed, a_search_catalogue_scribbled_over, a_segment_gone, vectors_cut]
DERIVED += [a_folder_instead, everything_of_search_a_file]


@pytest.mark.parametrize("damage", DERIVED, ids=lambda damage: damage.__name__)
def test_a_damaged_index_is_whole_again_after_the_next_start(data_dir: Path, damage: Damage) -> None:
    expected = fill(data_dir)
    damage(data_dir)
    with opened(data_dir) as memory:
        until(lambda: finds_all(memory, expected), "a healed search")
        assert len(call(memory, "lithos_list", limit=100)["items"]) == NOTES


@pytest.mark.parametrize(
    "damage", [half_malformed, a_folder_instead, everything_of_search_a_file], ids=lambda damage: damage.__name__
)
def test_reindex_clear_always_works(data_dir: Path, damage: Damage) -> None:
    fill(data_dir)
    damage(data_dir)
    ended = lithos(data_dir, "reindex", "--clear")
    assert ended.returncode == 0, ended.stderr
    listed = lithos(data_dir, "call", "lithos_list", "--json", json.dumps({"limit": 100}))
    assert len(json.loads(listed.stdout)["items"]) == NOTES


def test_a_segment_deleted_under_a_running_host_is_rebuilt(data_dir: Path) -> None:
    expected = fill(data_dir)
    with served(data_dir) as host:
        for folder in text_indexes(data_dir):
            for path in folder.iterdir():
                if path.suffix in (".idx", ".term", ".fast", ".store", ".pos", ".fieldnorm"):
                    path.unlink()
        note = host.call("lithos_write", title="later", content="afterwards", agent="a")
        expected["afterwards"] = note["id"]

        def healed() -> bool:
            answers = {word: host.call("lithos_search", query=word) for word in expected}
            assert all(answer["results"] or answer["degraded"] for answer in answers.values())
            return all([hit["id"] for hit in answers[word]["results"]] == [expected[word]] for word in expected)

        until(healed, "a healed search")
    with opened(data_dir) as memory:
        until(lambda: finds_all(memory, expected), "a healed search")
