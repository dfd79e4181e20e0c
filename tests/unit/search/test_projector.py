"""Projector: a collection follows its owner's rows, resumes after damage, and rebuilds from nothing."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from lithos.search import Collection, Document, DocumentChange, Embedding, HashedEmbedder, Projector, Query, Remove
from lithos.search import open_collection as opened


class Rows:
    """An owner: rows by id, told in batches of two."""

    def __init__(self, **rows: str) -> None:
        self.lock = threading.RLock()
        self.rows = rows
        self._pending: list[DocumentChange] = []

    def restart(self, known: Mapping[str, str]) -> bool:
        gone = [Remove(id) for id in known if id not in self.rows]
        self._pending = [*gone, *(self.document(id) for id, text in self.rows.items() if known.get(id) != text)]
        return True

    def next_batch(self) -> Sequence[DocumentChange]:
        batch, self._pending = self._pending[:2], self._pending[2:]
        return batch

    def document(self, id: str) -> Document:
        return Document(id=id, title=id, text=self.rows[id], hash=self.rows[id])


@pytest.fixture
def collection(tmp_path: Path) -> Iterator[Collection]:
    embedding = Embedding(HashedEmbedder())
    made = opened(tmp_path, "rows", embedding=embedding)
    yield made
    made.close()
    embedding.close()


def ids(collection: Collection, words: str) -> set[str]:
    return {hit.id for hit in collection.query(Query(words, by="words")).hits}


def test_resume_applies_exactly_the_difference(collection: Collection) -> None:
    owner = Rows(a="red apples", b="green pears", c="blue plums")
    projector = Projector(collection, owner, "rows")
    assert projector.resume() == 3
    assert projector.resume() == 0
    owner.rows = {"a": "red apples", "b": "yellow pears", "d": "black cherries"}
    assert projector.resume() == 3  # b changed, c went, d came
    assert collection.known() == owner.rows
    assert ids(collection, "plums") == set()
    assert ids(collection, "cherries") == {"d"}


def test_rebuild_leaves_nothing_that_the_owner_does_not_have(collection: Collection) -> None:
    owner = Rows(a="red apples")
    projector = Projector(collection, owner, "rows")
    collection.apply([Document(id="stray", title="stray", text="stray words", hash="x")])
    projector.rebuild()
    assert collection.known() == {"a": "red apples"}
    assert ids(collection, "stray") == set()


def test_a_lost_collection_is_filled_again_in_the_background(collection: Collection) -> None:
    owner = Rows(a="red apples", b="green pears", c="blue plums")
    projector = Projector(collection, owner, "rows")
    projector.resume()
    collection.rebuild(())
    applied = threading.Event()
    owner.next_batch = _then(owner.next_batch, applied)  # type: ignore[method-assign]
    projector.start()
    projector.lost()
    assert applied.wait(30)
    projector.close()
    assert collection.known() == owner.rows


def _then(next_batch: object, applied: threading.Event) -> object:
    """Sets the event when the feed has nothing left."""

    def wrapped() -> Sequence[DocumentChange]:
        batch: Sequence[DocumentChange] = next_batch()  # type: ignore[operator]
        if not batch:
            applied.set()
        return batch

    return wrapped


def test_a_change_applied_by_the_owner_is_not_read_again(collection: Collection) -> None:
    owner = Rows(a="red apples")
    projector = Projector(collection, owner, "rows")
    projector.resume()
    owner.rows["b"] = "green pears"
    with owner.lock:
        projector.apply([owner.document("b")])
    assert projector.resume() == 0
    assert ids(collection, "pears") == {"b"}
