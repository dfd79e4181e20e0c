"""Storage: the database, the roots, the audit and the effects of one data directory. Every other part uses it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field
from pathlib import Path

from lithos.core.clock import Clock, SystemClock
from lithos.core.ids import Ids
from lithos.core.part import Part
from lithos.errors import ConfigInvalid, LithosError
from lithos.storage.audit.events import Events
from lithos.storage.audit.keys import Keyring, store_id
from lithos.storage.database.commit_count import CommitCount
from lithos.storage.database.database import Database, open_database, open_postgres
from lithos.storage.database.identity import DATABASE, check_identity, check_log, record_identity
from lithos.storage.database.migrate import coordination_migrations
from lithos.storage.database.page_checksums import PageCheck
from lithos.storage.disk import disk_problem, why_unwritable
from lithos.storage.effects.effects import Effects
from lithos.storage.effects.idempotency import KEEP_HOURS, Idempotency
from lithos.storage.faults import Faults
from lithos.storage.files import Limits, Root
from lithos.storage.files.durable import flush_path, make_folder
from lithos.storage.files.folder_lock import hold_folder, hold_folders
from lithos.storage.quarantine import move_links_aside

PAGES_AT_ONCE = 2_000  # of 4 KB: 10 ms of work every few seconds
STATE = ".lithos"
SERVER_PATIENCE_S = 10.0  # PostgreSQL may be starting together with us


@dataclass(frozen=True)
class StorageOptions:
    data_dir: Path
    roots: Mapping[str, Path]  # name, as plans of changes use it → folder
    shared_roots: Sequence[Path] = ()  # folders outside the data directory: another host could open them too
    limits: Limits = field(default_factory=Limits)
    database_url: str | None = None  # None: SQLite in the data directory
    synchronous: str = "FULL"
    idempotency_hours: float = KEEP_HOURS


class Storage(Part):
    def __init__(self, options: StorageOptions, *, clock: Clock, ids: Ids, faults: Faults) -> None:
        self.data_dir = options.data_dir
        self.state = options.data_dir / STATE
        self.clock, self.ids, self.faults = clock, ids, faults
        self._limits = options.limits
        make_private_folder(self.state)
        with ExitStack() as opened:
            for folder in options.roots.values():
                make_folder(folder)
            flush_path(options.data_dir)  # a guest that made the folder did not
            opened.enter_context(hold_folders(options.data_dir, options.roots.values()))
            move_links_aside(options.data_dir)
            self.database = opened.enter_context(closing(_open_database(options, self.state, clock, faults)))
            check_identity(self.database, self.state)
            self._pages = PageCheck(self.state / DATABASE) if options.database_url is None else None
            self._judged: frozenset[int] = frozenset()  # suspect pages that SQLite has judged
            for folder in options.shared_roots:
                opened.enter_context(hold_folder(folder))
            self.roots: dict[str, Root] = {
                name: opened.enter_context(closing(self._open_root(name, folder, options.limits)))
                for name, folder in options.roots.items()
            }
            self.events = Events(store_id(self.state), Keyring(self.state / "keys"), clock=clock, ids=ids)
            self.idempotency = Idempotency(clock, options.idempotency_hours)
            self.effects = Effects(self.database, self.events, self.idempotency, self.roots, clock=clock, faults=faults)
            self._opened = opened.pop_all()

    def _open_root(self, name: str, folder: Path, limits: Limits) -> Root:
        return Root(folder, name=name, keep=self.state, clock=self.clock, faults=self.faults, limits=limits)

    def add_root(self, name: str, folder: Path) -> Root:
        """A root that comes and goes while the host runs, such as a worktree. `Root.recover` is the caller's."""
        root = self._open_root(name, folder, self._limits)
        self.roots[name] = root
        return root

    def drop_root(self, name: str, *, history: bool = False) -> None:
        """Close such a root; with `history`, its replaced and deleted files go too."""
        root = self.roots.pop(name, None)
        if root is not None:
            root.close()
        if history:
            for kept in ("history", "trash"):
                shutil.rmtree(self.state / kept / name, ignore_errors=True)
            (self.state / "recent" / f"{name}.log").unlink(missing_ok=True)

    def open(self) -> None:
        """Roll open intents forward or back. Other parts have registered what recovery does for their events."""
        self.effects.recover()

    def prune(self) -> None:
        """Drop remembered answers, replaced versions and deleted files that are past their limits."""
        self.database.write(self.idempotency.prune)
        for root in [*self.roots.values()]:
            root.prune()

    def sweep(self) -> None:
        """Settle the staged files that replacements left."""
        for root in [*self.roots.values()]:
            root.sweep()

    def check_some_pages(self) -> None:
        """A slow look at every page of the database in turn; `problem` says what it found."""
        if self._pages is not None:
            self._pages.run(PAGES_AT_ONCE)
            self._verify_suspects()

    def wrong_pages(self) -> int:
        """Read all of the database now: how many of its pages are not what was written."""
        if self._pages is None:
            return 0
        wrong = self._pages.run()
        self._verify_suspects()
        return len(wrong)

    def _verify_suspects(self) -> None:
        """Pages of zeros, or damage that a caller met: SQLite reads the whole file, once for the same pages."""
        suspect = self._pages.suspect if self._pages is not None else frozenset()
        if self.database.dialect.problem() is not None or (suspect and suspect != self._judged):
            self.database.dialect.verify()
        self._judged = suspect

    def sizes(self) -> dict[str, int]:
        return {
            "coordination": self.database.size(),
            "history": folder_size(self.state / "history"),
            "trash": folder_size(self.state / "trash"),
        }

    def problem(self) -> str | None:
        wrong = len(self._pages.wrong) if self._pages is not None else 0
        damaged = f"pages of {DATABASE} are not what was written: {wrong}" if wrong else None
        return self.database.problem() or damaged or disk_problem(self.state)

    def close(self) -> None:
        with suppress(LithosError):  # a database that is out of reach: the record of the start stays
            record_identity(self.database, self.state)
        self._opened.close()
        for root in self.roots.values():
            root.close()  # of those that were added later; twice is harmless
        if self._pages is not None:
            self._pages.close()


