"""The first scan of a real vault: notes and megabytes a second, beside bare reading and bare tantivy.

    python -m benchmarks.first_scan VAULT

VAULT is any folder of Markdown; it is copied first. CPU beside wall, because other processes only lengthen the wall.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import tantivy

from lithos.app import open_lithos
from lithos.settings import LithosConfig, StorageSettings


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    with tempfile.TemporaryDirectory(dir=".") as scratch:
        data = Path(scratch)
        shutil.copytree(sys.argv[1], data / "knowledge", ignore=shutil.ignore_patterns(".git", ".obsidian"))
        paths = sorted((data / "knowledge").rglob("*.md"))
        texts = [path.read_text(encoding="utf-8", errors="replace") for path in paths]
        size = sum(len(text.encode()) for text in texts) / 1e6
        longest = max(map(len, texts))
        print(f"{Path(sys.argv[1]).name}: {len(paths):,} notes, {size:.1f} MB, the longest {longest:,} characters")
        measured("bare reading", len(paths), size, lambda: [path.read_bytes() for path in paths])
        measured("bare tantivy, one field, stemmed", len(paths), size, lambda: bare_tantivy(data / "bare", texts))
        lithos = open_lithos(LithosConfig(storage=StorageSettings(data_dir=data)))
        lithos.embedding.pause()
        collection = lithos.note_search.collection
        try:
            measured("Lithos: files, links, catalogue", len(paths), size, lithos.notes.reindex)
            wait = 3600 + time.monotonic()
            measured("Lithos: full text after it", len(paths), size, lambda: collection._indexer.indexed(wait))
        finally:
            lithos.close()
    return 0


def measured(name: str, notes: int, size: float, work: Callable[[], object]) -> None:
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print(
        f"{name:36} | {notes / cpu:>9,.0f} notes and {size / cpu:>7,.1f} MB a CPU second"
        f" | {notes / wall:>9,.0f} notes and {size / wall:>7,.1f} MB a second",
        flush=True,
    )


def bare_tantivy(folder: Path, texts: list[str]) -> None:
    folder.mkdir()
    schema = tantivy.SchemaBuilder().add_text_field("text", tokenizer_name="en_stem").build()
    index = tantivy.Index(schema, path=str(folder))
    writer = index.writer(15_000_000, 1)
    for text in texts:
        writer.add_document(tantivy.Document(text=text))
    writer.commit()
    writer.wait_merging_threads()


if __name__ == "__main__":
    sys.exit(main())
