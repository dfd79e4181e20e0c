"""Where replaced and deleted files are kept for a while: `.lithos/history/` and `.lithos/trash/`.

    history/<root>/<path of the file>/<time>-<sha256><suffix>

One folder per file, each version under its time and content hash, so that people can browse it and damage is noticed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, timedelta
from pathlib import PurePosixPath

from lithos.core.canonical import sha256_hex
from lithos.core.clock import Clock
from lithos.errors import Damaged, NotFound
from lithos.storage.files.open_folder import OpenFolder
from lithos.storage.files.tree import Tree
from lithos.storage.files.values import KeptVersion

_KEPT = re.compile(r"^(\d{8}T\d{6}\.\d{6}Z)-([0-9a-f]{64})(\.[^./]{1,16})?$")
_STAMP = "%Y%m%dT%H%M%S.%fZ"


@dataclass(frozen=True, slots=True)
class Bounds:
    versions: int
    days: float
    bytes: int


class Archive:
    def __init__(self, tree: Tree, top: str, clock: Clock, bounds: Bounds) -> None:
        self._tree = tree
        self._top = top  # "history/vault"
        self._clock = clock
        self._bounds = bounds

    def keep(self, path: str, data: bytes) -> KeptVersion:
        """Durable when it returns. Equal bytes twice in a row are kept once."""
        digest = sha256_hex(data)
        with self._tree.place(f"{self._top}/{path}", make=True) as place:
            there = sorted(filter(_KEPT.match, os.listdir(place.descriptor)), reverse=True)  # noqa: PTH208 a descriptor is no path
            if there and there[0][24:88] == digest:
                return self._described(path, there[0], len(data))
            moment = self._clock.now().astimezone(UTC)
            name = f"{moment:{_STAMP}}-{digest}{PurePosixPath(path).suffix[:16]}"
            place.faults.at("archive")
            if name not in there:
                # The new file's own fsync carries its name along on ext4, xfs, btrfs and APFS: no second one.
                place.write_durably(name, data, mode=0o600)
            for each in there[self._bounds.versions - 1 :]:
                place.unlink(each)
            return self._described(path, name, len(data))

    def versions(self, path: str) -> list[KeptVersion]:
        """Newest first."""
        try:
            with self._tree.place(f"{self._top}/{path}") as place:
                return self._listed(place, path)
        except (FileNotFoundError, NotADirectoryError):
            return []

    def read(self, kept: KeptVersion) -> bytes:
        folder, _, name = kept.kept.rpartition("/")
        with self._tree.place(folder) as place:
            found = place.read(name)
        if found.version != kept.version:
            raise Damaged(f"the kept copy of {kept.path!r} is not what it was", hint="Look for another version of it.")
        return found.data

    def find(self, path: str, version: str) -> bytes:
        for kept in self.versions(path):
            if kept.version == version:
                return self.read(kept)
        raise NotFound(
            f"there is no version {version[:80]} of {path!r} in the history",
            hint="The history lists those that there are; settings bound how long versions are kept.",
        )

    def size(self) -> tuple[int, int]:
        """(files, bytes)"""
        all_kept = list(self._all())
        return len(all_kept), sum(kept.size for kept in all_kept)

    def prune(self) -> int:
        """Drop what is too old, then the oldest until the rest fits; how many went."""
        oldest = f"{self._clock.now().astimezone(UTC) - timedelta(days=self._bounds.days):%Y-%m-%dT%H:%M:%S.%fZ}"
        room, gone = self._bounds.bytes, 0
        for kept in sorted(self._all(), key=lambda kept: kept.at, reverse=True):
            room -= kept.size
            if room < 0 or kept.at < oldest:
                folder, _, name = kept.kept.rpartition("/")
                with self._tree.place(folder) as place:
                    place.unlink(name)
                gone += 1
        return gone

    def _all(self) -> Iterator[KeptVersion]:
        for entry in self._tree.scan(self._top, hidden=True):
            path, _, name = entry.path[len(self._top) + 1 :].rpartition("/")
            if path and _KEPT.match(name):
                yield self._described(path, name, entry.size)

    def _listed(self, place: OpenFolder, path: str) -> list[KeptVersion]:
        with os.scandir(place.descriptor) as entries:
            found = [
                self._described(path, entry.name, entry.stat(follow_symlinks=False).st_size)
                for entry in entries
                if _KEPT.match(entry.name)
            ]
        return sorted(found, key=lambda kept: kept.kept, reverse=True)

    def _described(self, path: str, name: str, size: int) -> KeptVersion:
        day, clock, digest = name[:8], name[9:22], name[24:88]
        at = f"{day[:4]}-{day[4:6]}-{day[6:]}T{clock[:2]}:{clock[2:4]}:{clock[4:]}Z"
        return KeptVersion(f"{self._top}/{path}/{name}", path, f"sha256:{digest}", at, size)
