"""A hybrid question to thoughts as the history search puts it: a text index in parts, filtered by chain and scope.

    THOUGHTS=100000 KEEP=FOLDER python -m benchmarks.parted_search

Words follow Zipf's law and a third of the thoughts belong to sessions. Vectors are sums of random directions of words;
the question passes through the model as well, so that its cost counts. Times are CPU of the process beside the bare
model by turns. `answers` is a digest of ids and scores: versions that rank alike print the same.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.graph_scale import TYPES, Words
from benchmarks.report import percentile
from lithos.search import (
    RESTRICTED,
    Document,
    Embedding,
    HashedEmbedder,
    Query,
    Where,
    open_collection,
    open_embedder,
    place_in,
)

THOUGHTS = int(os.environ.get("THOUGHTS", "100000"))
ASKED = 25
KEYWORDS = ("chain", "type", "scope")
DIRECTIONS = np.random.default_rng(1).standard_normal((8192, 384)).astype(np.float32)


class CheapEmbedder(HashedEmbedder):
    def __init__(self) -> None:
        super().__init__(384, "cheap/2")
        self.model = open_embedder("all-MiniLM-L6-v2")
        self.asking = False

    def count(self, text: str) -> int:
        return len(text.split())

    def embed(self, text: str) -> Any:
        if self.asking:
            self.model.embed(text)
        total = DIRECTIONS[[zlib.crc32(word.encode()) % 8192 for word in text.lower().split()] or [0]].sum(axis=0)
        return total / np.linalg.norm(total)


def thoughts() -> Iterator[Document]:
    words = Words(1)
    for number in range(THOUGHTS):
        text, session = words.text(12, 60), f"s{number % 30}"
        keywords = {"chain": ("history",), "type": (TYPES[number % len(TYPES)],)}
        keywords |= {"scope": (session, RESTRICTED)} if number % 3 == 0 else {}
        sequence = place_in("history", number, 1, text)
        yield Document(f"history:{number}", words.text(1, 1), text, str(number), keywords=keywords, sequence=sequence)


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        measure(Path(os.environ.get("KEEP", scratch)) / str(THOUGHTS))


def measure(folder: Path) -> None:
    embedder = CheapEmbedder()
    embedding = Embedding(embedder)
    folder.mkdir(parents=True, exist_ok=True)
    made = open_collection(folder, "thoughts", embedding=embedding, keywords=KEYWORDS, parted=True)
    try:
        if not made.known():
            made.apply(thoughts())
        embedding.start()
        while made.busy() or not made.settle():
            time.sleep(1)
        embedder.asking = True
        words, bare, spent, seen = Words(2), list[float](), list[float](), hashlib.sha256()
        for number in range(ASKED + 5):
            text = words.question()
            started = time.process_time()
            embedder.model.embed(f"{text} again")
            between = time.process_time()
            found = made.query(Query(text, where=Where(any_of={"chain": ("history",)}, only_for={"scope": ()})))
            if number >= 5:  # the first fill caches
                bare.append(1000 * (between - started))
                spent.append(1000 * (time.process_time() - between))
            seen.update(repr([(hit.id, hit.score) for hit in found.hits]).encode())
    finally:
        made.close()
        embedding.close()
    model, half = percentile(bare, 0.5), percentile(spent, 0.5)
    print(f"  {THOUGHTS:,} thoughts: CPU p50 {half:.1f} ms, {half / model:.1f} times the bare model ({model:.1f} ms)")
    print(f"  answers {seen.hexdigest()[:12]}")


if __name__ == "__main__":
    main()
