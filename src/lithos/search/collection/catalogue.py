"""Contents of a collection: documents, their passages, and which change was under way. The engines follow from it.

An *ordinal* numbers one version of a document and is never used again, so that what an engine still knows of a
version that is gone can never come back. A batch is two transactions around the engine's own commit: *coming* and
*going* versions first, then *live* ones only. What a kill leaves coming or going is swept from the engine at the next
start, and the owner, who compares `known`, applies it again.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from lithos.errors import Damaged
from lithos.search.values import Document, Passage, SequencePlace
from lithos.storage import Migration, Row, Tx, open_database, truncate_log

_TABLES = Migration(
    1,
    "catalogue",
    """
CREATE TABLE meta (name {text} PRIMARY KEY, value {text} NOT NULL) {strict};
CREATE TABLE documents (
    ordinal {integer} PRIMARY KEY,
    id {text} NOT NULL,
    hash {text} NOT NULL,
    state {integer} NOT NULL,
    passages {integer} NOT NULL,
    facts {bytes} NOT NULL,
    mark {integer} NOT NULL
) {strict};
CREATE INDEX documents_in_motion ON documents (state) WHERE state <> 0;
CREATE TABLE texts (ordinal {integer} PRIMARY KEY, passages {bytes} NOT NULL, mark {integer} NOT NULL) {strict};
""",
)
_ENTRIES = """
SELECT d.*, t.passages AS texts, t.mark AS text_mark FROM documents d JOIN texts t USING (ordinal) WHERE ordinal IN
"""
_REMEMBER = "INSERT INTO meta VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
_MOVING = "AND state <> 0"  # said again, so that SQLite uses the index and does not read every document
_PAGE = 500  # rows read at a time: bounds memory, and stays below SQLite's limit of bound parameters


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """One version of a document as the engines need it."""

    ordinal: int
    document: Document  # without its text: the passages have it
    passages: tuple[Passage, ...]


class FilterFields(NamedTuple):
    """The fields that filters of search compare, of one document."""

    path: str
    author: str
    tags: Sequence[str]
    keywords: Mapping[str, Sequence[str]]
    numbers: Mapping[str, float]

    @classmethod
    def of(cls, document: Document) -> FilterFields:
        return cls(document.path, document.author, document.tags, document.keywords, document.numbers)


class KnownDocument(NamedTuple):  # made in half the time of a dataclass: a start makes one of every document
    ordinal: int
    id: str
    hash: str
    passages: int
    sequence: SequencePlace | None = None

    @classmethod
    def of(cls, entry: IndexEntry) -> KnownDocument:
        document = entry.document
        return cls(entry.ordinal, document.id, document.hash, len(entry.passages), document.sequence)


class Catalogue:
    def __init__(self, path: Path, layout: str) -> None:
        """`layout` names the form of everything derived from here; a catalogue of another layout starts empty."""
        self._path = path
        self._layout = layout
        self._database = open_database(path, [_TABLES], reserve_bytes=0)
        self.epoch = self._prepared(layout)

    def _prepared(self, layout: str) -> str:
        meta = self._database.read(lambda tx: {row["name"]: row["value"] for row in tx.all("SELECT * FROM meta")})
        if meta.get("layout") == layout:
            return str(meta["epoch"])
        # A separate generation: the full-text index of the other layout is discarded, not taken for a damaged one.
        return self._database.write(lambda tx: _emptied(tx, layout, int(meta.get("generation", 0)) + 1))

    def known(self) -> Iterator[KnownDocument]:
        """Every live version. Reading them all checks them all."""
        for row in self._live():
            _check(row)
            yield KnownDocument(row["ordinal"], row["id"], row["hash"], row["passages"], _sequence(row["facts"]))

    def filter_fields(self) -> Iterator[tuple[int, FilterFields]]:
        for row in self._live():
            _check(row)
            facts = orjson.loads(row["facts"])
            yield (
                row["ordinal"],
                FilterFields(facts["path"], facts["author"], facts["tags"], facts["keywords"], facts["numbers"]),
            )

    def _live(self) -> Iterator[Row]:
        after = -1
        sql = "SELECT * FROM documents WHERE state = 0 AND ordinal > ? ORDER BY ordinal LIMIT ?"
        while rows := self._database.read(lambda tx: tx.all(sql, after, _PAGE)):  # noqa: B023 read at once
            yield from rows
            after = rows[-1]["ordinal"]

    def next_ordinal(self) -> int:
        row = self._database.read(lambda tx: tx.one("SELECT value FROM meta WHERE name = 'next'"))
        return int(row["value"]) if row else 0

    def unfinished(self) -> list[int]:
        rows = self._database.read(lambda tx: tx.all("SELECT ordinal FROM documents WHERE state <> 0"))
        return [row["ordinal"] for row in rows]

    def begin(self, coming: Sequence[IndexEntry], going: Sequence[int]) -> None:
        def work(tx: Tx) -> None:
            tx.many("UPDATE documents SET state = 2 WHERE ordinal = ?", [(ordinal,) for ordinal in going])
            tx.many("INSERT INTO documents VALUES (?, ?, ?, 1, ?, ?, ?)", [_row(entry) for entry in coming])
            tx.many("INSERT INTO texts VALUES (?, ?, ?)", [_text_row(entry) for entry in coming])
            if coming:
                tx.run("UPDATE meta SET value = ? WHERE name = 'next'", str(coming[-1].ordinal + 1))

        self._database.write(work)

    def finish(self) -> None:
        """Coming versions are live, going ones are gone."""
        self._database.write(
            lambda tx: (
                _gone(tx, f"state = 2 {_MOVING}")
                and tx.run(f"UPDATE documents SET state = 0 WHERE state = 1 {_MOVING}")
            )
        )

    def sweep(self) -> None:
        """Forget unfinished versions; the caller has removed them from the engine."""
        self._database.write(lambda tx: _gone(tx, "state <> 0"))

    def entries(self, ordinals: Iterable[int]) -> Iterator[IndexEntry]:
        wanted = list(ordinals)
        for start in range(0, len(wanted), _PAGE):
            yield from self._entries(wanted[start : start + _PAGE])

    def _entries(self, ordinals: list[int]) -> list[IndexEntry]:
        marks = ",".join("?" * len(ordinals))
        rows = self._database.read(lambda tx: tx.all(f"{_ENTRIES} ({marks})", *ordinals))
        return [_entry(row) for row in rows]

    def needs_embedding(self) -> bool:
        """Whether anything came since every passage had its vector; does not open the vectors."""
        sql = "SELECT name, value FROM meta WHERE name IN ('next', 'embedded')"
        values = {row["name"]: row["value"] for row in self._database.read(lambda tx: tx.all(sql))}
        return bool(values.get("next", "0") != values.get("embedded", "0"))  # no row: never were all embedded

    def all_embedded(self, next_ordinal: int) -> None:
        self._remember("embedded", next_ordinal)

    def truncate_log(self) -> None:
        """Deleted rows are overwritten (`secure_delete`); this removes old copies of their pages from the log."""
        truncate_log(self._database)

    def generation(self) -> int:
        """Which full-text index is the one that counts."""
        row = self._database.read(lambda tx: tx.one("SELECT value FROM meta WHERE name = 'generation'"))
        return int(row["value"]) if row else 0

    def use_generation(self, generation: int) -> None:
        self._remember("generation", generation)

    def _remember(self, name: str, value: int) -> None:
        self._database.write(lambda tx: tx.run(_REMEMBER, name, str(value)))

    def clear(self) -> None:
        self._database.write(lambda tx: _gone(tx, "1 = 1"))

    def size(self) -> int:
        return sum(path.stat().st_size for path in self._path.parent.glob(f"{self._path.name}*"))

    def verify(self) -> None:
        """Structure and every row; seconds at 100,000 documents, so never on the way of a request."""
        if not self._path.exists():  # SQLite would go on in the deleted file, and never tell
            raise Damaged(f"the catalogue of {self._path.parent.name} is gone")
        found = self._database.read(lambda tx: tx.all("PRAGMA integrity_check(1)"))
        if [list(row.values()) for row in found] != [["ok"]]:
            raise Damaged(f"the catalogue of {self._path.parent.name} is damaged")
        for _ in self.entries(row["ordinal"] for row in self._live()):
            pass

    def close(self) -> None:
        self._database.close()


def _emptied(tx: Tx, layout: str, generation: int) -> str:
    epoch = os.urandom(8).hex()
    _gone(tx, "1 = 1")
    tx.run("DELETE FROM meta")
    tx.many("INSERT INTO meta VALUES (?, ?)", [("layout", layout), ("epoch", epoch), ("next", "0")])
    tx.run(_REMEMBER, "generation", str(generation))
    return epoch


def _gone(tx: Tx, which: str) -> bool:
    tx.run(f"DELETE FROM texts WHERE ordinal IN (SELECT ordinal FROM documents WHERE {which})")
    tx.run(f"DELETE FROM documents WHERE {which}")
    return True


def _row(entry: IndexEntry) -> tuple[Any, ...]:
    document = entry.document
    sequence = {"sequence": list(document.sequence)} if document.sequence is not None else {}
    facts = orjson.dumps(
        {
            **sequence,
            "title": document.title,
            "version": document.version,
            "path": document.path,
            "author": document.author,
            "names": document.names,
            "tags": document.tags,
            "keywords": dict(document.keywords),
            "numbers": dict(document.numbers),
        }
    )
    mark = _mark(document.id, document.hash, facts)
    return entry.ordinal, document.id, document.hash, len(entry.passages), facts, mark


def _sequence(facts: bytes) -> SequencePlace | None:
    """Most documents are part of none: theirs are not parsed."""
    return SequencePlace(*orjson.loads(facts)["sequence"]) if facts.startswith(b'{"sequence":') else None


def _text_row(entry: IndexEntry) -> tuple[Any, ...]:
    passages = [[passage.heading, passage.text] for passage in entry.passages]
    body = entry.document.body
    packed = orjson.dumps({"passages": passages, "body": body} if body else passages)
    return entry.ordinal, packed, zlib.crc32(packed)


def _mark(id: str, hash: str, facts: bytes) -> int:
    return zlib.crc32(facts, zlib.crc32(f"{id}\n{hash}".encode()))


def _check(row: Row) -> None:
    if _mark(row["id"], row["hash"], row["facts"]) != row["mark"]:
        raise Damaged("a row of the catalogue is not what was written")


def _document(row: Row) -> Document:
    _check(row)
    facts = orjson.loads(row["facts"])
    return Document(
        id=row["id"],
        title=facts["title"],
        text="",
        hash=row["hash"],
        version=facts["version"],
        path=facts["path"],
        author=facts["author"],
        names=tuple(facts["names"]),
        tags=tuple(facts["tags"]),
        keywords={name: tuple(values) for name, values in facts["keywords"].items()},
        numbers=facts["numbers"],
        sequence=SequencePlace(*facts["sequence"]) if "sequence" in facts else None,
    )


def _entry(row: Row) -> IndexEntry:
    if zlib.crc32(row["texts"]) != row["text_mark"]:
        raise Damaged("a text of the catalogue is not what was written")
    texts, document = orjson.loads(row["texts"]), _document(row)
    if isinstance(texts, dict):
        texts, document = texts["passages"], replace(document, body=texts["body"])
    return IndexEntry(row["ordinal"], document, tuple(Passage(at, *each) for at, each in enumerate(texts)))
