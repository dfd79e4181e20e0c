"""How good search is: recall@5 and @10, MRR and nDCG@10 of full text, vectors and both, on judged collections.

    python -m benchmarks.retrieval FOLDER...

Each folder holds `docs.jsonl` ({"id", "title", "text"}) and `queries.jsonl` ({"id", "query", "rel": {doc id: grade}}),
or folders that do. Indexes stay in `.bench/retrieval`, so that a second run embeds nothing. With two collections and
more, the questions of each are also asked of the others: how often `relevant` is true where nothing can be.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lithos.core.canonical import sha256_hex
from lithos.search import By, Collection, Document, Embedding, Query, open_collection, open_embedder, place_in

KEPT = Path(".bench/retrieval")
WAYS: dict[By, str] = {"words": "full text", "meaning": "vectors", "both": "hybrid"}
FOREIGN = 100  # questions of another collection, at most


@dataclass(frozen=True)
class Judged:
    name: str
    documents: list[Document]
    queries: list[tuple[str, dict[str, int]]]


def main(arguments: Sequence[str] = ()) -> int:
    folders = [found for argument in arguments for found in collections_in(Path(argument))]
    if not folders:
        print(__doc__)
        return 2
    run(folders)
    return 0


def run(folders: Sequence[Path]) -> None:
    embedding = Embedding(open_embedder("all-MiniLM-L6-v2"))
    opened = []
    print(f"{'collection':12} {'by':10} recall@5 recall@10   MRR   nDCG@10   relevant")
    for judged in map(read, folders):
        collection = filled(judged, embedding)
        opened.append((judged, collection))
        for by, name in WAYS.items():
            scores = measured(collection, judged, by)
            print(f"{judged.name:12} {name:10} " + "   ".join(f"{score:.4f}" for score in scores), flush=True)
    foreign(opened)
    for _, collection in opened:
        collection.close()
    embedding.close()


def collections_in(folder: Path) -> Iterator[Path]:
    if (folder / "docs.jsonl").exists():
        yield folder
    else:
        yield from sorted(path.parent for path in folder.glob("*/docs.jsonl"))


def read(folder: Path) -> Judged:
    documents = []
    for row in lines(folder / "docs.jsonl"):
        content = json.dumps(row, sort_keys=True).encode()
        title, text = row.get("title") or "", row.get("text") or ""
        names = tuple(row.get("aliases") or ())
        place = place_in(*row["sequence"], 1, text) if "sequence" in row else None
        path, hash = f"{row['id']}.md", sha256_hex(content)
        documents.append(Document(row["id"], title, text, hash, path=path, names=names, sequence=place))
    known = {document.id for document in documents}
    queries = [
        (row["query"], {id: g for id, g in row["rel"].items() if id in known})
        for row in lines(folder / "queries.jsonl")
    ]
    return Judged(folder.name, documents, [(text, rel) for text, rel in queries if rel])


def lines(path: Path) -> list[dict[str, Any]]:
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def filled(judged: Judged, embedding: Embedding) -> Collection:
    collection = open_collection(KEPT / judged.name, "notes", embedding=embedding)
    collection.apply(judged.documents)
    if not collection.settle(3600):
        raise SystemExit(f"{judged.name} could not be indexed")
    return collection


def measured(collection: Collection, judged: Judged, by: By) -> list[float]:
    totals = [0.0] * 5
    for text, rel in judged.queries:
        found = collection.query(Query(text, by, 10))
        ranked = [hit.id for hit in found.hits]
        for at, score in enumerate([*scores(ranked, rel), float(found.relevant)]):
            totals[at] += score / len(judged.queries)
    return totals


def scores(ranked: Sequence[str], rel: Mapping[str, int]) -> list[float]:
    gains = [rel.get(id, 0) for id in ranked]
    first = next((1 / (at + 1) for at, gain in enumerate(gains) if gain), 0.0)
    ideal = discounted(sorted(rel.values(), reverse=True)[:10])
    ndcg = discounted(gains) / ideal if ideal else 0.0
    return [sum(map(bool, gains[:5])) / len(rel), sum(map(bool, gains)) / len(rel), first, ndcg]


def discounted(gains: Sequence[int]) -> float:
    return sum((2**gain - 1) / math.log2(at + 2) for at, gain in enumerate(gains))


def foreign(opened: Sequence[tuple[Judged, Collection]]) -> None:
    for asking, _ in opened:
        for asked, collection in opened:
            if asking is not asked:
                texts = [text for text, _ in asking.queries[:: max(1, len(asking.queries) // FOREIGN)]]
                wrong = sum(collection.query(Query(text, "both", 3)).relevant for text in texts)
                print(f"questions of {asking.name} asked of {asked.name}: relevant in {wrong / len(texts):.3f}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
