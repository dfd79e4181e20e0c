"""The index of a chain: one fixed row per thought, and the terms that it carries, as columns in memory.

Derived from the segments: `names.jsonl` numbers agents and terms, `terms.bin` pairs a term with a thought, `rows.bin`
has 88 bytes per thought, `index.crc` holds a checksum of each. A million thoughts load in 0.2 s. SQLite in its place
opens faster, and filters up to 17 times slower, because an answer counts all matches (docs/benchmarks.md).
"""

from __future__ import annotations

import os
import struct
import threading
import zlib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from lithos.core.clock import micros, parse_time
from lithos.core.lazy import lazy
from lithos.errors import Damaged, InvalidInput
from lithos.ledger.chain.format import Json, ThoughtEntry
from lithos.ledger.chain.log import write_all
from lithos.ledger.words import ROLE_CODES, TYPE_CODES
from lithos.storage import clear_place, open_file, read_file

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Ints = npt.NDArray[np.int64]
    Mask = npt.NDArray[np.bool_]
else:
    np = lazy("numpy")

_ROW = struct.Struct("<QqQQQQQddIIBBB5x")  # the fields of `row_type`
_PAIR = struct.Struct("<II")
ROW_BYTES = _ROW.size
MOST_WAITING = 1024  # rows; each waits as a separate bytes object, at twice its size
_NONE = float("nan")


@cache
def row_type() -> np.dtype[Any]:
    fields = [
        ("offset", "<u8"),
        ("time", "<i8"),  # microseconds since 1970
        ("id", "<u8"),  # the last eight bytes, which are random
        ("hash", "<u8"),
        ("signature", "<u8"),
        ("request", "<u8"),
        ("delivery", "<u8"),
        ("importance", "<f8"),
        ("confidence", "<f8"),
        ("size", "<u4"),
        ("agent", "<u4"),
        ("type", "u1"),
        ("role", "u1"),
        ("flags", "u1"),
        ("zero", "V5"),
    ]
    return np.dtype(fields)


@cache
def pair_type() -> np.dtype[Any]:
    return np.dtype([("term", "<u4"), ("index", "<u4")])


FORGOTTEN, FORGETS, REFERS = 1, 2, 4
FILES = ("names.jsonl", "terms.bin", "rows.bin")
CHECKSUMS = "index.crc"
_CHECKSUM = struct.Struct("<QI")  # size of a file and the CRC-32 of that many bytes


class Grown:
    """An array that grows by doubling; `view` is what is filled."""

    def __init__(self, dtype: np.dtype[Any], start: npt.NDArray[Any] | None = None) -> None:
        self.count = 0 if start is None else len(start)
        # Small at first: 24 columns of 1,024 rows took 92 KB, of thousands of chains with one thought each.
        self._data = np.empty(16, dtype) if start is None else start

    @property
    def view(self) -> npt.NDArray[Any]:
        return self._data[: self.count]

    def extend(self, more: npt.NDArray[Any]) -> None:
        end = self.count + len(more)
        if end > len(self._data):
            grown = np.empty(max(end, 2 * len(self._data)), self._data.dtype)
            grown[: self.count] = self.view
            self._data = grown
        self._data[self.count : end] = more
        self.count = end


