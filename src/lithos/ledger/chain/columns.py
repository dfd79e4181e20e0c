"""What the ledger knows of a chain without reading it: one fixed row per thought, and which terms it carries.

Derived from the segments, byte for byte reproducible: `names.jsonl` numbers agents and terms in order of appearance,
`terms.bin` pairs a term with a thought, `rows.bin` has 88 bytes per thought. A million thoughts load in 0.2 s.
"""

from __future__ import annotations

import os
import struct
import threading
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from lithos.core.clock import micros, parse_time
from lithos.core.lazy import lazy
from lithos.errors import Damaged
from lithos.ledger.chain.format import Entry, Json
from lithos.ledger.chain.log import append_whole
from lithos.ledger.words import ROLE_CODES, TYPE_CODES

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
MOST_WAITING = 1024  # rows; each waits as bytes of its own, at twice their size
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


class Grown:
    """An array that grows by doubling; `view` is what is filled."""

    def __init__(self, dtype: np.dtype[Any], start: npt.NDArray[Any] | None = None) -> None:
        self.count = 0 if start is None else len(start)
        self._data = np.empty(max(1024, self.count), dtype) if start is None else start

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

    What was added waits as bytes until somebody asks: putting one row into its columns costs as much as fifty.
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

    def add(self, entries: Sequence[tuple[Entry, int, int]]) -> tuple[bytes, bytes, bytes]:
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

    def without_content(self, index: int, size: int, end: int) -> Columns:
        """As read anew after a thought lost its body: its entry has `size` bytes now, and those before `end` moved."""
        rows, pairs = self._as_stored()
        rows["offset"][index + 1 : end] -= rows["size"][index] - np.uint64(size)
        rows["size"][index] = size
        rows["flags"][index] |= FORGOTTEN
        gone = [code for code, name in enumerate(self.names) if name[0] in ("tag", "concept")]
        pairs = pairs[(pairs["index"] != index) | ~np.isin(pairs["term"], np.array(gone, np.uint32))]
        fresh = Columns()
        order = _in_order_of_appearance(rows["agent"], pairs)
        for code in order:
            fresh.code(*self.names[code])
        numbers = np.zeros(len(self.names), np.uint32)
        numbers[order] = np.arange(len(order))
        rows["agent"], pairs["term"] = numbers[rows["agent"]], numbers[pairs["term"]]
        fresh.take(rows, pairs)
        return fresh

    def _as_stored(self) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        rows = np.zeros(self.count, row_type())
        for name in self._columns:
            rows[name] = self[name]
        pairs = np.zeros(self._terms.count, pair_type())
        pairs["term"], pairs["index"] = self._terms.view, self._term_index.view
        return rows, pairs

    def stored_bytes(self) -> tuple[bytes, bytes, bytes]:
        """What the three files hold."""
        rows, pairs = self._as_stored()
        return b"".join([orjson.dumps(name) + b"\n" for name in self.names]), pairs.tobytes(), rows.tobytes()

    def _row(self, entry: Entry, offset: int, size: int) -> bytes:
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
            self.code("agent", record["agent_id"], given("agent_name"), given("agent_owner")),
            TYPE_CODES[record["thought_type"]],
            ROLE_CODES[record["role"]],
            _flags(entry),
        )

    def _terms_of(self, entry: Entry) -> list[int]:
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
            if name[0] == "agent":
                found.append((code, str(name[1]), name[2], name[3]))
        return found

    def flagged(self, flag: int, start: int = 0) -> list[int]:
        return [start + int(place) for place in np.flatnonzero(self["flags"][start:] & flag)]

    def places_of(self, column: str, digest: str, start: int = 0) -> list[int]:
        """Where a column holds the first eight bytes of this digest; whoever asks checks the rest."""
        found = np.flatnonzero(self[column][start:] == np.uint64(int(digest[:16], 16)))
        return [start + int(place) for place in found]

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
        count = min(self._terms.count, self._term_index.count)
        terms, indexes = self._terms.view[:count], self._term_index.view[:count]
        for code in codes:
            found = indexes[terms == code]
            mask[found[: np.searchsorted(found, len(mask))]] = True
        return mask

    def among(self, column: str, codes: Iterable[int]) -> Mask:
        """Which thoughts have one of these small numbers in a column: a look at a table, ten times faster than isin."""
        values = self[column]
        table = np.zeros(max(256, len(self.names)), np.bool_)
        table[list(codes)] = True
        mask: Mask = table[values]
        return mask


