"""The chains of a ledger in their folders: found by key, created whole or not at all, a bounded number open."""

from __future__ import annotations

import os
import shutil
import threading
from collections import OrderedDict
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from weakref import WeakValueDictionary

from lithos.core.canonical import sha256_hex
from lithos.core.clock import rfc3339
from lithos.core.text import slug
from lithos.errors import Damaged, NotFound
from lithos.ledger.chain.chain import Chain
from lithos.ledger.chain.format import VERSION
from lithos.ledger.chain.opening import HEADER, header_bytes, read_header
from lithos.ledger.chain.segments import ADAPTERS, segment_path
from lithos.ledger.environment import Environment
from lithos.ledger.words import Adapter
from lithos.storage import flush_path, make_folder

UNFINISHED = ".new-"
MOST_OPEN = 32  # chains; each takes up to 3 descriptors and from 0.3 MB


class ChainStore:
    """Chains by key. A few stay open; each is one object for as long as any caller holds it."""

    def __init__(
        self, folder: Path, environment: Environment, opened: Callable[[Chain], None], most_open: int = MOST_OPEN
    ) -> None:
        """`opened(chain)` runs before any caller gets the chain."""
        self.folder = folder
        self._environment = environment
        self._opened = opened
        self._most_open = most_open
        self._recent: OrderedDict[str, Chain] = OrderedDict()  # the last used is last
        self._held: WeakValueDictionary[str, Chain] = WeakValueDictionary()  # with those a caller still uses
        self._keys: dict[str, str] = {}  # by folder
        self._damaged: set[str] = set()  # keys of chains that were damaged when they were last closed
        self._turn = 0  # which open chain is verified again next
        self._lock = threading.Lock()
        make_folder(folder)
        _sweep(folder)

    def chain(self, key: str, adapter: Adapter | None = None) -> Chain:
        """Open a chain. Reading never creates one; with an adapter, a missing one is created."""
        with self._lock:
            chain = self._held.get(key)
            if chain is None:
                chain = self._held[key] = self._open(key, adapter)
                self._damaged.discard(key)
            self._recent[key] = chain
            self._recent.move_to_end(key)
            idle = self._recent.popitem(last=False)[1] if len(self._recent) > self._most_open else None
            if idle is not None and idle.is_damaged:
                self._damaged.add(idle.key)
        if idle is not None:
            idle.close()
        return chain

    def damaged(self) -> set[str]:
        """Keys of the chains that were found damaged, open or not."""
        return self._damaged | {chain.key for chain in self.open_chains() if chain.is_damaged}

    def exists(self, key: str) -> bool:
        return key in self._recent or chain_folder(self.folder, key).is_dir()

    def _open(self, key: str, adapter: Adapter | None) -> Chain:
        folder = chain_folder(self.folder, key)
        if not folder.is_dir():
            if adapter is None:
                raise _not_there(key)
            self._create(key, folder, adapter)
        chain = Chain(folder, self._environment)
        if chain.key != key:
            raise Damaged(
                f"{folder.name} holds the chain {chain.key!r}",
                hint="A folder of the ledger was renamed; rename it back.",
            )
        self._opened(chain)
        return chain

    def _create(self, key: str, folder: Path, adapter: Adapter) -> None:
        """Whole or not at all: written under another name, flushed, then renamed."""
        fresh = self.folder / f"{UNFINISHED}{folder.name}"
        shutil.rmtree(fresh, ignore_errors=True)  # an attempt that failed, on a full disk for example
        fresh.mkdir(mode=0o700)
        fields = {
            "chain_key": key,
            "created_at": rfc3339(self._environment.clock.now()),
            "nonce": self._environment.noise(16).hex(),
            "version": VERSION,
        }
        _write_durably(fresh / HEADER, header_bytes(fields))
        _write_durably(segment_path(fresh, 0, ADAPTERS[adapter]), ADAPTERS[adapter].magic)
        flush_path(fresh)
        fresh.rename(folder)
        flush_path(self.folder)

    def keys(self) -> list[str]:
        return sorted(key for folder in chain_folders(self.folder) if (key := _key_of(folder)) is not None)

    def folders(self) -> dict[str, str]:
        """Folder → key of each chain. A header never changes, so that it is read once."""
        try:
            names = [name for name in os.listdir(self.folder) if not name.startswith(UNFINISHED)]  # noqa: PTH208 often
        except OSError:
            return {}
        known = self._keys
        for name in names:
            if name not in known and (self.folder / name).is_dir() and (key := _key_of(self.folder / name)) is not None:
                known[name] = key
        return {name: known[name] for name in names if name in known}

    def open_chains(self) -> list[Chain]:
        with self._lock:
            return list(self._recent.values())

    def verify_some(self, seconds: float, stop: Callable[[], bool]) -> None:
        """Some of the hashes of each open chain. A segment that was deleted or replaced is damage: nothing more is
        acknowledged into it. One chain a call, in turn, is hashed once more: 256 thoughts, 3 ms."""
        chains = self.open_chains()
        self._turn += 1
        if chains:
            chains[self._turn % len(chains)].verify_again()
        for chain in chains:
            if stop():
                return
            chain.verify_some(seconds)
            try:
                chain.check_segments()
            except Damaged as error:
                chain.problem = chain.problem or error.with_traceback(None)

    def close_chain(self, key: str) -> None:
        with self._lock:
            chain = self._recent.pop(key, None)
        if chain is not None:
            chain.close()

    def close(self) -> None:
        for chain in self.open_chains():
            self.close_chain(chain.key)


@lru_cache(maxsize=256)
def chain_folder(ledger: Path, key: str) -> Path:
    """A readable, safe name, and a hash that makes it unique."""
    readable = slug(key, 40) or "chain"
    return ledger / f"{readable}-{sha256_hex(key.encode('utf-8', 'surrogatepass'))[:16]}"


def chain_folders(ledger: Path, checkpoints: Path | None = None) -> list[Path]:
    """Those that exist, and those of which only the checkpoints are left."""
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
    """Remove what a crash left of a chain being created: nothing in it was ever acknowledged."""
    for unfinished in folder.glob(f"{UNFINISHED}*"):
        shutil.rmtree(unfinished)


def _not_there(chain_key: str) -> NotFound:
    return NotFound(
        f"there is no chain {chain_key!r}",
        hint="mentisdb_bootstrap or a first mentisdb_append starts it; mentisdb_list_chains names those that exist.",
    )
