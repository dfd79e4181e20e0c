"""Finding thoughts by text: the `thoughts` collection, fed from the chains behind the acknowledgements.

The chains are the truth. An append never waits for the index; a search first hands over what it has not yet, so that
it sees every thought that was acknowledged before it began.
"""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING

from lithos.core.clock import parse_time
from lithos.errors import LithosError
from lithos.ledger.answers import Thoughts, as_thought
from lithos.ledger.format import Entry
from lithos.ledger.query import Filter, matches, says
from lithos.ledger.roster import Roster
from lithos.search import Bounds, Change, Collection, Document, Query, Remove, Where

if TYPE_CHECKING:
    from lithos.ledger.chain import Chain

THOUGHT_KEYWORDS = ("chain", "type", "role", "agent", "tag", "concept")
THOUGHT_NUMBERS = ("confidence", "importance", "time")
BATCH = 256
PAUSE = 0.2  # seconds without an append before what gathered is handed over: indexing would slow a burst of appends
MOST_PAUSES = 25
_log = logging.getLogger(__name__)


class ThoughtSearch:
    """Without a collection, texts are compared word by word: right for a few thousand thoughts."""

    def __init__(self, collection: Collection | None = None, threshold: float = 0.3) -> None:
        self._collection = collection
        self._threshold = threshold
        self._chains: dict[str, Chain] = {}
        self._handed: dict[str, int] | None = None  # by folder: how many thoughts the collection was given
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._behind = False
        self._stopping = False
        self._thread: threading.Thread | None = None
        if collection is not None:
            collection.on_lost(self._start_over)

    # -- feeding

    def start(self) -> None:
        if self._collection is not None and self._thread is None:
            self._thread = threading.Thread(target=self._run, name="thoughts to search", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        self._stopping = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join()

    def take(self, chain: Chain) -> None:
        """A chain was opened."""
        self._chains[chain.folder.name] = chain
        self.note()

    def note(self) -> None:
        """Something was appended."""
        self._behind = True
        if not self._wake.is_set():
            self._wake.set()

    def is_busy(self) -> bool:
        return self._collection is not None and self._behind

    def _run(self) -> None:
        while not self._stopping:
            self._gather()
            self._behind = False
            try:
                for chain in list(self._chains.values()):
                    self._hand_over(chain)
            except LithosError as error:
                _log.warning("thoughts could not be handed to search: %s", error.message)

    def _gather(self) -> None:
        """Wait for something, then for a pause; a stream without pauses is handed over every few seconds."""
        self._wake.wait()
        for _ in range(MOST_PAUSES):
            self._wake.clear()
            if self._stopping or not self._wake.wait(PAUSE):
                return

    def _hand_over(self, chain: Chain) -> None:
        """Whatever of a chain the collection has not been given yet."""
        while not self._stopping and self._hand_batch(chain):
            continue

    def _hand_batch(self, chain: Chain) -> bool:
        """True: there may be more. One batch under the lock, so that forgetting never meets an old copy in flight."""
        assert self._collection is not None
        with self._lock:
            handed = self._positions()
            start = handed.get(chain.folder.name, 0)
            end = min(chain.size, start + BATCH)
            if start >= end:
                return False
            entries = chain.entries(range(start, end))
            self._collection.apply([_change(chain, entry) for entry in entries])
            handed[chain.folder.name] = end
            return True

    def _positions(self) -> dict[str, int]:
        """From what the collection kept: thoughts are handed over in order, so the newest one tells."""
        if self._handed is None:
            assert self._collection is not None
            self._handed = {}
            for name in self._collection.known():
                folder, _, index = name.rpartition(":")
                self._handed[folder] = max(self._handed.get(folder, 0), int(index) + 1)
        return self._handed

    def _start_over(self) -> None:
        """The collection lost what it had."""
        self._handed = {}
        self.note()

    def purge(self, chain: Chain, index: int) -> None:
        """A thought was forgotten: no byte of it may stay in an index."""
        if self._collection is not None:
            with self._lock:
                self._collection.purge([_name(chain, index)])

    # -- finding

    def find(self, chain: Chain, chosen: Filter, limit: int) -> Thoughts:
        if self._collection is None:
            return _find_plainly(chain, chosen, limit)
        self._hand_over(chain)
        query = Query(chosen.text or "", by="both", limit=limit, where=_where(chain, chosen), threshold=self._threshold)
        found = self._collection.query(query)
        answer: Thoughts = {"thoughts": [], "chain_key": chain.key, "total": len(found.hits)}
        for hit in found.hits:
            entry = chain.entry(int(hit.id.rpartition(":")[2]))
            if entry.body is not None:
                answer["thoughts"].append({**as_thought(entry), "score": round(hit.score, 6)})
        if found.degraded:
            answer["degraded"] = found.degraded
        return answer


def _find_plainly(chain: Chain, chosen: Filter, limit: int) -> Thoughts:
    """The newest that say every word."""
    found = []
    for index in matches(chain, chosen)[::-1]:
        entry = chain.entry(int(index))
        if says(entry, chosen.words):
            found.append(as_thought(entry))
            if len(found) == limit:
                break
    return {"thoughts": found, "chain_key": chain.key, "total": len(found)}


def _name(chain: Chain, index: int) -> str:
    return f"{chain.folder.name}:{index}"


def _change(chain: Chain, entry: Entry) -> Change:
    name = _name(chain, entry.index)
    if entry.body is None:
        return Remove(name)
    record, body = entry.record, entry.body
    tags, concepts = body.get("tags", []), body.get("concepts", [])
    return Document(
        id=name,
        title=" ".join([*concepts, *tags])[:300],
        text=body["content"],
        hash=entry.hash,
        author=record["agent_id"],
        keywords={
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
    return Where(any_of=any_of, between=_between(chosen))


def _agents(chain: Chain, chosen: Filter) -> tuple[str, ...] | None:
    """Ids that pass every filter about agents; None: there is none such filter."""
    if not (chosen.agent_ids or chosen.agent_names or chosen.agent_owners):
        return None
    roster = Roster(chain)
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
