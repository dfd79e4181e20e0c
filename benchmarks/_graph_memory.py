"""A memory with one repository as its root, indexed, and its commits read."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import lithos.app
from lithos.app import Lithos, open_lithos
from lithos.search import HashedEmbedder
from lithos.settings import CodeRoot, CodeSettings, LithosConfig, ServerSettings, StorageSettings


@contextmanager
def memory_of(where: Path, *, model: bool) -> Iterator[Lithos]:
    """`model`: with the packaged model; else a hash of words takes its place: 60,000 cards cost it 12 CPU minutes."""
    data = Path(tempfile.mkdtemp(prefix="lithos-bench-"))
    config = LithosConfig(
        storage=StorageSettings(data_dir=data),
        server=ServerSettings(watch_files=False),
        code=CodeSettings(roots=(CodeRoot(name=where.name, path=where),)),
    )
    before = lithos.app.open_embedder
    if not model:
        lithos.app.open_embedder = lambda name: HashedEmbedder()  # type: ignore[assignment]
    try:
        opened = open_lithos(config)
    finally:
        lithos.app.open_embedder = before
    try:
        for root in opened.code.roots():
            root.index.reconcile()
        while opened.code.collection.status().unindexed:
            time.sleep(0.05)
        while opened.graph.catch_up(60):
            time.sleep(0.05)
        yield opened
    finally:
        opened.close()
        shutil.rmtree(data)
