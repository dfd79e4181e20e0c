"""Input and output of a collection: documents, filters, queries, hits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

By = Literal["words", "meaning", "both"]
Bounds = tuple[float | None, float | None]
RESTRICTED = "*"  # a value of a keyword field: who may see the document is among the field's other values


SHORT = 400  # characters of a document that may be part of a sequence: a turn, a remark, a line of a log


class SequencePlace(NamedTuple):
    """Where a short document is in a sequence; those beside each other, at most `within` apart, share some score."""

    name: str  # a chain, a folder
    at: float  # an index, seconds
    within: float


def place_in(name: str, at: float, within: float, text: str) -> SequencePlace | None:
    """The place of a document with this text; None where it is too long to be part of a sequence."""
    return SequencePlace(name, at, within) if len(text) <= SHORT else None


@dataclass(frozen=True, slots=True)
class Document:
    """One thing to be found: a note, a thought.

    `hash` is the owner's: when it differs from `Collection.known`, the owner applies the document again.
    """

    id: str
    title: str
    text: str  # Markdown; the collection cuts it into passages
    hash: str
    body: str = ""  # found by words only, neither cut nor embedded nor shown
    version: str = ""  # what a citation names
    path: str = ""
    author: str = ""
    names: tuple[str, ...] = ()  # what else it is called: aliases, the text of links to it, paths it cites
    tags: tuple[str, ...] = ()
    keywords: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # exact filter fields: status, kind …
    numbers: Mapping[str, float] = field(
        default_factory=dict
    )  # range filter fields: created, expires …; times in seconds
    sequence: SequencePlace | None = None  # counts for texts of up to `SHORT` characters


@dataclass(frozen=True, slots=True)
class Remove:
    id: str


DocumentChange = Document | Remove


@dataclass(frozen=True, slots=True)
class Where:
    """A filter. It acts inside both engines, before the best are taken: 3 matches of 100,000 are found, all 3."""

    tags: tuple[str, ...] = ()  # all of them
    author: str | None = None
    path_prefix: str | None = None
    any_of: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # keyword field: one of these values
    none_of: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # keyword field: none of these values
    # Keyword field: a document that is RESTRICTED by it needs one of these values; all others pass.
    only_for: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    between: Mapping[str, Bounds] = field(
        default_factory=dict
    )  # inclusive; a document without the number never matches

    @property
    def is_open(self) -> bool:
        return self == OPEN


OPEN = Where()


@dataclass(frozen=True, slots=True)
class Query:
    """`by="words"` reads `text` as Tantivy syntax where it is valid; the others take it as plain language."""

    text: str
    by: By = "both"
    limit: int = 10
    where: Where = OPEN
    threshold: float = 0.0  # least similarity of a hit by meaning
    per_document: int = 1  # most passages that one document may contribute
    explain: bool = False


@dataclass(frozen=True, slots=True)
class Hit:
    id: str
    title: str
    path: str
    author: str
    version: str
    heading: str
    passage: str
    position: int  # of the passage in its document, from 0
    score: float
    similarity: float | None = None  # cosine clamped to 0…1; None where meaning was not asked or not known
    snippet: str = ""  # the part of the passage that matches, matches in <b>; by words only
    keywords: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # of its document
    numbers: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SearchResult:
    hits: tuple[Hit, ...]
    relevant: bool  # False: nothing here is likely to answer
    degraded: str = ""  # why part of the collection was not searched; empty when all of it was
    literal: str = ""  # why the text was not taken as syntax; empty when it was
    trace: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a document as the model reads it; title and heading are its context."""

    position: int
    heading: str  # headings from the outermost to the innermost, " > " between
    text: str


@dataclass(frozen=True, slots=True)
class Neighbour:
    id: str
    title: str
    path: str
    similarity: float


@dataclass(frozen=True, slots=True)
class CollectionStatus:
    documents: int
    passages: int
    embedded: int
    unindexed: int  # changes acknowledged and not yet on disk
    model: str
    degraded: str
    bytes: int
