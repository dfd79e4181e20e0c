"""Kind: what one part contributes to recall and to the list of changes.

A part below this package needs no knowledge of it: its kind is a small class here (`recall/notes.py`) that asks the
part's façade. A part above implements the protocol itself. `app` gives the list of kinds to `Recall`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol, runtime_checkable

from lithos.core.call import Call
from lithos.notes import ScopeRequest
from lithos.search import Hit, Query, SearchResult


@dataclass(frozen=True, slots=True)
class Question:
    """One recall, as every kind gets it. `scope` is for kinds with a lifecycle; the others ignore it."""

    call: Call  # who asks
    query: Query
    scope: ScopeRequest = field(default_factory=ScopeRequest)
    kinds: tuple[str, ...] = ()  # all that are asked; empty: the one that gets this


@dataclass(frozen=True, slots=True)
class KindHits:
    """The hits of one kind, and how each is rendered."""

    found: SearchResult  # best first
    render: Callable[[Hit], dict[str, Any]]  # id, title, heading, passage, score and the kind's own fields


@dataclass(frozen=True, slots=True)
class ChangesQuery:
    """Which changes to list. A kind that has no paths or no agents matches only where that filter is None."""

    call: Call  # who asks
    since: datetime  # inclusive
    until: datetime | None = None  # exclusive
    path_prefix: str | None = None
    agent: str | None = None
    limit: int = 100


@dataclass(frozen=True, slots=True)
class Changed:
    """One thing that changed."""

    kind: str
    id: str
    at: datetime
    what: str  # the operation: "create", "update", "delete", "complete"
    title: str
    path: str = ""
    agent: str | None = None  # None: a person, or unknown


class FinishKind(Protocol):
    """Finishes a question that was begun; hits that score less than `least` may be left out."""

    def __call__(self, least: float = 0.0) -> KindHits: ...


class Kind(Protocol):
    """One kind of thing that recall finds and changes lists. Both show only what `call` may see."""

    @property
    def name(self) -> str:
        """The word that answers and the argument `kinds` use: "note", "task"."""
        ...

    def begin(self, question: Question) -> FinishKind:
        """Full text is searched before the question's vector is needed: all kinds do so beside the model."""
        ...

    def changes(self, query: ChangesQuery) -> Sequence[Changed]:
        """Newest first, at most `query.limit`."""
        ...


@runtime_checkable
class LinkedKind(Protocol):
    """A kind whose things are linked to each other."""

    def linked(self, question: Question, hit: Hit, most: int) -> list[Hit]:
        """Of what a hit is linked to, what the question lets through, with the passage that answers it best."""
        ...
