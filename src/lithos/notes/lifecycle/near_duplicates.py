"""Notes that may say the same, or contradict each other. Candidates for a reader to judge; nothing is merged here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lithos.core.clock import from_micros, rfc3339
from lithos.notes.answers import Conflicting, ConflictList, Neighbouring, Similar
from lithos.notes.format.naming import last_name, name_key
from lithos.notes.index.catalogue import Catalogue
from lithos.notes.index.index import Index
from lithos.notes.lifecycle.minhash import sketch_of
from lithos.notes.lifecycle.near_duplicate_text import NEAR, Text, clusters, likeness, near_pairs, words_of
from lithos.search import Collection, Where
from lithos.storage import Row, Tx

CANDIDATES = 5
MOST_NAMESAKES = 20
SHOWN = 3
NEIGHBOUR = 0.85  # least cosine of notes that are shown as neighbours; an answer to a question has 0.5
MOST_COMPARED = 20_000  # notes of one search for clusters: some seconds, and 100 MB of words
_ACTIVE = Where(any_of={"status": ("active",)})
_ROWS = (
    "SELECT id, path, title, claim_id, confidence, updated, version FROM notes WHERE standing = 'active' AND {where}"
)


class NearDuplicates:
    def __init__(self, collection: Collection | None, catalogue: Catalogue, index: Index) -> None:
        self._collection = collection
        self._catalogue = catalogue
        self._index = index

    def of_text(self, title: str, content: str, own_id: str | None) -> list[Similar]:
        """By title and words, while a note is being written: a look at the sketches, and a few comparisons."""
        own = Text("", title, words_of(f"{title}\n{content}"))
        sketch = sketch_of(own.words)
        near = self._index.sketches.near(sketch, NEAR, CANDIDATES) if sketch else []
        rows = self._catalogue.read(lambda tx: [*_titled(tx, title), *_by_ids(tx, near)])
        others = {row["id"]: row for row in rows if row["id"] != own_id}
        found = [_shown(row, own, self._of_row(row, own)) for row in others.values()]
        alike = sorted((each for each in found if each["likeness"] >= NEAR), key=lambda each: -each["likeness"])
        return alike[:SHOWN]

    def _of_row(self, row: Row, own: Text) -> Text:
        """Of the same title it is alike already; its words need not be read."""
        if own.title and name_key(own.title) == name_key(row["title"]):
            return Text(row["id"], row["title"], frozenset())
        documents = self._index.documents_at([row["path"]])
        return Text(row["id"], row["title"], words_of(f"{row['title']}\n{documents[0].text}" if documents else ""))

    def of_note(self, note_id: str) -> list[Neighbouring]:
        """By meaning, once the note is embedded; none without a collection."""
        if self._collection is None:
            return []
        return [
            {"id": each.id, "title": each.title, "path": each.path, "similarity": round(each.similarity, 3)}
            for each in self._collection.neighbours(note_id, SHOWN, NEIGHBOUR, _ACTIVE)
        ]

    def clusters(self) -> list[list[Similar]]:
        """Active notes that belong together by words, title or meaning; the largest cluster first."""
        rows = self._catalogue.read(lambda tx: _active(tx, "1 = 1"))[:MOST_COMPARED]
        texts = [self._text(row["id"], row["title"]) for row in rows]
        known = {row["id"]: row for row in rows}
        pairs = list(near_pairs(texts))
        pairs += [(one, near["id"]) for one in known for near in self.of_note(one) if near["id"] in known]
        words = {text.id: text for text in texts}
        return [
            [_shown(known[each], words[group[0]], words[each]) for each in group] for group in clusters(texts, pairs)
        ]

    def conflicts(self, claim_id: str | None = None, limit: int = 50) -> ConflictList:
        """The same claim in several notes, then near-duplicates that differ: the most trusted and newest first."""
        found = [self._conflict("same claim_id", claim, rows) for claim, rows in self._claims(claim_id).items()]
        if claim_id is None and len(found) < limit:
            found += self._differing(limit - len(found))
        return {"conflicts": found[:limit], "total": len(found)}

    def _claims(self, claim_id: str | None) -> dict[str, list[Row]]:
        where = "claim_id = ?" if claim_id else "claim_id IS NOT NULL"
        rows = self._catalogue.read(lambda tx: _active(tx, where, *([claim_id] if claim_id else [])))
        grouped: dict[str, list[Row]] = {}
        for row in rows:
            grouped.setdefault(row["claim_id"], []).append(row)
        return {claim: each for claim, each in grouped.items() if len(each) > 1}

    def _differing(self, limit: int) -> list[Conflicting]:
        found: list[Conflicting] = []
        for cluster in self.clusters():
            ids = [each["id"] for each in cluster]
            rows = self._rows(ids)
            if len({row["version"] for row in rows}) > 1 and len(found) < limit:
                found.append(self._conflict("nearly the same", rows[0]["title"], rows))
        return found

    def _rows(self, ids: Sequence[str]) -> list[Row]:
        return self._catalogue.read(lambda tx: _by_ids(tx, ids))

    def _conflict(self, why: str, about: str, rows: Sequence[Row]) -> Conflicting:
        ordered = sorted(rows, key=lambda row: (-_confidence(row), -row["updated"]))
        return {
            "why": why,
            "about": about,
            "notes": [
                {
                    "id": row["id"],
                    "title": row["title"],
                    "path": row["path"],
                    "confidence": _confidence(row),
                    "updated": rfc3339(from_micros(row["updated"])),
                }
                for row in ordered
            ],
        }

    def _text(self, note_id: str, title: str) -> Text:
        passages = self._collection.passages(note_id) if self._collection is not None else ()
        return Text(note_id, title, words_of("\n".join([title, *(each.text for each in passages)])))


def _active(tx: Tx, where: str, *values: Any) -> list[Row]:
    return tx.all(f"{_ROWS.format(where=where)} ORDER BY updated DESC, path", *values)


def _by_ids(tx: Tx, ids: Sequence[str]) -> list[Row]:
    return [row for each in ids for row in _active(tx, "id = ?", each)]


def _titled(tx: Tx, title: str) -> list[Row]:
    """Some that go by the same name; a title that hundreds of notes have tells nothing."""
    key = name_key(title)
    named = "number IN (SELECT number FROM names WHERE name = ? LIMIT ?)"
    rows = _active(tx, named, last_name(key), MOST_NAMESAKES) if key else []
    return [row for row in rows if name_key(row["title"]) == key]


def _confidence(row: Row) -> float:
    return 1.0 if row["confidence"] is None else float(row["confidence"])


def _shown(row: Row, first: Text, text: Text) -> Similar:
    share = round(likeness(first, text), 2)
    return {"id": row["id"], "path": row["path"], "title": row["title"], "likeness": share}
