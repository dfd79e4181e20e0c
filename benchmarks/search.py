"""Search: questions at 10,000 and 100,000 notes, first index, cold start and memory, beside the bare model.

    python -m benchmarks.search               # 10,000 notes; a minute once the index is kept
    python -m benchmarks.search --large       # 100,000 as well: ten minutes the first time
    python -m benchmarks.search --growth      # 100,000 beside 10,000, by turns
    python -m benchmarks.search --real        # the 10,000 with vectors of the model: many minutes the first time
    python -m benchmarks.search --peer=FOLDER # chromadb + sentence-transformers in the same run: see benchmarks/peer.py

Notes are sentences of the standard library's documentation. Without `--real` the vectors of notes are seeded noise (a
question is always embedded by the model); the lines say so. Indexes stay in `.bench/search`, vectors by content hash.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.corpus import notes, questions
from benchmarks.peer import measure_peer
from benchmarks.report import line, milliseconds, percentile
from lithos.search import Collection, Embedder, Embedding, Query, Where, open_collection, open_embedder

KEPT = Path(".bench/search")
MODEL = "all-MiniLM-L6-v2"
ASKED = 200
MEASURED_PASSAGES = 200


class Noise:
    """Vectors of notes from a seed; questions by the model itself."""

    id = "noise/1"
    longest = 256
    dimension = 384

    def __init__(self) -> None:
        self._model = open_embedder(MODEL)

    def count(self, text: str) -> int:
        return self._model.count(text)

    def embed(self, text: str) -> Any:
        import numpy as np  # not before `Embedding` has set BLAS to one thread

        if text.startswith("how does it "):
            return self._model.embed(text)
        seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
        vector = np.random.default_rng(seed).standard_normal(384).astype(np.float32)
        return vector / np.linalg.norm(vector)

    def readable(self, text: str) -> float:
        return self._model.readable(text)

    def give_back(self) -> None:
        self._model.give_back()


@contextmanager
def opened(folder: Path, embedder: Embedder) -> Iterator[tuple[Collection, Embedding]]:
    embedding = Embedding(embedder)
    collection = open_collection(
        folder, "notes", embedding=embedding, keywords=("status",), numbers=("created", "updated")
    )
    try:
        yield collection, embedding
    finally:
        collection.close()
        embedding.close()


def main(arguments: Sequence[str] | None = None) -> None:
    asked = set(sys.argv[1:] if arguments is None else arguments)
    if asked == {"--growth"}:
        measure_growth()
        return
    measure_full_text_index()
    measure_embedding()
    kind = "vectors of the model" if "--real" in asked else "synthetic vectors"
    small = measure_questions(10_000, open_embedder(MODEL) if "--real" in asked else Noise(), kind)
    measure_cold(small_folder(kind, 10_000))
    if "--large" in asked:
        measure_questions(100_000, Noise(), "synthetic vectors")
    if {"--large", "--growth"} & asked:
        measure_growth()
    for folder in (each.removeprefix("--peer=") for each in asked if each.startswith("--peer=")):
        measure_peer(folder, small["both"], Noise().embed)


def small_folder(kind: str, count: int) -> Path:
    return KEPT / f"{kind.split()[0]}{count}"


def measure_full_text_index() -> None:
    """The index alone: embedding paused, CPU beside wall because other processes only lengthen the wall."""
    with tempfile.TemporaryDirectory() as folder, opened(Path(folder), open_embedder(MODEL)) as (collection, embedding):
        embedding.pause()
        made = notes(3000)
        collection.passages("warm")
        wall, cpu = time.perf_counter(), time.process_time()
        collection.apply(made)
        collection.query(Query("nothing", "words"))
        collection._indexer.indexed(time.monotonic() + 600)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        line("first index, full text: notes per second", len(made) / wall, 1000, "/s", more_is_better=True)
        line("first index, full text: notes per CPU second", len(made) / cpu, 1000, "/s", more_is_better=True)


def measure_embedding() -> None:
    """From `apply` to the last vector, beside the same texts in the bare session on as many threads, alternating."""
    embedder = open_embedder(MODEL)
    texts = [each.text.split("\n\n")[0][:480] for each in notes(MEASURED_PASSAGES, seed=7)]
    embedder.embed("warm")
    bare = milliseconds(bare_session, embedder, texts) / 1000
    with tempfile.TemporaryDirectory() as folder, opened(Path(folder), embedder) as (collection, embedding):
        embedding.pause()
        for at, text in enumerate(texts):
            collection.apply([_plain(at, text)])
        collection._indexer.indexed(time.monotonic() + 60)
        collection._indexer.semantic()
        ours = milliseconds(lambda: (embedding.resume(), collection.settle(600))) / 1000
    line("embedding, share of the bare session's rate", bare / ours, 0.8, "  ", more_is_better=True)
    print(f"  {len(texts) / ours:.0f} passages a second, the bare session {len(texts) / bare:.0f}")


def _plain(at: int, text: str) -> Any:
    from lithos.search import Document

    return Document(f"p{at}", "", text, hashlib.sha256(text.encode()).hexdigest())


def bare_session(embedder: Any, texts: list[str], threads: int = 0) -> None:
    import os

    import numpy as np

    session, tokenizer, left = embedder._session, embedder._tokenizer, list(texts)
    ids = {text: np.array([tokenizer.encode(text).ids], np.int32) for text in texts}

    def work() -> None:
        while left:
            try:
                session.run(None, {"input_ids": ids[left.pop()]})
            except IndexError:
                return

    running = [threading.Thread(target=work) for _ in range(threads or os.cpu_count() or 1)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()


def measure_questions(count: int, embedder: Embedder, kind: str) -> dict[str, float]:
    folder = small_folder(kind, count)
    with opened(folder, embedder) as (collection, embedding):
        if len(collection.known()) != count:
            print(f"  {count:,} notes are indexed first ({kind})", flush=True)
            collection.apply(notes(count))
        if not collection.settle(7200):
            raise SystemExit("the notes could not be indexed")
        asked = questions(ASKED)
        model = [milliseconds(embedder.embed, text) for text in asked]
        limits = {"words": (2, 6), "both": (5, 15)} if count <= 10_000 else {"words": (8, 24), "both": (15, 45)}
        medians = {}
        for by, (half, most) in limits.items():
            embedding.forget_questions()
            times = [milliseconds(collection.query, Query(text, by)) for text in asked]
            medians[by] = percentile(times, 0.5)
            line(f"{count:,} notes, {by}, in process, p50 ({kind})", medians[by], half, "ms")
            line(f"{count:,} notes, {by}, in process, p95 ({kind})", percentile(times, 0.95), most, "ms")
        embedding.forget_questions()
        few = Where(tags=("tag211",))
        rare = [milliseconds(collection.query, Query(text, "both", where=few)) for text in asked]
        line(f"{count:,} notes, both, filtered to few, p50", percentile(rare, 0.5), limits["both"][0], "ms")
        bare = percentile(model, 0.5)
        line(f"{count:,} notes, both: time / embedding the question alone", medians["both"] / bare, 4.0, "x ")
    return medians


def measure_growth() -> None:
    """The same questions by turns of 10,000 and of 100,000 notes, with the model: wall time, and CPU, which others
    on the machine do not lengthen."""
    small, large = (small_folder("synthetic", count) for count in (10_000, 100_000))
    with opened(small, Noise()) as (few, _), opened(large, Noise()) as (many, _):
        for collection, count in ((few, 10_000), (many, 100_000)):
            if len(collection.known()) != count:
                collection.apply(notes(count))
            if not collection.settle(7200):
                raise SystemExit("the notes could not be indexed")
        for by in ("words", "both"):
            wall: dict[str, list[float]] = {"few": [], "many": []}
            spent: dict[str, list[float]] = {"few": [], "many": []}
            for text in questions(ASKED, seed=3):
                for name, collection in (("few", few), ("many", many)):
                    started = time.process_time()
                    wall[name].append(milliseconds(collection.query, Query(text, by)))
                    spent[name].append((time.process_time() - started) * 1000)
            for kind, taken in (("wall", wall), ("CPU", spent)):
                half = {name: percentile(times, 0.5) for name, times in taken.items()}
                print(f"  {by}: {half['few']:.2f} and {half['many']:.2f} ms {kind}", flush=True)
                line(f"growth from 10,000 to 100,000 notes, {by}, {kind}", half["many"] / half["few"], 1.5, "x ")


COLD = """
import json, sys, time
started = time.perf_counter()
from pathlib import Path
from benchmarks.search import Noise, opened
from lithos.search import Query, open_embedder
import psutil
embedder = Noise() if sys.argv[2] == "noise" else open_embedder("all-MiniLM-L6-v2")
with opened(Path(sys.argv[1]), embedder) as (collection, embedding):
    collection.query(Query("how does it open a file", "words"))
    words = time.perf_counter() - started
    collection.query(Query("how does it open a file", "meaning"))
    meaning = time.perf_counter() - started
    for number in range(50):
        collection.query(Query(f"how does it open a file {number}", "both"))
    print(json.dumps([words, meaning, psutil.Process().memory_info().rss / 1e6]))
"""


def measure_cold(folder: Path) -> None:
    kind = "noise" if folder.name.startswith("synthetic") else "model"
    command = [sys.executable, "-c", COLD, str(folder), kind]
    words, meaning, memory = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    line("cold process to the first answer by words, 10,000 notes", words, 1.5, "s ")
    line("cold process to the first answer by meaning", meaning, 2.0, "s ")
    line("memory of that process, model loaded, after 50 questions", memory, 250, "MB")


if __name__ == "__main__":
    main()
