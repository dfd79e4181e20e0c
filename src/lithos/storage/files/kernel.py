"""The few system calls that Python lacks, and portable replacements.

Linux: `openat2` resolves a path beneath a folder without following any link, `renameat2` exchanges two files or refuses
to replace one, each in one step. Elsewhere (macOS, old kernels, file systems without them) `PortableKernel` walks the
path folder by folder, makes new names with hard links, and has no exchange: see `replacing.py` for what that weakens.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import signal
import sys
from typing import Protocol

from lithos.errors import Unsupported

OPEN_ALWAYS = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | OPEN_ALWAYS
# Opens no device and no FIFO: it only names the thing. macOS has no such flag; there fstatat comes first.
_NAME_ONLY: int = getattr(os, "O_PATH", 0)
_UNKNOWN_CALL = (errno.ENOSYS, errno.EPERM, errno.EINVAL, errno.ENOTSUP)


class Kernel(Protocol):
    exchanges: bool

    def open(self, folder: int, path: str, flags: int, mode: int = 0o666) -> int:
        """Open `path` beneath the folder; a link anywhere on the way is an OSError."""
        ...

    def exchange(self, folder: int, one: str, other: str) -> None: ...

    def rename_new(self, folder: int, name: str, to_folder: int, to_name: str) -> None:
        """Rename without replacing: FileExistsError if the name is taken."""
        ...


class PortableKernel:
    exchanges = False

    def open(self, folder: int, path: str, flags: int, mode: int = 0o666) -> int:
        *folders, name = path.split("/")
        here = folder
        try:
            for each in folders:
                below = os.open(each, _FOLDER, dir_fd=here)
                if here != folder:
                    os.close(here)
                here = below
            return os.open(name, flags | OPEN_ALWAYS, mode, dir_fd=here)
        finally:
            if here != folder:
                os.close(here)

    def exchange(self, folder: int, one: str, other: str) -> None:
        raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))

    def rename_new(self, folder: int, name: str, to_folder: int, to_name: str) -> None:
        try:
            os.link(name, to_name, src_dir_fd=folder, dst_dir_fd=to_folder, follow_symlinks=False)
        except OSError as error:
            if error.errno in (errno.EPERM, errno.ENOTSUP):
                raise Unsupported(
                    "this file system has neither no-replace renames nor hard links",
                    hint="Keep the data directory on a local file system such as ext4, xfs, btrfs or APFS.",
                ) from error
            raise
        os.unlink(name, dir_fd=folder)


class _OpenHow(ctypes.Structure):
    _fields_ = [("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64)]


class LinuxKernel:
    exchanges = True
    _OPENAT2 = 437  # the same number on every architecture
    _BENEATH_WITHOUT_LINKS = 0x08 | 0x04 | 0x02  # RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS
    _NOREPLACE, _EXCHANGE = 1, 2
    _TRIES = 8  # openat2 says EAGAIN when a rename elsewhere made the walk uncertain

    def __init__(self) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        self._syscall = libc.syscall
        self._syscall.restype = ctypes.c_long
        self._renameat2 = libc.renameat2
        self._portable = PortableKernel()

    def open(self, folder: int, path: str, flags: int, mode: int = 0o666) -> int:
        if "/" not in path and path != "..":  # nothing to resolve: openat is as safe, at a quarter of the cost
            return os.open(path, flags | OPEN_ALWAYS, mode, dir_fd=folder)
        # openat2 is strict: beside O_PATH the other flags of OPEN_ALWAYS are an error.
        flags |= os.O_CLOEXEC | os.O_NOFOLLOW if flags & _NAME_ONLY else OPEN_ALWAYS
        how = _OpenHow(flags, mode if flags & os.O_CREAT else 0, self._BENEATH_WITHOUT_LINKS)
        raw = os.fsencode(path)
        for _ in range(self._TRIES):
            found: int = self._syscall(
                ctypes.c_long(self._OPENAT2), folder, raw, ctypes.byref(how), ctypes.c_size_t(ctypes.sizeof(how))
            )
            if found >= 0:
                return found
            code = ctypes.get_errno()
            if code not in (errno.EAGAIN, errno.EINTR):
                break
        raise OSError(code, os.strerror(code), path)

    def exchange(self, folder: int, one: str, other: str) -> None:
        self._rename(folder, one, folder, other, self._EXCHANGE)

    def rename_new(self, folder: int, name: str, to_folder: int, to_name: str) -> None:
        try:
            self._rename(folder, name, to_folder, to_name, self._NOREPLACE)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOSYS):
                raise
            self._portable.rename_new(folder, name, to_folder, to_name)

    def _rename(self, folder: int, name: str, to_folder: int, to_name: str, flag: int) -> None:
        if self._renameat2(folder, os.fsencode(name), to_folder, os.fsencode(to_name), flag) != 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code), name, None, to_name)


def best_kernel() -> Kernel:
    """The kernel's own calls where it has them (a container's seccomp filter may not let them through)."""
    if not sys.platform.startswith("linux"):
        return PortableKernel()
    kernel = LinuxKernel()
    top = os.open("/", _FOLDER)
    try:
        os.close(kernel.open(top, "./.", _FOLDER))
    except OSError as error:
        if error.errno in _UNKNOWN_CALL:
            return PortableKernel()
        raise
    finally:
        os.close(top)
    return kernel


def look(kernel: Kernel, folder: int, path: str) -> os.stat_result:
    """The stat of an entry, without opening it for reading: a FIFO or device is only named."""
    if "/" not in path:
        return os.stat(path, dir_fd=folder, follow_symlinks=False)
    if _NAME_ONLY:
        named = kernel.open(folder, path, _NAME_ONLY)
        try:
            return os.fstat(named)
        finally:
            os.close(named)
    above, _, name = path.rpartition("/")
    opened = kernel.open(folder, above, _FOLDER)
    try:
        return os.stat(name, dir_fd=opened, follow_symlinks=False)
    finally:
        os.close(opened)


def open_folder(kernel: Kernel, folder: int, path: str) -> int:
    return kernel.open(folder, path or ".", _FOLDER)


def flush(descriptor: int) -> None:
    """Flush to the disk itself; macOS leaves data in the drive's cache without F_FULLFSYNC."""
    full = getattr(fcntl, "F_FULLFSYNC", None)
    if full is None:
        os.fsync(descriptor)
    else:
        fcntl.fcntl(descriptor, full)


def held_by_others(descriptor: int) -> bool:
    """Whether another descriptor has this file open: a write lease is granted only to the sole holder (Linux)."""
    set_lease = getattr(fcntl, "F_SETLEASE", None)
    if set_lease is None:
        return False
    try:
        # A program that opens the file now makes the kernel signal us; the default, SIGIO, would end the process.
        fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(descriptor, set_lease, fcntl.F_WRLCK)
        fcntl.fcntl(descriptor, set_lease, fcntl.F_UNLCK)
    except OSError as error:
        return error.errno in (errno.EAGAIN, errno.EBUSY)
    return False
