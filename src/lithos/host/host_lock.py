"""The lock that makes a process the host of a data directory, and the socket on which it listens.

Guests import this file, so it uses the few modules of the standard library that start in milliseconds
(no pathlib, no typing, no dataclasses), and `lithos.errors` only to raise one.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import socket
import stat
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from lithos.errors import LithosError

LOCK_NAME = "host.lock"
SOCKET_NAME = "host.sock"
LOG_NAME = "host.log"
LONGEST_ADDRESS = 103  # sun_path has 108 bytes on Linux and 104 on macOS, each with a closing NUL
BACKLOG = 1024  # guests that wait while a host starts or hands over; the kernel caps it at net.core.somaxconn
NO_HOST = (FileNotFoundError, ConnectionRefusedError)  # connecting: no process listens there

_NO_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL, errno.EIO)
_NO_SOCKETS = (errno.EPERM, errno.EOPNOTSUPP)


class HostLock:
    """Lock, socket and log in the `.lithos` folder of one data directory, for host, guests and commands."""

    def __init__(self, data_dir: str) -> None:
        # Two names of one directory must use one lock.
        self.data_dir = os.path.realpath(data_dir)
        self.folder = os.path.join(self.data_dir, ".lithos")
        self.lock_path = os.path.join(self.folder, LOCK_NAME)
        self.socket_path = os.path.join(self.folder, SOCKET_NAME)
        self.log_path = os.path.join(self.folder, LOG_NAME)

    def make_folder(self) -> None:
        try:
            os.makedirs(self.folder, 0o700, exist_ok=True)
        except OSError as error:
            raise cannot_start(self.data_dir, error) from error

    def try_lock(self) -> int | None:
        """The lock as a descriptor, or None while another process holds it. It is freed when its last holder ends."""
        held = self._open_lock()
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if self.still_holds(held):
                return held
        except BlockingIOError:
            pass
        except OSError as error:
            os.close(held)
            refusal = cannot_lock if error.errno in _NO_LOCKS else cannot_start
            raise refusal(self.data_dir, error) from error
        os.close(held)
        return None

    def _open_lock(self) -> int:
        private = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
        try:
            try:
                return os.open(self.lock_path, os.O_RDWR | private)
            except FileNotFoundError:
                return self._make_lock(private)
        except OSError as error:
            if error.errno == errno.EROFS:  # a host that reads needs the lock too; any descriptor can hold it
                with contextlib.suppress(OSError):
                    return os.open(self.lock_path, os.O_RDONLY | private)
            raise cannot_start(self.data_dir, error) from error

    def _make_lock(self, private: int) -> int:
        """Where a read-only disk has no lock file, the folder itself is locked. A file that is made later would be a
        second lock beside that one: it is made under the folder's."""
        folder = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return folder  # the caller finds it locked
        except OSError:
            pass  # a file system without locks: the caller finds out, and says so
        try:
            held = os.open(self.lock_path, os.O_RDWR | os.O_CREAT | private, 0o600)
        except OSError as error:
            if error.errno == errno.EROFS:
                return folder
            os.close(folder)
            raise
        os.close(folder)
        return held

    def still_holds(self, held: int) -> bool:
        """Whether the locked file is still the one at the path; after `git clean` it is not."""
        here = os.fstat(held)
        try:
            there = os.stat(self.folder if stat.S_ISDIR(here.st_mode) else self.lock_path)
        except FileNotFoundError:
            return False
        return (there.st_dev, there.st_ino) == (here.st_dev, here.st_ino)

    def listen(self) -> socket.socket:
        """Bind the socket. Only for the holder of the lock: a file at the path is then stale."""
        listener = socket.socket(socket.AF_UNIX)
        previous = os.umask(0o177)
        try:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.socket_path)
            with self._address() as address:
                listener.bind(address)
            listener.listen(BACKLOG)
        except OSError as error:
            if error.errno == errno.EROFS and (name := self._nameless()):
                with contextlib.suppress(OSError):
                    listener.bind(name)
                    listener.listen(BACKLOG)
                    return listener
            listener.close()
            refusal = cannot_bind if error.errno in _NO_SOCKETS else cannot_start
            raise refusal(self.data_dir, error) from error
        finally:
            os.umask(previous)
        return listener

    def socket_inode(self) -> tuple[int, int] | None:
        """The file at the socket's path, to distinguish ours from a successor's."""
        try:
            there = os.stat(self.socket_path)
        except FileNotFoundError:
            return None
        return there.st_dev, there.st_ino

    def connect(self) -> socket.socket:
        """A non-blocking connection to the host. NO_HOST: no process listens; BlockingIOError: its backlog is full."""
        connection = socket.socket(socket.AF_UNIX)
        connection.setblocking(False)
        try:
            try:
                with self._address() as address:
                    connection.connect(address)
            except NO_HOST:
                if not (name := self._nameless()):
                    raise
                connection.connect(name)
        except OSError as error:
            connection.close()
            if isinstance(error, (*NO_HOST, ConnectionError, BlockingIOError)):
                raise
            raise cannot_start(self.data_dir, error) from error
        return connection

    def _nameless(self) -> bytes | None:
        """An address without a file, for a read-only disk; only Linux has one. Both ends check each other's user."""
        try:
            there = os.stat(self.folder)
        except OSError:
            return None
        name = b"\0lithos-%d-%d-%d" % (os.getuid(), there.st_dev, there.st_ino)
        return name if hasattr(socket, "SO_PEERCRED") else None

    @contextlib.contextmanager
    def _address(self) -> Iterator[str]:
        """A name of the socket that fits into `sun_path`, however long the path of the data directory is."""
        if len(os.fsencode(self.socket_path)) <= LONGEST_ADDRESS:
            yield self.socket_path
            return
        folder = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            if os.path.isdir("/proc/self/fd"):
                yield f"/proc/self/fd/{folder}/{SOCKET_NAME}"
            else:  # macOS: no other way than a relative name; guests and starting hosts have a single thread
                here = os.getcwd()
                os.fchdir(folder)
                try:
                    yield SOCKET_NAME
                finally:
                    os.chdir(here)
        finally:
            os.close(folder)

    def write_holder(self, held: int, **facts: Any) -> None:
        """Write who holds the lock, for messages. Nothing depends on it: a full disk must not stop a host.

        One write, filled up with spaces to the last length: a reader in between never finds an empty file."""
        note = {"pid": os.getpid(), "machine": machine(), "since": utc_now(), **facts}
        with contextlib.suppress(OSError):
            os.pwrite(held, json.dumps(note).encode().ljust(os.fstat(held).st_size - 1) + b"\n", 0)

    def read_holder(self) -> dict[str, Any]:
        try:
            with open(self.lock_path, "rb") as file:
                note = json.loads(file.read(4096))
        except (OSError, ValueError):
            return {}
        return note if isinstance(note, dict) else {}

    def describe_holder(self) -> str:
        """`pid 123 since 2026-…Z`, for refusals."""
        note = self.read_holder()
        if "pid" not in note:
            return "another process"
        where = "" if note.get("machine") in (None, machine()) else f" on {note['machine']}"
        return f"pid {note['pid']}{where} since {note.get('since', 'an unknown time')}"

    def other_machine(self) -> str | None:
        """The other machine whose host holds this lock over a shared file system, if there is one."""
        there = self.read_holder().get("machine")
        return there if isinstance(there, str) and there != machine() else None


