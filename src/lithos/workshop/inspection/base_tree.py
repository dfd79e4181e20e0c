"""The base of a worktree as files, so that tools can say what was there before. Git's records stay as they are."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from lithos.errors import TooLarge
from lithos.graph.git import Git
from lithos.workshop.run_files import remove_tree
from lithos.workshop.values import BASE_SUFFIX, Worktree

BASES = ".base"  # the folder of all of them
MOST_FILES = 20_000
MOST_BYTES = 500 * 2**20
BATCH = 400  # objects per question: their names must fit into a pipe


@contextmanager
def base_tree(git: Git, worktree: Worktree, folder: Path) -> Iterator[Worktree]:
    """The files of the base commit. TooLarge where writing them would take longer than the answer is worth."""
    path = folder / BASES / worktree.id
    remove_tree(path)
    path.mkdir(parents=True, mode=0o700)
    try:
        _write(git, worktree.base_commit, path)
        shutil.copyfile(worktree.path / ".git", path / ".git")
        yield replace(worktree, id=f"{worktree.id}{BASE_SUFFIX}", path=path)
    finally:
        remove_tree(path)


def _write(git: Git, commit: str, folder: Path) -> None:
    entries: list[tuple[str, str, str]] = []
    total = 0
    for line in git.run("ls-tree", "-r", "-l", "-z", commit).decode("utf-8", "surrogateescape").split("\0"):
        facts, _, name = line.partition("\t")
        parts = facts.split()
        if len(parts) == 4 and parts[1] == "blob" and parts[0] != "120000":
            entries.append((parts[2], parts[0], name))
            total += int(parts[3])
    if len(entries) > MOST_FILES or total > MOST_BYTES:
        raise TooLarge(f"the base has {len(entries)} files of {total >> 20} MB")
    for start in range(0, len(entries), BATCH):
        batch = entries[start : start + BATCH]
        stdin = "".join(f"{object_id}\n" for object_id, _, _ in batch).encode()
        output = git.run("cat-file", "--batch", stdin=stdin, most_output=MOST_BYTES + 2**20)
        at = 0
        for _, mode, name in batch:
            end = output.index(b"\n", at)
            size = int(output[at:end].rsplit(b" ", 1)[1])
            _place(folder, name, output[end + 1 : end + 1 + size], mode)
            at = end + 1 + size + 1


def _place(folder: Path, name: str, data: bytes, mode: str) -> None:
    path = os.path.join(folder, name)  # noqa: PTH118 - names may be no UTF-8, and this runs for every file
    os.makedirs(os.path.dirname(path), exist_ok=True)  # noqa: PTH103, PTH120
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o755 if mode == "100755" else 0o644)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
