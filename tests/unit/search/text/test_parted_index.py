"""A text index in parts: one part is rewritten when a document is erased, and a search sees all of them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lithos.search import Collection, Embedding, HashedEmbedder, Query, open_collection
from lithos.search.text import parted_index
from lithos.search.text.parted_index import PartedTextIndex, part_of
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
    for part in (tmp_path / ".tantivy" / "thoughts").glob("text*/passages/*"):
        shutil.rmtree(part)
    assert "deleted" in collection.query(asked).degraded
    collection.close()


class PartAtHand:
    """A part that proposes the best of these scores, as tantivy does: equal ones in their order."""

    def __init__(self, first: int, scores: list[int]) -> None:
        self._best = sorted([(float(score), first + at) for at, score in enumerate(scores)], key=lambda each: -each[0])
        self.searcher = self
        self.num_docs = len(scores)
        self.read = 0

    def addresses(self, searcher: object, query: object, limit: int) -> list[tuple[float, int]]:
        return self._best[:limit]

    def places(self, searcher: object, hits: list[tuple[float, int]]) -> list[tuple[int, int, float]]:
        self.read += len(hits)
        return [(address, 0, score) for score, address in hits]

    def search(self, query: object, limit: int) -> list[tuple[int, int, float]]:
        return self.places(self, self.addresses(self, query, limit))


@settings(max_examples=200, deadline=None)
@given(st.lists(st.lists(st.integers(0, 30), max_size=60), max_size=8), st.integers(1, 40))
@example([[*range(1000, 1060)], *([[*range(60)]] * 7)], 50)  # one part has all of the best
@example([[5] * 60] * 8, 50)
def test_parts_that_propose_few_give_what_parts_that_propose_all_would(scores: list[list[int]], limit: int) -> None:
    parts = [PartAtHand(100 * at, each) for at, each in enumerate(scores)]
    every = [each for part in parts for each in part.search(None, limit)]
    expected = sorted(every, key=lambda each: each[2], reverse=True)[:limit]
    index = PartedTextIndex.__new__(PartedTextIndex)
    index._parts = dict(enumerate(parts))  # type: ignore[arg-type]
    assert index.search(None, limit) == expected  # type: ignore[arg-type]


def test_ordinals_are_read_of_the_best_alone() -> None:
    parts = [PartAtHand(1000 * at, [*range(500)]) for at in range(20)]
    index = PartedTextIndex.__new__(PartedTextIndex)
    index._parts = dict(enumerate(parts))  # type: ignore[arg-type]
    assert len(index.search(None, 100)) == 100  # type: ignore[arg-type]
    assert sum(part.read for part in parts) <= 120
