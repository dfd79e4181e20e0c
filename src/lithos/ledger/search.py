"""Search for thoughts by text: the `thoughts` collection, projected from the chains.

An append never waits for the index. A search first applies what the projector has not read yet, so that it sees every
thought acknowledged before it began.
"""

from __future__ import annotations

import logging
import threading
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from lithos.core.clock import parse_time
from lithos.errors import Damaged
from lithos.ledger.answers import Thoughts, as_thought, as_thoughts
from lithos.ledger.chain.format import ThoughtEntry
from lithos.ledger.query import Filter, matches, says
from lithos.ledger.registry.agent_activity import AgentActivity
from lithos.ledger.scopes import ENTRY, PROMOTED, REACH, ChainScopes
from lithos.search import (
    RESTRICTED,
    Bounds,
    Collection,
    Document,
    DocumentChange,
    Finish,
    Projector,
    Query,
    Remove,
    SearchResult,
    Where,
    place_in,
)
from lithos.sessions import SCOPE, Viewer

if TYPE_CHECKING:
    from lithos.ledger.chain.chain import Chain
    from lithos.ledger.chain.chain_store import ChainStore

THOUGHT_KEYWORDS = ("chain", "type", "role", "agent", "tag", "concept")
MARK = "@"  # in the hash of a session's document: whom it is for follows
THOUGHT_NUMBERS = ("confidence", "importance", "time")
BATCH = 256
_log = logging.getLogger(__name__)
Marks = Callable[["Chain"], Mapping[int, str]]  # index → the session that alone may see the thought, or PROMOTED


class ThoughtFeed:
    """The thoughts of the open chains, in order; a chain's position is one past the newest thought that was applied."""

    def __init__(self, marks: Marks) -> None:
        self._marks = marks
        self.lock = threading.Lock()
        self._guard = threading.Lock()  # for the two below; a chain is added while `lock` may be held elsewhere
        self._open: WeakValueDictionary[str, Chain] = WeakValueDictionary()  # by folder
        self._behind: dict[str, Chain] = {}  # kept open until their thoughts are applied
        self._positions: dict[str, int] = {}
        self._gaps: dict[str, list[int]] = {}  # before the position, and to be applied again
        self._indexed: dict[str, dict[int, str]] = {}  # marks in the collection, of chains not compared yet

    def add(self, chain: Chain) -> None:
        name = chain.folder.name
        with self._guard:
            if self._behind.get(name) is not chain:
                self._open[name] = self._behind[name] = chain

    def restart(self, known: Mapping[str, str]) -> bool:
        held: dict[str, set[int]] = defaultdict(set)
        for name in known:
            folder, _, index = name.rpartition(":")
            held[folder].add(int(index))
        self._positions = {folder: max(indexes) + 1 for folder, indexes in held.items()}
        self._gaps = {folder: sorted({*range(max(indexes))} - indexes) for folder, indexes in held.items()}
        with self._guard:
            self._behind.update(self._open)
        self._indexed = defaultdict(dict, {folder: {} for folder in held})
        for name, mark in ((name, hash.partition(MARK)[2]) for name, hash in known.items()):
            if mark:
                folder, _, index = name.rpartition(":")
                self._indexed[folder][int(index)] = mark
        return True

    def _moved(self, chain: Chain, indexed: Mapping[int, str], end: int) -> set[int]:
        """Thoughts that were promoted, or taken back, since they were indexed."""
        marks = self._marks(chain)
        named = {*marks, *indexed}
        return {index for index in named if index < end and marks.get(index, "") != indexed.get(index, "")}

    def next_batch(self) -> Sequence[DocumentChange]:
        with self._guard:
            behind = list(self._behind.items())
        for folder, chain in behind:
            if (indexed := self._indexed.pop(folder, None)) is not None:
                moved = self._moved(chain, indexed, self._positions.get(folder, 0))
                self._gaps[folder] = sorted({*self._gaps.get(folder, ()), *moved})
            if gaps := self._gaps.pop(folder, None):  # lost, or forgotten: then the change is its removal
                self._gaps[folder] = gaps[BATCH:]
                if changes := self.changes(chain, gaps[:BATCH]):
                    return changes
            start = self._positions.get(folder, 0)
            end = min(chain.size, start + BATCH)
            if start < end and (changes := self.changes(chain, range(start, end))):
                self._positions[folder] = end
                return changes
            with self._guard:
                if chain.size <= end or start < end:  # else something was appended just now
                    self._behind.pop(folder, None)
        return ()

    def changes(self, chain: Chain, indexes: Sequence[int]) -> list[DocumentChange]:
        return _changes(chain, indexes, self._marks(chain))