def machine() -> str:
    return os.uname().nodename


def utc_now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def peer_uid(connection: socket.socket) -> int:
    """The user at the other end, as the kernel says."""
    if hasattr(socket, "SO_PEERCRED"):
        return _peer_credentials(connection)[1]
    return os.getuid()  # macOS: the folder's mode 0700 and the socket's 0600 keep others out


def peer_pid(connection: socket.socket) -> int | None:
    """The process at the other end; None where the kernel does not say."""
    return (_peer_credentials(connection)[0] or None) if hasattr(socket, "SO_PEERCRED") else None


def _peer_credentials(connection: socket.socket) -> tuple[int, int, int]:
    import struct

    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    pid, uid, gid = struct.unpack("3i", credentials)
    return pid, uid, gid


def is_stopped(pid: int | None) -> bool:
    """Whether SIGSTOP, Ctrl-Z or a debugger holds this process; False where there is no /proc."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] in ("T", "t")  # the name in parentheses may hold anything
    except (OSError, IndexError):
        return False


def cannot_start(data_dir: str, error: OSError) -> LithosError:
    """Why no host can start here, from the error of the operating system."""
    from lithos import errors

    code = error.errno
    if code == errno.EROFS:
        return errors.Forbidden(
            f"{data_dir} is on a read-only file system",
            hint="A data directory must be writable: mount it read-write, or choose another --data-dir.",
        )
    if code in (errno.ENOSPC, errno.EDQUOT):
        return errors.StorageFull(f"the disk of {data_dir} is full", hint="Free some space, then start again.")
    if code in (errno.EACCES, errno.EPERM, errno.ELOOP):
        return belongs_to_another(data_dir)
    return errors.Unavailable(
        f"no host can start in {data_dir}: {os.strerror(code) if code else error}",
        hint="Fix what the message names, then start again.",
    )


def cannot_lock(data_dir: str, error: OSError) -> LithosError:
    from lithos import errors

    return errors.Unsupported(
        f"the file system of {data_dir} cannot lock files ({error.strerror})",
        hint="Without locks two hosts could write at once; keep the data on a local disk of this machine.",
    )


def cannot_bind(data_dir: str, error: OSError) -> LithosError:
    from lithos import errors

    return errors.Unsupported(
        f"the file system of {data_dir} has no sockets ({error.strerror})",
        hint="Keep the data on a local disk of this machine.",
    )


def belongs_to_another(data_dir: str) -> LithosError:
    from lithos import errors

    if not os.path.lexists(data_dir):
        return errors.Forbidden(
            f"{data_dir} cannot be made: you may not write into {os.path.dirname(data_dir)}",
            hint="Correct the permissions of that folder, or choose another --data-dir.",
        )
    return errors.Forbidden(
        f"{data_dir} belongs to another user, or may not be written by you",
        hint="A host serves one user; connect to another user's over HTTP with a token.",
    )
