"""A text index in parts of consecutive ordinals, each a separate tantivy index, and all of them searched as one.

Tantivy removes the terms of a deleted document only when it merges, and merges without a bound. In parts, erasing a
document rewrites one of them. Parts grow with the collection: 16 of 2,048 ordinals, then 16 of 8,192, and so on:
100,000 thoughts have 25. A search of each would cost four times what one search of their segments together does.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lithos.errors import Damaged
from lithos.search.text.text_index import TextIndex, engine, opened_at

if TYPE_CHECKING:
    import tantivy

SMALLEST = 2048
OF_A_SIZE = 16
GROWTH = 4
LARGEST_REWRITTEN = SMALLEST * GROWTH
UNFINISHED = ".new"
REPLACED = f".old{UNFINISHED}"
REWRITTEN = "rewritten"  # a file in a part that is in as few segments as it can be
JOINED = "joined"
CONTENTS = "meta.json"


def part_of(ordinal: int) -> range:
    """The ordinals that share a part with this one."""
    start, size = 0, SMALLEST
    while ordinal >= start + OF_A_SIZE * size:
        start, size = start + OF_A_SIZE * size, size * GROWTH
    first = start + (ordinal - start) // size * size
    return range(first, first + size)


class PartedTextIndex(TextIndex):
    def __init__(self, folder: Path, numbers: Sequence[str], *, of_passages: bool = False) -> None:
        self._describe(folder, numbers, of_passages=of_passages)
        if (folder / CONTENTS).exists():
            raise Damaged("the full-text index is not in parts yet")
        for leftover in folder.glob(f"*{UNFINISHED}"):
            shutil.rmtree(leftover)
        self._parts = {int(each.name): self._open(int(each.name)) for each in folder.iterdir() if each.name.isdigit()}
        self._joined = _Joined(folder / JOINED, self.schema)
        self._join()

    def _open(self, first: int, suffix: str = "") -> TextIndex:
        return TextIndex(self._folder / f"{first}{suffix}", sorted(self.numbers), of_passages=self._of_passages)

    def _join(self) -> None:
        self.searcher = self._joined.searcher_of(self._parts.values())

    def write(self, removed: Iterable[int], added: Iterable[tantivy.Document]) -> None:
        going: dict[int, list[int]] = defaultdict(list)
        coming: dict[int, list[tantivy.Document]] = defaultdict(list)
        for ordinal in removed:
            if part_of(ordinal).start in self._parts:
                going[part_of(ordinal).start].append(ordinal)
        for document in added:
            coming[part_of(int(document.get_first("ordinal") or 0)).start].append(document)
        for first in sorted({*going, *coming}):
            if first not in self._parts:
                self._parts = {**self._parts, first: self._open(first)}
            self._parts[first].write(going[first], coming[first])
        self._join()

    def rewrite(self, first: int, documents: Iterable[tantivy.Document]) -> None:
        """Replace a part by one with these documents alone, in one commit; the old one answers until then."""
        fresh = self._open(first, UNFINISHED)
        fresh.write((), documents)
        place, made = self._folder / str(first), self._folder / f"{first}{UNFINISHED}"
        (made / REWRITTEN).touch()
        if place.exists():
            place.rename(self._folder / f"{first}{REPLACED}")
        made.rename(place)
        shutil.rmtree(self._folder / f"{first}{REPLACED}", ignore_errors=True)
        self._parts = {**self._parts, first: self._open(first)}
        self._join()

    def in_pieces(self, end: int) -> int | None:
        """The first ordinal of a part that is full, with `end` the next ordinal, and came in several commits. Each
        leaves a segment, and a search visits all. Large ones are left: a rewrite takes a second for 8,192 documents."""
        for first, part in self._parts.items():
            size = len(part_of(first))
            full = first + size <= end and size <= LARGEST_REWRITTEN
            if full and len(part.segments()) > 1 and not (self._folder / str(first) / REWRITTEN).exists():
                return first
        return None

    def deleted(self) -> int:
        return sum(part.deleted() for part in self._parts.values())

    def exists(self) -> bool:
        return self._folder.exists() and all(part.exists() for part in list(self._parts.values()))

    def is_untouched(self) -> bool:
        return all(part.is_untouched() for part in list(self._parts.values()))

    def verify(self) -> None:
        for part in self._parts.values():
            part.verify()


class _Joined:
    """The segments of all parts as one tantivy index that is only read: links to their files, and a table of contents.
    The parts are the truth: it is made at each start, in a folder for temporary files if this one cannot be written."""

    def __init__(self, folder: Path, schema: tantivy.Schema) -> None:
        self._beside: tempfile.TemporaryDirectory[str] | None = None
        try:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
        except OSError:
            if os.access(folder.parent, os.W_OK):
                raise
            self._beside = tempfile.TemporaryDirectory(prefix="lithos-")
            folder = Path(self._beside.name)
        self._folder = folder
        self._index = opened_at(folder, schema)
        self._empty = json.loads((folder / CONTENTS).read_bytes())
        self._links: set[str] = set()

    def searcher_of(self, parts: Iterable[TextIndex]) -> tantivy.Searcher:
        parts = list(parts)
        files = {file.name: file for part in parts for file in part.files()}
        with engine("joining the parts of the full-text index"):
            if not (self._folder / CONTENTS).exists():  # deleted under us
                self._folder.mkdir(parents=True, exist_ok=True)
                self._links = {each.name for each in self._folder.iterdir()}
            for name in files.keys() - self._links:
                (self._folder / name).symlink_to(self._way_to(files[name]))
            segments = [segment for part in parts for segment in part.segments()]
            unfinished = self._folder / f"{CONTENTS}.part"
            unfinished.write_text(json.dumps({**self._empty, "segments": segments}), encoding="utf-8")
            unfinished.replace(self._folder / CONTENTS)
            self._index.reload()
            for name in self._links - files.keys():
                (self._folder / name).unlink(missing_ok=True)
        self._links = set(files)
        return self._index.searcher()

    def _way_to(self, file: Path) -> Path:
        """Relative beside the parts, so that a copy of the memory leads to its own files."""
        return file.absolute() if self._beside else Path("..", *file.parts[-2:])
