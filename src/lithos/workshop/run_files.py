"""Files that a run may have made, read and deleted by the host.

A run can leave links to files of the host, pipes, links to endless devices, folders without rights and folders deeper
than a path can name. The host meets all of them here.
"""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress
from functools import cache
from pathlib import Path

from lithos.storage import best_kernel

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_kernel = cache(best_kernel)


def read_beneath(root: Path, name: str, most: int) -> bytes | None:
    """At most `most` bytes of a regular file beneath `root`. None: there is none, or a link is on the way."""
    if not name or name.startswith("/") or ".." in name.split("/") or "\0" in name:
        return None
    try:
        folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return _read(_kernel().open(folder, name, os.O_RDONLY), most)
    except OSError:
        return None
    finally:
        os.close(folder)


def read_regular(path: Path, most: int) -> bytes | None:
    """The same for a path whose links count: package managers link packages into `node_modules`."""
    try:
        return _read(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), most)
    except OSError:
        return None


def _read(descriptor: int, most: int) -> bytes | None:
    with os.fdopen(descriptor, "rb") as file:
        return file.read(most) if stat.S_ISREG(os.fstat(descriptor).st_mode) else None


def remove_tree(path: Path) -> None:
    """Delete a folder with everything in it, or a file. Call it when no process of a run is left.

    What cannot be deleted stays, and `lithos doctor` names it."""
    with suppress(OSError):
        if not stat.S_ISDIR(path.lstat().st_mode):
            path.unlink()
            return
        path.chmod(0o700)
        top = os.open(path, _FOLDER)
        try:
            _empty(top)
        finally:
            os.close(top)
        path.rmdir()


def _empty(top: int) -> None:
    """Folders move to the top before they are emptied: no path gets long, no stack deep, two descriptors suffice."""
    mark, number = secrets.token_hex(8), 0
    removed = 1
    while removed:
        removed = 0
        for name in _delete_files(top):
            with suppress(OSError):
                inner = os.open(name, _FOLDER, dir_fd=top)
                try:
                    for each in _delete_files(inner):
                        os.rename(each, f"{mark}-{number}", src_dir_fd=inner, dst_dir_fd=top)
                        number += 1
                finally:
                    os.close(inner)
                os.rmdir(name, dir_fd=top)
                removed += 1


def _delete_files(folder: int) -> list[str]:
    """The folders that are left, each with rights for its owner."""
    found: list[str] = []
    with os.scandir(folder) as entries:
        listed = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
    for name, is_folder in listed:
        with suppress(OSError):
            if is_folder:
                os.chmod(name, 0o700, dir_fd=folder)
                found.append(name)
            else:
                os.unlink(name, dir_fd=folder)
    return found
