"""The stack that the specification names, chromadb and sentence-transformers, beside ours in the same run. Optional.

    pip install chromadb sentence-transformers          # 5 GB with torch: into a separate environment
    python -m benchmarks.search --peer=FOLDER           # a folder of all-MiniLM-L6-v2 as sentence-transformers has it

Both have the same 10,000 notes, one passage each, and the same vectors made from a seed; questions are embedded by
each with its own model. The peer answers by vectors alone, ours by words and vectors.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from typing import Any

from benchmarks.corpus import notes, questions
from benchmarks.report import line, milliseconds, percentile

NOTES = 10_000
ASKED = 100

COLD = """
import json, sys, time
started = time.perf_counter()
import chromadb
from sentence_transformers import SentenceTransformer
model = SentenceTransformer(sys.argv[1], device="cpu")
store = chromadb.PersistentClient(sys.argv[2]).get_collection("notes")
store.query(model.encode(["how does it open a file?"]).tolist(), n_results=10)
took = time.perf_counter() - started
import psutil
print(json.dumps([took, psutil.Process().memory_info().rss / 1e6]))
"""


def measure_peer(model_folder: str, ours: float, embed: Callable[[str], Any]) -> None:
    """`ours` is the median of the same questions in milliseconds, `embed` gives notes their vectors."""
    if not all(map(importlib.util.find_spec, ("chromadb", "sentence_transformers"))):
        print("  chromadb and sentence-transformers are not installed: no peer in this run")
        return
    import chromadb
    from sentence_transformers import SentenceTransformer

    with tempfile.TemporaryDirectory() as folder:
        model = SentenceTransformer(model_folder, device="cpu")
        store = chromadb.PersistentClient(folder).create_collection("notes")
        filled = milliseconds(fill, store, embed) / 1000
        print(f"  the peer took {filled:.0f} s for {NOTES:,} notes with their vectors given", flush=True)
        times = [
            milliseconds(lambda text=text: store.query(model.encode([text]).tolist(), n_results=10))
            for text in questions(ASKED)
        ]
        written = [milliseconds(add_one, store, model, at) for at in range(20)]
        cold, memory = json.loads(
            subprocess.run(
                [sys.executable, "-c", COLD, model_folder, folder], capture_output=True, text=True, check=True
            ).stdout
        )
    half, most = percentile(times, 0.5), percentile(times, 0.95)
    print(f"  the peer: question p50 {half:.1f} ms, p95 {most:.1f} ms; one note {percentile(written, 0.5):.0f} ms;")
    print(f"  a new process to the first answer {cold:.1f} s, {memory:.0f} MB")
    line("a question: the peer's time / ours, p50", half / ours, 1.0, "x ", more_is_better=True)


def fill(store: Any, embed: Callable[[str], Any]) -> None:
    made = notes(NOTES)
    for start in range(0, NOTES, 1000):
        part = made[start : start + 1000]
        store.add(
            [each.id for each in part],
            embeddings=[embed(each.text).tolist() for each in part],
            documents=[each.text for each in part],
            metadatas=[{"author": each.author, "path": each.path} for each in part],
        )


def add_one(store: Any, model: Any, at: int) -> None:
    text = f"A note written alone, number {at}, about nothing in particular."
    store.add([f"alone-{at}"], embeddings=model.encode([text]).tolist(), documents=[text])
