"""A memory with one repository as its root, indexed, and its commits read."""

from __future__ import annotations

import os
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
from lithos.tools.caller import Caller
from lithos.tools.catalogue import catalogue


@contextmanager
def memory_of(where: Path, *, model: bool) -> Iterator[Lithos]:
    """`model`: with the packaged model; else a hash of words takes its place: 60,000 cards cost it 12 CPU minutes.

    LITHOS_BENCH_KEEP names a folder where the data of each repository stays for the next run.
    """
    kept = os.environ.get("LITHOS_BENCH_KEEP", "")
    data = Path(kept) / f"{where.name}-{model}" if kept else Path(tempfile.mkdtemp(prefix="lithos-bench-"))
    data.mkdir(parents=True, exist_ok=True)
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
        while opened.graph.catch_up(60):
            time.sleep(0.05)
        settle(opened)
        yield opened
    finally:
        opened.close()
        if not kept:
            shutil.rmtree(data)


def settle(lithos: Lithos) -> None:
    """Wait until everything is indexed and embedded: an answer before that says `degraded`, and is not cached."""
    asked = {"query": "what changed in the beginning", "domains": ["code", "history", "academic"], "explain": True}
    while catalogue().call(lithos, "lithos_ask", asked, Caller(operator=True))["degraded"]:
        time.sleep(0.2)
