"""Answers of the ledger, and the conversion of a stored entry to the thought that a client reads."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NotRequired

from typing_extensions import TypedDict

from lithos.core.cursor import NextPage
from lithos.ledger.chain.format import ThoughtEntry
from lithos.ledger.proofs.checkpoints import Checkpoint
from lithos.ledger.registry.registry import AgentNames, Registry


class Relation(TypedDict):
    kind: str
    target: int


class Thought(TypedDict):
    id: str
    index: int
    agent_id: str
    agent_name: str
    agent_owner: str | None
    timestamp: str
    thought_type: str
    role: str
    content: str
    confidence: float | None
    importance: float
    tags: list[str]
    concepts: list[str]
    refs: list[int]
    relations: list[Relation]
    session_id: str | None
    hash: str
    prev_hash: str
    signing_key_id: str | None
    thought_signature: list[int] | None
    forgotten: NotRequired[bool]
    score: NotRequired[float]


class Growth(TypedDict):
    """That the chain of an earlier checkpoint is the beginning of this one (RFC 6962)."""

    from_size: int
    to_size: int
    proof: list[str]


class Appended(TypedDict):
    thought: Thought
    head_hash: str
    chain_key: str
    checkpoint: Checkpoint
    consistency: NotRequired[Growth]
    storage_adapter: NotRequired[str]
    note: NotRequired[str]


class Bootstrapped(TypedDict):
    bootstrapped: bool
    thought_count: int
    head_hash: str | None
    chain_key: str
    storage_adapter: str
    checkpoint: Checkpoint
    note: NotRequired[str]


class Head(TypedDict):
    chain_key: str
    thought_count: int
    head_hash: str | None
    latest_thought: Thought | None
    integrity_ok: bool | None  # null: a long chain was just opened, and not all of it is hashed yet
    verified_through: int | None
    storage_location: str
    checkpoint: NotRequired[Checkpoint]
    consistency: NotRequired[Growth]
    problem: NotRequired[dict[str, Any]]


class ChainInfo(TypedDict):
    chain_key: str
    version: int
    storage_adapter: str
    thought_count: int
    agent_count: int
    storage_location: str
    problem: NotRequired[str]


class Chains(TypedDict):
    default_chain_key: str
    chain_keys: list[str]
    chains: list[ChainInfo]


class OneThought(TypedDict):
    chain_key: str
    thought: Thought | None


class Thoughts(NextPage):
    thoughts: list[Thought]
    chain_key: str
    total: int
    degraded: bool
    degraded_reason: NotRequired[str]


class Cursor(TypedDict):
    id: str
    index: int
    hash: str


class Traversal(TypedDict):
    chain_key: str
    direction: str
    include_anchor: bool
    chunk_size: int
    anchor: Cursor | None
    thoughts: list[Thought]
    has_more: bool
    next_cursor: Cursor | None
    previous_cursor: Cursor | None


class AgentIdentity(TypedDict):
    agent_id: str
    agent_name: str
    agent_owner: str | None


class Agents(TypedDict):
    chain_key: str
    agents: list[AgentIdentity]


class ReplacedKey(TypedDict):
    public_key_bytes: list[int]
    added_at: str
    replaced_at: str | None


class PublicKey(TypedDict):
    key_id: str
    algorithm: str
    public_key_bytes: list[int]
    added_at: str
    revoked_at: str | None
    replaced: NotRequired[list[ReplacedKey]]


class AgentRecord(TypedDict):
    agent_id: str
    display_name: str
    agent_owner: str | None
    description: str | None
    aliases: list[str]
    status: str
    public_keys: list[PublicKey]
    thought_count: int
    first_seen_index: int | None
    last_seen_index: int | None
    first_seen_at: str | None
    last_seen_at: str | None


class OneAgent(TypedDict):
    chain_key: str
    agent: AgentRecord


class AgentRegistry(TypedDict):
    chain_key: str
    agents: list[AgentRecord]


class ThoughtLink(TypedDict):
    source: int
    target: int
    kind: str


class Thread(TypedDict):
    chain_key: str
    thought: Thought
    thoughts: list[Thought]
    links: list[ThoughtLink]
    truncated: bool
    text: str


def as_thoughts(entries: Iterable[ThoughtEntry], registry: Registry) -> list[Thought]:
    """Names that a thought does not give are the registered ones; those of a forgotten thought are empty."""
    agents: dict[str, AgentNames] = {}
    shown = []
    for entry in entries:
        agent_id = entry.record.get("agent_id", "")
        names = agents.get(agent_id)
        if names is None:
            names = agents[agent_id] = registry.names_of(agent_id)
        shown.append(_shown(entry, agent_id, names))
    return shown


def as_thought(entry: ThoughtEntry, registry: Registry) -> Thought:
    return as_thoughts((entry,), registry)[0]


def _shown(entry: ThoughtEntry, agent_id: str, names: AgentNames) -> Thought:
    record, body = entry.record, entry.body or {}
    signature = body.get("thought_signature")
    thought: Thought = {
        "id": record["id"],
        "index": record["index"],
        "agent_id": agent_id,
        "agent_name": record.get("agent_name") or names.name,
        "agent_owner": record.get("agent_owner") or names.owner,
        "timestamp": record["timestamp"],
        "thought_type": record["thought_type"],
        "role": record["role"],
        "content": body.get("content", ""),
        "confidence": record.get("confidence"),
        "importance": record["importance"],
        "tags": body.get("tags", []),
        "concepts": body.get("concepts", []),
        "refs": record.get("refs", []),
        "relations": record.get("relations", []),
        "session_id": record.get("session_id"),
        "hash": entry.hash,
        "prev_hash": record["prev_hash"],
        "signing_key_id": record.get("signing_key_id"),
        "thought_signature": list(bytes.fromhex(signature)) if signature else None,
    }
    if entry.body is None:
        thought["forgotten"] = True
    return thought


def as_cursor(entry: ThoughtEntry) -> Cursor:
    return {"id": entry.record["id"], "index": entry.index, "hash": entry.hash}
