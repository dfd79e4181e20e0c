"""Full text of a collection: whole documents, which a question is about, and passages, which answer it.

Two tantivy indexes, because BM25 measures lengths against the average of an index, and passages would drag it down.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lithos.errors import Damaged
from lithos.search.collection.catalogue import IndexEntry
from lithos.search.fusion import NO_WORDS, PASSAGE_WEIGHT, SATURATION, Words
from lithos.search.text.analysis import IndexedText, seam, stems_of, units_of, weight_unknown, words_of
from lithos.search.text.parted_index import PartedTextIndex
from lithos.search.text.text_index import TextIndex
from lithos.search.values import Document, Where
from lithos.storage import Faults, NoFaults, gather_events

if TYPE_CHECKING:
    import tantivy

    from lithos.search.collection.columns import Mask
    from lithos.search.text.syntax import Reading

BATCH = 1000  # documents between two commits of a rebuild: bounds memory, costs a commit per second of work


FIELD_WEIGHTS = {"text": 1.0, "title": 0.5}  # measured: docs/search.md
NAMES_WEIGHT = 0.85  # times the idf alone: each name counts as if it were the only one
IDEOGRAPH_WEIGHT = 0.2  # of a single character beside the pairs that it is in

MANY = 1000  # documents from which on the weights of words are those of the language

WORN = 10  # one deleted document to so many living ones


class FullText:
    def __init__(
        self, folder: Path, numbers: Sequence[str], faults: Faults | None = None, *, parted: bool = False
    ) -> None:
        """Raises `Damaged` when the files are not those that were written."""
        self._folder = folder
        self._faults = faults or NoFaults()
        self._kind = PartedTextIndex if parted else TextIndex
        self.documents = self._kind(folder / "documents", numbers)
        self._open_passages(numbers)

    def _open_passages(self, numbers: Sequence[str]) -> None:
        self.passages = self._kind(self._folder / "passages", numbers, of_passages=True)
        self._indexes = [self.documents, self.passages]
        self._other = ThreadPoolExecutor(1, "passages")

    def write(self, removed: Sequence[int], entries: Sequence[IndexEntry]) -> None:
        """One commit of each index, side by side: most of it is waiting for tantivy and the disk."""
        prepared = [_Prepared.of(entry) for entry in entries]
        passages = (part for each in prepared for part in each.parts(self.passages))
        second = self._other.submit(self.passages.write, removed, passages)
        try:
            self.documents.write(removed, (each.whole(self.documents) for each in prepared))
            self._faults.at("search.half")
        finally:
            second.result()

    def refill(self, entries: Iterable[IndexEntry]) -> None:
        """Everything, from the catalogue, in batches."""
        for batch in _batches(entries):
            self.write((), batch)

    def rewrite_part(self, first: int, entries: Sequence[IndexEntry]) -> None:
        """The part that begins with this ordinal, from the documents that are left of it."""
        for index, of_passages in ((self.documents, False), (self.passages, True)):
            assert isinstance(index, PartedTextIndex)
            index.rewrite(first, _made(index, entries, of_passages))

    def part_in_pieces(self, end: int) -> int | None:
        """The first ordinal of a part that `rewrite_part` would make faster to search."""
        found = (index.in_pieces(end) for index in self._indexes if isinstance(index, PartedTextIndex))
        return next((first for first in found if first is not None), None)

    def words(self, reading: Reading, where: Where, mask: Mask, limit: int) -> Words:
        """Documents and passages with any of the terms."""
        terms = reading.terms
        if not terms:
            return NO_WORDS
        compounds = [*map(self.documents.together, reading.compounds), *self._light(reading)]
        named = self.documents.having(terms, "names", NAMES_WEIGHT)
        whole = self.documents.any_of(terms, [*compounds, *named], FIELD_WEIGHTS)
        part = self.passages.any_of(terms, map(self.passages.together, reading.compounds))
        documents = self.documents.best(whole, limit, where, mask)
        passages = self.passages.best(part, 2 * limit, where, mask)
        return Words(
            {ordinal: score for ordinal, _, score in documents},
            {(ordinal, position): score for ordinal, position, score in passages},
            self.possible(terms),
        )

    def _light(self, reading: Reading) -> list[tantivy.Query]:
        """Of whole documents alone: in passages they cost Chinese pages .008 of hybrid."""
        if not reading.ideographs:
            return []
        weights = {field: IDEOGRAPH_WEIGHT * weight for field, weight in FIELD_WEIGHTS.items()}
        return [self.documents.any_of(reading.ideographs, weights=weights)]

    def matching(self, reading: Reading, where: Where, mask: Mask, limit: int) -> Words:
        """Documents that a query in syntax matches; its words choose the passage of each."""
        assert reading.query is not None
        terms, found = reading.terms, self.documents.best(reading.query, limit, where, mask)
        documents = {ordinal: score for ordinal, _, score in found}
        asked = self.passages.any_of(terms, [each.query for each in reading.loose])
        among = self.passages.among(asked, list(documents)) if documents and (terms or reading.loose) else None
        passages = self.passages.search(among, 8 * limit) if among is not None else []
        return Words(
            documents, {(ordinal, position): score for ordinal, position, score in passages}, self.possible(terms)
        )

    def possible(self, terms: Sequence[str]) -> float:
        """The score of a text made of nothing but these words.

        In a small collection the weights of words tell little: in a vault of one note, a word that it has weighs a
        fifth of one that no document has. So the known share of a question is weighed as if there were `MANY`.
        """
        weights = found = missing = 0.0
        for term, times in Counter(terms).items():
            having = self.documents.frequency(term)
            among_many = times * self.documents.weight_of(having, MANY)
            if having:
                weights += times * (self.documents.weight_of(having) + PASSAGE_WEIGHT * self._passage_weight(term))
                found += among_many
            else:
                missing += among_many * weight_unknown(term)
        return SATURATION * (weights * (found + missing) / found if found else missing)

    def _passage_weight(self, term: str) -> float:
        return self.passages.weight(term)

    def worn(self) -> bool:
        """Whether enough is deleted that scores begin to drift from those of a rebuilt index."""
        return self.documents.deleted() * WORN > self.documents.searcher.num_docs

    def counts(self) -> tuple[int, int]:
        """Documents and passages."""
        return int(self.documents.searcher.num_docs), int(self.passages.searcher.num_docs)

    def compare(self, passages: Mapping[int, int]) -> None:
        """Raise `Damaged` unless it holds exactly these versions, each with so many passages."""
        documents, parts = self.documents.contents(), self.passages.contents()
        if documents != dict.fromkeys(passages, 1) or parts != {each: n for each, n in passages.items() if n}:
            raise Damaged(
                f"the full-text index holds {len(documents)} documents and {parts.total()} passages, "
                f"the catalogue {len(passages)} and {sum(passages.values())}, or others"
            )

    def exists(self) -> bool:
        """Whether the files of both indexes are there."""
        return all(index.exists() for index in self._indexes)

    def is_untouched(self) -> bool:
        """Whether the files of both indexes are as our last commit left them."""
        gather_events()
        return all(index.is_there() and index.is_untouched() for index in self._indexes)

    def verify(self) -> None:
        for index in self._indexes:
            index.verify()

    def close(self) -> None:
        self._other.shutdown()

    def size(self) -> int:
        return sum(path.stat().st_size for path in self._folder.rglob("*") if path.is_file())


class UncutFullText(FullText):
    """Documents that are one passage each: one index is enough.

    Title and `names`, whose weight is that of a passage, and the body as `text`. The passage itself is indexed where
    there are no names. A card's words of its body are left out (MRR by words 0.546 against 0.535 on Django, 0.537
    against 0.506 on consul, and a third less to index).
    """

    def _open_passages(self, numbers: Sequence[str]) -> None:
        self._indexes = [self.documents]

    def write(self, removed: Sequence[int], entries: Sequence[IndexEntry]) -> None:
        self.documents.write(removed, (_uncut(entry, self.documents) for entry in entries))
        self._faults.at("search.half")

    def words(self, reading: Reading, where: Where, mask: Mask, limit: int) -> Words:
        terms = reading.terms
        if not terms:
            return NO_WORDS
        compounds = map(self.documents.together, reading.compounds)
        whole = self.documents.any_of(terms, compounds, {**FIELD_WEIGHTS, "names": PASSAGE_WEIGHT})
        found = self.documents.best(whole, limit, where, mask)
        return Words({ordinal: score for ordinal, _, score in found}, {}, self.possible(terms))

    def matching(self, reading: Reading, where: Where, mask: Mask, limit: int) -> Words:
        assert reading.query is not None
        found = self.documents.best(reading.query, limit, where, mask)
        return Words({ordinal: score for ordinal, _, score in found}, {}, self.possible(reading.terms))

    def _passage_weight(self, term: str) -> float:
        return self.documents.weight(term, field="names")

    def compare(self, passages: Mapping[int, int]) -> None:
        documents = self.documents.contents()
        if documents != dict.fromkeys(passages, 1):
            raise Damaged(
                f"the full-text index holds {len(documents)} documents, the catalogue {len(passages)}, or others"
            )

    def counts(self) -> tuple[int, int]:
        return int(self.documents.searcher.num_docs), 0

    def close(self) -> None:
        pass


def _uncut(entry: IndexEntry, index: TextIndex) -> tantivy.Document:
    document = entry.document
    made = _filled(entry.ordinal, document, index)
    title = units_of(document.title)
    named = units_of("\n".join(document.names or (each.text for each in entry.passages)))
    body = units_of(document.body)
    made.add_text("title", stems_of(title))
    made.add_text("names", stems_of([*title, *named]))
    made.add_text("text", stems_of(body if document.names else [*named, *body]))
    words = words_of([*title, *named, *body])  # of all fields: most names are in the body, too
    made.add_text("text_whole", " ".join(dict.fromkeys(words.split())))
    return made


def _batches(entries: Iterable[IndexEntry]) -> Iterator[list[IndexEntry]]:
    left = iter(entries)
    while batch := list(itertools.islice(left, BATCH)):
        yield batch


def _made(index: TextIndex, entries: Sequence[IndexEntry], of_passages: bool) -> Iterator[tantivy.Document]:
    for each in map(_Prepared.of, entries):
        yield from each.parts(index) if of_passages else [each.whole(index)]


@dataclass(frozen=True, slots=True)
class _Prepared:
    """One version of a document with every text as terms, made once for both indexes."""

    entry: IndexEntry
    title: IndexedText
    texts: list[tuple[IndexedText, IndexedText]]  # heading and text of each passage

    @classmethod
    def of(cls, entry: IndexEntry) -> _Prepared:
        texts = [(IndexedText.of(passage.heading), IndexedText.of(passage.text)) for passage in entry.passages]
        return cls(entry, IndexedText.of(entry.document.title), texts)

    def whole(self, index: TextIndex) -> tantivy.Document:
        document = self.entry.document
        parts = [IndexedText.of(each) for each in (" ".join(document.tags), document.body) if each]
        last = before = ""
        for passage, (_, text) in zip(self.entry.passages, self.texts, strict=True):
            if passage.heading != last:
                last, before = passage.heading, ""
                parts.append(IndexedText.of(last.rpartition(" > ")[2]))
            if pair := seam(before, passage.text):
                parts.append(IndexedText(pair, pair))
            parts.append(text)
            before = passage.text
        made = _filled(self.entry.ordinal, document, index)
        names = IndexedText.of("\n".join(document.names))
        for field, terms in (("title", self.title), ("names", names), ("text", IndexedText.joined(parts))):
            _add(made, field, terms)
        return made

    def parts(self, index: TextIndex) -> Iterator[tantivy.Document]:
        for position, (heading, text) in enumerate(self.texts):
            made = _filled(self.entry.ordinal, self.entry.document, index)
            made.add_integer("position", position)
            _add(made, "text", IndexedText.joined((self.title, heading, text)))
            yield made


def _add(made: tantivy.Document, field: str, terms: IndexedText) -> None:
    made.add_text(field, terms.stems)
    made.add_text(f"{field}_whole", terms.words)


def _filled(ordinal: int, document: Document, index: TextIndex) -> tantivy.Document:
    import tantivy

    made = tantivy.Document()
    made.add_integer("ordinal", ordinal)
    made.add_text("author", document.author)
    made.add_text("path", document.path)
    for tag in document.tags:
        made.add_text("tag", tag)
    for name, values in document.keywords.items():
        for value in values:
            made.add_text("keyword", f"{name}={value}")
    for name, number in document.numbers.items():
        if name not in index.numbers:
            raise Damaged(f"{name} is not a number field of this collection")
        made.add_float(f"number_{name}", float(number))
    return made