class ThoughtSearch:
    """Without a collection, texts are compared word by word: right for a few thousand thoughts."""

    def __init__(self, collection: Collection | None = None, threshold: float = 0.3) -> None:
        self._threshold = threshold
        self._scopes: Callable[[Chain], ChainScopes] | None = None
        self._feed = ThoughtFeed(self._marks)
        self._projector = None if collection is None else Projector(collection, self._feed, "thoughts")

    def use(self, scopes: Callable[[Chain], ChainScopes]) -> None:
        """The ledger's sessions of each chain; before the first chain is opened."""
        self._scopes = scopes

    def _marks(self, chain: Chain) -> Mapping[int, str]:
        return {} if self._scopes is None else self._scopes(chain).marks()

    def rescope(self, chain: Chain, indexes: Sequence[int]) -> None:
        """These thoughts were promoted or taken back: index them for those who may see them now."""
        if self._projector is not None:
            with self._feed.lock:
                self._projector.apply(self._feed.changes(chain, indexes))

    def start(self) -> None:
        if self._projector is not None:
            self._projector.start()

    def close(self) -> None:
        if self._projector is not None:
            self._projector.close()
            self._projector.collection.close()

    def add(self, chain: Chain) -> None:
        """A chain was opened."""
        self.wake(chain)

    def wake(self, chain: Chain) -> None:
        """Something was appended."""
        if self._projector is not None:
            self._feed.add(chain)
            self._projector.wake()

    @property
    def starts(self) -> int:
        return 0 if self._projector is None else self._projector.collection.starts

    @property
    def collection(self) -> Collection | None:
        return None if self._projector is None else self._projector.collection

    def complete(self) -> int:
        """Compare the collection with the chains and apply what it lacks; the number of changes."""
        return 0 if self._projector is None else self._projector.resume()

    def busy(self) -> bool:
        return self._projector is not None and (self._projector.busy() or self._projector.collection.busy())

    def size(self) -> int:
        return self._projector.collection.size() if self._projector is not None else 0

    def problem(self) -> str | None:
        return self._projector.collection.problem() if self._projector is not None else None

    def purge(self, chain: Chain, index: int) -> None:
        """A thought was forgotten: no byte of it may stay in an index."""
        if self._projector is not None:
            self._projector.purge([_name(chain, index)])

    # -- finding

    def begin_recall(self, query: Query, viewer: Viewer) -> Finish:
        """Over all chains that were opened; nothing without a collection."""
        if self._projector is None:
            return lambda least=0.0: SearchResult((), relevant=False)
        self._projector.catch_up()
        where = replace(query.where, only_for=_only_for(viewer))
        return self._projector.begin(replace(query, where=where))

    def neighbours(self, chain: Chain, index: int, least: float, limit: int) -> list[int]:
        if self._projector is None:
            return []
        where = Where(any_of={"chain": (chain.folder.name,)})
        near = self._projector.collection.neighbours(_name(chain, index), limit, least, where)
        return [int(each.id.rpartition(":")[2]) for each in near]

    def find(self, chain: Chain, chosen: Filter, limit: int, viewer: Viewer) -> Thoughts:
        if self._projector is None:
            return _find_plainly(chain, chosen, limit)
        self._projector.catch_up()
        where = replace(_where(chain, chosen), only_for=_only_for(viewer))
        query = Query(chosen.text or "", by="both", limit=limit, where=where, threshold=self._threshold)
        found = self._projector.query(query)
        answer: Thoughts = {
            "thoughts": [],
            "chain_key": chain.key,
            "total": len(found.hits),
            "degraded": bool(found.degraded),
        }
        scores = {int(hit.id.rpartition(":")[2]): round(hit.score, 6) for hit in found.hits}
        entries = {entry.index: entry for entry in chain.entries(sorted(scores))}
        # Once more: a thought may have been taken back since it was indexed.
        there = [
            entry
            for index in scores
            if (entry := entries[index]).body is not None and (chosen.seen is None or chosen.seen[index])
        ]
        answer["thoughts"] = [
            {**thought, "score": scores[thought["index"]]} for thought in as_thoughts(there, chain.registry)
        ]
        if found.degraded:
            answer["degraded_reason"] = found.degraded
        return answer


class IndexedChains:
    """Opens each chain once, and again after a loss of the index: so its thoughts are indexed."""

    def __init__(self, chains: ChainStore, search: ThoughtSearch) -> None:
        self._chains = chains
        self._search = search
        self._starts = -1
        self._done: set[str] = set()  # folders, since the index last began empty

    def opened(self) -> dict[str, str]:
        """Folder → key of every chain."""
        chains, starts = self._chains.folders(), self._search.starts
        if starts != self._starts:
            self._starts, self._done = starts, set()
        for folder in chains.keys() - self._done:
            self._chains.chain(chains[folder])
            self._done.add(folder)
        return chains


