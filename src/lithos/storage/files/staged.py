"""Files that a replace leaves behind for a while, and what becomes of them: judged by hash, never by guess.

Their names carry what is needed to judge them after a crash:
    .lithos-new-<random>                           being written; worthless until it is whole
    .lithos-old-<before>-<after>-<random>-<name>   was exchanged with <name>, or was about to be
    .lithos-held-<before>-<after>-<random>-<name>  taken away from <name>; comes back unless the change went through
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Literal

from lithos.storage.files.paths import LONGEST_NAME, OURS, cut_bytes

NEW = f"{OURS}-new-"
OLD = f"{OURS}-old-"
HELD = f"{OURS}-held-"
_DIGITS = 16  # of the hash; 64 bits distinguish versions of one file
NOTHING = "0" * _DIGITS
Verdict = Literal["drop", "conflict", "put-back", "wait"]


def short(version: str | None) -> str:
    return version.partition(":")[2][:_DIGITS] if version else NOTHING


def new_name() -> str:
    return NEW + os.urandom(8).hex()


@dataclass(frozen=True, slots=True)
class StagedFile:
    kind: str
    before: str
    after: str
    random: str
    target: str

    @classmethod
    def make(cls, kind: str, before: str | None, after: str | None, target: str) -> StagedFile:
        return cls(kind, short(before), short(after), os.urandom(4).hex(), target)

    @property
    def name(self) -> str:
        head = f"{self.kind}{self.before}-{self.after}-{self.random}-"
        return head + cut_bytes(self.target, LONGEST_NAME - len(head))

    @classmethod
    def parse(cls, name: str) -> StagedFile | None:
        for kind in (OLD, HELD):
            parts = name[len(kind) :].split("-", 3) if name.startswith(kind) else []
            if len(parts) == 4 and len(parts[0]) == len(parts[1]) == _DIGITS and parts[3]:
                return cls(kind, *parts)
        return None


@dataclass(frozen=True, slots=True)
class Sighting:
    """A staged file as it was seen when it was due."""

    version: str | None  # None: it is no regular file
    empty: bool
    open_elsewhere: bool
    target: str | None  # version of the file whose place it had
    overdue: bool  # no more patience


def judge(staged: StagedFile, seen: Sighting) -> Verdict:
    """Drop known bytes, and bytes that are in the file anyway; bytes of another program become a conflict copy."""
    if staged.kind == HELD and seen.target is None:
        return "put-back"
    if seen.open_elsewhere and not seen.overdue:
        return "wait"
    if seen.version is not None:
        if short(seen.version) in (staged.before, staged.after) or seen.version == seen.target:
            return "drop"
        if seen.empty and not seen.overdue:
            return "wait"  # an editor that saves in place has just cut it to nothing
        if seen.empty:
            return "drop"
    return "conflict"
