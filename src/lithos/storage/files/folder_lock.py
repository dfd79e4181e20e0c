"""One host per vault: a folder outside the data directory is held by a lock of its own."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lithos.errors import Forbidden, Unsupported

NAME = ".lithos-vault.lock"  # reserved: files that begin with .lithos are ours and never served
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)


@contextmanager
def hold_folder(folder: Path) -> Iterator[None]:
    """Refuses a folder that another host works on, and a file system (NFS with `nolock`) that cannot tell."""
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
        raise Forbidden(
            f"another host works on {folder}", hint="Give each host a checkout of its own; docs/postgres.md tells how."
        ) from None
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
        raise Unsupported(
            f"{folder} is on a file system without locks", hint="Use a local checkout, or mount NFS without nolock."
        ) from None
