"""The cost of other kinds to the notes of a recall: nDCG@10 of judged notes, alone and beside unrelated work.

    python -m benchmarks.recall_kinds FOLDER... [COUNT]

The folders are `retrieval`'s. COUNT unrelated thoughts, tasks and findings (20,000 by default) are put beside each
collection: sentences of the other collections, and made-up ones where these are too few.
"""

from __future__ import annotations

import random
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

from benchmarks.retrieval import Judged, collections_in, filled, read, scores
from lithos.core.call import Call
from lithos.recall import KindHits, Question, Recall, WorkKind
from lithos.recall.kind import Changed, FinishKind
from lithos.search import (
    Collection,
    Document,
    Embedding,
    Finish,
    Hit,
    Query,
    open_collection,
    open_embedder,
)

MOST_LOST = 0.005
QUESTIONS = 150
KINDS = ("thought", "task", "finding")
WORDS = re.findall(
    r"\w+",
    "sprint ticket deploy rollback hotfix branch review merge pipeline container invoice refund webhook "
    "customer meeting agenda printer keyboard coffee parking office badge travel hotel expense budget "
    "vendor contract license laptop monitor headset calendar holiday onboarding interview candidate "
    "salary survey newsletter poster logo banner campaign fence paint garden bicycle kitchen fridge "
    "window carpet ladder bucket",
)


class Plain:
    """A collection as a kind, without the parts around it."""

    def __init__(self, name: str, collection: Collection) -> None:
        self.name = name
        self._collection = collection
        self.collection = collection

    def begin(self, question: Question) -> FinishKind:
        begun = self._collection.begin(question.query)
        return lambda least=0.0: KindHits(begun(least), _shown)

    def changes(self, query: Any) -> tuple[Changed, ...]:
        return ()


class PlainWork:
    """A collection of work without the board that fills it."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection

    def begin(self, query: Query) -> Finish:
        return self._collection.begin(query)


def _shown(hit: Hit) -> dict[str, Any]:
    return {"id": hit.id, "title": hit.title, "heading": "", "path": "", "passage": hit.passage, "score": hit.score}


def sentences(others: Sequence[Judged]) -> Iterator[str]:
    """Of the other collections first: they are whole sentences, with the small words that questions have too."""
    found = [
        sentence
        for judged in others
        for document in judged.documents
        for sentence in re.split(r"(?<=[.!?])\s+", document.text)
        if 40 <= len(sentence) <= 300
    ]
    random.Random(17).shuffle(found)
    yield from found
    rng = random.Random(18)
    while True:
        yield " ".join(rng.choices(WORDS, k=18)).capitalize() + "."


def unrelated(others: Sequence[Judged], count: int) -> Iterator[Document]:
    for number, text in enumerate(islice(sentences(others), count)):
        kind = KINDS[number % len(KINDS)]
        title = "" if kind == "thought" else " ".join(text.split()[:6])
        keywords = {"kind": (kind,), "status": ("open",), "task": (str(number),)}
        yield Document(f"{kind}:{number}", title, text, str(number), keywords=keywords)


def main() -> None:
    arguments = sys.argv[1:]
    count = int(arguments.pop()) if arguments and arguments[-1].isdigit() else 20_000
    judged = [read(found) for each in arguments for found in collections_in(Path(each))]
    if not judged:
        print(__doc__)
        return
    embedding = Embedding(open_embedder("all-MiniLM-L6-v2"))
    embedding.start()
    for one in judged:
        _compare(one, [each for each in judged if each is not one], count, embedding)
    embedding.close()


def _compare(judged: Judged, others: Sequence[Judged], count: int, embedding: Embedding) -> None:
    notes = Plain("note", filled(judged, embedding))
    documents = list(unrelated(others, count))
    with tempfile.TemporaryDirectory() as folder:
        opened = {
            name: open_collection(
                Path(folder) / name, name, embedding=embedding, keywords=("kind", "status", "task"), wait=3600
            )
            for name in ("thoughts", "work")
        }
        opened["thoughts"].apply([each for each in documents if each.id.startswith("thought")])
        opened["work"].apply([each for each in documents if not each.id.startswith("thought")])
        for each in opened.values():
            each.query(Query("wait until everything is embedded"))
        work: Any = PlainWork(opened["work"])
        kinds = [Plain("thought", opened["thoughts"]), WorkKind("task", work), WorkKind("finding", work)]
        queries = judged.queries[:QUESTIONS]
        before, after = (_measured(each, queries) for each in (Recall([notes]), Recall([notes, *kinds])))
        for each in chain(opened.values(), [notes.collection]):
            each.close()
    lost = before - after
    mark = "" if lost <= MOST_LOST else "   MISSED"
    print(
        f"{judged.name}: nDCG@10 {before:.4f} alone, {after:.4f} beside {count:,} unrelated, lost {lost:.4f}{mark}",
        flush=True,
    )


def _measured(recall: Recall, queries: Any) -> float:
    total = 0.0
    for text, relevant in queries:
        found = recall.recall(Question(Call("lithos_recall"), Query(text, limit=10)))
        total += scores([hit["id"] for hit in found["results"]], relevant)[3]
    return total / len(queries)


if __name__ == "__main__":
    main()