def _in_order_of_appearance(agents: Ints, pairs: npt.NDArray[Any]) -> list[int]:
    """Numbers of names as a reader of the chain meets them: of each thought first the agent, then its terms."""
    codes, places = np.unique(agents, return_index=True)
    met = [(int(place), -1, int(code)) for code, place in zip(codes, places, strict=True)]
    codes, places = np.unique(pairs["term"], return_index=True)
    thoughts = pairs["index"][places]
    met += [(int(index), int(at), int(code)) for code, at, index in zip(codes, places, thoughts, strict=True)]
    return [code for _, _, code in sorted(met)]


def _flags(entry: Entry) -> int:
    refers = "refs" in entry.record or "relations" in entry.record
    forgets = "forgets" in entry.record
    return (FORGOTTEN if entry.body is None else 0) | (FORGETS if forgets else 0) | (REFERS if refers else 0)


def load(folder: Path, trusted: int) -> Columns | None:
    """The first `trusted` thoughts from the files; None if the files do not hold them whole."""
    columns = Columns()
    try:
        rows = np.fromfile(folder / "rows.bin", row_type(), trusted)
        pairs = np.fromfile(folder / "terms.bin", pair_type())
        names = (folder / "names.jsonl").read_bytes()
    except FileNotFoundError:
        return columns if trusted == 0 else None
    if len(rows) < trusted:
        return None
    pairs = pairs[: np.searchsorted(pairs["index"], trusted)]
    try:
        return _joined(columns, rows, pairs, names)
    except (orjson.JSONDecodeError, Damaged, TypeError, ValueError):
        return None


def _joined(columns: Columns, rows: npt.NDArray[Any], pairs: npt.NDArray[Any], names: bytes) -> Columns:
    needed = 1 + max(int(rows["agent"].max(initial=0)), int(pairs["term"].max(initial=0))) if len(rows) else 0
    lines = names.split(b"\n")[:needed]
    for line in lines:
        columns.code(*orjson.loads(line))
    if len(columns.names) != needed:
        raise Damaged("names.jsonl has fewer names than rows.bin uses", finding="index_damaged")
    columns.take(rows, pairs)
    return columns


class ColumnFiles:
    """The three files. Written and flushed with each checkpoint, never between: a flush of the segment would have to
    carry their changes too, which makes it half as fast."""

    def __init__(self, folder: Path, columns: Columns) -> None:
        """For what `columns` hold now; nothing is touched before `open`."""
        self._paths = [folder / name for name in FILES]
        self._start = columns.stored_sizes()
        self._files: list[int] = []
        self._waiting = [bytearray() for _ in FILES]

    def open(self) -> None:
        self._files = [_open_at(path, size) for path, size in zip(self._paths, self._start, strict=True)]

    def append(self, grown: tuple[bytes, bytes, bytes]) -> None:
        for waiting, data in zip(self._waiting, grown, strict=True):
            waiting += data

    def replace(self, columns: Columns) -> None:
        """Everything anew; not the old bytes, not for a moment longer than needed."""
        for descriptor, waiting, data in zip(self._files, self._waiting, columns.stored_bytes(), strict=True):
            waiting.clear()
            os.ftruncate(descriptor, 0)
            append_whole(descriptor, data)

    def flush(self) -> None:
        for descriptor, waiting in zip(self._files, self._waiting, strict=True):
            if waiting:
                append_whole(descriptor, waiting)
                waiting.clear()

    def close(self) -> None:
        for descriptor in self._files:
            os.close(descriptor)


def _open_at(path: Path, size: int) -> int:
    """Whatever lies beyond what was loaded is made again from the segments."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    os.ftruncate(descriptor, size)
    return descriptor