class Columns:
    """Rows, terms and names of one chain in memory; `add` returns the bytes that its three files grow by.

    Added rows wait as bytes until a reader asks: putting one row into its columns costs as much as fifty.
    """

    def __init__(self) -> None:
        fields: Mapping[str, Any] = row_type().fields or {}
        self._columns = {name: Grown(field[0]) for name, field in fields.items() if name != "zero"}
        self._terms = Grown(np.dtype("<u4"))
        self._term_index = Grown(np.dtype("<u4"))
        self.names: list[list[str | None]] = []
        self._codes: dict[tuple[str | None, ...], int] = {}
        self._waiting: list[tuple[bytes, bytes]] = []
        self._lock = threading.Lock()
        self.count = 0

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        count = self.count
        self._settle()
        return self._columns[name].view[:count]

    def add(self, entries: Sequence[tuple[ThoughtEntry, int, int]]) -> tuple[bytes, bytes, bytes]:
        """Entries with their offsets and sizes, in order."""
        known = len(self.names)
        rows, pairs = b"", b""
        for entry, offset, size in entries:
            rows += self._row(entry, offset, size)
            for term in self._terms_of(entry):
                pairs += _PAIR.pack(term, entry.index)
        with self._lock:
            self._waiting.append((rows, pairs))
            # Last: a reader sees the new thoughts only once all their columns are there.
            self.count += len(entries)
        if len(self._waiting) > MOST_WAITING:
            self._settle()
        names = b"".join([orjson.dumps(name) + b"\n" for name in self.names[known:]])
        return names, pairs, rows

    def _settle(self) -> None:
        with self._lock:
            if self._waiting:
                rows, pairs = (b"".join(parts) for parts in zip(*self._waiting, strict=True))
                self._waiting = []
                self._take(np.frombuffer(rows, row_type()), np.frombuffer(pairs, pair_type()))

    def take(self, rows: npt.NDArray[Any], pairs: npt.NDArray[Any]) -> None:
        """As they were stored."""
        self._take(rows, pairs)
        self.count += len(rows)

    def _take(self, rows: npt.NDArray[Any], pairs: npt.NDArray[Any]) -> None:
        self._terms.extend(pairs["term"])
        self._term_index.extend(pairs["index"])
        for name, column in self._columns.items():
            column.extend(rows[name])

    def stored_sizes(self) -> tuple[int, int, int]:
        """Of the three files, if they hold all of this."""
        self._settle()
        names = sum(len(orjson.dumps(name)) + 1 for name in self.names)
        return names, self._terms.count * _PAIR.size, self.count * ROW_BYTES

    def forget(self, entry: ThoughtEntry, size: int, end: int) -> None:
        """The entry lost its body and has `size` bytes now; those after it, before `end`, moved."""
        self._settle()
        index = entry.index
        rows = {name: self._columns[name].view for name in ("offset", "size", "flags", "agent")}
        rows["offset"][index + 1 : end] -= rows["size"][index] - np.uint64(size)
        rows["size"][index] = size
        rows["flags"][index] |= FORGOTTEN
        given = entry.record.get
        before = int(rows["agent"][index])
        rows["agent"][index] = self.code("agent", given("agent_id"), given("agent_name"), given("agent_owner"))
        kept = self._term_index.view != index
        gone = {before, *self._terms.view[~kept].tolist()}
        with self._lock:
            self._terms = Grown(self._terms.view.dtype, self._terms.view[kept])
            self._term_index = Grown(self._term_index.view.dtype, self._term_index.view[kept])
        for code in gone:
            if not (rows["agent"] == code).any() and not (self._terms.view == code).any():
                self._blank(code)

    def _blank(self, code: int) -> None:
        """Nothing has this name any more: its number stays, its text goes."""
        del self._codes[tuple(self.names[code])]
        self.names[code] = ["forgotten", str(code)]
        self._codes["forgotten", str(code)] = code

    def stored_rows(self, start: int, end: int) -> bytes:
        """The bytes of `rows.bin` for these thoughts."""
        rows = np.zeros(end - start, row_type())
        for name in self._columns:
            rows[name] = self[name][start:end]
        return rows.tobytes()

    def stored_terms(self) -> bytes:
        self._settle()
        pairs = np.zeros(self._terms.count, pair_type())
        pairs["term"], pairs["index"] = self._terms.view, self._term_index.view
        return pairs.tobytes()

    def stored_names(self) -> bytes:
        return b"".join([orjson.dumps(name) + b"\n" for name in self.names])

    def _row(self, entry: ThoughtEntry, offset: int, size: int) -> bytes:
        given = entry.record.get
        return pack_row(
            entry, offset, size, self.code("agent", given("agent_id"), given("agent_name"), given("agent_owner"))
        )

    def _terms_of(self, entry: ThoughtEntry) -> list[int]:
        body: Json = entry.body or {}
        terms = [("tag", text) for text in body.get("tags", ())] + [
            ("concept", text) for text in body.get("concepts", ())
        ]
        session = entry.record.get("session_id")
        if session:
            terms.append(("session", session))
        return list(dict.fromkeys(self.code(kind, text.casefold()) for kind, text in terms))

    def code(self, *name: str | None) -> int:
        found = self._codes.get(name)
        if found is None:
            found = self._codes[name] = len(self.names)
            self.names.append(list(name))
        return found

    def known_code(self, *name: str | None) -> int | None:
        return self._codes.get(name)

    def agent_codes(self) -> list[tuple[int, str, str | None, str | None]]:
        """Every (agent id, name, owner) that ever wrote, with its number."""
        found = []
        for code, name in enumerate(self.names):
            if name[0] == "agent" and name[1] is not None:
                found.append((code, name[1], name[2], name[3]))
        return found

    def flagged(self, flag: int, start: int = 0) -> list[int]:
        return [start + int(place) for place in np.flatnonzero(self["flags"][start:] & flag)]

    def places_of(self, column: str, digest: str, start: int = 0) -> list[int]:
        """Where a column holds the first eight bytes of this digest; the caller compares the rest."""
        found = np.flatnonzero(self[column][start:] == np.uint64(int(digest[:16], 16)))
        return [start + int(place) for place in found]

    def places_of_any(self, column: str, digests: Sequence[str]) -> list[int]:
        """As `places_of`, for several digests in one pass."""
        wanted = np.array([int(each[:16], 16) for each in digests], np.uint64)
        return [int(place) for place in np.flatnonzero(np.isin(self[column], wanted))]

    def first_since(self, oldest: int) -> int:
        """Walks back in big steps: a clock that was set back may leave old times among the new."""
        times = self["time"]
        start = len(times)
        while start and int(times[max(0, start - 4096) : start].max()) >= oldest:
            start = max(0, start - 4096)
        return start

    def with_terms(self, kind: str, texts: Iterable[str]) -> Mask:
        """Which thoughts carry any of these terms."""
        codes = [code for code in (self.known_code(kind, text.casefold()) for text in texts) if code is not None]
        mask = np.zeros(self.count, np.bool_)
        self._settle()
        with self._lock:
            terms, indexes = self._terms.view, self._term_index.view
        for code in codes:
            found = indexes[terms == code]
            mask[found[: np.searchsorted(found, len(mask))]] = True
        return mask

    @property
    def pairs(self) -> int:
        """How many (term, thought) pairs there are."""
        self._settle()
        return self._terms.count

    def sessions_since(self, names: int, pairs: int) -> tuple[dict[int, str], Ints, Ints]:
        """Codes of sessions among the names from `names` on, and the (term, thought) pairs from `pairs` on."""
        self._settle()
        with self._lock:
            terms, indexes = self._terms.view[pairs:], self._term_index.view[pairs:]
        found = {names + place: str(name[1]) for place, name in enumerate(self.names[names:]) if name[0] == "session"}
        return found, terms, indexes

    def among(self, column: str, codes: Iterable[int]) -> Mask:
        """Which thoughts have one of these small numbers in a column: a look at a table, ten times faster than isin."""
        values = self[column]
        table = np.zeros(max(256, len(self.names)), np.bool_)
        table[list(codes)] = True
        mask: Mask = table[values]
        return mask


