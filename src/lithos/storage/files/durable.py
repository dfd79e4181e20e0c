"""Small files and folders of our own that survive a power cut: a name counts once its folder is flushed."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from lithos.storage.files.kernel import flush


def flush_path(path: Path) -> None:
    """Flush a file, or the names in a folder, to the disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        flush(descriptor)
    finally:
        os.close(descriptor)


def make_folder(folder: Path) -> None:
    """With its parents, for the owner's eyes alone. One that is there keeps its mode."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for each in reversed(missing):
        flush_path(each.parent)


def replace_file(path: Path, data: bytes) -> None:
    """The whole of a file (mode 0600), at once: a cut leaves the old bytes or the new ones."""
    unfinished = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            flush(file.fileno())
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
    flush_path(path.parent)
