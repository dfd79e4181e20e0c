"""The ledger: every chain of a data directory, by its key."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from typing_extensions import TypedDict

from lithos.core.call import Call
from lithos.core.listeners import Listeners
from lithos.core.part import Part
from lithos.core.validators import text_block
from lithos.errors import InvalidInput, LedgerFork, NotFound
from lithos.ledger import render, thoughts
from lithos.ledger.answers import (
    Appended,
    Bootstrapped,
    ChainInfo,
    Chains,
    Growth,
    Head,
    OneThought,
    Thought,
    Thoughts,
    Thread,
    Traversal,
    as_thought,
    as_thoughts,
)
from lithos.ledger.chain import admission
from lithos.ledger.chain.chain import Chain
from lithos.ledger.chain.chain_store import ChainStore
from lithos.ledger.chain.forgetting import Forgetting, Forgotten
from lithos.ledger.chain.format import ThoughtEntry
from lithos.ledger.chain.tickets import Stored
from lithos.ledger.environment import Environment
from lithos.ledger.import_markdown import MemoryItem, read_memory
from lithos.ledger.proofs.bundle import Proof, prove
from lithos.ledger.proofs.checkpoints import Checkpoint, parse_checkpoint
from lithos.ledger.query import Filter, Walk, matches, traverse
from lithos.ledger.registry.registry import Agent
from lithos.ledger.relations import LinksByTarget, causal_thread
from lithos.ledger.render import MAX_TOKENS
from lithos.ledger.scopes import PROMOTED, ChainScopes, EntryScope, KnownSessions, NoSessions
from lithos.ledger.search import IndexedChains, ThoughtSearch
from lithos.ledger.thoughts import Draft, request_of
from lithos.ledger.words import Adapter
from lithos.search import Collection, Query, SearchResult
from lithos.sessions import ALL, PUBLIC, Viewer, visible
from lithos.storage import folder_size

if TYPE_CHECKING:
    from lithos.ledger.chain.columns import Mask

RecalledThoughts = tuple[SearchResult, dict[str, tuple[str, int]]]  # hit → key of its chain, index in it
LIMIT = 50
MOST = 1000
LONGEST_REASON = 2000
HEAD_SECONDS = 2.0  # how long `head` hashes what opening took on trust: some 50,000 thoughts


class Imported(TypedDict):
    chain_key: str
    read: int
    appended: int
    thought_count: int


class Ledger(Part):
    def __init__(
        self,
        folder: Path,
        environment: Environment,
        *,
        default_chain: str = "lithos",
        default_adapter: Adapter = "binary",
        allow_secret: bool = False,
        search: ThoughtSearch | None = None,
        scrub: Callable[[str], object] = lambda thought_id: None,
        forget_agent: Callable[[str], object] = lambda agent_id: None,
        storage_root: Path | None = None,
        sessions: KnownSessions | None = None,
    ) -> None:
        self.folder = folder
        self.environment = environment
        self.default_chain = thoughts.chain_key(default_chain)
        self._default_adapter = default_adapter
        self._allow_secret = allow_secret
        self._search = search or ThoughtSearch()
        self._forgetting = Forgetting(self._search, scrub, forget_agent)
        self._storage_root = storage_root or folder.parent.parent
        self._chains = ChainStore(folder, environment, self._opened)
        self._sessions = sessions or NoSessions()
        self._scopes: WeakKeyDictionary[Chain, ChainScopes] = WeakKeyDictionary()
        self._search.use(self.scopes)
        self._links: WeakKeyDictionary[Chain, LinksByTarget] = WeakKeyDictionary()
        self._lock = threading.Lock()
        self._indexed = IndexedChains(self._chains, self._search)
        self.appended = Listeners("the ledger")

    # -- chains

    def chain(self, key: str | None) -> Chain:
        """One that exists; reading never creates one."""
        return self._chains.chain(self._key(key))

    def chain_to_write(self, key: str | None, adapter: Adapter | None = None) -> Chain:
        """Created if there is none."""
        name = self._key(key)
        self.refuse_secrets({"chain_key": name})
        return self._chains.chain(name, adapter or self._default_adapter)

    def _key(self, key: str | None) -> str:
        return self.default_chain if key is None else thoughts.chain_key(key)

    def keys(self) -> list[str]:
        return self._chains.keys()

    def scopes(self, chain: Chain) -> ChainScopes:
        """Which of the chain's thoughts belong to sessions."""
        with self._lock:
            found = self._scopes.get(chain)
            if found is None:
                found = self._scopes[chain] = ChainScopes(chain, self._sessions)
            return found

    def rescope(self, chain_key: str, indexes: Sequence[int]) -> None:
        """These thoughts were promoted or taken back."""
        self._search.rescope(self.chain(chain_key), indexes)

    def _seen(self, chain: Chain, chosen: Filter, viewer: Viewer) -> Mask | None:
        scopes = self.scopes(chain)
        return scopes.seen(viewer) if chosen.entries is None else scopes.entries(chosen.entries)

    def _sees(self, chain: Chain, index: int, viewer: Viewer) -> bool:
        return visible(self.scopes(chain).row(index), viewer)

    def _newest(self, chain: Chain, viewer: Viewer, most: int) -> tuple[list[int], int]:
        """Indexes of the newest thoughts that the viewer may see, oldest first; and how many it sees in all."""
        seen = self.scopes(chain).seen(viewer)
        if seen is None:
            return [*range(max(0, chain.size - most), chain.size)], chain.size
        places = matches(chain, Filter(seen=seen))
        return [int(index) for index in places[-most:]], len(places)

    def _opened(self, chain: Chain) -> None:
        self._forgetting.resume(chain)
        self._search.add(chain)

    def chains(self) -> Chains:
        keys = self.keys()
        return {
            "default_chain_key": self.default_chain,
            "chain_keys": keys,
            "chains": [self._info(self.chain(key)) for key in keys],
        }

    def _info(self, chain: Chain) -> ChainInfo:
        writers = {agent_id for _, agent_id, _, _ in chain.columns.agent_codes()}
        info: ChainInfo = {
            "chain_key": chain.key,
            "version": chain.header.version,
            "storage_adapter": chain.adapter,
            "thought_count": chain.size,
            "agent_count": len(writers | set(chain.registry.agents)),
            "storage_location": self._location(chain),
        }
        if chain.problem is not None:
            info["problem"] = chain.problem.message
        return info

    def _location(self, chain: Chain) -> str:
        return chain.folder.relative_to(self._storage_root).as_posix()

    # -- writing

    def append(
        self, call: Call, draft: Draft, *, chain_key: str | None = None, last_checkpoint: Any = None
    ) -> Appended:
        """One thought, durable when this returns. Creates the chain if there is none."""
        key = self._key(chain_key)
        self.refuse_secrets({"chain_key": key, **draft.texts()})
        draft = draft.checked(key, request_of(call))
        earlier = None if last_checkpoint is None else parse_checkpoint(last_checkpoint)
        chain = self._chain_for(key, draft, earlier)
        if earlier is not None:
            chain.prove_growth(earlier)
        stored = chain.append(draft)
        self._search.wake(chain)
        self.appended.wake()
        entry = stored.entry
        answer: Appended = {
            "thought": as_thought(entry, chain.registry),
            "head_hash": entry.hash,
            "chain_key": chain.key,
            "checkpoint": chain.checkpoint_of(stored),
        }
        if earlier is not None:
            answer["consistency"] = _growth(chain, earlier["size"], answer["checkpoint"]["size"])
        return answer

    def has_written(self, call: Call, chain_key: str) -> bool:
        """Whether this call is a repetition of one that has appended to the chain."""
        if call.idempotency_key is None and (call.delivery is None or not call.delivery.resent):
            return False
        return self._chains.exists(self._key(chain_key)) and bool(self.chain(chain_key).repeated(request_of(call)))

    def _chain_for(self, key: str, draft: Draft, earlier: Checkpoint | None) -> Chain:
        """The chain to append to, created only for a thought that can be the first of one."""
        if self._chains.exists(key):
            return self._chains.chain(key)
        if earlier is not None and earlier["chain_key"] == key:
            raise LedgerFork(
                f"there is no chain {key!r}; your checkpoint has {earlier['size']} thoughts of it",
                hint="The chain was removed or renamed. Stop, and keep your checkpoint.",
                chain_key=key,
            )
        if draft.signature is not None:
            raise InvalidInput(
                f"there is no chain {key!r} yet, so {draft.agent_id} has no key on it",
                hint="Create it with mentisdb_upsert_agent, add the key with mentisdb_add_agent_key, then append.",
            )
        admission.check_targets(draft, 0)
        return self.chain_to_write(key)

    def refuse_secrets(self, fields: Mapping[str, Any]) -> None:
        """Raise `SecretRefused` if a text among these looks like a credential, unless the operator allows that."""
        if not self._allow_secret:
            admission.refuse_secrets(fields)

    def bootstrap(
        self, call: Call, draft: Draft, *, chain_key: str | None = None, storage_adapter: Adapter | None = None
    ) -> Bootstrapped:
        """Write the chain's first thought, if it has none yet."""
        self.refuse_secrets(draft.texts())
        draft = draft.checked("system", request_of(call))
        chain = self.chain_to_write(chain_key, storage_adapter)
        stored = chain.append(draft, only_first=True)
        if stored is not None:
            self._search.wake(chain)
            self.appended.wake()
        return _bootstrapped(chain, stored, storage_adapter)

    def forget(
        self,
        call: Call,
        chain_key: str | None,
        *,
        thought_id: str | None = None,
        thought_hash: str | None = None,
        thought_index: int | None = None,
        reason: str,
    ) -> Forgotten:
        """Remove a thought's content and names. Its place, hash and proofs stay; a new thought records who and why."""
        chain = self.chain(chain_key)
        located = self.thought(
            chain_key, thought_id=thought_id, thought_hash=thought_hash, thought_index=thought_index, viewer=ALL
        )
        found = located["thought"]
        if found is None:
            raise NotFound(
                "there is no such thought on this chain", hint="mentisdb_search finds thoughts and their index."
            )
        by = call.agent or call.user or "operator"
        why = text_block(reason, "reason", LONGEST_REASON)
        self.refuse_secrets({"reason": why, "agent": by})
        forgotten = self._forgetting.forget(chain, found["index"], why, by)
        self.appended.wake()
        return forgotten

    def convert(self, chain_key: str | None, to: Adapter) -> ChainInfo:
        """Store a chain with the other adapter. Calls to it wait meanwhile."""
        chain = self.chain(chain_key)
        chain.convert(to)
        return self._info(chain)

    def import_memory(self, call: Call, chain_key: str | None, text: str, agent_id: str | None) -> Imported:
        """A MEMORY.md as thoughts. What the chain already says, word for word, is left out."""
        items = read_memory(text)
        for item in items:  # all before any: a refusal must not leave half a file behind
            self.refuse_secrets({"agent_id": agent_id, **asdict(item)})
        chain = self.chain_to_write(chain_key)
        known = {entry.body["content"]: entry.index for entry in chain.entries(range(chain.size)) if entry.body}
        places: dict[int, int] = {}
        written = 0
        for item in items:
            if item.content not in known:
                known[item.content] = self._import_item(call, chain.key, item, agent_id, places)
                written += 1
            if item.was is not None:
                places[item.was] = known[item.content]
        return {"chain_key": chain.key, "read": len(items), "appended": written, "thought_count": chain.size}

    def _import_item(self, call: Call, key: str, item: MemoryItem, agent_id: str | None, places: dict[int, int]) -> int:
        draft = Draft(
            thought_type=item.thought_type,
            content=item.content,
            agent_id=item.agent_id or agent_id,
            agent_name=item.agent_name,
            importance=item.importance,
            confidence=item.confidence,
            tags=[*item.tags[:50], "imported"],
            refs=[places[index] for index in item.refs if index in places],
        )
        answer = self.append(Call(tool=call.tool, agent=call.agent, user=call.user), draft, chain_key=key)
        return answer["thought"]["index"]

    # -- reading

    def head(self, chain_key: str | None = None, last_checkpoint: Any = None, viewer: Viewer = PUBLIC) -> Head:
        chain = self.chain(chain_key)
        chain.verify_some(HEAD_SECONDS)
        answer: Head = {
            "chain_key": chain.key,
            "thought_count": chain.size,
            "head_hash": chain.head_hash,
            "latest_thought": self._latest(chain, viewer),
            "integrity_ok": chain.integrity,
            "verified_through": chain.verified_through,
            "storage_location": self._location(chain),
        }
        if problem := chain.problem or chain.lost_evidence:
            answer["problem"] = {"message": problem.message, **problem.details}
        if chain.problem is None:
            answer["checkpoint"] = chain.checkpoint(at_most=answer["thought_count"])
        if last_checkpoint is not None:
            earlier = parse_checkpoint(last_checkpoint)
            chain.prove_growth(earlier)
            answer["consistency"] = _growth(chain, earlier["size"], answer["thought_count"])
        return answer

    def _latest(self, chain: Chain, viewer: Viewer) -> Thought | None:
        newest, _ = self._newest(chain, viewer, 1)
        return as_thought(chain.entry(newest[0]), chain.registry) if newest else None

    def thought(
        self,
        chain_key: str | None = None,
        *,
        thought_id: str | None = None,
        thought_hash: str | None = None,
        thought_index: int | None = None,
        viewer: Viewer = PUBLIC,
    ) -> OneThought:
        if sum(locator is not None for locator in (thought_id, thought_hash, thought_index)) != 1:
            raise InvalidInput("give exactly one locator", hint="thought_id, thought_hash or thought_index.")
        chain = self.chain(chain_key)
        index = thought_index
        if index is not None and index < 0:
            raise InvalidInput(f"thought_index is {index}", hint="Indexes begin at 0.")
        if thought_id is not None:
            index = chain.find_id(thought_id)
        elif thought_hash is not None:
            index = chain.find_hash(thought_hash)
        there = index is not None and index < chain.size
        if not there:
            chain.refuse_if_cut_short()
        there = there and index is not None and self._sees(chain, index, viewer)
        return {
            "chain_key": chain.key,
            "thought": as_thought(chain.entry(index), chain.registry) if there and index is not None else None,
        }

    def by_ids(self, chain_key: str, ids: Sequence[str], viewer: Viewer = PUBLIC) -> dict[str, Thought | None]:
        """The thoughts of these ids, read together; None where the viewer may not see it or it is forgotten."""
        chain = self.chain(chain_key)
        entries = chain.entries(chain.places_of_ids(ids))
        wanted = {each.lower() for each in ids}
        there = [entry for entry in entries if entry.record["id"] in wanted]
        found: dict[str, Thought | None] = {entry.record["id"]: None for entry in there}
        seen = [each for each in there if each.body is not None and self._sees(chain, each.index, viewer)]
        return found | {each["id"]: each for each in as_thoughts(seen, chain.registry)}

    def between(self, chain_key: str, start: int, end: int, viewer: Viewer = PUBLIC) -> list[Thought]:
        """The thoughts from one index on and before another that the viewer may see, oldest first."""
        chain = self.chain(chain_key)
        seen = self.scopes(chain).seen(viewer)
        places = [index for index in range(max(start, 0), end) if seen is None or (index < len(seen) and seen[index])]
        return as_thoughts(chain.entries(places), chain.registry)

    def genesis(self, chain_key: str | None = None, viewer: Viewer = PUBLIC) -> OneThought:
        return self.thought(chain_key, thought_index=0, viewer=viewer)

    def search(
        self, chain_key: str | None, chosen: Filter, limit: int | None = None, viewer: Viewer = PUBLIC
    ) -> Thoughts:
        """With text the best first; without, the newest matches in append order."""
        chain = self.chain(chain_key)
        chain.refuse_if_cut_short()
        most = _limit(limit)
        chosen = replace(chosen, seen=self._seen(chain, chosen, viewer))
        if chosen.text is not None and chosen.text.strip():
            return self._search.find(chain, chosen, most, viewer)
        indexes = matches(chain, chosen)
        found = chain.entries([int(index) for index in indexes[-most:]])
        shown = as_thoughts(found, chain.registry)
        return {"thoughts": shown, "chain_key": chain.key, "total": len(indexes), "degraded": False}

    def entries(self, chain_key: str, scope: EntryScope) -> list[Thought]:
        """All thoughts of these sessions, oldest first; forgotten ones left out. None where there is no chain."""
        if not self._chains.exists(self._key(chain_key)):
            return []
        chain = self.chain(chain_key)
        places = [int(index) for index in matches(chain, Filter(seen=self.scopes(chain).entries(scope)))]
        shown = as_thoughts(chain.entries(places), chain.registry)
        return [each for each in shown if not each.get("forgotten")]

    def private_sessions(self, chain_key: str) -> set[str]:
        """Sessions with entries on this chain that are not promoted."""
        return {each for each in self.scopes(self.chain(chain_key)).marks().values() if each != PROMOTED}

    def referring(self, chain_key: str, thought_id: str, viewer: Viewer = PUBLIC) -> list[Thought]:
        """Later thoughts that refer to one, oldest first."""
        chain = self.chain(chain_key)
        index = chain.find_id(thought_id)
        if index is None:
            return []
        with self._lock:
            links = self._links.setdefault(chain, LinksByTarget())
            links.update(chain)
            later = links.later(index)
        entries = chain.entries([each for each in sorted(set(later)) if self._sees(chain, each, viewer)])
        return as_thoughts((entry for entry in entries if entry.body is not None), chain.registry)

    def neighbours(self, chain_key: str, thought_id: str, least: float, limit: int = 20) -> list[str]:
        """Ids of this chain's thoughts that mean nearly the same as one; as far as they are embedded."""
        chain = self.chain(chain_key)
        index = chain.find_id(thought_id)
        near = [] if index is None else self._search.neighbours(chain, index, least, limit)
        return [entry.record["id"] for entry in chain.entries(near)]

    def begin_recall(self, query: Query, viewer: Viewer = PUBLIC) -> Callable[[float], RecalledThoughts]:
        """The best thoughts of all chains; and for each hit the chain and the index that it is at."""
        chains = self._indexed.opened()
        begun = self._search.begin_recall(query, viewer)

        def finish(least: float) -> RecalledThoughts:
            found = begun(least)
            places = {}
            for hit in found.hits:
                folder, _, index = hit.id.rpartition(":")
                if folder in chains:
                    places[hit.id] = (chains[folder], int(index))
            known = tuple(hit for hit in found.hits if hit.id in places)
            return replace(found, hits=known), places

        return finish

    def recalled(self, places: Iterable[tuple[str, int]], viewer: Viewer) -> dict[tuple[str, int], ThoughtEntry]:
        """Thoughts that were found, by chain and index; left out: those no longer there for this viewer."""
        found: dict[tuple[str, int], ThoughtEntry] = {}
        for key, group in groupby(sorted(places), key=lambda place: place[0]):
            chain = self._chains.chain(key)
            there = [index for _, index in group if index < chain.size and self._sees(chain, index, viewer)]
            found |= {(key, entry.index): entry for entry in chain.entries(there)}
        return found

    def traverse(self, chain_key: str | None, walk: Walk, viewer: Viewer = PUBLIC) -> Traversal:
        chain = self.chain(chain_key)
        chain.refuse_if_cut_short()
        chosen = replace(walk.chosen, seen=self.scopes(chain).seen(viewer))
        return traverse(chain, replace(walk, chosen=chosen))

    def prove(self, chain_key: str | None, index: int, viewer: Viewer = PUBLIC) -> Proof:
        chain = self.chain(chain_key)
        if index < chain.size and not self._sees(chain, index, viewer):
            raise NotFound(f"thought {index} belongs to a session", hint="Only its members may prove it.")
        return prove(chain, index)

    def recent_context(
        self,
        chain_key: str | None = None,
        last_n: int = 12,
        max_tokens: int = MAX_TOKENS,
        viewer: Viewer = PUBLIC,
    ) -> str:
        chain = self.chain(chain_key)
        chain.refuse_if_cut_short()
        newest, total = self._newest(chain, viewer, last_n)
        shown = as_thoughts(chain.entries(newest), chain.registry)
        return render.prompt(chain.key, shown, total, max_tokens)

    def memory_markdown(
        self,
        chain_key: str | None,
        chosen: Filter,
        limit: int | None = None,
        max_tokens: int = MAX_TOKENS,
        viewer: Viewer = PUBLIC,
    ) -> str:
        found = self.search(chain_key, chosen, limit, viewer)
        in_order = sorted(found["thoughts"], key=lambda thought: thought["index"])
        return render.markdown(found["chain_key"], in_order, found["total"], max_tokens)

    def thread(
        self,
        chain_key: str | None,
        thought_id: str | None,
        thought_index: int | None,
        depth: int,
        limit: int,
        max_tokens: int,
        viewer: Viewer = PUBLIC,
    ) -> Thread:
        """The causal thread around one thought, through those that the viewer may see."""
        chain = self.chain(chain_key)
        found = self.thought(chain_key, thought_id=thought_id, thought_index=thought_index, viewer=viewer)["thought"]
        if found is None:
            raise NotFound(
                "there is no such thought on this chain", hint="mentisdb_search finds thoughts and their index."
            )
        seen = self.scopes(chain).seen(viewer)
        with self._lock:
            links = self._links.setdefault(chain, LinksByTarget())
            return causal_thread(chain, links, found["index"], depth, limit, max_tokens, seen)

    def registered(self, chain_key: str | None, agent_id: str) -> Agent | None:
        return self.chain(chain_key).registry.agents.get(agent_id)

    # -- housekeeping

    def open_chains(self) -> list[Chain]:
        return self._chains.open_chains()

    def checkpoint_all(self) -> None:
        """On a schedule: sign and keep what grew since the last time."""
        for chain in self.open_chains():
            chain.checkpoint_soon()

    def verify_some(self, seconds: float = 0.2, stop: Callable[[], bool] = lambda: False) -> None:
        """A little of the full check of every open chain; called again and again it reaches all of it."""
        self._chains.verify_some(seconds, stop)

    def close_chain(self, key: str) -> None:
        self._chains.close_chain(key)

    def start(self) -> None:
        self._search.start()

    def busy(self) -> bool:
        return self._search.busy()

    def sizes(self) -> dict[str, int]:
        return {"ledger": folder_size(self.folder), "thoughts": self._search.size()}

    @property
    def collection(self) -> Collection | None:
        """The collection of the thoughts."""
        return self._search.collection

    def complete_search(self) -> int:
        """Compare search with the open chains and apply what it lacks; the number of changes."""
        return self._search.complete()

    def problem(self) -> str | None:
        if self._chains.damaged():
            return "a chain of the ledger is damaged: `lithos ledger verify` says which"
        return self._search.problem()

    def close(self) -> None:
        self._search.close()
        self._chains.close()


def _growth(chain: Chain, old: int, new: int) -> Growth:
    return {"from_size": old, "to_size": new, "proof": chain.growth_proof(old, new)}


def _bootstrapped(chain: Chain, stored: Stored | None, requested: Adapter | None) -> Bootstrapped:
    first = stored is not None
    checkpoint = chain.checkpoint_of(stored) if stored is not None else chain.checkpoint()
    answer: Bootstrapped = {
        "bootstrapped": first,
        "thought_count": checkpoint["size"],
        "head_hash": checkpoint["head_hash"],
        "chain_key": chain.key,
        "storage_adapter": chain.adapter,
        "checkpoint": checkpoint,
    }
    if requested is not None and requested != chain.adapter:
        answer["note"] = (
            f"The chain exists already and is stored as {chain.adapter}: storage_adapter was ignored. "
            "`lithos ledger convert` changes it."
        )
    return answer


def _limit(limit: int | None) -> int:
    if limit is None:
        return LIMIT
    if limit < 1:
        raise InvalidInput(f"limit is {limit}", hint=f"Use 1 to {MOST}.")
    return min(limit, MOST)
