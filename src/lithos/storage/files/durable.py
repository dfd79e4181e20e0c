"""Small files and folders of our own that survive a power cut: a name counts once its folder is flushed."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from pathlib import Path

from lithos.errors import Damaged, Forbidden
from lithos.storage.files.kernel import flush
from lithos.storage.quarantine import discard

_OTHER = (errno.ELOOP, errno.ENXIO, errno.EISDIR, errno.ENODEV)


class NotPermitted(Forbidden, PermissionError):
    """For callers a refusal by name; for code that can do without the file, the system's error that it is."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} may not be opened by this user", hint=f"Check its owner, and chmod u+rw {name}.")
        self.errno = errno.EACCES


def open_file(path: Path, how: int = os.O_RDONLY) -> int:
    """A descriptor of one of our own files. A FIFO, a folder or a link in its place is damage, and keeps no one
    waiting; a link could lead to a file of someone else."""
    try:
        descriptor = os.open(path, how | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW, 0o600)
    except PermissionError:
        raise NotPermitted(path.name) from None
    except OSError as error:
        if error.errno in _OTHER:
            raise _not_a_file(path) from None
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise _not_a_file(path)
    return descriptor


def read_file(path: Path) -> bytes:
    """All of one of our own files."""
    with os.fdopen(open_file(path), "rb") as file:
        return file.read()


def clear_place(path: Path) -> None:
    """Where a derived file belongs: remove anything that is no file; a file of ours gets its owner's rights back."""
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISREG(path.lstat().st_mode):
            discard(path)
    restore_access(path)


def restore_access(path: Path) -> bool:
    """Let the owner, if that is this user, read and write a derived file again. True: it was needed."""
    try:
        found = path.lstat()
        needed = stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid() and found.st_mode & 0o600 != 0o600
        if needed:
            path.chmod(stat.S_IMODE(found.st_mode) | 0o600)
    except OSError:  # nothing is there, or the disk is read-only: opening it says so
        return False
    return needed


def restore_access_below(folder: Path) -> None:
    """As `restore_access`, for every file of a derived folder."""
    for path, _, names in os.walk(folder):
        for name in names:
            restore_access(Path(path, name))


def _not_a_file(path: Path) -> Damaged:
    return Damaged(f"{path.name} is not a file", hint="Move it away and restore the file from a backup.")


def flush_path(path: Path) -> None:
    """Flush a file, or the names in a folder, to the disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        flush(descriptor)
    finally:
        os.close(descriptor)


def make_folder(folder: Path) -> None:
    """With its parents, for the owner's eyes alone. One that is there keeps its mode."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for each in reversed(missing):
        flush_path(each.parent)


def replace_file(path: Path, data: bytes) -> None:
    """The whole of a file (mode 0600), at once: a cut leaves the old bytes or the new ones."""
    unfinished = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            flush(file.fileno())
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
    flush_path(path.parent)
