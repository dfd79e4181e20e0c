"""The file format of a backup: a tar in gzip, its last member a manifest with the SHA-256 of every other member."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import tarfile
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Any

from typing_extensions import TypedDict

from lithos import __version__
from lithos.errors import Damaged, InvalidInput, NotFound, Unsupported

FORMAT = 1
MANIFEST = "manifest.json"
NEEDED = (".lithos/store-id", ".lithos/coordination.db")  # a memory without them is none
LARGEST_MANIFEST = 512 * 2**20  # a million files
CHUNK = 1 << 20
_BROKEN = (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile)
OnFile = Callable[[str, int], None]  # (name, bytes)


class Manifest(TypedDict):
    format: int
    lithos: str
    created_at: str
    store_id: str
    with_keys: bool
    database: str  # sqlite, postgres: where the rows came from; in the backup they are SQLite
    vault: str  # inside: below the data directory; outside: a folder elsewhere
    files: dict[str, list[Any]]  # name → [SHA-256, bytes]


class Writer:
    """Writes members, then the manifest. A backup without a manifest is incomplete."""

    def __init__(self, file: IO[bytes], on_file: OnFile | None = None) -> None:
        self._gzip = gzip.GzipFile(fileobj=file, mode="wb", compresslevel=5, mtime=0)
        self._tar = tarfile.open(fileobj=self._gzip, mode="w|", format=tarfile.PAX_FORMAT)  # noqa: SIM115
        self.files: dict[str, list[Any]] = {}
        self._on_file = on_file or (lambda name, size: None)

    def add(self, name: str, path: Path) -> bool:
        """False: the file is gone, or is no regular file. A file that grows meanwhile is cut at its first length."""
        try:
            opened = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return False
        with os.fdopen(opened, "rb") as file:
            found = os.fstat(file.fileno())
            if not _is_regular(found.st_mode):
                return False
            member = tarfile.TarInfo(name)
            member.size, member.mode, member.mtime = found.st_size, found.st_mode & 0o777, int(found.st_mtime)
            hashed = _Hashed(file, found.st_size)
            self._tar.addfile(member, hashed)
        self.files[name] = [hashed.digest(), found.st_size]
        self._on_file(name, found.st_size)
        return True

    def finish(self, **facts: Any) -> None:
        created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        manifest = {"format": FORMAT, "lithos": __version__, "created_at": created, **facts, "files": self.files}
        text = json.dumps(manifest).encode()
        member = tarfile.TarInfo(MANIFEST)
        member.size, member.mode = len(text), 0o600
        self._tar.addfile(member, io.BytesIO(text))
        self._tar.close()
        self._gzip.close()


class _Hashed:
    """A reader of exactly `size` bytes; what a file that shrank no longer has is zeros, and its hash says so."""

    def __init__(self, file: IO[bytes], size: int) -> None:
        self._file, self._left, self._hash = file, size, hashlib.sha256()

    def read(self, wanted: int = -1) -> bytes:
        wanted = self._left if wanted < 0 else min(wanted, self._left)
        data = self._file.read(wanted)
        data += b"\0" * (wanted - len(data))
        self._left -= len(data)
        self._hash.update(data)
        return data

    def digest(self) -> str:
        return self._hash.hexdigest()


def verify_backup(path: Path, each: Callable[[str, IO[bytes], int], None] | None = None) -> Manifest:
    """Read all of it and compare every checksum; `each` gets the members on the way. Raises where anything is wrong."""
    found: dict[str, list[Any]] = {}
    manifest: Manifest | None = None
    with _named_errors(path):
        for name, content, member in _members(path):
            if name == MANIFEST:
                manifest = _parsed(path, content.read(LARGEST_MANIFEST))
                continue
            hashed = _Hashed(content, member.size)
            if each is not None:
                each(name, hashed, member.mode)  # type: ignore[arg-type]  # it only reads
            while hashed.read(CHUNK):
                pass
            found[name] = [hashed.digest(), member.size]
    if manifest is None:
        raise Damaged(f"{path} is incomplete: its manifest is missing", hint="Use another backup.")
    if found != manifest["files"]:
        wrong = sorted(name for name in {*found, *manifest["files"]} if found.get(name) != manifest["files"].get(name))
        raise Damaged(f"{path}: {wrong[0]} is not what was backed up", hint="Use another backup.")
    return manifest


def _members(path: Path) -> Iterator[tuple[str, IO[bytes], tarfile.TarInfo]]:
    """Regular files with names that lead into the folder; everything else is refused."""
    if path.exists() and not path.is_file() and not path.is_dir():  # a FIFO would be waited for, for good
        raise InvalidInput(f"{path} is no file", hint="Write the backup into a file first; it is read twice.")
    with gzip.open(path, "rb") as unpacked, tarfile.open(fileobj=unpacked, mode="r|") as tar:
        for member in tar:
            content = tar.extractfile(member) if member.isreg() and _is_inside(member.name) else None
            if content is None:
                raise InvalidInput(
                    f"{path} is no backup of Lithos: it contains {member.name[:80]!r}",
                    hint="Links, folders and paths that lead out are refused; nothing was written.",
                )
            yield member.name, content, member


@contextmanager
def _named_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        if path.exists():
            raise
        raise NotFound(f"there is no file {path}", hint="Check the path.") from None
    except IsADirectoryError:
        raise InvalidInput(f"{path} is a folder", hint="An export is read with `lithos restore FOLDER`.") from None
    except _BROKEN as error:
        raise Damaged(
            f"{path} is cut off or damaged: {' '.join(str(error).split()) or type(error).__name__}",
            hint="Use another backup; nothing was written.",
        ) from None


def _is_inside(name: str) -> bool:
    parts = PurePosixPath(name).parts
    return bool(parts) and not name.startswith("/") and ".." not in parts and "\0" not in name and "\\" not in name


def _parsed(path: Path, text: bytes) -> Manifest:
    try:
        manifest: Manifest = json.loads(text)
        made_with = int(manifest["format"])
    except (ValueError, KeyError, TypeError, RecursionError):
        raise Damaged(f"{path}: its manifest cannot be read", hint="Use another backup.") from None
    if made_with > FORMAT:
        raise Unsupported(
            f"{path} was made by a newer Lithos ({manifest.get('lithos')})", hint="Upgrade this one, then restore."
        )
    missing = [name for name in ("lithos", "created_at", "store_id", "with_keys") if name not in manifest]
    files = manifest.get("files")
    if missing or not isinstance(files, dict) or not all(name in files for name in NEEDED):
        raise Damaged(f"{path}: its manifest names no whole memory", hint="Use another backup.")
    return manifest


def _is_regular(mode: int) -> bool:
    import stat

    return stat.S_ISREG(mode)
