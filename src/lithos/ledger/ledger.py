"""The ledger: every chain of a data directory, by its key."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from typing_extensions import TypedDict

from lithos.core.call import Call
from lithos.core.part import Part
from lithos.core.secrets import find as find_secrets
from lithos.errors import InvalidInput, NotFound, SecretRefused
from lithos.ledger import render, thoughts
from lithos.ledger.answers import (
    Appended,
    Bootstrapped,
    ChainInfo,
    Chains,
    Growth,
    Head,
    OneThought,
    Thoughts,
    Thread,
    Traversal,
    as_thought,
)
from lithos.ledger.chain.chain import Chain
from lithos.ledger.chain.chain_store import ChainStore
from lithos.ledger.chain.forgetting import Forgetting, Forgotten
from lithos.ledger.chain.tickets import Stored
from lithos.ledger.environment import Environment
from lithos.ledger.import_markdown import Item, read_memory
from lithos.ledger.proofs.bundle import Proof, prove
from lithos.ledger.proofs.checkpoints import parse_checkpoint
from lithos.ledger.query import Filter, Walk, matches, traverse
from lithos.ledger.registry.registry import Agent
from lithos.ledger.relations import Links, causal_thread
from lithos.ledger.render import MAX_TOKENS
from lithos.ledger.search import ThoughtSearch
from lithos.ledger.thoughts import Draft, request_of
from lithos.ledger.words import Adapter
from lithos.storage import folder_size

LIMIT = 50
MOST = 1000


class Imported(TypedDict):
    chain_key: str
    read: int
    appended: int
    thought_count: int


class Ledger(Part):
    def __init__(
        self,
        folder: Path,
        world: Environment,
        *,
        default_chain: str = "lithos",
        default_adapter: Adapter = "binary",
        allow_secret: bool = False,
        search: ThoughtSearch | None = None,
        scrub: Callable[[str], object] = lambda thought_id: None,
        storage_root: Path | None = None,
    ) -> None:
        self.folder = folder
        self.world = world
        self.default_chain = thoughts.chain_key(default_chain)
        self._default_adapter = default_adapter
        self._allow_secret = allow_secret
        self._search = search or ThoughtSearch()
        self._forgetting = Forgetting(self._search, scrub)
        self._storage_root = storage_root or folder.parent.parent
        self._shelf = ChainStore(folder, world, self._opened)
        self._links: dict[str, Links] = {}
        self._lock = threading.Lock()

    # -- chains

    def chain(self, key: str | None) -> Chain:
        """One that exists; reading never makes one."""
        return self._shelf.chain(self._key(key))

    def chain_to_write(self, key: str | None, adapter: Adapter | None = None) -> Chain:
        return self._shelf.chain(self._key(key), adapter or self._default_adapter)

    def _key(self, key: str | None) -> str:
        return self.default_chain if key is None else thoughts.chain_key(key)

    def keys(self) -> list[str]:
        return self._shelf.keys()

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
        self,
        call: Call,
        *,
        thought_type: str,
        content: str,
        chain_key: str | None = None,
        agent_id: str | None = None,
        agent_name: str | None = None,
        agent_owner: str | None = None,
        role: str = "Memory",
        importance: float | None = None,
        default_importance: float = 0.5,
        confidence: float | None = None,
        tags: Sequence[str] | None = None,
        concepts: Sequence[str] | None = None,
        refs: Sequence[int] | None = None,
        relations: Sequence[Any] | None = None,
        session_id: str | None = None,
        signing_key_id: str | None = None,
        thought_signature: Sequence[int] | None = None,
        last_checkpoint: Any = None,
    ) -> Appended:
        """One thought, durable when this returns. Creates the chain if there is none."""
        key = self._key(chain_key)
        draft = thoughts.draft(
            agent=agent_id or key,
            name=agent_name,
            owner=agent_owner,
            thought_type=thought_type,
            role=role,
            text=content,
            importance=importance,
            default_importance=default_importance,
            confidence=confidence,
            tags=tags,
            concepts=concepts,
            ref_indexes=refs,
            typed_relations=relations,
            session_id=session_id,
            signing_key_id=signing_key_id,
            signature=thought_signature,
            request=request_of(call),
        )
        return self._append(key, draft, last_checkpoint)

    def _append(self, key: str, draft: Draft, last_checkpoint: Any) -> Appended:
        self._refuse_secrets_of(draft)
        earlier = None if last_checkpoint is None else parse_checkpoint(last_checkpoint)
        # A reference needs something to refer to: no chain is made only to be told that.
        needs = draft.refs or draft.relations or draft.signature or earlier
        chain = self.chain(key) if needs else self.chain_to_write(key)
        if earlier is not None:
            chain.prove_growth(earlier)
        stored = chain.append(draft)
        self._search.wake()
        entry = stored.entry
        answer: Appended = {
            "thought": as_thought(entry),
            "head_hash": entry.hash,
            "chain_key": chain.key,
            "checkpoint": chain.checkpoint_of(stored),
        }
        if earlier is not None:
            answer["consistency"] = _growth(chain, earlier["size"], answer["checkpoint"]["size"])
        return answer

    def _refuse_secrets_of(self, draft: Draft) -> None:
        self.refuse_secrets(draft.content)
        self.refuse_secrets("\n".join((*draft.tags, *draft.concepts)), "tags and concepts")

    def refuse_secrets(self, text: str, field: str = "content") -> None:
        found = [] if self._allow_secret else find_secrets(text)
        if found:
            kind, line = found[0]
            raise SecretRefused(
                f"{field} holds what looks like a {kind} in line {line}; nothing was written",
                hint="Take the credential out and say where it is kept instead. It cannot be unsaid later.",
                kind=kind,
                line=line,
            )

    def bootstrap(
        self,
        call: Call,
        *,
        content: str,
        chain_key: str | None = None,
        agent_id: str | None = None,
        agent_name: str | None = None,
        agent_owner: str | None = None,
        importance: float | None = None,
        tags: Sequence[str] | None = None,
        concepts: Sequence[str] | None = None,
        storage_adapter: Adapter | None = None,
    ) -> Bootstrapped:
        """Write the chain's first thought, if it has none yet."""
        draft = thoughts.draft(
            agent=agent_id or "system",
            name=agent_name,
            owner=agent_owner,
            thought_type="Summary",
            role="Checkpoint",
            text=content,
            importance=importance,
            default_importance=1.0,
            tags=tags,
            concepts=concepts,
            request=request_of(call),
        )
        self._refuse_secrets_of(draft)
        chain = self.chain_to_write(chain_key, storage_adapter)
        stored = chain.append_first(draft)
        if stored is not None:
            self._search.wake()
        return _bootstrapped(chain, stored, storage_adapter)

    def forget(
        self, call: Call, chain_key: str | None, *, thought_id: str | None, thought_index: int | None, reason: str
    ) -> Forgotten:
        """Remove a thought's content for good. Its place, hash and proofs stay; a new thought records who and why."""
        chain = self.chain(chain_key)
        found = self.thought(chain_key, thought_id=thought_id, thought_index=thought_index)["thought"]
        if found is None:
            raise NotFound("there is no such thought on this chain", hint="Name it by index or id.")
        by = call.agent or call.user or "operator"
        why = thoughts.content(reason, "reason", 2000)
        return self._forgetting.forget(chain, found["index"], why, by)

    def convert(self, chain_key: str | None, to: Adapter) -> ChainInfo:
        """Store a chain in the other way. It is closed meanwhile: calls to it wait."""
        return self._info(self._shelf.convert(self.chain(chain_key).key, to))

    def import_memory(self, call: Call, chain_key: str | None, text: str, agent_id: str | None) -> Imported:
        """A MEMORY.md as thoughts. What the chain says already, word for word, is left out."""
        chain = self.chain_to_write(chain_key)
        known = {entry.body["content"]: entry.index for entry in chain.entries(range(chain.size)) if entry.body}
        places: dict[int, int] = {}
        written = 0
        items = read_memory(text)
        for item in items:
            if item.content not in known:
                known[item.content] = self._import_item(call, chain.key, item, agent_id, places)
                written += 1
            if item.was is not None:
                places[item.was] = known[item.content]
        return {"chain_key": chain.key, "read": len(items), "appended": written, "thought_count": chain.size}

    def _import_item(self, call: Call, key: str, item: Item, agent_id: str | None, places: dict[int, int]) -> int:
        answer = self.append(
            Call(tool=call.tool, agent=call.agent, user=call.user),
            chain_key=key,
            agent_id=item.agent_id or agent_id,
            agent_name=item.agent_name,
            thought_type=item.thought_type,
            content=item.content,
            importance=item.importance,
            confidence=item.confidence,
            tags=[*item.tags[:50], "imported"],
            refs=[places[index] for index in item.refs if index in places],
        )
        return answer["thought"]["index"]

    # -- reading

    def head(self, chain_key: str | None = None, last_checkpoint: Any = None) -> Head:
        chain = self.chain(chain_key)
        answer: Head = {
            "chain_key": chain.key,
            "thought_count": chain.size,
            "head_hash": chain.head_hash,
            "latest_thought": as_thought(chain.entry(chain.size - 1)) if chain.size else None,
            "integrity_ok": chain.problem is None,
            "verified_through": chain.verified_through,
            "storage_location": self._location(chain),
        }
        if chain.problem is not None:
            answer["problem"] = {"message": chain.problem.message, **chain.problem.details}
        else:
            answer["checkpoint"] = chain.checkpoint(at_most=answer["thought_count"])
        if last_checkpoint is not None:
            earlier = parse_checkpoint(last_checkpoint)
            chain.prove_growth(earlier)
            answer["consistency"] = _growth(chain, earlier["size"], answer["thought_count"])
        return answer

    def thought(
        self,
        chain_key: str | None = None,
        *,
        thought_id: str | None = None,
        thought_hash: str | None = None,
        thought_index: int | None = None,
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
        return {
            "chain_key": chain.key,
            "thought": as_thought(chain.entry(index)) if there and index is not None else None,
        }

    def genesis(self, chain_key: str | None = None) -> OneThought:
        return self.thought(chain_key, thought_index=0)

    def search(self, chain_key: str | None, chosen: Filter, limit: int | None = None) -> Thoughts:
        """With text the best first; without, the newest matches in append order."""
        chain = self.chain(chain_key)
        most = _limit(limit)
        if chosen.text is not None and chosen.text.strip():
            return self._search.find(chain, chosen, most)
        indexes = matches(chain, chosen)
        found = chain.entries([int(index) for index in indexes[-most:]])
        return {"thoughts": [as_thought(entry) for entry in found], "chain_key": chain.key, "total": len(indexes)}

    def traverse(self, chain_key: str | None, walk: Walk) -> Traversal:
        return traverse(self.chain(chain_key), walk)

    def prove(self, chain_key: str | None, index: int) -> Proof:
        return prove(self.chain(chain_key), index)

    def recent_context(self, chain_key: str | None = None, last_n: int = 12, max_tokens: int = MAX_TOKENS) -> str:
        chain = self.chain(chain_key)
        size = chain.size
        found = chain.entries(range(max(0, size - last_n), size))
        return render.prompt(chain.key, [as_thought(entry) for entry in found], size, max_tokens)

    def memory_markdown(
        self, chain_key: str | None, chosen: Filter, limit: int | None = None, max_tokens: int = MAX_TOKENS
    ) -> str:
        found = self.search(chain_key, chosen, limit)
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
    ) -> Thread:
        """The causal thread around one thought."""
        chain = self.chain(chain_key)
        found = self.thought(chain_key, thought_id=thought_id, thought_index=thought_index)["thought"]
        if found is None:
            raise NotFound(
                "there is no such thought on this chain", hint="mentisdb_search finds thoughts and their index."
            )
        with self._lock:
            links = self._links.setdefault(chain.key, Links())
            return causal_thread(chain, links, found["index"], depth, limit, max_tokens)

    def registered(self, chain_key: str | None, agent_id: str) -> Agent | None:
        return self.chain(chain_key).registry.agents.get(agent_id)

    # -- housekeeping

    def open_chains(self) -> list[Chain]:
        return self._shelf.open_chains()

    def checkpoint_all(self) -> None:
        """On a schedule: sign and keep what grew since the last time."""
        for chain in self.open_chains():
            chain.checkpoint_soon()

    def verify_some(self, seconds: float = 0.2, stop: Callable[[], bool] = lambda: False) -> None:
        """A little of the full check of every open chain; called again and again it reaches all of it."""
        for chain in self.open_chains():
            if not stop():
                chain.verify_some(seconds)

    def close_chain(self, key: str) -> None:
        self._shelf.close_chain(key)

    def start(self) -> None:
        self._search.start()

    def busy(self) -> bool:
        return self._search.busy()

    def sizes(self) -> dict[str, int]:
        return {"ledger": folder_size(self.folder), "thoughts": self._search.size()}

    def complete_search(self) -> int:
        """Compare search with the open chains and apply what it lacks; the number of changes."""
        return self._search.complete()

    def problem(self) -> str | None:
        if any(chain.problem is not None for chain in self.open_chains()):
            return "a chain of the ledger is damaged: `lithos ledger verify` says which"
        return self._search.problem()

    def close(self) -> None:
        self._search.close()
        self._shelf.close()


def _growth(chain: Chain, old: int, new: int) -> Growth:
    return {"from_size": old, "to_size": new, "proof": chain.growth_proof(old, new)}


def _bootstrapped(chain: Chain, stored: Stored | None, wished: Adapter | None) -> Bootstrapped:
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
    if wished is not None and wished != chain.adapter:
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
