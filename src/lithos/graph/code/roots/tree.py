"""Tree: reads one root. Nothing is ever written or created in it, and no link is followed."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from lithos.core.canonical import version_of
from lithos.errors import Forbidden, InvalidInput, NotFound, Unavailable
from lithos.graph.code.roots.gitignore import Ignored
from lithos.graph.code.roots.rule import LARGEST, SKIPPED_FOLDERS, Rule
from lithos.graph.git import Git, GitRefused
from lithos.storage import best_kernel, checked

_TRIES = 3  # an editor that writes in place may be half-way


class Stamp(NamedTuple):
    """The `stat` of a file; equal stamps are taken for equal bytes."""

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int


class Listed(NamedTuple):
    path: str
    stamp: Stamp


class Tree:
    def __init__(self, path: Path, rule: Rule) -> None:
        self.path = path
        self.rule = rule
        self._kernel = best_kernel()
        self.git_refused = ""
        self.uses_git = False

    def _top(self) -> int:
        try:
            return os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise Unavailable(
                f"the root {self.path} cannot be read: {error.strerror}",
                hint="Mount or restore it; nothing is forgotten.",
            ) from None

    def read(self, path: str) -> tuple[bytes, str, Stamp]:
        """(bytes, version, stamp) of a regular file, one moment's; NotFound or Forbidden."""
        top = self._top()
        try:
            for _ in range(_TRIES):
                data, before, after = self._read(top, path)
                if before == after:
                    break
            return data, version_of(data), after
        finally:
            os.close(top)

    def _read(self, top: int, path: str) -> tuple[bytes, Stamp, Stamp]:
        try:
            descriptor = self._kernel.open(top, checked(path), os.O_RDONLY)
        except FileNotFoundError:
            raise NotFound(f"there is no file {path!r} in this root") from None
        except OSError as error:
            raise Forbidden(
                f"{path!r} is not read: {error.strerror}", hint="Links and special files are not followed."
            ) from None
        try:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                raise Forbidden(f"{path!r} is not a regular file", hint="Links and special files are not followed.")
            with os.fdopen(descriptor, "rb", closefd=False) as file:
                data = file.read(LARGEST + 1)
            return data, _stamp(found), _stamp(os.fstat(descriptor))
        finally:
            os.close(descriptor)

    def listed(self, beneath: list[str] | None = None) -> Iterator[Listed]:
        """Every file that may be indexed by its name, `beneath` these paths only where given."""
        self._top_exists()
        names = self._from_git(beneath)
        for path in self._walk() if names is None else names:
            if beneath is not None and names is None and not _is_beneath(path, beneath):
                continue
            if self.rule.refuses(path) is None:
                stamp = self.stamp(path)
                if stamp is not None:
                    yield Listed(path, stamp)
        self._top_exists()  # a root that vanished meanwhile has not lost its files

    def left_out(self) -> dict[str, int]:
        """How many of the files that git names the rule leaves out, by reason."""
        counts: dict[str, int] = {}
        if not self.path.is_dir():
            return counts
        named = self._from_git(None)
        for path in self._walk() if named is None else named:
            reason = self.rule.refuses(path)
            if reason:
                counts[reason] = counts.get(reason, 0) + 1
        return counts

    def stamp(self, path: str) -> Stamp | None:
        """None where no regular file is, or a link is on the way."""
        try:
            found = os.lstat(self.path / path)
        except (OSError, ValueError):
            return None
        return _stamp(found) if stat.S_ISREG(found.st_mode) else None

    def _top_exists(self) -> None:
        os.close(self._top())

    def _from_git(self, beneath: list[str] | None) -> list[str] | None:
        """The paths that `git ls-files` names; None: there is no git here, or it is refused."""
        git: Git | None = None
        self.git_refused = ""
        try:
            git = Git.find(self.path)
        except GitRefused as refused:
            self.git_refused = refused.message
        self.uses_git = git is not None
        if git is None:
            return None
        command = ["ls-files", "-co", "--exclude-standard", "-z", "--deduplicate"]
        if beneath is not None:
            command += ["--", *beneath]
        output = git.run(*command)
        return sorted({name.decode("utf-8", "surrogateescape") for name in output.split(b"\0") if name})

    def _walk(self) -> Iterator[str]:
        """Our own reading of the folder: `.gitignore` files honoured, links never followed."""
        ignored = Ignored()
        pending = [""]
        while pending:
            folder = pending.pop()
            try:
                entries = sorted(os.scandir(self.path / folder), key=lambda entry: entry.name)
            except OSError:
                continue  # unreadable folders hold nothing that could be served
            prefix = f"{folder}/" if folder else ""
            if any(entry.name == ".gitignore" and entry.is_file(follow_symlinks=False) for entry in entries):
                ignored.add(folder, self._text(f"{prefix}.gitignore"))
            for entry in entries:
                path = prefix + entry.name
                is_folder = entry.is_dir(follow_symlinks=False)
                if entry.is_symlink() or ignored.ignores(path, is_folder):
                    continue
                if not is_folder:
                    yield path
                elif entry.name not in SKIPPED_FOLDERS:
                    pending.append(path)

    def _text(self, path: str) -> str:
        try:
            return self.read(path)[0].decode("utf-8", "replace")
        except (NotFound, Forbidden, InvalidInput):
            return ""


def _stamp(found: os.stat_result) -> Stamp:
    return Stamp(found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)


def _is_beneath(path: str, these: list[str]) -> bool:
    return any(path == each or path.startswith(f"{each}/") for each in these)
