"""Names of files and folders, and the keys under which names that look alike are one."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from uuid import UUID, uuid5

from lithos.core.relative import relative
from lithos.core.text import slug
from lithos.errors import InvalidInput

SUFFIX = ".md"
LONGEST_SLUG = 120
_NAMESPACE = UUID("6c697468-6f73-5e6f-8074-650000000001")
_DEVICE = re.compile(r"con|prn|aux|nul|com[0-9]|lpt[0-9]")
_HINT = 'path is a folder beneath the vault, such as "procedures" or "projects/api"; the title gives the file its name.'


def name_key(text: str) -> str:
    """Names that differ only in case or Unicode form have one key."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def path_key(path: str) -> str:
    return name_key(without_suffix(path))


def last_name(key: str) -> str:
    return key.rpartition("/")[2]


def without_suffix(path: str) -> str:
    return path[: -len(SUFFIX)] if path.lower().endswith(SUFFIX) else path


def is_note_path(path: str) -> bool:
    return path[-3:].lower() == SUFFIX and not path.rpartition("/")[2].startswith(".")


def path_id(path: str, attempt: int = 1) -> str:
    """The id of a note that names none itself; `attempt` makes another where this one is taken."""
    return str(uuid5(_NAMESPACE, path if attempt == 1 else f"{path}\0{attempt}"))


def checked_folder(path: str | None) -> str:
    folder = relative(path or "")
    if not folder:
        return ""
    names = [unicodedata.normalize("NFC", name.strip()) for name in folder.split("/")]
    if names[0].startswith("~") or any(not name or name.startswith(".") or "\\" in name for name in names):
        raise InvalidInput(f"path {folder[:100]!r} names no folder of the vault", hint=_HINT)
    if names[-1].lower().endswith(SUFFIX):
        raise InvalidInput(f"path {folder[:100]!r} is a file, not a folder", hint=_HINT)
    return "/".join(names)


def file_names(title: str, note_id: str) -> Iterator[str]:
    """`title.md`, then `title-2.md` and so on; a title without a letter or digit is named by the id."""
    base = slug(title, LONGEST_SLUG) or f"note-{note_id[:8]}"
    if _DEVICE.fullmatch(base):
        base += "-note"  # Windows keeps these names for itself
    yield base + SUFFIX
    for number in range(2, 10_000):
        tail = f"-{number}"
        yield slug(base, LONGEST_SLUG - len(tail)) + tail + SUFFIX
    raise InvalidInput(f"there are 10,000 notes named {base!r} in this folder", hint="Give it a more telling title.")


def folder_of(path: str) -> str:
    return path.rpartition("/")[0]


def joined(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name
