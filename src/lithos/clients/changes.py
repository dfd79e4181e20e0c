"""Change people's configuration files: shown before, backed up, all or nothing, one setup at a time."""

from __future__ import annotations

import contextlib
import difflib
import fcntl
import os
import secrets
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from lithos.errors import Conflict, Forbidden, InvalidInput, LithosError, StorageFull

LARGEST = 64 * 2**20


@dataclass(frozen=True)
class FileEdit:
    """One edit of one file; `edit` makes the new text from the old, and raises ValueError where it cannot."""

    path: Path
    what: str  # "Cursor", "hooks of Claude Code": for messages
    edit: Callable[[str], str]
    by_hand: str = ""  # what a person should add where a program cannot


@dataclass(frozen=True)
class Outcome:
    path: Path
    what: str
    diff: str = ""
    backup: Path | None = None
    changed: bool = False
    problem: str = ""
    hint: str = ""


def preview(edit: FileEdit) -> Outcome:
    """The diff of an edit; nothing is written."""
    try:
        before = _read(edit.path)
        after = _edited(edit, before)
    except LithosError as error:
        return Outcome(edit.path, edit.what, problem=error.message, hint=error.hint)
    return Outcome(edit.path, edit.what, diff=_diff(edit.path, before or "", after), changed=after != (before or ""))


def apply(edit: FileEdit) -> Outcome:
    """Read, edit, keep a backup, replace. A file that another program changed meanwhile is left alone."""
    try:
        target = edit.path.resolve()
        with _one_at_a_time():
            target.parent.mkdir(parents=True, exist_ok=True)
            before = _read(target)
            after = _edited(edit, before)
            if after == (before or ""):
                return Outcome(edit.path, edit.what)
            backup = _keep(target) if before is not None else None
            _replace(target, before, after)
    except OSError as error:
        refused = _refusal(edit.path, error)
        return Outcome(edit.path, edit.what, problem=refused.message, hint=refused.hint)
    except LithosError as error:
        return Outcome(edit.path, edit.what, problem=error.message, hint=error.hint)
    return Outcome(edit.path, edit.what, _diff(edit.path, before or "", after), backup, changed=True)


def _edited(edit: FileEdit, before: str | None) -> str:
    text = before or ""
    windows = 0 < text.count("\n") == text.count("\r\n")
    try:
        after = edit.edit(text.replace("\r\n", "\n") if windows else text)
        return after.replace("\n", "\r\n") if windows else after
    except ValueError as error:
        by_hand = f"; or add by hand:\n  {edit.by_hand}" if edit.by_hand else "."
        raise InvalidInput(
            f"{edit.path} is left as it is: {error}", hint=f"Correct it, then run this again{by_hand}"
        ) from None


def _read(path: Path) -> str | None:
    """None where there is no file. Line ends stay as they are."""
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            raise InvalidInput(f"{path} is left as it is: it is no file", hint="Put the client's file in its place.")
        if found.st_size > LARGEST:
            raise InvalidInput(f"{path} is larger than {LARGEST >> 20} MB", hint="Is it the right file?")
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        raise InvalidInput(f"{path} is left as it is: it is not UTF-8 text", hint="Save it as UTF-8.") from None
    except OSError as error:
        raise _refusal(path, error) from None


@contextlib.contextmanager
def _one_at_a_time() -> Iterator[None]:
    """Two setups at once: the second waits. Folders cannot be the lock: hosts hold those above their memory."""
    path = Path(tempfile.gettempdir()) / f"lithos-setup-{os.getuid()}.lock"
    held = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield
    finally:
        os.close(held)


def _keep(path: Path) -> Path:
    """A copy beside the file, with its mode."""
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    for number in range(100):
        backup = path.with_name(f"{path.name}.before-lithos-{stamp}{f'-{number}' if number else ''}")
        try:
            handle = os.open(backup, os.O_WRONLY | os.O_CREAT | os.O_EXCL, path.stat().st_mode & 0o777)
        except FileExistsError:
            continue
        with os.fdopen(handle, "wb") as file:
            file.write(path.read_bytes())
            file.flush()
            os.fsync(file.fileno())
        return backup
    raise Conflict(f"{path.parent} holds a hundred backups of this second", hint="Remove some, then run this again.")


def _replace(path: Path, before: str | None, after: str) -> None:
    mode = path.stat().st_mode & 0o777 if before is not None else 0o644 & ~_umask()
    unfinished = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    handle = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(after.encode("utf-8"))
            file.flush()
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        if _read(path) != before:
            raise Conflict(f"{path} was changed by another program just now", hint="Run this again.")
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def _umask() -> int:
    current = os.umask(0o077)
    os.umask(current)
    return current


def _refusal(path: Path, error: OSError) -> LithosError:
    import errno

    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StorageFull(f"the disk of {path} is full", hint="Free some space, then run this again.")
    return Forbidden(f"{path}: {error.strerror or error}", hint="Nothing was changed there. Check who owns it.")


def _diff(path: Path, before: str, after: str) -> str:
    lines = difflib.unified_diff(
        before.splitlines(keepends=True), after.splitlines(keepends=True), str(path), str(path), n=2
    )
    return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)
