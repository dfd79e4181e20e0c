"""Collections for tests: notes of few words, the fake embedder, and an owner who reconciles as the vault does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lithos.search import Collection, Document, Embedding, HashedEmbedder, Query, Remove, open_collection
from lithos.storage import Faults


def note(id: str, text: str = "", **more: Any) -> Document:
    fields = {"title": id, "hash": f"{text} {sorted(more.items())}", **more}
    return Document(id=id, text=text, **fields)


def opened(folder: Path, embedding: Embedding, faults: Faults | None = None, *, uncut: bool = False) -> Collection:
    return open_collection(
        folder, "notes", embedding=embedding, keywords=("status",), numbers=("created",), faults=faults, uncut=uncut
    )


@contextmanager
def collection(folder: Path, faults: Faults | None = None, *, uncut: bool = False) -> Iterator[Collection]:
    embedding = Embedding(HashedEmbedder())
    made = opened(folder, embedding, faults, uncut=uncut)
    try:
        yield made
    finally:
        made.close()
        embedding.close()


def reconcile(made: Collection, truth: Mapping[str, Document]) -> None:
    """What every owner does at start: apply the difference between what it has and what the collection knows."""
    known = made.known()
    made.apply(Remove(id) for id in known if id not in truth)
    made.apply(document for id, document in truth.items() if known.get(id) != document.hash)


def answers(made: Collection, words: Iterable[str]) -> dict[str, Any]:
    """Everything that can be seen of a collection: who is found by what, in which order, with which score."""
    found: dict[str, Any] = {"known": made.known()}
    for word in words:
        for by in ("words", "meaning", "both"):
            hits = made.query(Query(word, by=by, limit=50)).hits  # type: ignore[arg-type]
            found[f"{by} {word}"] = sorted((hit.id, hit.passage, round(hit.score, 3)) for hit in hits)
    return found
