"""How good search is: recall@5 and @10, MRR and nDCG@10 of full text, vectors and both, on judged collections.

    python -m benchmarks.retrieval FOLDER...
    SETS=FOLDER:FOLDER python -m benchmarks retrieval

Without either it takes the folders in `.bench/sets`, where `benchmarks.retrieval_sets` puts what it builds. nDCG@10
comes with its 95% interval by bootstrap, hybrid also with that of its gain over the better of its two engines: a gain
whose interval holds 0 is noise. Each folder holds `docs.jsonl` ({"id", "title", "text"}, of texts that follow each
other also "sequence": [name, place]) and `queries.jsonl` ({"id", "query", "rel": {doc id: grade}}),
or folders that do. Indexes stay in `.bench/retrieval`, so that a second run embeds nothing. With two collections and
more, the questions of each are also asked of the others: how often `relevant` is true where nothing can be.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lithos.core.canonical import sha256_hex
from lithos.search import By, Collection, Document, Embedding, Query, open_collection, open_embedder, place_in

KEPT = Path(".bench/retrieval")
SETS = Path(".bench/sets")
NDCG = 3  # its column
RESAMPLED, SEED = 2000, 1
WAYS: dict[By, str] = {"words": "full text", "meaning": "vectors", "both": "hybrid"}
FOREIGN = 100  # questions of another collection, at most


@dataclass(frozen=True)
class Judged:
    name: str
    documents: list[Document]
    queries: list[tuple[str, dict[str, int]]]


def main(arguments: Sequence[str] = ()) -> int:
    given = arguments or os.environ.get("SETS", str(SETS)).split(os.pathsep)
    folders = [found for argument in given for found in collections_in(Path(argument))]
    if not folders:
        print(__doc__)
        return 2
    print(f"commit {commit()}")
    run(folders)
    return 0


def commit() -> str:
    found = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=False)
    return found.stdout.strip() or "unknown"


def run(folders: Sequence[Path]) -> None:
    embedding = Embedding(open_embedder("all-MiniLM-L6-v2"))
    opened = []
    print(f"{'collection':14} {'by':10} recall@5 recall@10   MRR   nDCG@10   relevant   95% of nDCG@10")
    for judged in map(read, folders):
        collection = filled(judged, embedding)
        opened.append((judged, collection))
        found = {by: measured(collection, judged, by) for by in WAYS}
        for by, name in WAYS.items():
            means, (low, high) = found[by].mean(axis=0), interval(found[by][:, NDCG])
            shown = "   ".join(f"{mean:.4f}" for mean in means)
            print(f"{judged.name:14} {name:10} {shown}   [{low:.3f}, {high:.3f}]", flush=True)
        better = max(found["words"], found["meaning"], key=lambda each: each[:, NDCG].mean())
        gain = found["both"][:, NDCG] - better[:, NDCG]
        low, high = interval(gain)
        print(
            f"{judged.name:14} hybrid over the better engine: {gain.mean():+.4f} [{low:+.4f}, {high:+.4f}]", flush=True
        )
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


def measured(collection: Collection, judged: Judged, by: By) -> NDArray[np.float64]:
    """A row for each question: recall@5, recall@10, reciprocal rank, nDCG@10, relevant."""
    rows = []
    for text, rel in judged.queries:
        found = collection.query(Query(text, by, 10))
        rows.append([*scores([hit.id for hit in found.hits], rel), float(found.relevant)])
    return np.array(rows)


def interval(values: NDArray[np.float64]) -> tuple[float, float]:
    """95% of the means of samples drawn from these values, with replacement."""
    chosen = np.random.default_rng(SEED).integers(0, len(values), (RESAMPLED, len(values)))
    low, high = np.percentile(values[chosen].mean(axis=1), [2.5, 97.5])
    return float(low), float(high)


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
