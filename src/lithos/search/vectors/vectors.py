"""The vectors of a collection: one file of fixed records, a scan over their signs, exact scores for the best of it.

A record is a passage: whose it is, a key made from the words the model read, and the vector in 8 bits, brought back to
length one (its cosine to the vector itself is above 0.9999; what the model's own 8 bits cost is a hundred times that).
Records are only ever appended; one whose checksum is wrong, or whose document is gone, does not count. The scan
compares 1 bit per dimension: 0.15 ms for 25,000 passages, 1 ms for 100,000, and 11 MB of memory for 25,000.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lithos.errors import Damaged
from lithos.search.fusion import Cosines, PassageKey
from lithos.storage import clear_place, read_file

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

MAGIC = b"lithos vectors 1"
HEADER = 128
RERANKED = (400, 1000)  # candidates of the scan that are scored exactly: one passage of 50, within these bounds
NEIGHBOURS = 0.2  # share of the passages beside it in a passage's score: +.012 nDCG on code, neutral elsewhere
EXACT_MOST = 512  # so few are scored exactly without a scan
SAMPLED = 16  # one of so many distances
_FAR = 65_535  # no two vectors differ in so many dimensions
_MARK_WORD = 8  # where a record has its checksum: after key, ordinal, position and scale
AT_ONCE = 512  # vectors as floats: 0.8 MB. More than 2 MB the system gives and takes back each time, ten times the cost
WORN_LEAST = 1000  # dead records that are worth a rewrite


@dataclass(frozen=True, slots=True)
class Wanted:
    """A passage that needs a vector, and the key of the words that the model reads for it."""

    ordinal: int
    position: int
    key: bytes


def key_of(model: str, text: str) -> bytes:
    return hashlib.sha256(f"{model}\n{text}".encode("utf-8", "surrogatepass")).digest()[:16]


class Vectors:
    """Safe for many readers and the threads that embed: a lock guards the arrays, never the arithmetic on them."""

    def __init__(self, path: Path, model: str, dimension: int, epoch: str) -> None:
        self._path = path
        self._words = -(-dimension // 64)
        self._head = _header(model, dimension, epoch)
        self._record = _record_type(dimension)
        self._lock = threading.RLock()
        self._alive: set[int] = set()
        self._several = False  # whether a document may have passages beside each other
        self._row_of: dict[bytes, int] | None = None  # made when something is embedded: 180 bytes a passage
        self._rows_from(self._salvaged())

    # -- what is there ------------------------------------------------------------------------------------------

    def _salvaged(self) -> NDArray[Any]:
        """The sound records of the file; under another epoch they serve as a store of known vectors only."""
        import numpy as np

        data = self._read()
        usable = data[: len(self._head) - 16] == self._head[:-16]
        same_epoch = data[:HEADER] == self._head
        whole = (len(data) - HEADER) // self._record.itemsize * self._record.itemsize if usable else 0
        rows = (
            np.frombuffer(data, self._record, whole // self._record.itemsize, HEADER)
            if whole > 0
            else _none(self._record)
        )
        sound = _sound(rows)
        if not same_epoch:
            sound = sound.copy()
            sound["ordinal"] = -1
            sound["mark"] = _marks(sound)
        if not same_epoch or len(sound) * self._record.itemsize + HEADER != len(data):
            self._rewrite(sound)
        return sound

    def _read(self) -> bytes:
        """The file of this model. One of another model is set aside, for the way back: its vectors cost hours."""
        own = self._aside(self._head)
        try:
            data = read_file(self._path)
            if data[: len(MAGIC)] == MAGIC and data[: HEADER - 16] != self._head[: HEADER - 16] and len(data) > HEADER:
                for older in set(self._path.parent.glob(f"{self._path.stem}-*{self._path.suffix}")) - {own}:
                    older.unlink(missing_ok=True)
                self._path.replace(self._aside(data))
                data = b""
        except (FileNotFoundError, Damaged):
            data = b""
        if not data and own.is_file():
            try:
                data = read_file(own)
            except (FileNotFoundError, Damaged):
                return b""
            own.replace(self._path)
        return data

    def _aside(self, head: bytes) -> Path:
        """Where the vectors of the model with this header are while another one is used."""
        return self._path.with_stem(f"{self._path.stem}-{head[len(MAGIC) : len(MAGIC) + 6].hex()}")

    def _rewrite(self, rows: NDArray[Any]) -> None:
        unfinished = self._path.with_suffix(".part")
        unfinished.parent.mkdir(parents=True, exist_ok=True)  # a person may delete derived folders at any time
        with open(unfinished, "wb") as file:
            file.write(self._head)
            file.write(rows.tobytes())
            file.flush()
            os.fsync(file.fileno())
        clear_place(self._path)
        unfinished.replace(self._path)

    def _rows_from(self, rows: NDArray[Any]) -> None:
        import numpy as np

        count = len(rows)
        self._count = count
        self._ordinals = np.array(rows["ordinal"], np.int64)
        self._living = np.isin(self._ordinals, np.fromiter(self._alive, np.int64, len(self._alive)))
        self._bits = np.zeros((self._words, max(count, 1024)), np.uint64)
        for start in range(0, count, 8192):  # in pieces: the comparison makes a byte of each dimension
            piece = rows["vector"][start : start + 8192]
            self._bits[:, start : start + len(piece)] = _signs(piece, self._words).T
        self._row_of = None
        self._several = bool(rows["position"].any())
        self._held = rows  # in memory and not mapped: a file cut short under a map would end the process

    # -- what changes -------------------------------------------------------------------------------------------

    def keep(self, passages: Mapping[int, int]) -> list[tuple[int, int]]:
        """Let these documents (ordinal: passages) count alone; returns each (ordinal, position) that has no vector."""
        with self._lock:
            self._alive = set(passages)
            rows = self._rows()
            self._living[:] = self._rows_of(self._alive)
            have = self._pairs(rows)
        return [(o, at) for o, count in passages.items() for at in range(count) if (o, at) not in have]

    def revive(self, ordinals: Collection[int]) -> None:
        with self._lock:
            self._alive.update(ordinals)
            self._living |= self._rows_of(ordinals)

    def drop(self, ordinals: Collection[int]) -> None:
        with self._lock:
            self._alive.difference_update(ordinals)
            self._living &= ~self._rows_of(ordinals)

    def _rows_of(self, ordinals: Collection[int]) -> NDArray[np.bool_]:
        """True at each record of these documents."""
        import numpy as np

        table = np.zeros(int(self._ordinals.max(initial=-1)) + 2, np.bool_)  # its last entry is for -1: no document
        wanted = np.fromiter(ordinals, np.int64, len(ordinals))
        table[wanted[wanted < len(table) - 1]] = True
        return table.take(self._ordinals)

    def reuse(self, wanted: Sequence[Wanted]) -> list[Wanted]:
        """Give passages the vectors of equal words, where there are any; returns those that must be embedded."""
        with self._lock:
            if self._row_of is None:
                self._row_of = {known: row for row, known in enumerate(self._rows()["key"].tolist())}
            there = [(each, self._row_of[each.key]) for each in wanted if each.key in self._row_of]
            records = self._held[[row for _, row in there]].copy()
        if there:
            records["ordinal"], records["position"] = zip(
                *((each.ordinal, each.position) for each, _ in there), strict=True
            )
            self._append(records)
        found = {each for each, _ in there}
        return [each for each in wanted if each not in found]

    def add(self, wanted: Wanted, vector: Floats) -> None:
        import numpy as np

        record = np.zeros(1, self._record)
        record["key"], record["ordinal"], record["position"] = wanted.key, wanted.ordinal, wanted.position
        eight = np.rint(vector * (127.0 / max(float(np.abs(vector).max()), 1e-9)))
        record["vector"][0, : len(vector)] = eight
        record["scale"] = 1.0 / max(float(np.linalg.norm(eight)), 1e-9)
        self._append(record)

    def _append(self, records: NDArray[Any]) -> None:
        records["mark"] = _marks(records)
        with self._lock:
            if not self._path.is_file() or self._path.is_symlink():
                self._rewrite(self._rows())
            with open(self._path, "r+b") as file:
                file.seek(HEADER + self._count * self._record.itemsize)  # over a torn record, never after it
                file.write(records.tobytes())
            self._place(records)

    def _place(self, records: NDArray[Any]) -> None:
        import numpy as np

        end = self._count + len(records)
        if end > self._bits.shape[1]:
            grown = np.zeros((self._words, end + end // 4), np.uint64)
            grown[:, : self._count] = self._bits[:, : self._count]
            self._bits = grown
        self._bits[:, self._count : end] = _signs(records["vector"], self._words).T
        self._ordinals = _longer(self._ordinals, records["ordinal"].tolist())
        self._living = _longer(self._living, [ordinal in self._alive for ordinal in records["ordinal"].tolist()])
        if self._row_of is not None:
            self._row_of.update(zip(records["key"].tolist(), range(self._count, end), strict=True))
        self._several = self._several or bool(records["position"].any())
        self._held = _room(self._held, end)
        self._held[self._count : end] = records
        self._count = end

    def verify(self) -> bool:
        """Whether the file is what was written; where it is not, it is written again from memory."""
        with self._lock:
            try:
                as_written = read_file(self._path) == self._head + self._rows().tobytes()
            except (FileNotFoundError, Damaged):
                as_written = False
            if not as_written:
                self._rewrite(self._rows())
            return as_written

    def _rows(self) -> NDArray[Any]:
        return self._held[: self._count]

    def _pairs(self, rows: NDArray[Any]) -> set[tuple[int, int]]:
        return set(zip(rows["ordinal"].tolist(), rows["position"].tolist(), strict=True))

    def compact(self, *, always: bool = False) -> None:
        """Rewrite the file without the records that count no more; `always` also when few are dead (forgetting)."""
        with self._lock:
            if always:
                for other in self._path.parent.glob(f"{self._path.stem}-*{self._path.suffix}"):
                    other.unlink(missing_ok=True)
            kept = self._living | (not always and self._unclaimed())
            if always or self._count - int(kept.sum()) > max(WORN_LEAST, self._count // 2):
                rows = self._rows()[kept]
                self._rewrite(rows)
                self._rows_from(rows)

    def _unclaimed(self) -> NDArray[np.bool_]:
        """Vectors of known words that no document has now, such as those of an index under rebuild: they are kept
        until as many have an owner, since each costs the model 10 ms and more."""
        unowned = self._ordinals < 0
        return unowned if unowned.sum() > self._living.sum() else self._living

    # -- what is near -------------------------------------------------------------------------------------------

    def nearest(
        self,
        vector: Floats,
        count: int,
        mask: NDArray[np.bool_] | None = None,
        also: Collection[int] = (),
        documents: int = 1,
    ) -> tuple[Cosines, Cosines]:
        """Cosine, plain and smoothed by the passages beside it: of the best passages of living documents that `mask`
        (by ordinal) lets through, and of every passage of the documents in `also`, however far down that is. Of at
        least so many `documents`, where there are: a long one may have all of the best passages."""
        import numpy as np

        with self._lock:
            bits, ordinals, allowed, rows = self._bits[:, : self._count], self._ordinals, self._living, self._rows()
        if mask is not None:
            allowed = allowed & _at(mask, ordinals)
        best, cosines = _best(bits, allowed, rows, vector, count)
        found = _places(rows, best, cosines)
        while len(best) == count and len(met := {ordinal for ordinal, _ in found}) < documents:
            allowed = allowed & ~np.isin(ordinals, list(met))
            best, cosines = _best(bits, allowed, rows, vector, count)
            found.update(_places(rows, best, cosines))
        met, wanted = {ordinal for ordinal, _ in found}, set(also)
        with self._lock:
            rows, several = self._rows(), self._several  # documents may have come and gone since
            around = np.flatnonzero(self._living & self._rows_of(met | wanted if several else wanted - met))
        near = _places(rows, around, _cosines(rows, around, vector))
        if not several:
            found.update(near)
            return found, found
        found.update({place: cosine for place, cosine in near.items() if place[0] in wanted})
        return found, _smoothed(near, found)

    def own(self, ordinal: int, dimension: int) -> list[Floats]:
        """The vectors of one document's passages."""
        import numpy as np

        with self._lock:
            rows = self._held[np.flatnonzero(self._living & self._rows_of([ordinal]))]
        vectors = rows["vector"][:, :dimension].astype(np.float32) * rows["scale"][:, None]
        return list(vectors)

    def __len__(self) -> int:
        return self._count

    def size(self) -> int:
        return self._path.stat().st_size if self._path.exists() else 0


