"""A text index in parts: one part is rewritten when a document is erased, and a search sees all of them."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import tantivy
from hypothesis import given, settings
from hypothesis import strategies as st

from lithos.search import Collection, Embedding, HashedEmbedder, Query, Remove, open_collection
from lithos.search.collection import indexer as indexer_module
from lithos.search.text import parted_index
from lithos.search.text.parted_index import PartedTextIndex, part_of
from lithos.search.text.text_index import TextIndex
from tests.support.collections_at_hand import note


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parted_index, "SMALLEST", 4)
    monkeypatch.setattr(parted_index, "OF_A_SIZE", 2)


@pytest.fixture
def embedding() -> Iterator[Embedding]:
    made = Embedding(HashedEmbedder())
    yield made
    made.close()


def opened(folder: Path, embedding: Embedding, *, parted: bool = True) -> Collection:
    return open_collection(folder, "thoughts", embedding=embedding, parted=parted)


def ids(collection: Collection, text: str) -> list[str]:
    return [hit.id for hit in collection.query(Query(text, by="words", limit=50)).hits]


def inodes(folder: Path) -> dict[str, set[int]]:
    """Of the files of each part."""
    found: dict[str, set[int]] = {}
    for part in (folder / ".tantivy" / "thoughts").glob("text*/*/*"):
        if part.name.isdigit():
            found[f"{part.parent.name}/{part.name}"] = {file.stat().st_ino for file in part.iterdir()}
    return found


def test_parts_grow_with_the_collection_and_leave_no_ordinal_out() -> None:
    assert (part_of(0), part_of(2047), part_of(2048)) == (range(2048), range(2048), range(2048, 4096))
    assert part_of(16 * 2048) == range(32768, 32768 + 8192)
    firsts = {part_of(ordinal).start for ordinal in range(0, 100_000, 512)}
    assert len(firsts) == 25
    for ordinal in range(0, 1_000_000, 997):
        part = part_of(ordinal)
        assert ordinal in part and part_of(part.start) == part_of(part.stop - 1) == part
        assert part_of(part.stop).start == part.stop


def test_erasing_a_document_rewrites_its_part_alone(tmp_path: Path, embedding: Embedding, small_parts: None) -> None:
    made = opened(tmp_path, embedding)
    made.apply([note(f"n{number}", f"sheep number{number} common") for number in range(20)])
    made.apply([note("secret", "xylophonically common")])
    assert made.settle() and len(ids(made, "common")) == 21 and len(inodes(tmp_path)) == 2 * 3
    before = inodes(tmp_path)
    made.purge(["n1"])
    after = inodes(tmp_path)
    assert {name for name in before if before[name] != after[name]} == {"documents/0", "passages/0"}
    assert (ids(made, "number1"), ids(made, "number2")) == ([], ["n2"])
    made.purge(["secret"])
    assert [path for path in tmp_path.rglob("*") if path.is_file() and b"xylophon" in path.read_bytes()] == []
    assert len(ids(made, "common")) == 19
    made.close()
    again = opened(tmp_path, embedding)
    assert len(ids(again, "common")) == 19 and again.status().degraded == ""
    again.close()


def test_an_index_that_is_not_in_parts_yet_is_rebuilt_in_parts(tmp_path: Path, embedding: Embedding) -> None:
    old = opened(tmp_path, embedding, parted=False)
    old.apply([note("a", "lava"), note("b", "sheep")])
    assert old.settle()
    old.close()
    again = opened(tmp_path, embedding)
    again.query(Query("lava", by="words"))
    assert again.settle() and ids(again, "lava") == ["a"] and "documents/0" in inodes(tmp_path)
    again.close()


def test_temporary_files_of_a_killed_engine_are_removed(tmp_path: Path, embedding: Embedding) -> None:
    made = opened(tmp_path, embedding)
    made.apply([note("a", "lava")])
    assert made.settle()
    made.close()
    part = next((tmp_path / ".tantivy" / "thoughts").glob("text*/documents/0"))
    (part / ".tmpAbCdEf").write_bytes(b"left by a kill")
    again = opened(tmp_path, embedding)
    assert ids(again, "lava") == ["a"] and not list(part.glob(".tmp*"))
    (part / ".tmpGhIjKl").write_bytes(b"left by a failed merge")
    again.apply([note("b", "sheep")])
    assert again.settle() and not list(part.glob(".tmp*"))
    again.close()


def test_a_part_that_was_deleted_is_noticed_and_a_whole_index_is_not_called_degraded(
    tmp_path: Path, embedding: Embedding
) -> None:
    collection = opened(tmp_path, embedding)
    asked = Query("backups", by="words")
    for _ in range(2):
        assert collection.query(asked).degraded == "", "an empty index has no part and is complete"
    collection.apply([note("a", "Backups run at night.")])
    for _ in range(2):
        assert collection.query(asked).degraded == ""
    collection.settle()
    for part in (tmp_path / ".tantivy" / "thoughts").glob("text*/passages/[0-9]*"):
        shutil.rmtree(part)
    assert "deleted" in collection.query(asked).degraded
    collection.close()


def index_of(folder: Path, texts: dict[int, str], kind: type[TextIndex]) -> TextIndex:
    """Written in three commits, so that parts have several segments."""
    made = kind(folder, ())
    for start in range(3):
        made.write((), [document(ordinal, text) for ordinal, text in texts.items() if ordinal % 3 == start])
    return made


def document(ordinal: int, text: str) -> tantivy.Document:
    made = tantivy.Document()
    made.add_integer("ordinal", ordinal)
    made.add_text("text", text)
    return made


@settings(max_examples=20, deadline=None)
@given(st.lists(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=9), min_size=1, max_size=40), st.data())
def test_parts_score_as_one_index_does(
    tmp_path_factory: pytest.TempPathFactory, texts: list[list[str]], data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("indexes")
    given_texts = {ordinal: " ".join(words) for ordinal, words in enumerate(texts)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parted_index, "SMALLEST", 4)
        patch.setattr(parted_index, "OF_A_SIZE", 2)
        parted = index_of(folder / "parted", given_texts, PartedTextIndex)
        fewer = index_of(folder / "fewer", given_texts, PartedTextIndex)
        fewer.write([0, 5], ())
    whole = index_of(folder / "whole", given_texts, TextIndex)
    words = data.draw(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=3))
    limit = data.draw(st.integers(1, 50))
    found, expected = (each.search(each.any_of(words), 50) for each in (parted, whole))
    assert {ordinal: score for ordinal, _, score in found} == pytest.approx(
        {ordinal: score for ordinal, _, score in expected}
    )
    assert parted.search(parted.any_of(words), limit) == found[:limit]
    assert [parted.frequency(each) for each in words] == [whole.frequency(each) for each in words]
    kept = {ordinal for ordinal in given_texts if ordinal not in (0, 5)}
    assert fewer.contents() == dict.fromkeys(kept, 1)
    assert {ordinal for ordinal, _, _ in fewer.search(fewer.any_of("abcdefgh"), 50)} == kept


def test_a_full_part_that_came_in_several_commits_is_merged(
    tmp_path: Path, embedding: Embedding, small_parts: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexer_module, "MERGE_AFTER", 3600.0)  # not before the test asks for it
    made = opened(tmp_path, embedding)
    for number in range(6):
        made.apply([note(f"n{number}", f"common word{number}")])
        assert made.settle()
    made.apply([Remove("n2")])
    assert made.settle()
    assert segments(tmp_path) == {"documents/0": 3, "passages/0": 3, "documents/4": 2, "passages/4": 2}
    indexer = made._indexer
    for _ in range(2):
        indexer.run(indexer.merge_part)
        assert segments(tmp_path) == {"documents/0": 1, "passages/0": 1, "documents/4": 2, "passages/4": 2}
        assert sorted(ids(made, "common")) == ["n0", "n1", "n3", "n4", "n5"] and ids(made, "word3") == ["n3"]
    made.close()
    again = opened(tmp_path, embedding)
    assert len(ids(again, "common")) == 5 and again.status().degraded == ""
    again.close()


def segments(folder: Path) -> dict[str, int]:
    """How many each part has."""
    return {
        f"{part.parent.name}/{part.name}": len(json.loads((part / "meta.json").read_bytes())["segments"])
        for part in (folder / ".tantivy" / "thoughts").glob("text*/*/[0-9]*")
    }


def test_what_joins_the_parts_is_derived(tmp_path: Path, embedding: Embedding, small_parts: None) -> None:
    made = opened(tmp_path, embedding)
    made.apply([note(f"n{number}", "common sheep") for number in range(9)])
    assert made.settle()
    for joined in (tmp_path / ".tantivy" / "thoughts").glob("text*/*/joined"):
        shutil.rmtree(joined)
    assert len(ids(made, "common")) == 9
    made.apply([note("late", "common goats"), Remove("n1")])
    assert made.settle() and len(ids(made, "common")) == 9 and ids(made, "goats") == ["late"]
    made.close()
    for joined in (tmp_path / ".tantivy" / "thoughts").glob("text*/*/joined"):
        (joined / "meta.json").write_bytes(b"no table of contents")
    again = opened(tmp_path, embedding)
    assert len(ids(again, "common")) == 9 and again.status().degraded == ""
    again.close()


def test_parts_on_a_disk_that_cannot_be_written_are_joined_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index_of(tmp_path / "index", {0: "sheep", 1: "goats"}, PartedTextIndex)

    def refused(self: Path, *arguments: object, **named: object) -> None:
        raise PermissionError(errno.EROFS, "read-only", str(self))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "mkdir", lambda self, *a, **n: None if self.exists() else refused(self))
        patch.setattr(shutil, "rmtree", lambda *a, **n: None)
        shutil.move(tmp_path / "index" / "joined", tmp_path / "away")
        patch.setattr(os, "access", lambda *a, **n: False)
        index = PartedTextIndex(tmp_path / "index", ())
        assert [ordinal for ordinal, _, _ in index.search(index.any_of(["sheep"]), 5)] == [0]
    assert not (tmp_path / "index" / "joined").exists() and index._joined._beside is not None
    index._joined._beside.cleanup()
