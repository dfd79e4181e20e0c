"""Touched files: what a worktree changed since its base, with the lines."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lithos.errors import InvalidInput, NotFound
from lithos.graph.git import Git
from lithos.workshop.run_files import read_beneath

LARGEST_FILE = 16 * 2**20
_HUNK = re.compile(rb"^@@ -\d+(?:,\d+)? \+(\d+)(?:,(\d+))? @@", re.MULTILINE)


@dataclass(slots=True)
class Touched:
    """Paths as they are now → as they were at the base ('' for a new file)."""

    files: dict[str, str] = field(default_factory=dict)
    deleted: list[str] = field(default_factory=list)


def touched_since(git: Git, base_commit: str) -> Touched:
    found = Touched()
    output = git.run("diff", "--name-status", "-z", "-M", base_commit, "--").decode("utf-8", "surrogateescape")
    parts = iter(output.split("\0"))
    for state in parts:
        if not state:
            continue
        path = next(parts)
        if state[0] in "RC":
            found.files[next(parts)] = path
        elif state[0] == "D":
            found.deleted.append(path)
        else:
            found.files[path] = "" if state[0] == "A" else path
    for path in _names(git.run("ls-files", "-o", "--exclude-standard", "-z")):
        found.files.setdefault(path, "")
    return found


def chosen_files(git: Git, root: Path, touched: Touched, paths: Sequence[str]) -> dict[str, str]:
    """The touched files, or all files beneath the paths that are given."""
    if not paths:
        chosen = touched.files
    else:
        clean = [checked_path(root, path) for path in paths]
        listed = _names(git.run("ls-files", "-co", "--exclude-standard", "-z", "--deduplicate", "--", *clean))
        chosen = {path: touched.files.get(path, path) for path in listed}
    found = {path: before for path, before in chosen.items() if _is_readable(root, path)}
    if paths and not found:  # an answer about no file would read as a pass
        named = ", ".join(paths)[:200]
        raise InvalidInput(f"there is no file to look at in {named!r}", hint="Name files that git does not ignore.")
    return found


def _is_readable(root: Path, path: str) -> bool:
    """A regular file whose name can be an argument."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return (root / path).is_file() and not (root / path).is_symlink() and not path.startswith(".lithos")


def checked_path(root: Path, path: str) -> str:
    """Relative to the worktree; it must exist and stay inside."""
    clean = os.path.normpath(path.strip() or ".")
    if "\0" in clean or clean.startswith(("/", "..")) or clean.split("/")[0] == ".git":
        raise InvalidInput(f"path {path[:200]!r} is outside of the worktree", hint='Paths are relative, as "src".')
    if not (root / clean).resolve().is_relative_to(root.resolve()):
        raise InvalidInput(f"path {path[:200]!r} leads outside of the worktree", hint="Links are not followed there.")
    if not (root / clean).exists():
        raise NotFound(f"there is no {path[:200]!r} in the worktree", hint="Paths are relative to its top.")
    return clean


def changed_lines(git: Git, root: Path, base_commit: str, path: str, before: str) -> set[int]:
    """The lines of a file that the base does not have; of a new file, all."""
    if not before:
        data = read_beneath(root, path, LARGEST_FILE) or b""
        return set(range(1, len(data.splitlines()) + 1))
    output = git.run("diff", "-U0", "-M", base_commit, "--", *dict.fromkeys((before, path)))
    found: set[int] = set()
    for hunk in _HUNK.finditer(output):
        start, count = int(hunk[1]), int(hunk[2] or 1)
        found.update(range(start, start + count))
    return found


def _names(output: bytes) -> Iterator[str]:
    return (name for name in output.decode("utf-8", "surrogateescape").split("\0") if name)
