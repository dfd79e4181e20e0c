"""One host per folder: no two hosts work on one vault, nor one inside the data directory of the other."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from lithos.errors import Forbidden, Unsupported

NAME = ".lithos-vault.lock"  # reserved: files that begin with .lithos are ours and never served
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)


@contextmanager
def hold_folders(folders: Iterable[Path]) -> Iterator[None]:
    """Each folder for us alone, and every folder above them together with other hosts: so a host inside ours is
    refused, and one around ours too. A folder that cannot be locked (NFS, no permission) is passed over."""
    own = {folder.resolve() for folder in folders}
    above = {parent for folder in own for parent in folder.parents} - own
    with ExitStack() as held:
        for folder in sorted(above | own):
            _hold(folder, fcntl.LOCK_EX if folder in own else fcntl.LOCK_SH, held)
        yield


def _hold(folder: Path, how: int, held: ExitStack) -> None:
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return
    held.callback(os.close, handle)
    try:
        fcntl.flock(handle, how | fcntl.LOCK_NB)
    except BlockingIOError:
        raise _taken(folder) from None
    except OSError:
        return


@contextmanager
def hold_folder(folder: Path) -> Iterator[None]:
    """Refuses a folder that another host uses, and a file system without locks (NFS with `nolock`)."""
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder / NAME, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        _lock(handle, folder)
        yield
    finally:
        os.close(handle)


def _lock(handle: int, folder: Path) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise _taken(folder) from None
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
        raise Unsupported(
            f"{folder} is on a file system without locks", hint="Use a local checkout, or mount NFS without nolock."
        ) from None


def _taken(folder: Path) -> Forbidden:
    return Forbidden(
        f"another host uses {folder}, or on a folder inside it",
        hint="Give each host its own data directory and vault, none inside another; see docs/postgres.md.",
    )
