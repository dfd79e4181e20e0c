"""Secrets that never leave the data directory: HMAC keys by salt version, and the store's own id."""

from __future__ import annotations

import os
import re
import secrets
import threading
from pathlib import Path

from lithos.errors import Damaged
from lithos.storage.files.durable import clear_place, flush_path, make_folder, read_file, replace_file

_NAME = re.compile(r"^events-(\d{4,})\.key$")
KEY_BYTES = 32
_STORE_ID = re.compile(rb"[0-9a-f]{16}")
ANCHOR = "events.head"


class Keyring:
    """The keys in `.lithos/keys/`: one file each, readable by the owner alone, never changed or removed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[int, bytes] = {}
        self._newest: int | None = None
        self._lock = threading.Lock()

    def versions(self) -> list[int]:
        if not self._folder.is_dir():
            return []
        return sorted(int(match[1]) for path in self._folder.iterdir() if (match := _NAME.match(path.name)))

    def newest(self) -> int:
        """0: there is none yet. Cached: only this process adds keys."""
        if self._newest is None:
            self._newest = max(self.versions(), default=0)
        return self._newest

    def key(self, version: int) -> bytes | None:
        """None: there is no such file."""
        with self._lock:
            if version not in self._known:
                path = self._path(version)
                if not os.path.lexists(path):
                    return None
                self._known[version] = _read_key(path)
            return self._known[version]

    def check_files(self) -> None:
        """Raise `Damaged` if a key that this process uses is no longer on the disk as it was read."""
        with self._lock:
            for version, key in self._known.items():
                path = self._path(version)
                if not os.path.lexists(path) or _read_key(path) != key:
                    raise Damaged(
                        f"the key {path.name} of the audit was removed or changed",
                        hint="Restore .lithos/keys from a backup before the next start: no event can be verified else.",
                    )

    def add(self, version: int) -> bytes:
        """Create a key; an existing one of that version is kept and returned."""
        with self._lock:
            make_folder(self._folder)
            create_private(self._path(version), secrets.token_hex(KEY_BYTES).encode())
            self._known[version] = _read_key(self._path(version))
            self._newest = max(self.newest(), version)
            return self._known[version]

    def anchor(self) -> tuple[int, str] | None:
        """(length, mac) of the chain when it was last verified. Outside the database, it reveals a rolled-back one."""
        try:
            length, mac = read_file(self._folder / ANCHOR).decode("ascii").split()
            return int(length), mac
        except (FileNotFoundError, ValueError, Damaged):  # a torn file proves nothing
            return None

    def set_anchor(self, length: int, mac: str) -> None:
        make_folder(self._folder)
        clear_place(self._folder / ANCHOR)
        replace_file(self._folder / ANCHOR, f"{length} {mac}\n".encode())

    def _path(self, version: int) -> Path:
        return self._folder / f"events-{version:04d}.key"


def store_id(folder: Path) -> str:
    """The id of a data directory, created on first use: it names the directory's chain in a shared database."""
    path = folder / "store-id"
    make_folder(folder)
    if not os.path.lexists(path):
        create_private(path, secrets.token_hex(8).encode())
    found = read_file(path)[:64].strip()
    if not _STORE_ID.fullmatch(found):
        raise Damaged(
            "store-id is not an id: 16 hexadecimal digits are expected",
            hint="Restore .lithos/store-id from a backup; every event names it.",
        )
    return found.decode()


def create_private(path: Path, content: bytes) -> bool:
    """Create a file (mode 0600), whole and durable. False: there is one already, and nothing was done."""
    unfinished = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    handle = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.link(unfinished, path)
    except FileExistsError:
        return False
    finally:
        unfinished.unlink(missing_ok=True)
    flush_path(path.parent)
    return True


def _read_key(path: Path) -> bytes:
    try:
        key = bytes.fromhex(read_file(path).decode("ascii").strip())
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        raise Damaged(f"{path.name} is not a key", hint="Restore .lithos/keys from a backup.")
    return key
