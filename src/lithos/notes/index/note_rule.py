"""NoteRule: which files of the vault are notes. Scans, reads and writes all ask it."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Sequence

from lithos.notes.format.naming import is_note_path, name_key
from lithos.storage import is_conflict_copy


class NoteRule:
    """Hidden files, conflict copies and ignored paths are no notes. A pattern matches a file, or all of a folder.

    Case and Unicode form do not count: a file system that folds them would open a second way in.
    """

    def __init__(self, patterns: Sequence[str] = ()) -> None:
        keys = [name_key(each.strip("/")) for each in patterns]
        joined = "|".join(fnmatch.translate(each).removesuffix(r"\Z").removesuffix(r"\z") for each in keys)
        self._pattern = re.compile(rf"(?:.*/)?(?:{joined})(?:/.*)?\Z") if patterns else None

    def __bool__(self) -> bool:
        return self._pattern is not None

    def __contains__(self, path: str) -> bool:
        return self._pattern is not None and self._pattern.match(name_key(path)) is not None

    def allows_note(self, path: str) -> bool:
        """Whether a file at this path is a note: the one rule, asked by scans, reads and writes alike."""
        hidden = path.startswith(".") or "/." in path
        return is_note_path(path) and not hidden and not is_conflict_copy(path) and path not in self
