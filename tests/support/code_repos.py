# ruff: noqa: E501 - sources of other languages, as one line each
"""Small repositories, and a code graph on them with everything real but the embedding model."""

from __future__ import annotations

import atexit
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lithos.core.clock import SystemClock
from lithos.graph.code import KEYWORDS, Code, CodeOptions, OpenRoot, RootSpec
from lithos.graph.code.parser import Parser
from lithos.search import Embedding, HashedEmbedder, open_collection

SHOP = {
    "shop/__init__.py": "from .cart import Cart\n",
    "shop/cart.py": (
        "from shop.store import Store\n\n\nclass Base:\n    def total(self):\n        return 0\n\n\n"
        "class Cart(Base):\n    '''Holds what a customer buys.'''\n\n    def __init__(self, store: Store):\n"
        "        self.store = store\n\n    def add(self, item):\n        self.check(item)\n        self.store.save(item)\n"
        "        return super().total()\n\n    def check(self, item):\n        return item\n"
    ),
    "shop/store.py": "class Store:\n    def save(self, thing):\n        return thing\n",
    "tests/test_cart.py": (
        "from shop import Cart\nfrom shop.store import Store\n\n\ndef test_add():\n    cart = Cart(Store())\n    cart.add(1)\n"
    ),
    "README.md": "# Shop\n\nSells hovercrafts.\n",
}


def write(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
    return folder


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=ann", "-c", "user.email=ann@example.org"]
    done = subprocess.run(["git", *identity, *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout


def repository(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    """A git repository with one commit of these files."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q", "-b", "main")
    write(folder, files)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "first")
    return folder


class SharedParser(Parser):
    """One child for every graph of a test process: each start imports all grammars."""

    def close(self) -> None:
        pass


PARSER = SharedParser()
atexit.register(Parser.close, PARSER)


@contextmanager
def code_graph(data: Path, *roots: tuple[str, Path]) -> Iterator[Code]:
    """Indexed once; nothing is followed."""
    embedding = Embedding(HashedEmbedder())
    collection = open_collection(data, "code", embedding=embedding, keywords=KEYWORDS, uncut=True)
    specs = tuple(RootSpec(name, str(path), configured=True) for name, path in roots)
    code = Code(CodeOptions(data, data / ".lithos", specs, watch=False), SystemClock(), collection, PARSER)
    try:
        code.open()
        for root in code.roots():
            root.index.reconcile()
        yield code
    finally:
        code.close()
        embedding.close()


def graph(root: OpenRoot) -> dict[str, Any]:
    """Everything that the graph says, in an order of its own."""

    def work(tx: Any) -> dict[str, Any]:
        names = {
            row["number"]: f"{row['path']}#{row['local']}" if row["path"] else row["local"] for row in tx.all(NODES)
        }
        return {
            "files": sorted(
                (row["path"], row["language"], row["version"], row["reason"], row["lines"], row["parsed"], row["stale"])
                for row in tx.all("SELECT * FROM files")
            ),
            "nodes": sorted(
                (names[row["number"]], row["type"], row["line"], row["end_line"], row["signature"], row["card"])
                for row in tx.all("SELECT * FROM nodes")
            ),
            "edges": sorted(
                (names[row["source"]], row["type"], names[row["target"]], row["how"], row["line"])
                for row in tx.all("SELECT * FROM edges")
                if row["source"] in names and row["target"] in names
            ),
        }

    return root.store.read(work)


NODES = "SELECT n.number, n.local, f.path FROM nodes n LEFT JOIN files f ON f.number = n.file"


def calls(root: OpenRoot) -> set[tuple[str, str, str]]:
    """(caller, callee, how) of every call, by qualified names."""
    from lithos.graph.code.store import HOW_NAMES

    def work(tx: Any) -> set[tuple[str, str, str]]:
        names = {row["number"]: row["local"] or row["path"] for row in tx.all(NODES)}
        rows = tx.all("SELECT * FROM edges WHERE type = 0")
        return {
            (names[row["source"]], names[row["target"]], HOW_NAMES[row["how"]])
            for row in rows
            if row["target"] in names
        }

    return root.store.read(work)
