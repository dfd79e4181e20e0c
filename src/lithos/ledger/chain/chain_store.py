"""The chains of a ledger in their folders: found by key, made whole or not at all, opened once."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

from lithos.core.canonical import sha256_hex
from lithos.core.clock import rfc3339
from lithos.core.text import slug
from lithos.errors import Damaged
from lithos.ledger.chain.chain import Chain, not_there
from lithos.ledger.chain.convert import convert, finish_conversion
from lithos.ledger.chain.format import VERSION
from lithos.ledger.chain.log import sync_folder
from lithos.ledger.chain.opening import HEADER, header_bytes, read_header
from lithos.ledger.chain.segments import ADAPTERS, segment_path
from lithos.ledger.environment import Environment
from lithos.ledger.words import Adapter

UNFINISHED = ".new-"


class ChainStore:
    def __init__(self, folder: Path, world: Environment, opened: Callable[[Chain], None]) -> None:
        """`opened` is told of each chain before anybody gets it."""
        self.folder = folder
        self._world = world
        self._opened = opened
        self._chains: dict[str, Chain] = {}
        self._lock = threading.Lock()
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        _sweep(folder)

    def chain(self, key: str, adapter: Adapter | None = None) -> Chain:
        """One that exists; with an adapter it is made where there is none: reading never makes one."""
        with self._lock:
            known = self._chains.get(key)
            if known is not None:
                return known
            folder = chain_folder(self.folder, key)
            if not folder.is_dir():
                if adapter is None:
                    raise not_there(key)
                self._create(key, folder, adapter)
            return self._open(key, folder)

    def _open(self, key: str, folder: Path) -> Chain:
        finish_conversion(folder)
        chain = Chain(folder, self._world)
        if chain.key != key:
            raise Damaged(
                f"{folder.name} holds the chain {chain.key!r}", hint="Somebody moved folders; move them back."
            )
        self._chains[key] = chain
        self._opened(chain)
        return chain

    def _create(self, key: str, folder: Path, adapter: Adapter) -> None:
        """Whole or not at all: made under another name, flushed, then renamed."""
        fresh = self.folder / f"{UNFINISHED}{folder.name}"
        shutil.rmtree(fresh, ignore_errors=True)  # an attempt that failed, on a full disk for example
        fresh.mkdir(mode=0o700)
        fields = {
            "chain_key": key,
            "created_at": rfc3339(self._world.clock.now()),
            "nonce": self._world.noise(16).hex(),
            "version": VERSION,
        }
        _write_durably(fresh / HEADER, header_bytes(fields))
        _write_durably(segment_path(fresh, 0, ADAPTERS[adapter]), ADAPTERS[adapter].magic)
        sync_folder(fresh)
        fresh.rename(folder)
        sync_folder(self.folder)

    def convert(self, key: str, to: Adapter) -> Chain:
        folder = chain_folder(self.folder, key)
        with self._lock:
            self._chains.pop(key).close()
            convert(folder, to)
            return self._open(key, folder)

    def keys(self) -> list[str]:
        return sorted(key for folder in chain_folders(self.folder) if (key := _key_of(folder)) is not None)

    def open_chains(self) -> list[Chain]:
        with self._lock:
            return list(self._chains.values())

    def close_chain(self, key: str) -> None:
        with self._lock:
            chain = self._chains.pop(key, None)
        if chain is not None:
            chain.close()

    def close(self) -> None:
        for chain in self.open_chains():
            self.close_chain(chain.key)


def chain_folder(ledger: Path, key: str) -> Path:
    """A safe name that tells a person which chain it is, and a hash that tells chains apart."""
    readable = slug(key, 40) or "chain"
    return ledger / f"{readable}-{sha256_hex(key.encode('utf-8', 'surrogatepass'))[:16]}"


def chain_folders(ledger: Path, checkpoints: Path | None = None) -> list[Path]:
    """Those that are there, and those of which only the checkpoints are left."""
    found = {folder for folder in ledger.iterdir() if folder.is_dir()} if ledger.is_dir() else set()
    if checkpoints is not None:
        found |= {ledger / path.stem for path in checkpoints.glob("*.jsonl")}
    return sorted(folder for folder in found if not folder.name.startswith(UNFINISHED))


def _key_of(folder: Path) -> str | None:
    try:
        return read_header(folder).chain_key
    except Damaged:
        return None


def _write_durably(path: Path, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        os.write(descriptor, data)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sweep(folder: Path) -> None:
    """What a crash left of a chain that was being made: nothing in it was ever acknowledged."""
    for unfinished in folder.glob(f"{UNFINISHED}*"):
        shutil.rmtree(unfinished)
