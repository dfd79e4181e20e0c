"""A disk that forgets: from a record of changes, the states that a kill or a power cut could have left.

After a kill everything that was written is there. After a power cut a file has what was flushed (`fsync`), and of what
was written since any part: nothing, the first writes with the last one torn, or any of its pages. A name is where its
folder had it when the folder was flushed, or later in the order of the changes; one rename is never half done, because
file systems journal it.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.torture.system_calls import Change

PAGE, SECTOR = 4096, 512
Write = tuple[int, bytes | None]  # None: cut to this size


@dataclass(eq=False)
class Inode:
    is_folder: bool
    flushed: bytearray = field(default_factory=bytearray)
    written: list[Write] = field(default_factory=list)  # since the last flush
    names: dict[str, Inode] = field(default_factory=dict)  # of a folder: on the disk


@dataclass(eq=False)
class Naming:
    """A change of names: all of it reaches the disk, or nothing."""

    entries: list[tuple[Inode, str, Inode | None]]


class Disk:
    def __init__(self, root: str) -> None:
        self._root = root.rstrip("/")
        self.top = Inode(is_folder=True)
        self._now: dict[str, Inode] = {"": self.top}  # path below the root → what a running program sees
        self._namings: list[Naming] = []  # in order, not on the disk yet

    def apply(self, change: Change) -> None:
        path, other = self._below(change.path), self._below(change.other)
        match change.kind:
            case "create" | "mkdir":
                if path:
                    self._name([(path, Inode(change.kind == "mkdir"))])
            case "write":
                self._now[path].written.append((change.offset, change.data))
            case "truncate":
                self._now[path].written.append((change.offset, None))
            case "rename":
                self._name([(path, None), (other, self._now[path])])
            case "exchange":
                self._name([(path, self._now[other]), (other, self._now[path])])
            case "link":
                self._name([(other, self._now[path])])
            case "unlink" | "rmdir":
                self._name([(path, None)])
            case "sync":
                self._flush(self._now[path])

    def _below(self, path: str) -> str:
        return path.removeprefix(self._root).strip("/").replace("/./", "/")

    def _name(self, wanted: list[tuple[str, Inode | None]]) -> None:
        entries = []
        for path, inode in wanted:
            folder, _, name = path.rpartition("/")
            entries.append((self._now[folder], name, inode))
        moved = {path: inode for path, inode in wanted if inode is not None}
        for path, inode in wanted:
            if inode is None and self._now[path].is_folder:
                self._move_tree(path, next(iter(moved), None))
            elif inode is None:
                del self._now[path]
        self._now |= moved
        self._namings.append(Naming(entries))

    def _move_tree(self, path: str, to: str | None) -> None:
        for known in [each for each in self._now if each == path or each.startswith(f"{path}/")]:
            inode = self._now.pop(known)
            if to is not None:
                self._now[to + known.removeprefix(path)] = inode

    def _flush(self, inode: Inode) -> None:
        for write in inode.written:
            _put(inode.flushed, write)
        inode.written.clear()
        if inode.is_folder:
            mine = [each for each in self._namings if any(folder is inode for folder, _, _ in each.entries)]
            for naming in mine:
                _enter(naming)
            self._namings = [each for each in self._namings if each not in mine]

    # ------------------------------------------------------------------ states
    def after_kill(self, target: Path) -> None:
        """Everything that was written."""
        self._build(target, keep_names=len(self._namings), content=lambda inode: list(inode.written))

    def after_power_cut(self, target: Path, dice: random.Random) -> str:
        """One of the states that the disk may be in; returns which kind."""
        kind = dice.choice(["flushed only", "torn", "torn", "pages"])
        names = 0 if kind == "flushed only" else dice.randint(0, len(self._namings))

        def content(inode: Inode) -> list[Write]:
            if kind == "flushed only" or not inode.written:
                return []
            return _torn(inode.written, dice) if kind == "torn" else _pages(inode.written, dice)

        self._build(target, names, content)
        return kind

    def _build(self, target: Path, keep_names: int, content: Callable[[Inode], list[Write]]) -> None:
        later: dict[int, dict[str, Inode | None]] = {}
        for naming in self._namings[:keep_names]:
            for folder, name, inode in naming.entries:
                later.setdefault(id(folder), {})[name] = inode
        self._build_folder(self.top, target, later, content)

    def _build_folder(
        self,
        folder: Inode,
        target: Path,
        later: dict[int, dict[str, Inode | None]],
        content: Callable[[Inode], list[Write]],
    ) -> None:
        target.mkdir(mode=0o700)
        names: dict[str, Inode | None] = {**folder.names, **later.get(id(folder), {})}
        for name, inode in names.items():
            if inode is None or name.endswith("-shm"):  # shared memory of SQLite is never read after a crash
                continue
            if inode.is_folder:
                self._build_folder(inode, target / name, later, content)
                continue
            data = bytearray(inode.flushed)
            for write in content(inode):
                _put(data, write)
            (target / name).write_bytes(data)


def _enter(naming: Naming) -> None:
    for folder, name, inode in naming.entries:
        if inode is None:
            folder.names.pop(name, None)
        else:
            folder.names[name] = inode


def _put(data: bytearray, write: Write) -> None:
    offset, new = write
    if new is None:
        del data[offset:]
    else:
        data.extend(bytes(max(0, offset - len(data))))
        data[offset : offset + len(new)] = new
    if new is None and len(data) < offset:
        data.extend(bytes(offset - len(data)))


def _torn(written: list[Write], dice: random.Random) -> list[Write]:
    """The first writes; of the last one whole sectors."""
    kept = written[: dice.randint(0, len(written))]
    if kept and (data := kept[-1][1]) is not None:
        kept[-1] = (kept[-1][0], data[: dice.randint(0, len(data) // SECTOR) * SECTOR])
    return kept


def _pages(written: list[Write], dice: random.Random) -> list[Write]:
    """Any pages, in any order of the disk: each write's pages are there or not."""
    kept: list[Write] = []
    for offset, data in written:
        if data is None:
            if dice.random() < 0.5:
                kept.append((offset, data))
            continue
        at = 0
        while at < len(data):
            size = PAGE - (offset + at) % PAGE
            if dice.random() < 0.5:
                kept.append((offset + at, data[at : at + size]))
            at += size
    return kept
