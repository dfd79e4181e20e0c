"""Which paths may be spoken of at all: pure text, decided before anything is opened."""

from __future__ import annotations

import re
import unicodedata
from datetime import UTC, datetime

from lithos.core.relative import is_absolute
from lithos.errors import InvalidInput

LONGEST_NAME = 255  # bytes; what ext4, APFS and NTFS allow for one name
LONGEST_PATH = 2_000  # bytes; PATH_MAX is 4,096 and the folders above the root need some of it
DEEPEST = 40
OURS = ".lithos"  # names that begin so belong to Lithos, in any case: macOS folds it

_DEVICE = re.compile(r"^(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(\..*)?$", re.IGNORECASE)
_TURNS_TEXT = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
# Our own mark of a copy, then those of Syncthing, Dropbox, Nextcloud, Obsidian Sync, Seafile, Synology, Resilio, pCloud
# and OneDrive (it adds the machine's name: only the names that Windows gives by itself can be recognised).
_COPY_MARKS = (
    r"\.conflict-\d{8}T\d{6}Z(-\d{1,4})?",
    r"\.sync-conflict-\d{8}-\d{6}(-[a-z0-9]{1,16})?",
    r" ?\([^()]{0,100}(conflicted copy|konfliktkopie|in konflikt stehende kopie|copie en conflit|copia en conflicto)"
    r"([^()]|\(\d{1,4}\)){0,100}\)",
    r" ?\(([^()]{1,100}['\u2019]s )?(case|selective sync|white space|unicode encoding) conflict( \d{1,4})?\)",
    r" ?\(sfconflict [^()]{1,100}\)",
    r"_conflict-\d{8}-\d{6}",
    r"_[^/_]{1,64}_[a-z]{3}-\d{2}-\d{6}-\d{4}_conflict",
    r"\.conflict",
    r" ?\[conflicted\]",
    r"(?-i:-(DESKTOP|LAPTOP)-[A-Z0-9]{7,8})",  # a title of ours never has capitals: "setup-desktop-install.md"
)
_COPY = re.compile(rf"(?P<stem>[^/])(?:{'|'.join(_COPY_MARKS)})(?P<suffix>\.[^./]{{1,16}})?$", re.IGNORECASE)
_HINT = 'Paths are relative to the root, with "/" between names, for example "projects/plan.md".'


def checked(path: str) -> str:
    """The path as it came, if it may be looked at; no name in it may mislead, climb or belong to Lithos."""
    if not path:
        raise InvalidInput("the path is empty", hint=_HINT)
    if is_absolute(path):
        raise InvalidInput(f"{_shown(path)} is absolute", hint=_HINT)
    names = path.split("/")
    if len(path.encode("utf-8", "surrogatepass")) > LONGEST_PATH or len(names) > DEEPEST:
        raise InvalidInput(
            f"the path is too long or too deep: {LONGEST_PATH} bytes and {DEEPEST} names are the most", hint=_HINT
        )
    for name in names:
        fault = name_fault(name)
        if fault:
            raise InvalidInput(f"{_shown(path)}: {fault}", hint=_HINT)
    return path


def checked_new(path: str) -> str:
    """The path, if a file or folder may be made there: names that Windows cannot hold are refused too."""
    for name in checked(path).split("/"):
        fault = new_name_fault(name)
        if fault:
            raise InvalidInput(f"{_shown(path)}: {fault}", hint="Choose another name.")
    return path


def name_fault(name: str) -> str | None:
    """Why this one name may not be used, or None."""
    if name in ("", ".", ".."):
        return f'"{name}" is no name of a file or folder'
    if len(name.encode("utf-8", "surrogatepass")) > LONGEST_NAME:
        return f"a name is longer than {LONGEST_NAME} bytes"
    if name.lower().startswith(OURS):
        return f'names that begin with "{OURS}" are reserved'
    if name.isascii() and name.isprintable():
        return None
    if any(unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") or c in _TURNS_TEXT for c in name):
        return "a name contains a control character"
    return None


def new_name_fault(name: str) -> str | None:
    if _DEVICE.match(name):
        return f'"{name}" is reserved on Windows'
    if name[-1] in ". ":
        return "a name ends in a dot or a space"
    if "\\" in name:
        return "a name contains a backslash"
    return None


def split(path: str) -> tuple[str, str]:
    """(folder, name); the folder of a file at the top is ""."""
    folder, _, name = path.rpartition("/")
    return folder, name


def joined(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def is_conflict_copy(path: str) -> bool:
    """By its name: a copy that Lithos or a sync tool made of a file that was saved in two places at once."""
    return copied_from(path) is not None


def copied_from(path: str) -> str | None:
    """The file that a conflict copy was made of: `plan.conflict-20260131T120000Z.md` → `plan.md`."""
    lowered = path.lower()
    if "onfli" not in lowered and "top-" not in lowered:  # a tenth of the pattern's cost, and nearly all names
        return None
    folder, name = split(path)
    found = _COPY.search(name)
    return None if found is None else joined(folder, name[: found.end("stem")] + (found["suffix"] or ""))


def conflict_name(name: str, moment: datetime, attempt: int) -> str:
    """`plan.md` → `plan.conflict-20260131T120000Z.md`; the stem is cut where the name would grow too long."""
    stem, dot, suffix = name.rpartition(".")
    if not stem or len(suffix) > 16:
        stem, dot, suffix = name, "", ""
    again = f"-{attempt}" if attempt > 1 else ""
    tail = f".conflict-{moment.astimezone(UTC):%Y%m%dT%H%M%SZ}{again}{dot}{suffix}"
    return cut_bytes(stem, LONGEST_NAME - len(tail.encode())) + tail


def cut_bytes(text: str, longest: int) -> str:
    return text.encode("utf-8")[:longest].decode("utf-8", "ignore")


def _shown(path: str) -> str:
    return ascii(path[:200])
