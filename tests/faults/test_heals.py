"""Everything derived heals by itself, whatever is wrong with it: damage it, start again, and search finds all."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from lithos.app import Lithos, open_lithos
from lithos.search import Collection, Remove
from lithos.settings import LithosConfig, StorageSettings
from lithos.tools.catalogue import catalogue
from tests.faults.served import lithos, served
from tests.support.waiting import until

NOTES = 12
Damage = Callable[[Path], None]


@contextmanager
def opened(data_dir: Path) -> Iterator[Lithos]:
    memory = open_lithos(LithosConfig(storage=StorageSettings(data_dir=data_dir)))
    try:
        memory.notes.reindex()
        yield memory
    finally:
        memory.close()


def call(memory: Lithos, tool: str, /, **arguments: Any) -> dict[str, Any]:
    return catalogue().call(memory, tool, arguments)


def fill(data_dir: Path, notes: int = NOTES) -> dict[str, str]:
    """Notes that are indexed; word → id."""
    with opened(data_dir) as memory:
        made = {
            f"word{number}": call(memory, "lithos_write", title=f"note {number}", content=f"word{number}", agent="a")
            for number in range(notes)
        }
        assert memory.note_search.collection.settle(60)
    return {word: note["id"] for word, note in made.items()}


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


def text_indexes(data_dir: Path) -> list[Path]:
    return sorted(path.parent for path in (data_dir / ".tantivy" / "notes").rglob("meta.json"))


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


def _catalogues(data_dir: Path) -> list[Path]:
    return [path for folder in (".graph", ".catalogue") for path in (data_dir / folder).glob("catalogue-*.db")]


def _scribble(path: Path, first_page: int) -> None:
    data = bytearray(path.read_bytes())
    for page in range(first_page, len(data) // 4096):
        data[page * 4096 + 8 : page * 4096 + 600] = os.urandom(592)
    path.write_bytes(data)


def half_malformed(data_dir: Path) -> None:
    """The pages that hold the notes, not those that hold the schema: it opens, and fails at the first question."""
    for path in _catalogues(data_dir):
        data = bytearray(path.read_bytes())
        place = data.find(b"note 5")
        assert place > 0
        while place > 0:
            data[place // 4096 * 4096] = 0x77
            place = data.find(b"note 5", place // 4096 * 4096 + 4096)
        path.write_bytes(data)


def cut_in_half(data_dir: Path) -> None:
    for path in _catalogues(data_dir):
        os.truncate(path, path.stat().st_size // 8192 * 4096)


def zeroed(data_dir: Path) -> None:
    for path in _catalogues(data_dir):
        size = path.stat().st_size
        with path.open("r+b") as file:
            file.seek(4096)
            file.write(bytes(size - 4096))


def a_folder_instead(data_dir: Path) -> None:
    for path in _catalogues(data_dir):
        path.unlink()
        path.mkdir()


def a_search_catalogue_scribbled_over(data_dir: Path) -> None:
    _scribble(data_dir / ".tantivy" / "notes" / "catalogue.db", 2)


def a_segment_gone(data_dir: Path) -> None:
    for folder in text_indexes(data_dir):
        for path in folder.glob("*.idx"):
            path.unlink()


def vectors_cut(data_dir: Path) -> None:
    path = data_dir / ".vectors" / "notes" / "rows.bin"
    os.truncate(path, path.stat().st_size // 2)


def everything_of_search_a_file(data_dir: Path) -> None:
    shutil.rmtree(data_dir / ".tantivy")
    (data_dir / ".tantivy").write_text("not a folder")


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
