"""Make a backup while agents write: one snapshot of the database first, then the files that it may speak of.

What was acknowledged before the backup began is in it: the database's snapshot is taken after that, and files are
replaced before they are acknowledged. A file may be newer than the snapshot; then it counts as an edit by hand.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from lithos.backup.archive import Manifest, OnFile, Writer, verify_backup
from lithos.errors import Conflict, Forbidden, NotFound, StorageFull
from lithos.storage import Transfer, checksum_vfs, coordination_migrations, dialect_at, flush_path

STATE = ".lithos"
DATABASE = f"{STATE}/coordination.db"
SUFFIX = ".lithos-backup.tar.gz"
# Of this machine and process, or made again: sockets, locks, logs, the database's own files, marks of what was flushed.
_LEFT_OUT = ("host.", "coordination.db", "database.json", "hook-", "worktrees", "postgres")
_FIRST = ("store-id", "keys", "checkpoints")  # evidence must not be newer than what it is evidence of
_COUNT = "acknowledged.bin"  # of a chain
_LOOKS = 20  # how often files are listed again until no new name appears
_TRIES = 5


@dataclass(frozen=True)
class MemoryPlaces:
    data_dir: Path
    vault: Path
    database: str  # sqlite:PATH or postgresql://…
    checkpoints: Path | None = None  # where they are kept outside the data directory

    @property
    def state(self) -> Path:
        return self.data_dir / STATE

    @property
    def has_own_vault(self) -> bool:
        return not self.vault.is_relative_to(self.data_dir)


def make_backup(places: MemoryPlaces, target: Path, *, keys: bool = True, on_file: OnFile | None = None) -> Manifest:
    """Write one file (mode 0600); it appears under its name only when it is whole and was read back."""
    if not (places.state / "store-id").exists():
        raise NotFound(f"there is no memory in {places.data_dir}", hint="Check --data-dir.")
    if target.exists():
        raise Conflict(f"{target} exists", hint="Choose another name; a backup is never overwritten.")
    unfinished = target.with_name(f".{target.name}.unfinished-{os.getpid()}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(handle, "wb") as file:
            _write(Writer(file, on_file), places, keys, unfinished.parent)
            file.flush()
            os.fsync(file.fileno())
        manifest = verify_backup(unfinished)
        os.link(unfinished, target)
        flush_path(target.parent)
        return manifest
    except FileExistsError:
        raise Conflict(f"{target} exists", hint="Choose another name; a backup is never overwritten.") from None
    except OSError as error:
        raise _refusal(target, error) from None
    finally:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)


def _write(writer: Writer, places: MemoryPlaces, keys: bool, room: Path) -> None:
    with tempfile.TemporaryDirectory(dir=room, prefix=".lithos-backup-") as staging:
        for name, path in evidence(places, keys):
            writer.add(name, path)
        snapshot_database(places.database, Path(staging) / "coordination.db")
        writer.add(DATABASE, Path(staging) / "coordination.db")
        for name, path in copied_ledger(places.state / "ledger", Path(staging) / "ledger"):
            writer.add(name, path)
    _add_all(writer, places)
    writer.finish(
        store_id=(places.state / "store-id").read_text().strip(),
        with_keys=keys,
        database="postgres" if not places.database.startswith("sqlite:") else "sqlite",
        vault="outside" if places.has_own_vault else "inside",
    )


def snapshot_database(address: str, target: Path) -> None:
    """The whole database as of one moment, as a SQLite file."""
    if not address.startswith("sqlite:"):
        Transfer(dialect_at(address), dialect_at(f"sqlite:{target}"), coordination_migrations()).run()
        return
    import apsw

    source = apsw.Connection(address.removeprefix("sqlite:"), flags=apsw.SQLITE_OPEN_READWRITE, vfs=checksum_vfs())
    try:
        source.set_busy_timeout(30_000)
        source.execute("VACUUM INTO ?", (str(target),))
    finally:
        source.close()


def evidence(places: MemoryPlaces, keys: bool) -> Iterator[tuple[str, Path]]:
    for name in _FIRST:
        if name != "keys" or keys:
            yield from _files(places.state / name, f"{STATE}/{name}")
    if places.checkpoints is not None and not places.checkpoints.is_relative_to(places.state):
        yield from _files(places.checkpoints, f"{STATE}/checkpoints")
    yield from _files(places.data_dir / "config.yaml", "config.yaml")


def copied_ledger(ledger: Path, staging: Path) -> list[tuple[str, Path]]:
    """Chains grow at their end only, so a copy of one is its beginning. Forgetting rewrites a segment: then again."""
    for _ in range(_TRIES):
        shutil.rmtree(staging, ignore_errors=True)
        before = _inodes(ledger)
        # The counts of acknowledged thoughts first: one that is newer than its segment would call the copy damaged.
        counts = _copied((each for each in _in_ledger(ledger) if each[1].name == _COUNT), staging)
        # Listed again after the counts were copied: a segment may have been begun.
        copies = counts + _copied((each for each in _in_ledger(ledger) if each[1].name != _COUNT), staging)
        after = _inodes(ledger)
        if all(after.get(name) == inode for name, inode in before.items()):
            return copies
    raise Conflict("the ledger is being rewritten", hint="Make the backup again in a moment.")


def _in_ledger(ledger: Path) -> list[tuple[str, Path]]:
    return sorted(_files(ledger, f"{STATE}/ledger"))


def _copied(files: Iterable[tuple[str, Path]], staging: Path) -> list[tuple[str, Path]]:
    copies: list[tuple[str, Path]] = []
    for name, path in files:
        copy = staging / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):
            shutil.copy2(path, copy)
            copies.append((name, copy))
    return copies


def _inodes(folder: Path) -> dict[str, int]:
    return {name: path.stat().st_ino for name, path in _files(folder, "")}


def _add_all(writer: Writer, places: MemoryPlaces) -> None:
    """Everything else. Listed again until no new name appears: a file that was moved meanwhile has another name."""
    for _ in range(_LOOKS):
        new = [(name, path) for name, path in everything(places) if name not in writer.files]
        added = [writer.add(name, path) for name, path in new]
        if not any(added):
            return


def everything(places: MemoryPlaces) -> Iterator[tuple[str, Path]]:
    for entry in sorted(places.state.iterdir()):
        if not entry.name.startswith(_LEFT_OUT) and entry.name not in (*_FIRST, "ledger"):
            yield from _files(entry, f"{STATE}/{entry.name}")
    yield from _files(places.data_dir / "garden", "garden")
    yield from _files(places.vault, "knowledge")


def _files(path: Path, name: str) -> Iterator[tuple[str, Path]]:
    """Regular files; links are not followed, and git's own folder is not part of the knowledge."""
    if path.is_symlink():
        return
    if path.is_file():
        yield name, path
        return
    for folder, folders, files in os.walk(path):
        folders[:] = sorted(each for each in folders if each != ".git")
        for each in sorted(files):
            found = Path(folder) / each
            if found.is_file() and not found.is_symlink() and not each.startswith((".lithos-new-", ".lithos-old-")):
                yield f"{name}/{found.relative_to(path).as_posix()}".lstrip("/"), found


def default_name() -> str:
    return f"{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}{SUFFIX}"


def _refusal(target: Path, error: OSError) -> Exception:
    import errno

    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StorageFull(f"the disk of {target} is full", hint="Free some space; the unfinished file was removed.")
    return Forbidden(f"{target}: {error.strerror or error}", hint="Choose a folder that you can write.")
