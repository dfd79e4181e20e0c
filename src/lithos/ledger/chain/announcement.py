"""The small file that announces a forgetting before it begins, so that a crash leaves a trace of what is half done."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import orjson

from lithos.storage import flush_path, read_file

FORGETTING = "forgetting.json"  # exists while a forgetting is under way


@dataclass(frozen=True, slots=True)
class Erasure:
    """One thought to forget, and the names that go from its record."""

    index: int
    names: list[str]


@dataclass(frozen=True, slots=True)
class Announcement:
    erasures: list[Erasure]
    reason: str
    by: str


def announce(folder: Path, announcement: Announcement) -> None:
    unfinished = folder / f"{FORGETTING}.new"
    with unfinished.open("wb") as file:
        file.write(orjson.dumps(announcement))
        file.flush()
        os.fsync(file.fileno())
    unfinished.rename(folder / FORGETTING)
    flush_path(folder)


def announced(folder: Path) -> Announcement | None:
    """The forgetting that is under way in this chain. None also for a file that is none: nothing was done yet."""
    try:
        said = orjson.loads(read_file(folder / FORGETTING))
        listed = said.get("erasures") or [{"index": said["index"], "names": []}]  # as Lithos wrote it at first
        erasures = [Erasure(int(one["index"]), list(one["names"])) for one in listed]
        return Announcement(erasures, str(said["reason"]), str(said["by"]))
    except FileNotFoundError:
        return None
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def withdraw(folder: Path) -> None:
    (folder / FORGETTING).unlink()
    flush_path(folder)
