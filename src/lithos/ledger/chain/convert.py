"""Convert a chain to the other adapter: the same canonical bytes in other frames, so no hash or proof changes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from lithos.errors import Damaged, InvalidInput
from lithos.ledger.chain.columns import CHECKSUMS, FILES
from lithos.ledger.chain.segments import ADAPTERS, SEGMENT_BYTES, Adapter, Rest, Segment, list_segments, read_blocks
from lithos.storage import flush_path, read_file

UNFINISHED = ".converting"
DECIDED = "converting.txt"  # from here on the new files are the chain; holds the new adapter's name


def convert(folder: Path, to: str) -> int:
    """Rewrite all segments of a chain whose files are closed; returns how many entries."""
    finish_conversion(folder)
    old = list_segments(folder)
    adapter = ADAPTERS[to]
    if all(segment.adapter is adapter for segment in old):
        raise InvalidInput(f"the chain is stored as {to} already")
    count = _write(folder, old, adapter)
    _durably(folder / DECIDED, to.encode())
    flush_path(folder)
    finish_conversion(folder)
    return count


def finish_conversion(folder: Path) -> bool:
    """At opening: carry out what was decided, or drop what was not. True: the segments changed."""
    fresh = sorted(folder.glob(f"*{UNFINISHED}"))
    if not (folder / DECIDED).exists():
        for path in fresh:
            path.unlink()
        return False
    adapter = ADAPTERS[read_file(folder / DECIDED).decode("ascii")]
    for segment in list_segments(folder):
        if segment.adapter is not adapter:
            segment.path.unlink()
    for path in fresh:
        path.rename(path.with_suffix(adapter.suffix))
    for name in (*FILES, CHECKSUMS):
        (folder / name).unlink(missing_ok=True)
    flush_path(folder)
    (folder / DECIDED).unlink()
    flush_path(folder)
    return True


def _write(folder: Path, old: list[Segment], adapter: Adapter) -> int:
    index = 0
    for first, entries in _parts(old, adapter):
        _durably(folder / f"{first:012d}{UNFINISHED}", adapter.magic + b"".join(entries))
        index = first + len(entries)
    if not index:
        _durably(folder / f"{0:012d}{UNFINISHED}", adapter.magic)
    return index


def _parts(old: list[Segment], adapter: Adapter) -> Iterator[tuple[int, list[bytes]]]:
    """First index and encoded entries of each new segment."""
    first, size, entries = 0, 0, list[bytes]()
    for segment in old:
        for block in read_blocks(segment):
            if isinstance(block, Rest):
                raise Damaged(
                    f"{segment.path.name} is damaged at byte {block.offset}", hint="Run `lithos ledger verify` first."
                )
            for data in block.entries:
                entries.append(adapter.encode(segment.adapter.decode(data)))
                size += len(entries[-1])
                if size >= SEGMENT_BYTES:
                    yield first, entries
                    first, size, entries = first + len(entries), 0, []
    if entries:
        yield first, entries


def _durably(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    path.chmod(0o600)
