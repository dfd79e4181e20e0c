"""The cost of other kinds to the notes of a recall: nDCG@10 of judged notes, alone and beside unrelated work.

    python -m benchmarks.recall_kinds FOLDER [COUNT]

The folder is one of `retrieval`'s. COUNT unrelated tasks, findings and skills (20,000 by default) are put beside it.
"""

from __future__ import annotations

import random
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.retrieval import filled, read, scores
from lithos.core.call import Call
from lithos.recall import KindHits, Question, Recall, WorkKind
from lithos.recall.kind import Changed
from lithos.search import Collection, Document, Embedding, Hit, Query, open_collection, open_embedder

MOST_LOST = 0.005
QUESTIONS = 150
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

    def catch_up(self) -> None:
        return

    def find(self, question: Question) -> KindHits:
        return KindHits(self._collection.query(question.query), _shown)

    def changes(self, query: Any) -> tuple[Changed, ...]:
        return ()


def _shown(hit: Hit) -> dict[str, Any]:
    return {"id": hit.id, "title": hit.title, "heading": "", "path": "", "passage": hit.passage, "score": hit.score}


def unrelated(count: int) -> Iterator[Document]:
    rng = random.Random(17)
    for number in range(count):
        kind = ("task", "finding", "skill")[number % 3]
        text = " ".join(rng.choices(WORDS, k=18)).capitalize() + "."
        title = " ".join(rng.choices(WORDS, k=4)).capitalize()
        keywords = {"kind": (kind,), "status": ("open",), "task": (str(number),)}
        yield Document(f"{kind}:{number}", title, text, str(number), keywords=keywords)


def main() -> None:
    arguments = sys.argv[1:]
    if not arguments or not Path(arguments[0]).is_dir():
        print(__doc__)
        return
    count = int(arguments[1]) if len(arguments) > 1 else 20_000
    embedding = Embedding(open_embedder("all-MiniLM-L6-v2"))
    embedding.start()
    judged = read(Path(arguments[0]))
    notes = Plain("note", filled(judged, embedding))
    with tempfile.TemporaryDirectory() as folder:
        keywords = ("kind", "status", "task")
        work = open_collection(Path(folder), "work", embedding=embedding, keywords=keywords, wait=3600)
        work.apply(unrelated(count))
        work.query(Query("wait until everything is embedded"))
        beside: Any = Plain("work", work)
        alone = Recall([notes])
        joined = Recall([notes, *(WorkKind(name, beside) for name in ("task", "finding", "skill"))])
        before, after = (_measured(recall, judged.queries[:QUESTIONS]) for recall in (alone, joined))
        work.close()
    lost = before - after
    mark = "" if lost <= MOST_LOST else "   MISSED"
    print(f"{judged.name}: nDCG@10 {before:.4f} alone, {after:.4f} beside {count:,} unrelated, lost {lost:.4f}{mark}")
    embedding.close()


def _measured(recall: Recall, queries: Any) -> float:
    total = 0.0
    for text, relevant in queries:
        found = recall.recall(Question(Call("lithos_recall"), Query(text, limit=10)))
        total += scores([hit["id"] for hit in found["results"]], relevant)[3]
    return total / len(queries)


if __name__ == "__main__":
    main()
