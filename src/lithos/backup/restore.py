"""Restore a backup or an export: everything is unpacked and verified beside the target before anything is replaced."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from lithos.backup.archive import CHUNK, Manifest, verify_backup
from lithos.backup.export import read_export
from lithos.backup.make import DATABASE, STATE
from lithos.errors import Conflict, Forbidden, StorageFull, Unsupported
from lithos.storage import Transfer, coordination_migrations, database_status, dialect_at, flush_path

_OUTSIDE = re.compile(r"^([ \t]+)(knowledge_dir|database_url):", re.MULTILINE)


@dataclass(frozen=True)
class RestoreOptions:
    source: Path  # a file of `lithos backup`, or a folder of `lithos export`
    target: Path  # the data directory
    replace: bool = False  # move what is there aside
    database: str | None = None  # postgresql://… that the restored memory will use


@dataclass(frozen=True)
class Restored:
    manifest: Manifest
    files: int
    moved_aside: Path | None
    new_store_id: str | None
    notes: tuple[str, ...]  # what the operator should know


def restore(options: RestoreOptions) -> Restored:
    """The caller holds the lock of the target: no host may run there."""
    target = options.target
    if _is_used(target) and not options.replace:
        raise Conflict(
            f"{target} is not empty",
            hint="Restore into another folder, or pass --replace: it is moved aside, not deleted.",
        )
    with _staging(target) as staged:
        manifest = _unpacked(options.source, staged)
        _check_version(staged / DATABASE)
        notes = [*_adapted_settings(staged, options.database)]
        if not manifest["with_keys"]:
            notes.append(
                "The backup has no keys: new ones are made, and what the old ones sealed cannot be verified here."
            )
        new_id = _into_postgres(staged, options.database, notes) if options.database else None
        aside = _swapped(staged, target)
    return Restored(manifest, len(manifest["files"]), aside, new_id, tuple(notes))


def _is_used(target: Path) -> bool:
    """Locks that the caller took do not count."""
    ours = {"host.lock"}
    return target.exists() and any(
        path.name != STATE or any(inner.name not in ours for inner in path.iterdir()) for path in target.iterdir()
    )


@contextmanager
def _staging(target: Path) -> Iterator[Path]:
    """A folder on the same disk, so that the last step is a rename."""
    staged = target.parent / f".{target.name}.restoring-{secrets.token_hex(4)}"
    try:
        staged.mkdir(parents=True, mode=0o700)
        yield staged
    except OSError as error:
        import errno

        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise StorageFull(f"the disk of {target} is full", hint="Free some space; nothing was replaced.") from None
        raise Forbidden(f"{error.filename or target}: {error.strerror}", hint="Nothing was replaced.") from None
    finally:
        shutil.rmtree(staged, ignore_errors=True)


def _unpacked(source: Path, staged: Path) -> Manifest:
    if source.is_dir():
        return read_export(source, staged)

    def write(name: str, content: IO[bytes], mode: int) -> None:
        path = staged / name
        private = name.startswith(STATE)
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(handle, "wb") as file:
            while data := content.read(CHUNK):
                file.write(data)
            os.fchmod(file.fileno(), 0o600 if private else mode & 0o777)

    manifest = verify_backup(source, write)
    for folder in (STATE, f"{STATE}/keys"):
        if (staged / folder).is_dir():
            (staged / folder).chmod(0o700)
    return manifest


def _check_version(database: Path) -> None:
    status = database_status(dialect_at(f"sqlite:{database}"), coordination_migrations())
    if status["unknown"]:
        raise Unsupported("the backup was made by a newer Lithos", hint="Upgrade this one, then restore.")


def _adapted_settings(staged: Path, database: str | None) -> Iterator[str]:
    """Settings that name places of the machine that was backed up are turned into comments."""
    path = staged / "config.yaml"
    if not path.is_file():
        return
    text = path.read_text(encoding="utf-8")
    names = [found[1] for found in _OUTSIDE.findall(text) if found[1] != "database_url" or database is None]
    for name in dict.fromkeys(names):
        text = re.sub(rf"^([ \t]+){name}:", rf"\1# before the restore: {name}:", text, flags=re.MULTILINE)
        what = "the notes are in knowledge/" if name == "knowledge_dir" else "the state is in .lithos/coordination.db"
        yield f"storage.{name} in config.yaml is a comment now: {what}."
    text = re.sub(r"^(storage:)[ \t]*\n(?=(?:[ \t]*#[^\n]*\n)*(?:\S|\Z))", r"\1 {}\n", text, flags=re.MULTILINE)
    path.write_text(text, encoding="utf-8")


def _into_postgres(staged: Path, database: str, notes: list[str]) -> str | None:
    """Copy the rows into an empty database. In one where this store goes on already, the restored one is another."""
    source = dialect_at(f"sqlite:{staged / DATABASE}")
    try:
        Transfer(source, dialect_at(database), coordination_migrations()).run()
    except Conflict:
        new = secrets.token_hex(8)
        (staged / STATE / "store-id").write_text(new)
        notes.append("The database has a state already and keeps it; the restored folder has a new store id.")
        return new
    (staged / DATABASE).rename((staged / DATABASE).with_suffix(".db.bak"))
    return None


def _swapped(staged: Path, target: Path) -> Path | None:
    """Two renames; after a crash between them the old memory is whole under its new name."""
    aside = None
    if target.exists():
        if _is_used(target):
            stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
            aside = target.with_name(f"{target.name}.before-restore-{stamp}")
            target.rename(aside)
        else:
            shutil.rmtree(target)
    staged.rename(target)
    flush_path(target.parent)
    return aside
