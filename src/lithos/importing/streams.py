"""Read large files piece by piece: lines of JSON, and arrays of JSON one element at a time."""

from __future__ import annotations

import codecs
import json
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from lithos.errors import InvalidInput
from lithos.importing.items import Extent, Skipped

CHUNK = 1 << 20
LARGEST = 64 << 20  # of one element
_DECODER = json.JSONDecoder()


@contextmanager
def opened(path: Path, inner: str = "", extent: Extent | None = None) -> Iterator[IO[bytes]]:
    """The file, or the member of an archive; archives are read, never unpacked."""
    extent = extent or Extent()
    if path.is_dir():
        path = path / inner
    if inner and zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            name = next((each for each in archive.namelist() if each.endswith(inner)), None)
            if name is None:
                raise InvalidInput(f"{path} contains no {inner}", hint="Is it the whole export?")
            extent.total = archive.getinfo(name).file_size
            with archive.open(name) as file:
                yield file
        return
    with open(path, "rb") as file:
        extent.total = path.stat().st_size
        yield file


def json_lines(path: Path, extent: Extent) -> Iterator[dict[str, Any] | Skipped]:
    with open(path, "rb") as file:
        number = 0
        while line := file.readline(LARGEST):
            number += 1
            extent.done += len(line)
            if len(line) == LARGEST and not line.endswith(b"\n"):
                while not line.endswith(b"\n") and (line := file.readline(LARGEST)):
                    extent.done += len(line)
                yield Skipped(f"line {number}", f"it is larger than {LARGEST >> 20} MB")
                continue
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except (ValueError, RecursionError):
                yield Skipped(f"line {number}", "it is not JSON")
                continue
            yield row if isinstance(row, dict) else Skipped(f"line {number}", "it is no JSON object")


def json_array(file: IO[bytes], name: str, extent: Extent) -> Iterator[Any]:
    """The elements of one array. Memory holds one element and one chunk."""
    text, place, ended = "", 0, False
    decode = codecs.getincrementaldecoder("utf-8")("replace").decode
    while True:
        while place < len(text) and text[place] in " \t\r\n,[\ufeff":
            place += 1
        if place < len(text) and text[place] == "]":
            return
        try:
            value, place = _DECODER.raw_decode(text, place)
            if place == len(text) and not ended:  # a number may go on in the next chunk
                raise ValueError
            yield value
            continue
        except (ValueError, RecursionError):
            text, place = text[place:], 0
        chunk = file.read(CHUNK)
        extent.done += len(chunk)
        ended = not chunk
        if ended and text.strip():
            raise InvalidInput(
                f"{name} is cut off or no JSON", hint="What came before it was imported; export it again."
            )
        if ended or len(text) > LARGEST:
            if not ended:
                raise InvalidInput(f"{name} has an entry above {LARGEST >> 20} MB, or is no JSON", hint="Split it.")
            return
        text += decode(chunk)
