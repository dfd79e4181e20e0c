"""Notes that may say the same, or contradict each other. Candidates for a reader to judge; nothing is merged here."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lithos.core.clock import from_micros, rfc3339
from lithos.core.cursor import next_page, offset_of
from lithos.notes.answers import Conflicting, ConflictList, Neighbouring, Similar
from lithos.notes.format.naming import last_name, name_key
from lithos.notes.index.catalogue import Catalogue
from lithos.notes.lifecycle.minhash import MinHashes, minhash_of
from lithos.search import Collection, Where
from lithos.storage import Row, Tx

NEAR = 0.6  # least share of common words
COMPARED = 30_000  # characters of one text: what comes later changes little
_LONGEST_WORD = 64
_WORD = re.compile(rf"\w{{2,{_LONGEST_WORD}}}")
_SINGLE = frozenset("abcdefghijklmnopqrstuvwxyz0123456789_")
_WORDS_ONLY = bytes(ord(char) if (char := chr(code)) in _SINGLE else ord(" ") for code in range(128)) + b" " * 128
CANDIDATES = 5
MOST_NAMESAKES = 20
SHOWN = 3
NEIGHBOUR = 0.85  # least cosine of notes that are shown as neighbours; an answer to a question has 0.5
MOST_COMPARED = 20_000  # notes of one search for clusters: some seconds, and 100 MB of words
_ACTIVE = Where(any_of={"status": ("active",)})
_ROWS = (
    "SELECT id, path, title, claim_id, confidence, updated, version FROM notes"
    " WHERE effective_status = 'active' AND {where}"
)


@dataclass(frozen=True, slots=True)
class ComparedText:
    """A note's words, for comparison."""

    id: str
    title: str
    words: frozenset[str]


def words_of(text: str) -> frozenset[str]:
    text = text[:COMPARED].lower()
    if text.isascii():  # a quarter of the pattern's cost, which a first scan pays for every note
        words = frozenset(text.encode("ascii").translate(_WORDS_ONLY).decode("ascii").split()) - _SINGLE
        if max(map(len, words), default=0) <= _LONGEST_WORD:
            return words
    return frozenset(_WORD.findall(text))


def likeness(one: ComparedText, other: ComparedText) -> float:
    """1 for the same title, else the share of words that both have."""
    if one.title and name_key(one.title) == name_key(other.title):
        return 1.0
    return common_share(one.words, other.words)


def common_share(one: frozenset[str], other: frozenset[str]) -> float:
    either = len(one | other)
    return len(one & other) / either if either else 0.0


def clusters(texts: Sequence[ComparedText], pairs: Iterable[tuple[str, str]]) -> list[list[str]]:
    """Ids that belong together, by any chain of pairs; the largest first."""
    leader = {text.id: text.id for text in texts}

    def lead(each: str) -> str:
        while leader[each] != each:
            leader[each] = leader[leader[each]]
            each = leader[each]
        return each

    for one, other in pairs:
        leader[lead(one)] = lead(other)
    grouped: Mapping[str, list[str]] = defaultdict(list)
    for text in texts:
        grouped[lead(text.id)].append(text.id)
    return sorted((group for group in grouped.values() if len(group) > 1), key=lambda group: (-len(group), group))


def near_pairs(texts: Sequence[ComparedText], least: float = NEAR) -> Iterator[tuple[str, str]]:
    """Pairs above a share of common words, without comparing all with all: two texts that share so much have one of
    their rarest words in common (prefix filter), so that only those are compared."""
    counts: dict[str, int] = defaultdict(int)
    for text in texts:
        for word in text.words:
            counts[word] += 1
    seen: dict[str, list[ComparedText]] = defaultdict(list)
    for text in sorted(texts, key=lambda each: (len(each.words), each.id)):
        rare = sorted(text.words, key=lambda word: (counts[word], word))
        compared: set[str] = set()
        for word in rare[: len(rare) - int(len(rare) * least) + 1]:
            for other in seen[word]:
                if other.id not in compared:
                    compared.add(other.id)
                    if common_share(text.words, other.words) >= least:
                        yield other.id, text.id
            seen[word].append(text)