def _longer(values: NDArray[Any], more: Sequence[Any]) -> NDArray[Any]:
    """A view of the same room while there is some, so that appending one to 200,000 does not copy 200,000."""
    end = len(values) + len(more)
    room = values if values.base is None else values.base
    room = _room(room, end)
    room[len(values) : end] = more
    return room[:end]


def _room(rows: NDArray[Any], size: int) -> NDArray[Any]:
    import numpy as np

    if size <= len(rows):
        return rows
    grown = np.zeros(max(256, size + size // 4), rows.dtype)
    grown[: len(rows)] = rows
    return grown


def _header(model: str, dimension: int, epoch: str) -> bytes:
    fixed = MAGIC + hashlib.sha256(f"{model}\n{dimension}".encode()).digest()
    return fixed.ljust(HEADER - 16, b"\0") + epoch.encode().ljust(16, b"\0")[:16]


def _record_type(dimension: int) -> np.dtype[Any]:
    import numpy as np

    return np.dtype(
        [
            ("key", "V16"),
            ("ordinal", "<i8"),
            ("position", "<u4"),
            ("scale", "<f4"),
            ("mark", "<u4"),
            ("vector", "i1", (-(-dimension // 4) * 4,)),  # whole words, for the checksum
        ]
    )


def _none(record: np.dtype[Any]) -> NDArray[Any]:
    import numpy as np

    return np.zeros(0, record)


def _marks(rows: NDArray[Any]) -> NDArray[np.uint32]:
    """A checksum of each record, for all at once: any change of one 32-bit word changes it, as every factor is odd."""
    import numpy as np

    words = np.ascontiguousarray(rows).view(np.uint32).reshape(len(rows), rows.itemsize // 4)
    factors = np.arange(words.shape[1], dtype=np.uint32) * np.uint32(2654435762) + np.uint32(0x9E3779B1)
    factors[_MARK_WORD] = 0
    marks: NDArray[np.uint32] = (words * factors).sum(axis=1, dtype=np.uint32)
    return marks


def _sound(rows: NDArray[Any]) -> NDArray[Any]:
    import numpy as np

    good = np.ones(len(rows), np.bool_)
    for start in range(0, len(rows), 8192):
        piece = rows[start : start + 8192]
        good[start : start + 8192] = _marks(piece) == piece["mark"]
    return rows if good.all() else rows[good]


def _at(mask: NDArray[np.bool_], ordinals: NDArray[np.int64]) -> NDArray[np.bool_]:
    """The mask's word on each record; False for newer documents and for records without one."""
    import numpy as np

    missing = int(ordinals.max(initial=-1)) + 1 - len(mask)
    wide = np.append(mask, np.zeros(max(missing, 0) + 1, np.bool_))  # the last place is for ordinal -1
    return wide.take(ordinals)


def _cosines(rows: NDArray[Any], chosen: NDArray[np.int64], vector: Floats) -> Floats:
    import numpy as np

    cosines = np.empty(len(chosen), np.float32)
    for start in range(0, len(chosen), AT_ONCE):
        taken = rows.take(chosen[start : start + AT_ONCE])
        part = taken["vector"][:, : len(vector)].astype(np.float32) @ vector
        cosines[start : start + AT_ONCE] = part * taken["scale"]
    return cosines


def _best(
    bits: NDArray[np.uint64], allowed: NDArray[np.bool_], rows: NDArray[Any], vector: Floats, count: int
) -> tuple[NDArray[np.int64], Floats]:
    """Which rows, and their cosines."""
    import numpy as np

    passages = int(np.count_nonzero(allowed))
    if passages > EXACT_MOST:
        chosen = _closest(bits, allowed, vector, max(RERANKED[0], min(passages // 50, RERANKED[1]), 4 * count))
    else:
        chosen = np.flatnonzero(allowed)
    cosines = _cosines(rows, chosen, vector)
    if len(chosen) <= count:
        return chosen, cosines
    best = np.argpartition(cosines, -count)[-count:]
    return chosen[best], cosines[best]


def _smoothed(near: Mapping[PassageKey, float], wanted: Mapping[PassageKey, float]) -> Cosines:
    """A passage between others that answer too is more likely the answer."""
    smoothed = Cosines()
    for place, own in wanted.items():
        ordinal, position = place
        before, after = near.get((ordinal, position - 1)), near.get((ordinal, position + 1))
        if before is None and after is None:
            smoothed[place] = own
        else:
            beside = after if before is None else before if after is None else (before + after) / 2
            smoothed[place] = (1 - NEIGHBOURS) * own + NEIGHBOURS * beside  # type: ignore[operator]
    return smoothed


def _places(rows: NDArray[Any], chosen: NDArray[np.int64], cosines: Floats) -> Cosines:
    places = zip(rows["ordinal"][chosen].tolist(), rows["position"][chosen].tolist(), strict=True)
    return Cosines(zip(places, cosines.clip(0.0, 1.0).tolist(), strict=True))


def _signs(vectors: NDArray[np.int8], words: int) -> NDArray[np.uint64]:
    import numpy as np

    packed = np.packbits(vectors > 0, axis=1)
    whole = np.zeros((len(packed), words * 8), np.uint8)
    whole[:, : packed.shape[1]] = packed
    return whole.view(np.uint64)


def _closest(bits: NDArray[np.uint64], allowed: NDArray[np.bool_], vector: Floats, count: int) -> NDArray[np.int64]:
    """At least `count` of the allowed columns, those whose signs differ least from the vector's."""
    import numpy as np

    wanted = _signs(np.sign(vector).astype(np.int8)[None, :], len(bits))[0]
    distance = np.zeros(bits.shape[1], np.uint16)
    for word in range(len(bits)):
        distance += np.bitwise_count(bits[word] ^ wanted[word])
    np.putmask(distance, ~allowed, _FAR)
    # Where the best end is guessed from a sample: a histogram of all costs a quarter of the scan.
    limit = int(np.searchsorted(np.cumsum(np.bincount(distance[::SAMPLED])), count // SAMPLED))
    while np.count_nonzero(distance <= limit) < count and limit < _FAR - 1:
        limit += 1
    return np.flatnonzero(distance <= min(limit, _FAR - 1))