def _find_plainly(chain: Chain, chosen: Filter, limit: int) -> Thoughts:
    """The newest that say every word."""
    found = []
    for index in matches(chain, chosen)[::-1]:
        entry = chain.entry(int(index))
        if says(entry, chosen.words):
            found.append(as_thought(entry, chain.registry))
            if len(found) == limit:
                break
    return {"thoughts": found, "chain_key": chain.key, "total": len(found), "degraded": False}


def _name(chain: Chain, index: int) -> str:
    return f"{chain.folder.name}:{index}"


def _only_for(viewer: Viewer) -> dict[str, tuple[str, ...]]:
    return {} if viewer.everything else {SCOPE: viewer.scopes}


def _changes(chain: Chain, indexes: Sequence[int], marks: Mapping[int, str]) -> list[DocumentChange]:
    """None of a damaged chain: its own calls say so, and those of other chains must go on."""
    try:
        return [_change(chain, entry, marks.get(entry.index)) for entry in chain.entries(indexes)]
    except Damaged as error:
        _log.warning("chain %s is not indexed: %s", chain.folder.name, error.message)
        return []


def _change(chain: Chain, entry: ThoughtEntry, mark: str | None) -> DocumentChange:
    name = _name(chain, entry.index)
    if entry.body is None:
        return Remove(name)
    record, body = entry.record, entry.body
    tags, concepts = body.get("tags", []), body.get("concepts", [])
    return Document(
        id=name,
        title=" ".join([*concepts, *tags])[:300],
        text=body["content"],
        hash=entry.hash if mark is None else f"{entry.hash}{MARK}{mark}",
        author=record["agent_id"],
        sequence=place_in(chain.folder.name, entry.index, 1, body["content"]),
        keywords={
            **({SCOPE: (mark, RESTRICTED)} if mark not in (None, PROMOTED) else {}),
            **({REACH: (ENTRY, mark)} if mark is not None else {}),
            **({"session": (record["session_id"].casefold(),)} if "session_id" in record else {}),
            "chain": (chain.folder.name,),
            "type": (record["thought_type"],),
            "role": (record["role"],),
            "agent": (record["agent_id"],),
            "tag": tuple(tag.casefold() for tag in tags),
            "concept": tuple(concept.casefold() for concept in concepts),
        },
        numbers={
            "importance": float(record["importance"]),
            "time": parse_time(record["timestamp"]).timestamp(),
            **({"confidence": float(record["confidence"])} if "confidence" in record else {}),
        },
    )


def _where(chain: Chain, chosen: Filter) -> Where:
    any_of: dict[str, tuple[str, ...]] = {"chain": (chain.folder.name,)}
    if chosen.thought_types:
        any_of["type"] = chosen.thought_types
    if chosen.roles:
        any_of["role"] = chosen.roles
    if chosen.tags_any:
        any_of["tag"] = tuple(tag.casefold() for tag in chosen.tags_any)
    if chosen.concepts_any:
        any_of["concept"] = tuple(concept.casefold() for concept in chosen.concepts_any)
    agents = _agents(chain, chosen)
    if agents is not None:
        any_of["agent"] = agents
    if chosen.entries is not None:
        any_of |= chosen.entries.any_of
    return Where(any_of=any_of, none_of=chosen.entries.none_of if chosen.entries else {}, between=_between(chosen))


def _agents(chain: Chain, chosen: Filter) -> tuple[str, ...] | None:
    """Ids that pass every filter about agents; None: there is none such filter."""
    if not (chosen.agent_ids or chosen.agent_names or chosen.agent_owners):
        return None
    roster = AgentActivity(chain)
    sets = [set(chosen.agent_ids)] if chosen.agent_ids else []
    sets += [set(roster.ids_named(list(chosen.agent_names)))] if chosen.agent_names else []
    sets += [set(roster.ids_owned(list(chosen.agent_owners)))] if chosen.agent_owners else []
    # No agent has an empty name: nothing matches it, as it should be when no agent passes.
    return tuple(sorted(set.intersection(*sets))) or ("",)


def _between(chosen: Filter) -> dict[str, Bounds]:
    bounds: dict[str, Bounds] = {}
    if chosen.min_importance is not None:
        bounds["importance"] = (chosen.min_importance, None)
    if chosen.min_confidence is not None:
        bounds["confidence"] = (chosen.min_confidence, None)
    if chosen.since is not None or chosen.until is not None:
        since = None if chosen.since is None else chosen.since.timestamp()
        bounds["time"] = (since, None if chosen.until is None else chosen.until.timestamp())
    return bounds
