"""Files and repositories on disk that may be ingested: only those beneath folders that the caller may read."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO

from lithos.errors import Forbidden, InvalidInput, NotFound, TooLarge

LARGEST = 50 * 1024 * 1024
MOST_DOCS = 200
LARGEST_REPOSITORY = 3_000_000  # bytes of documentation that become one note
DOCS = (".md", ".rst", ".txt", ".adoc")
_NO_FILE = "Give a path, an https address or library:NAME."
_OUTSIDE = "Files of code roots, the vault, the garden and academic.inbox; other paths by the operator."


def located(source: str, folders: Sequence[Path], *, anywhere: bool) -> Path:
    """The file or folder meant: absolute, or relative to one of the folders. It must be beneath one of them. Outside
    of them the answer is the same whether there is a file or not."""
    try:
        given = Path(source).expanduser()
        candidates = [given] if given.is_absolute() else [folder / given for folder in folders]
        candidates += [Path.cwd() / given] if anywhere and not given.is_absolute() else []
        real = [each.resolve() for each in candidates]
    except (OSError, RuntimeError, ValueError):  # a loop of links, no such user, a NUL
        raise InvalidInput(f"{source[:200]!r} is no path", hint=_NO_FILE) from None
    tops = [folder.resolve() for folder in folders]
    inside = [each for each in real if anywhere or any(each.is_relative_to(top) for top in tops)]
    if real and not inside:
        raise Forbidden(
            f"{source[:200]!r} is outside the folders that may be ingested",
            hint=_OUTSIDE,
        )
    for each in inside:
        if os.path.lexists(each):
            return each
    if len(inside) < len(real) and any(map(os.path.lexists, real)):
        raise Forbidden(f"{source[:200]!r} leads out of the folders that may be ingested", hint=_OUTSIDE)
    raise NotFound(f"there is no file {source[:200]!r}", hint=_NO_FILE)


def read(path: Path, folders: Sequence[Path], *, anywhere: bool) -> bytes:
    """The bytes of a plain file; the opened file itself must be beneath a folder, not only its name."""
    with _open(path, folders, anywhere) as file:
        size = os.fstat(file.fileno()).st_size
        if size > LARGEST:
            raise TooLarge(f"{path.name} has {size} bytes; {LARGEST} is the most", hint="Ingest a part of it.")
        return file.read(LARGEST + 1)


def beginning(path: Path, folders: Sequence[Path], most: int, *, anywhere: bool) -> bytes:
    """The first bytes of a plain file; links on the way to it must stay beneath a folder."""
    with _open(path.resolve(), folders, anywhere) as file:
        return file.read(most)


def _open(path: Path, folders: Sequence[Path], anywhere: bool) -> BinaryIO:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise NotFound(f"{path.name} cannot be opened: {error.strerror}", hint=_NO_FILE) from None
    with ExitStack() as refused:
        file = refused.enter_context(os.fdopen(handle, "rb"))
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise InvalidInput(f"{path.name} is no plain file", hint=_NO_FILE)
        opened = _opened(handle, path)
        if not anywhere and not any(opened.is_relative_to(folder.resolve()) for folder in folders):
            raise Forbidden(f"{path.name} is outside the folders that may be ingested", hint=_OUTSIDE)
        refused.pop_all()
    return file


def _opened(number: int, path: Path) -> Path:
    link = Path(f"/proc/self/fd/{number}")
    return Path(os.readlink(link)) if link.is_symlink() else path.resolve()  # noqa: PTH115 - of an open file


def repository_files(folder: Path) -> Iterator[Path]:
    """README, licence and documentation of a repository, in that order."""
    top = sorted(each for each in folder.iterdir() if each.is_file() and not each.is_symlink())
    yield from (each for each in top if each.name.upper().startswith("README"))
    yield from (each for each in top if each.name.upper().startswith(("LICENSE", "LICENCE", "COPYING")))
    count = 0
    for name in ("docs", "doc", "documentation"):
        if not (folder / name).is_dir() or (folder / name).is_symlink():
            continue
        for path in sorted((folder / name).rglob("*")):
            if path.suffix.lower() in DOCS and path.is_file() and not path.is_symlink() and count < MOST_DOCS:
                count += 1
                yield path