def _open_database(options: StorageOptions, state: Path, clock: Clock, faults: Faults) -> Database:
    migrations = coordination_migrations()
    if options.database_url is None:
        check_log(state)
        # Without a flush at each commit a power loss may take commits that the mark still knows.
        count = CommitCount(state / DATABASE) if options.synchronous == "FULL" else None
        how = options.synchronous
        database = open_database(state / DATABASE, migrations, synchronous=how, clock=clock, faults=faults, count=count)
        try:
            if count is not None:
                database.read(count.check)
        except BaseException:
            database.close()
            raise
        return database
    lease_clock = None if isinstance(clock, SystemClock) else clock  # a test's clock measures leases there too
    return open_postgres(
        options.database_url, migrations, clock=lease_clock, faults=faults, patience_s=SERVER_PATIENCE_S
    )


def make_private_folder(folder: Path) -> None:
    """With its parents. A folder that cannot be made or written, and holds no memory yet, refuses the start."""
    try:
        make_folder(folder)
        probe = folder / ".probe"
        probe.touch(mode=0o600)
        probe.unlink()
    except OSError as error:
        if (folder / DATABASE).exists() and why_unwritable(folder, DATABASE) is not None:
            return  # a memory that was written before is read
        raise ConfigInvalid(
            f"the data directory {folder.parent} cannot be written: {error.strerror or error}",
            hint="Check --data-dir, the owner of the folder and the free space.",
        ) from None


def folder_size(folder: Path) -> int:
    """Bytes of all files beneath it; 0 while there is no such folder. What a rebuild removes meanwhile is left out."""
    total = 0
    for path, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):
                total += os.lstat(f"{path}/{name}").st_size
    return total