def half_of_id(thought_id: str) -> str:
    """The half of an id that the columns keep; empty where it is no id."""
    text = thought_id.lower().replace("-", "")
    return text[16:] if len(text) == 32 and set(text) <= set("0123456789abcdef") else ""


def pack_row(entry: ThoughtEntry, offset: int, size: int, agent: int) -> bytes:
    """`Damaged` if a field cannot be what it should be, although its hash fits."""
    try:
        return _packed(entry, offset, size, agent)
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, struct.error, InvalidInput) as error:
        raise Damaged(f"a field cannot be read: {error}", finding="malformed", index=entry.index) from None


def _packed(entry: ThoughtEntry, offset: int, size: int, agent: int) -> bytes:
    record = entry.record
    given = record.get
    return _ROW.pack(
        offset,
        micros(parse_time(record["timestamp"])),
        int(record["id"][-17:].replace("-", ""), 16),
        int(entry.hash[:16], 16),
        int(given("signature_hash", "0")[:16], 16),
        int(given("request_key", "0")[:16], 16),
        int(given("request_delivery", "0")[:16], 16),
        record["importance"],
        given("confidence", _NONE),
        size,
        agent,
        TYPE_CODES[record["thought_type"]],
        ROLE_CODES[record["role"]],
        _flags(entry),
    )


def _flags(entry: ThoughtEntry) -> int:
    refers = "refs" in entry.record or "relations" in entry.record
    forgets = "forgets" in entry.record
    return (FORGOTTEN if entry.body is None else 0) | (FORGETS if forgets else 0) | (REFERS if refers else 0)


