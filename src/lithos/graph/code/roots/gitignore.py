"""Ignore: `.gitignore` files read the way git reads them, for roots without git."""

from __future__ import annotations

import re
from collections.abc import Iterable

from lithos.errors import InvalidInput
from lithos.graph.code.roots import globs


class IgnoreFile:
    """The patterns of one `.gitignore`; paths are relative to its folder."""

    def __init__(self, text: str) -> None:
        self._lines = [line for raw in text.splitlines() if (line := _Pattern.read(raw)) is not None]
        self._any = globs.any_of([line.matcher for line in self._lines])

    def decides(self, path: str, is_folder: bool) -> bool | None:
        """True: ignored; False: taken back by `!`; None: no pattern is about it, as for most files."""
        if self._any is not None and self._any.fullmatch(path) is None:
            return None
        for line in reversed(self._lines):
            if line.matches(path, is_folder):
                return not line.negated
        return None


class _Pattern:
    def __init__(self, glob: str, negated: bool, folders_only: bool) -> None:
        self.negated = negated
        self._folders_only = folders_only
        self.matcher = globs.compiled_ignore(glob)

    @classmethod
    def read(cls, raw: str) -> _Pattern | None:
        text = re.sub(r"(?<!\\)[ \t]+\Z", "", raw.lstrip("\ufeff"))
        if not text or text.startswith("#"):
            return None
        negated = text.startswith("!")
        text = text[1:] if negated else text
        folders_only = text.endswith("/")
        try:
            return cls(text.rstrip("/"), negated, folders_only) if text.strip("/") else None
        except InvalidInput:
            return None  # git, too, matches nothing with a broken pattern

    def matches(self, path: str, is_folder: bool) -> bool:
        return (is_folder or not self._folders_only) and self.matcher.fullmatch(path) is not None


class Ignored:
    """All `.gitignore` files from the root down to a folder."""

    def __init__(self) -> None:
        self._files: dict[str, IgnoreFile] = {}

    def add(self, folder: str, text: str) -> None:
        self._files[folder] = IgnoreFile(text)

    def ignores(self, path: str, is_folder: bool) -> bool:
        """Whether this entry is ignored, its folder being not; the deepest file that decides rules."""
        for folder in _upwards(path.rpartition("/")[0]):
            file = self._files.get(folder)
            decided = file.decides(path[len(folder) + 1 :] if folder else path, is_folder) if file else None
            if decided is not None:
                return decided
        return False


def _upwards(folder: str) -> Iterable[str]:
    while folder:
        yield folder
        folder = folder.rpartition("/")[0]
    yield ""
