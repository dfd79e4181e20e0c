"""Errors of the operating system about a file, translated to Lithos' errors."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from lithos.errors import Conflict, Forbidden, InvalidInput, LithosError, NotFound, StorageFull, Unavailable
from lithos.storage.disk import read_only

_ABSENT = (errno.ENOENT, errno.ENOTDIR)
_FULL = (errno.ENOSPC, errno.EDQUOT)
_LEADS_OUT = (errno.ELOOP, errno.EXDEV)
_NOT_ALLOWED = (errno.EACCES, errno.EPERM)


@contextmanager
def translated(path: str) -> Iterator[None]:
    """Raise what the caller can act on instead of an OSError."""
    try:
        yield
    except OSError as error:
        raise as_lithos_error(error, path) from error


def as_lithos_error(error: OSError, path: str) -> LithosError:
    code = error.errno
    if code in _ABSENT:
        return NotFound(f"there is no file {path!r}", hint="List the folder to see what is there.", path=path)
    if code in _FULL:
        return StorageFull(f"the disk is full: {path!r} was not written", hint="Free space, then call again.")
    if code == errno.EROFS:
        return read_only(repr(path))
    if code in _LEADS_OUT:
        return link_refused(path)
    if code in _NOT_ALLOWED:
        return Forbidden(
            f"{path!r}: {error.strerror}", hint="The server's user may not do this; correct the permissions."
        )
    if code == errno.EEXIST:
        return Conflict(f"{path!r} exists already", hint="Read it first, or choose another path.", path=path)
    if code in (errno.EISDIR, errno.ENAMETOOLONG, errno.EINVAL):
        return InvalidInput(f"{path!r}: {error.strerror}", hint="Name a file, with a shorter path.")
    return Unavailable(f"{path!r}: {error.strerror or error}", hint="The disk reported an error; try again.")


def link_refused(path: str) -> Forbidden:
    return Forbidden(f"{path!r} is, or is behind, a link", hint="Links beneath the root are never followed.", path=path)


def changed(path: str, version: str | None, **details: object) -> Conflict:
    what = "was changed by another program" if version else "was removed"
    return Conflict(
        f"{path!r} {what}; nothing was written",
        hint="Read it again, apply your change to what is there now, and send the new version as if_match.",
        path=path,
        version=version,
        **details,
    )