def load(folder: Path, trusted: int) -> Columns | None:
    """The first `trusted` thoughts from the files; None if the files do not hold them whole."""
    try:
        names_size, terms_size, rows_size = _checked_sizes(folder)
        rows = np.fromfile(folder / "rows.bin", row_type(), min(trusted, rows_size // ROW_BYTES))
        pairs = np.fromfile(folder / "terms.bin", pair_type(), terms_size // _PAIR.size)
        names = read_file(folder / "names.jsonl")[:names_size]
        return _joined(rows, pairs, names, trusted)
    except (OSError, orjson.JSONDecodeError, Damaged, TypeError, ValueError, struct.error):
        return None


def _joined(rows: npt.NDArray[Any], pairs: npt.NDArray[Any], names: bytes, trusted: int) -> Columns:
    columns = Columns()
    pairs = pairs[: np.searchsorted(pairs["index"], trusted)]
    needed = 1 + max(int(rows["agent"].max(initial=0)), int(pairs["term"].max(initial=0))) if len(rows) else 0
    for line in names.split(b"\n")[:needed]:
        columns.code(*orjson.loads(line))
    if len(columns.names) != needed or len(rows) < trusted:
        raise Damaged("the index holds fewer names or rows than it uses", finding="index_damaged")
    columns.take(rows, pairs)
    return columns


def _checked_sizes(folder: Path) -> list[int]:
    """How many bytes of each file were written, and are still what was written."""
    sizes = []
    for name, (size, checksum) in zip(FILES, _recorded(folder), strict=True):
        if _checksum(folder / name, size) != checksum:
            raise Damaged(f"{name} is not what was written", finding="index_damaged")
        sizes.append(size)
    return sizes


def _recorded(folder: Path) -> list[tuple[int, int]]:
    """Size and checksum of each file, as `index.crc` has them."""
    return [(size, checksum) for size, checksum in _CHECKSUM.iter_unpack(read_file(folder / CHECKSUMS))]


def _checksum(path: Path, size: int) -> int:
    checksum = 0
    with os.fdopen(open_file(path), "rb") as file:
        while size and (data := file.read(min(size, 1 << 20))):
            checksum, size = zlib.crc32(data, checksum), size - len(data)
    return checksum if not size else -1


class ColumnFiles:
    """The three files and their checksums. Written with each checkpoint, never between: a flush of the segment would
    have to carry their changes too, which makes it half as fast."""

    def __init__(self, folder: Path, columns: Columns) -> None:
        """For what `columns` hold now; nothing is touched before `open`."""
        self._folder = folder
        self._paths = [folder / name for name in FILES]
        self._sizes = list(columns.stored_sizes())
        self._checksums = [0, 0, 0]
        self._waiting = [bytearray() for _ in FILES]

    def open(self) -> None:
        """Drop what the files hold beyond what was loaded; it is rebuilt from the segments."""
        recorded = _recorded(self._folder) if any(self._sizes) else [(-1, 0)] * len(FILES)
        for place, (path, size) in enumerate(zip(self._paths, self._sizes, strict=True)):
            clear_place(path)
            if path.exists() and recorded[place][0] == size == path.stat().st_size:
                self._checksums[place] = recorded[place][1]  # `load` has compared it just now
                continue
            descriptor = open_file(path, os.O_RDWR | os.O_CREAT)
            os.ftruncate(descriptor, size)
            os.close(descriptor)
            self._checksums[place] = _checksum(path, size)

    def append(self, grown: tuple[bytes, bytes, bytes]) -> None:
        for waiting, data in zip(self._waiting, grown, strict=True):
            waiting += data

    def flush(self) -> None:
        for place, waiting in enumerate(self._waiting):
            if waiting:
                self._put(place, waiting, self._sizes[place])
                self._checksums[place] = zlib.crc32(waiting, self._checksums[place])
                self._sizes[place] += len(waiting)
                waiting.clear()
        self._write_checksums()

    def rewrite(self, columns: Columns, start: int, end: int) -> None:
        """After a thought was forgotten: the rows from `start` to `end`, the terms and the names."""
        self.flush()
        self._put(2, columns.stored_rows(start, end), start * ROW_BYTES)
        for place, data in enumerate((columns.stored_names(), columns.stored_terms())):
            os.truncate(self._paths[place], 0)
            self._put(place, data, 0)
            self._sizes[place] = len(data)
        self._checksums = [_checksum(path, size) for path, size in zip(self._paths, self._sizes, strict=True)]
        self._write_checksums()

    def _put(self, place: int, data: bytes | bytearray, offset: int) -> None:
        descriptor = open_file(self._paths[place], os.O_WRONLY)
        try:
            write_all(descriptor, data, offset)
            os.fdatasync(descriptor)
        finally:
            os.close(descriptor)

    def _write_checksums(self) -> None:
        pairs = zip(self._sizes, self._checksums, strict=True)
        clear_place(self._folder / CHECKSUMS)
        descriptor = open_file(self._folder / CHECKSUMS, os.O_WRONLY | os.O_CREAT)
        try:
            os.pwrite(descriptor, b"".join(_CHECKSUM.pack(*pair) for pair in pairs), 0)
        finally:
            os.close(descriptor)
