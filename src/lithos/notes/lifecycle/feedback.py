"""Feedback: an append-only record of which notes helped or hurt, and the small boost that it gives them later."""

from __future__ import annotations

import math
import threading
from collections import Counter, defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Literal, cast

import orjson
from typing_extensions import TypedDict

from lithos.core.call import Call
from lithos.core.clock import Clock, micros
from lithos.core.part import Part
from lithos.core.secrets import mask
from lithos.errors import InvalidInput, NotFound
from lithos.search import query_terms
from lithos.storage import Database, Effects, EventDraft, Events, Outcome, Row, Tx

Outcomes = Literal["helped", "neutral", "hurt", "unknown"]
Source = Literal["invocation", "manual_feedback"]

CHANNEL = "feedback"
MOST_IDS = 200
LONGEST_QUERY = 2_000
LARGEST_BOOST = 0.1  # feedback moves a note by a tenth of its relevance at most
SIMILAR = 0.5  # least share of common words that makes two queries similar
_HALF = 2.0  # so much agreement takes a note half way to the largest boost
_WORTH = {"helped": 1.0, "hurt": -1.0}
_RECEIPTS_AT_ONCE = 200


class FeedbackGiven(TypedDict):
    event_id: str


@dataclass(frozen=True, slots=True)
class FeedbackEntry:
    """A query of an agent, the notes that it used, and whether they helped."""

    query: str
    used: tuple[str, ...]
    worth: float


@dataclass(slots=True)
class FeedbackIndex:
    """Feedback that helped or hurt, by the words of its query. Without I/O."""

    _entries: list[tuple[frozenset[str], FeedbackEntry]] = field(default_factory=list)
    _by_word: dict[str, list[int]] = field(default_factory=dict)

    def add(self, entry: FeedbackEntry) -> None:
        words = frozenset(query_terms(entry.query))
        for word in words:
            self._by_word.setdefault(word, []).append(len(self._entries))
        self._entries.append((words, entry))

    def boosts(self, query: str) -> dict[str, float]:
        """Note id → what is added to 1 for this query; never beyond ±`LARGEST_BOOST`."""
        if not self._entries:
            return {}
        words = frozenset(query_terms(query))
        common = Counter(each for word in words for each in self._by_word.get(word, ()))
        sums: dict[str, float] = defaultdict(float)
        for index, shared in common.items():
            theirs, entry = self._entries[index]
            likeness = shared / len(words | theirs)
            if likeness >= SIMILAR:
                for note in entry.used:
                    sums[note] += entry.worth * likeness
        return {note: boost for note, total in sums.items() if (boost := bounded(total))}


def bounded(total: float) -> float:
    return round(LARGEST_BOOST * math.tanh(total * math.atanh(0.5) / _HALF), 6)


