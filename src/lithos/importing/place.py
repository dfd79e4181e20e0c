"""Put imported notes into the vault as files, as a person would: the same path and bytes every time."""

from __future__ import annotations

import errno
import json
import os
import secrets
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Literal

from lithos.errors import InvalidInput, StorageFull
from lithos.importing.items import Attachment, ImportedNote, Skipped

Placed = Literal["imported", "already there", "changed"]
MOST_LISTED = 1_000


@dataclass
class ImportReport:
    kind: str
    read: int = 0
    imported: int = 0
    already_there: int = 0
    changed: list[str] = field(default_factory=list)  # there with other text, left as it is: the first of them
    differ: int = 0
    skipped: list[Skipped] = field(default_factory=list)  # the first of them
    left_out: int = 0

    def skip(self, item: Skipped) -> None:
        self.left_out += 1
        if len(self.skipped) < MOST_LISTED:
            self.skipped.append(item)

    def count(self, outcome: Placed, name: str) -> None:
        if outcome == "imported":
            self.imported += 1
        elif outcome == "already there":
            self.already_there += 1
        else:
            self.differ += 1
            if len(self.changed) < MOST_LISTED:
                self.changed.append(name)


def place_note(item: ImportedNote | Attachment, folder: Path, *, dry_run: bool) -> Placed:
    """Write one file unless it is there; a file with other text was changed here or there, and stays."""
    data = item.file.read_bytes() if isinstance(item, Attachment) else item.raw if item.raw is not None else _text(item)
    for name in item.names if isinstance(item, ImportedNote) else [item.path]:
        target = _target(folder, name)
        there = _there(target)
        if there is None:
            if not dry_run:
                _create(target, data)
            return "imported"
        if there == data:
            return "already there"
        if not isinstance(item, ImportedNote) or not _of_another(there, item):
            return "changed"
    return "changed"


def _there(target: Path) -> bytes | None:
    try:
        return target.read_bytes()
    except FileNotFoundError:
        return None
    except IsADirectoryError:
        return b""


def _of_another(there: bytes, item: ImportedNote) -> bool:
    """Whether another entry has this name: of a million, some hundred share title and short digest."""
    mine = _source_line(item).encode("utf-8", "replace")
    return bool(item.source) and b"\nsource: " in there and mine not in there.split(b"\n---\n")[0].split(b"\n")


def _target(folder: Path, name: str) -> Path:
    parts = PurePosixPath(name).parts
    if not parts or name.startswith("/") or any(part in ("..", "") or "\0" in part for part in parts):
        raise InvalidInput(f"{name[:80]!r} leads out of the folder", hint="It was not imported.")
    short = [
        part if len(part.encode()) <= 200 else f"{part.encode()[:180].decode('utf-8', 'ignore')}.md" for part in parts
    ]
    return folder.joinpath(*short)


def _text(item: ImportedNote) -> bytes:
    lines = [f"title: {json.dumps(item.title, ensure_ascii=False)}"]
    if item.tags:
        lines.append(
            f"tags: {json.dumps(sorted({tag.strip()[:60] for tag in item.tags if tag.strip()}), ensure_ascii=False)}"
        )
    if item.created:
        lines.append(f"created_at: {item.created}")
    lines.append(_source_line(item))
    head = "\n".join(lines)
    return f"---\n{head}\n---\n\n{item.content.strip()}\n".encode("utf-8", "replace")


def _source_line(item: ImportedNote) -> str:
    return f"source: {json.dumps(item.source, ensure_ascii=False)}"


def _create(target: Path, data: bytes) -> None:
    """Whole or not at all, and never over a file that appeared meanwhile."""
    unfinished = target.with_name(f".lithos-new-{secrets.token_hex(8)}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with open(unfinished, "xb") as file:
            file.write(data)
        os.link(unfinished, target)
    except FileExistsError:
        return
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise StorageFull("the disk is full", hint="Free some space and run it again: it goes on.") from None
        raise InvalidInput(f"{target.name}: {error.strerror}", hint="Check the folder of the vault.") from None
    finally:
        unfinished.unlink(missing_ok=True)
