"""One host per folder: no two hosts work on one vault, nor one inside the data directory of the other."""

from __future__ import annotations

import errno
import fcntl
import os
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from lithos.errors import Forbidden, Unsupported

NAME = ".lithos-vault.lock"  # reserved: files that begin with .lithos are ours and never served
PREDECESSOR_S = 15.0  # a host whose lock file was deleted notices within seconds, then stops within its 10 s
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)


@contextmanager
def hold_folders(data_dir: Path, folders: Iterable[Path]) -> Iterator[None]:
    """Each folder for us alone, and every folder above them together with other hosts: so a host inside ours is
    refused, and one around ours too. A folder that cannot be locked (NFS, no permission) is passed over.

    Only our own data directory is waited for: the caller holds `host.lock`, so its holder is a predecessor that leaves.
    """
    own = {folder.resolve() for folder in (data_dir, *folders)}
    above = set().union(*(folder.parents for folder in own)) - own
    with ExitStack() as held:
        for folder in sorted(above | own):
            how = fcntl.LOCK_EX if folder in own else fcntl.LOCK_SH
            _hold(folder, how, held, patience_s=PREDECESSOR_S if folder == data_dir.resolve() else 0.0)
        yield


def _hold(folder: Path, how: int, held: ExitStack, *, patience_s: float) -> None:
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return
    held.callback(os.close, handle)
    deadline = time.monotonic() + patience_s
    while not _try_lock(handle, how):
        if time.monotonic() >= deadline:
            raise _taken(folder)
        time.sleep(0.05)  # flock takes no timeout


def _try_lock(handle: int, how: int) -> bool:
    """False while another host holds it."""
    try:
        fcntl.flock(handle, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True  # a file system without locks
    return True


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
        f"another host uses {folder}, or a folder inside it",
        hint="Give each host its own data directory and vault, none inside another; see docs/postgres.md.",
    )