class NearDuplicates:
    def __init__(
        self,
        collection: Collection | None,
        catalogue: Catalogue,
        minhashes: MinHashes,
        texts_at: Callable[[Mapping[str, str]], Mapping[str, str]],
    ) -> None:
        """`texts_at`: from paths and the versions that are meant to paths and texts; changed files are left out."""
        self._collection = collection
        self._catalogue = catalogue
        self._minhashes = minhashes
        self._texts_at = texts_at

    def of_text(self, title: str, content: str, own_id: str | None) -> list[Similar]:
        """By title and words, while a note is being written: one lookup of MinHashes, and a few comparisons."""
        own = ComparedText("", title, words_of(f"{title}\n{content}"))
        minhash = minhash_of(own.words)
        near = self._minhashes.near(minhash, NEAR, CANDIDATES) if minhash else []
        rows = self._catalogue.read(lambda tx: [*_titled(tx, title), *_by_ids(tx, near)])
        others = {row["id"]: row for row in rows if row["id"] != own_id}
        found = [_shown(row, own, text) for row, text in zip(others.values(), self._texts(others, own), strict=True)]
        alike = sorted((each for each in found if each["likeness"] >= NEAR), key=lambda each: -each["likeness"])
        return alike[:SHOWN]

    def _texts(self, rows: Mapping[str, Row], own: ComparedText) -> Iterator[ComparedText]:
        """A note of the same title counts as alike; its words need not be read."""
        key = name_key(own.title) if own.title else None
        other = {row["path"]: row["version"] for row in rows.values() if key is None or name_key(row["title"]) != key}
        texts = self._texts_at(other) if other else {}
        for row in rows.values():
            text = texts.get(row["path"])
            words = frozenset[str]() if text is None else words_of(f"{row['title']}\n{text}")
            yield ComparedText(row["id"], row["title"], words)

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

    def conflicts(self, claim_id: str | None = None, limit: int = 50, cursor: str | None = None) -> ConflictList:
        """The same claim in several notes, then near-duplicates that differ: the most trusted and newest first."""
        filters = ["lithos_conflicts", claim_id]
        offset = offset_of(cursor, filters)
        found = [self._conflict("same claim_id", claim, rows) for claim, rows in self._claims(claim_id).items()]
        wanted = offset + limit + 1
        if claim_id is None and len(found) < wanted:
            found += self._differing(wanted - len(found))
        more = next_page(filters, offset, limit, len(found))
        return {"conflicts": found[offset : offset + limit], "total": len(found), **more}

    def disputed_claims(self, limit: int) -> list[Conflicting]:
        """The same claim in several notes; without comparing all texts, which takes seconds."""
        found = [self._conflict("same claim_id", claim, rows) for claim, rows in self._claims(None).items()]
        return found[:limit]

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

    def _text(self, note_id: str, title: str) -> ComparedText:
        passages = self._collection.passages(note_id) if self._collection is not None else ()
        return ComparedText(note_id, title, words_of("\n".join([title, *(each.text for each in passages)])))


def _active(tx: Tx, where: str, *values: Any) -> list[Row]:
    return tx.all(f"{_ROWS.format(where=where)} ORDER BY updated DESC, path", *values)


def _by_ids(tx: Tx, ids: Sequence[str]) -> list[Row]:
    return [row for each in ids for row in _active(tx, "id = ?", each)]


def _titled(tx: Tx, title: str) -> list[Row]:
    """Some notes with the same title; one that hundreds of notes have says nothing."""
    key = name_key(title)
    named = "number IN (SELECT number FROM names WHERE name = ? LIMIT ?)"
    rows = _active(tx, named, last_name(key), MOST_NAMESAKES) if key else []
    return [row for row in rows if name_key(row["title"]) == key]


def _confidence(row: Row) -> float:
    return 1.0 if row["confidence"] is None else float(row["confidence"])


def _shown(row: Row, first: ComparedText, text: ComparedText) -> Similar:
    share = round(likeness(first, text), 2)
    return {"id": row["id"], "path": row["path"], "title": row["title"], "likeness": share}
