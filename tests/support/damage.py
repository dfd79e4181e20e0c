"""A small memory, and damage to its derived files."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lithos.app import Lithos, open_lithos
from lithos.settings import LithosConfig, StorageSettings
from lithos.tools.catalogue import catalogue

NOTES = 12


@contextmanager
def opened(data_dir: Path) -> Iterator[Lithos]:
    memory = open_lithos(LithosConfig(storage=StorageSettings(data_dir=data_dir)))
    try:
        memory.notes.reindex()
        yield memory
    finally:
        memory.close()


def call(memory: Lithos, tool: str, /, **arguments: Any) -> dict[str, Any]:
    return catalogue().call(memory, tool, arguments)


def fill(data_dir: Path, notes: int = NOTES) -> dict[str, str]:
    """Notes that are indexed; word → id."""
    with opened(data_dir) as memory:
        made = {
            f"word{number}": call(memory, "lithos_write", title=f"note {number}", content=f"word{number}", agent="a")
            for number in range(notes)
        }
        assert memory.note_search.collection.settle(60)
    return {word: note["id"] for word, note in made.items()}


def text_indexes(data_dir: Path) -> list[Path]:
    return sorted(path.parent for path in (data_dir / ".tantivy" / "notes").rglob("meta.json"))


def _catalogues(data_dir: Path) -> list[Path]:
    return [path for folder in (".graph", ".catalogue") for path in (data_dir / folder).glob("catalogue-*.db")]


def _scribble(path: Path, first_page: int) -> None:
    data = bytearray(path.read_bytes())
    for page in range(first_page, len(data) // 4096):
        data[page * 4096 + 8 : page * 4096 + 600] = os.urandom(592)
    path.write_bytes(data)


def half_malformed(data_dir: Path) -> None:
    """The pages that hold the notes, not those that hold the schema: it opens, and fails at the first question."""
    for path in _catalogues(data_dir):
        data = bytearray(path.read_bytes())
        place = data.find(b"note 5")
        assert place > 0
        while place > 0:
            data[place // 4096 * 4096] = 0x77
            place = data.find(b"note 5", place // 4096 * 4096 + 4096)
        path.write_bytes(data)


def cut_in_half(data_dir: Path) -> None:
    for path in _catalogues(data_dir):
        os.truncate(path, path.stat().st_size // 8192 * 4096)


def zeroed(data_dir: Path) -> None:
    for path in _catalogues(data_dir):
        size = path.stat().st_size
        with path.open("r+b") as file:
            file.seek(4096)
            file.write(bytes(size - 4096))


def a_folder_instead(data_dir: Path) -> None:
    for path in _catalogues(data_dir):
        path.unlink()
        path.mkdir()


def a_search_catalogue_scribbled_over(data_dir: Path) -> None:
    _scribble(data_dir / ".tantivy" / "notes" / "catalogue.db", 2)


def a_segment_gone(data_dir: Path) -> None:
    for folder in text_indexes(data_dir):
        for path in folder.glob("*.idx"):
            path.unlink()


def vectors_cut(data_dir: Path) -> None:
    path = data_dir / ".vectors" / "notes" / "rows.bin"
    os.truncate(path, path.stat().st_size // 2)


def everything_of_search_a_file(data_dir: Path) -> None:
    shutil.rmtree(data_dir / ".tantivy")
    (data_dir / ".tantivy").write_text("not a folder")