class Feedback(Part):
    def __init__(
        self,
        database: Database,
        effects: Effects,
        events: Events,
        clock: Clock,
        *,
        matters: bool = True,
        kept: int = 10_000,
        receipt_hours: float = 48,
    ) -> None:
        self._database = database
        self._effects = effects
        self._events = events
        self._clock = clock
        self._matters = matters
        self._kept = kept
        self._receipt_hours = receipt_hours
        self._index: FeedbackIndex | None = None
        self._lock = threading.Lock()
        self._shown: deque[Row] = deque()
        self._stop = database.listen(CHANNEL, self._drop_index)

    def close(self) -> None:
        self._stop()
        self.flush()

    def give(
        self,
        call: Call,
        *,
        outcome: Outcomes,
        used_ids: Sequence[str],
        query: str | None = None,
        returned_ids: Sequence[str] | None = None,
        receipt: str | None = None,
        source: Source = "invocation",
    ) -> FeedbackGiven:
        """Append-only. With the receipt of a `lithos_recall`, query and returned ids are known already."""
        self.flush()
        query, returned = self.asked(query, returned_ids, receipt)
        _check_ids(used_ids)

        def work(tx: Tx) -> Outcome:
            named = {"query": query, "used_ids": list(used_ids), "returned_ids": list(returned)}
            details = {"outcome": outcome, "source": source, **named}
            event_id = self._events.append(tx, call, EventDraft("retrieval", "feedback", details=details))
            row = (event_id, self._events.store, micros(self._clock.now()), call.agent, query, outcome, source)
            tx.run(
                "INSERT INTO feedback (id, store, at, agent, query, outcome, source, returned_ids, used_ids)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                *(*row, _json(returned), _json(used_ids)),
            )
            tx.notify(CHANNEL)
            return Outcome({"event_id": event_id})

        return cast(FeedbackGiven, self._effects.commit(call, work))

    def asked(
        self, query: str | None, returned_ids: Sequence[str] | None, receipt: str | None
    ) -> tuple[str, Sequence[str]]:
        """The question and what it returned, from the receipt or as given."""
        if receipt is not None:
            row = self._database.read(
                lambda tx: tx.one("SELECT query, returned_ids FROM receipts WHERE id = ?", receipt)
            )
            if row is None:
                raise NotFound(f"there is no receipt {receipt[:80]!r}", hint="Give query and returned_ids instead.")
            return query or row["query"], returned_ids or orjson.loads(row["returned_ids"])
        if not query or not query.strip():
            raise InvalidInput("query is empty", hint="Give the query, or the receipt of lithos_recall.")
        _check_ids(returned_ids or ())
        return query[:LONGEST_QUERY], list(returned_ids or ())

    def boosts(self, query: str) -> Mapping[str, float]:
        """The boosts that feedback on similar queries gives; none if the setting turns feedback off."""
        return self._known().boosts(query) if self._matters else {}

    def most_used(self, limit: int) -> list[str]:
        """Ids of the notes that helped most often lately."""
        rows = self._database.read(
            lambda tx: tx.all(
                "SELECT used_ids FROM feedback WHERE store = ? AND outcome = 'helped' ORDER BY at DESC LIMIT 500",
                self._events.store,
            )
        )
        counts = Counter(each for row in rows for each in orjson.loads(row["used_ids"]))
        return [each for each, _ in counts.most_common(limit)]

    def _known(self) -> FeedbackIndex:
        with self._lock:
            if self._index is None:
                self._index = self._database.read(self._load)
            return self._index

    def _load(self, tx: Tx) -> FeedbackIndex:
        rows = tx.all(
            "SELECT query, outcome, used_ids FROM feedback WHERE store = ? AND outcome IN ('helped', 'hurt')"
            " ORDER BY at DESC LIMIT ?",
            *(self._events.store, self._kept),
        )
        index = FeedbackIndex()
        for row in rows:
            index.add(FeedbackEntry(row["query"], tuple(orjson.loads(row["used_ids"])), _WORTH[row["outcome"]]))
        return index

    def _drop_index(self) -> None:
        with self._lock:
            self._index = None

    # Receipts

    def receipt(self, query: str, returned_ids: Sequence[str]) -> str:
        """An id under which these results can be named later; written with the next batch, not on the way."""
        receipt = self._events.new_id()
        kept = mask(query, query)[:LONGEST_QUERY]  # a search stores no credential, and answers no warning of one
        shown = {"id": receipt, "at": micros(self._clock.now()), "query": kept}
        with self._lock:
            self._shown.append({**shown, "returned_ids": _json(returned_ids)})
            full = len(self._shown) >= _RECEIPTS_AT_ONCE
        if full:
            self.flush()
        return receipt

    def flush(self) -> None:
        with self._lock:
            rows = [
                (row["id"], self._events.store, row["at"], row["query"], row["returned_ids"]) for row in self._shown
            ]
            self._shown.clear()
        if rows:
            sql = "INSERT INTO receipts (id, store, at, query, returned_ids) VALUES (?, ?, ?, ?, ?)"
            self._database.write(lambda tx: tx.many(sql, rows))

    def prune(self) -> None:
        """Bounds what is kept: receipts by age, feedback by number."""
        store, oldest = self._events.store, micros(self._clock.now() - timedelta(hours=self._receipt_hours))

        def work(tx: Tx) -> None:
            tx.run("DELETE FROM receipts WHERE store = ? AND at < ?", store, oldest)
            last = tx.one(
                "SELECT at FROM feedback WHERE store = ? ORDER BY at DESC LIMIT 1 OFFSET ?", store, self._kept
            )
            if last:
                tx.run("DELETE FROM feedback WHERE store = ? AND at <= ?", store, last["at"])

        self._database.write(work)


def _check_ids(ids: Sequence[str]) -> None:
    if len(ids) > MOST_IDS or any(len(each) > 200 for each in ids):
        raise InvalidInput(f"there are {len(ids)} ids; {MOST_IDS} are the most", hint="Give ids of notes.")


def _json(values: Sequence[str]) -> str:
    return orjson.dumps(list(values)).decode()
