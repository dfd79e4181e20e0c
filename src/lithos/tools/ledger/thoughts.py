"""Thoughts on chains: the tools of MentisDB, unchanged in name and argument, with proofs added."""

from __future__ import annotations

from typing import Annotated, Any, Literal, cast

from pydantic import ConfigDict, Field
from typing_extensions import TypedDict

from lithos.app import Lithos
from lithos.core.call import Call
from lithos.core.cursor import shown_before
from lithos.ledger import (
    Adapter,
    Appended,
    Bootstrapped,
    Chains,
    Direction,
    Draft,
    Filter,
    Head,
    OneThought,
    Proof,
    RelationKind,
    Role,
    Thoughts,
    ThoughtType,
    Thread,
    Traversal,
    Walk,
    optional_time,
    time_window,
)
from lithos.sessions import HISTORY
from lithos.tools.arguments import ChainKey, LimitOf50, MoreCursor, Texts, Time
from lithos.tools.dispatch.references import Refers
from lithos.tools.dispatch.schemas import Rare
from lithos.tools.registry import tool

AgentId = Annotated[str | None, Field(description="Who thinks this", max_length=200)]
Score = Annotated[float | None, Field(description="0.0 to 1.0; clamped")]
Octets = Annotated[list[int] | None, Field(description="64 bytes, Ed25519", max_length=64)]
Known = Annotated[
    dict[str, Any] | None, Field(description="A checkpoint you kept: proves that the chain only grew, or ledger_fork")
]
THOUGHTS_SHOWN, MOST_THOUGHTS = 50, 1000
MaxTokens = Annotated[int, Field(ge=100, le=100_000, description="Bound of the text")]


class RelationIn(TypedDict):
    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]

    kind: RelationKind
    target: Annotated[int, Field(ge=0, description="Index of an earlier thought")]


class TimeWindow(TypedDict):
    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]

    start: int
    delta: Annotated[int, Field(ge=0, description="The length of the window, from start on")]
    unit: Literal["seconds", "milliseconds"]


class Prompt(TypedDict):
    prompt: str


class Markdown(TypedDict):
    markdown: str


@tool(toolset="ledger", agent_argument="agent_id")
def mentisdb_bootstrap(
    lithos: Lithos,
    call: Call,
    content: Annotated[str, Field(description="What this memory is for")],
    chain_key: ChainKey = None,
    agent_id: AgentId = None,
    agent_name: Annotated[str | None, Rare] = None,
    agent_owner: Annotated[str | None, Rare] = None,
    importance: Score = None,
    tags: Texts = None,
    concepts: Annotated[Texts, Rare] = None,
    storage_adapter: Annotated[Adapter | None, Rare] = None,
) -> Bootstrapped:
    """Begin a chain: makes it if needed and writes its first thought, only if it has none. Safe to call at every
    start: `bootstrapped` false means that there was a memory already."""
    draft = Draft(
        thought_type="Summary",
        role="Checkpoint",
        content=content,
        agent_id=agent_id,
        agent_name=agent_name,
        agent_owner=agent_owner,
        importance=1.0 if importance is None else importance,
        tags=tags,
        concepts=concepts,
    )
    answer = lithos.ledger.bootstrap(call, draft, chain_key=chain_key, storage_adapter=storage_adapter)
    if call.agent is None:
        lithos.agents.seen("system")
    return answer


@tool(toolset="ledger", agent_argument="agent_id")
def mentisdb_append(
    lithos: Lithos,
    call: Call,
    thought_type: ThoughtType,
    content: Annotated[str, Field(description="One durable thing worth knowing later; never a credential")],
    chain_key: ChainKey = None,
    agent_id: AgentId = None,
    agent_name: Annotated[str | None, Rare] = None,
    agent_owner: Annotated[str | None, Rare] = None,
    role: Annotated[Role, Rare] = "Memory",
    importance: Score = None,
    confidence: Annotated[Score, Rare] = None,
    tags: Texts = None,
    concepts: Annotated[Texts, Rare] = None,
    refs: Annotated[list[int] | None, Field(description="Indexes of earlier thoughts that it builds on")] = None,
    relations: Annotated[list[RelationIn] | None, Field(description="Like refs, and saying how they relate")] = None,
    session_id: Annotated[str | None, Rare] = None,
    signing_key_id: Annotated[str | None, Rare] = None,
    thought_signature: Annotated[Octets, Rare] = None,
    last_checkpoint: Annotated[Known, Rare] = None,
    echo: Annotated[bool, Field(description="false: answer with id and index only"), Rare] = True,
) -> Appended:
    """Store a durable thought: a decision, constraint, fact, mistake, plan, summary. For good: it cannot be edited,
    only followed by a Correction with refs. detail=true adds a signed checkpoint: keep the last one to prove later
    that nothing was rewritten. ledger_fork: stop, the chain was changed."""
    session, chain = _entry_place(lithos, call, session_id, chain_key, signed=thought_signature is not None)
    draft = Draft(
        thought_type=thought_type,
        content=content,
        agent_id=agent_id,
        agent_name=agent_name,
        agent_owner=agent_owner,
        role=role,
        importance=importance,
        confidence=confidence,
        tags=tags,
        concepts=concepts,
        refs=refs,
        relations=relations,
        session_id=session,
        signing_key_id=signing_key_id,
        thought_signature=thought_signature,
    )
    answer = lithos.ledger.append(call, draft, chain_key=chain, last_checkpoint=last_checkpoint)
    if call.agent is None:
        lithos.agents.seen(answer["chain_key"])
    return answer if echo else _without_echo(answer)


@tool(toolset="ledger", agent_argument="agent_id")
def mentisdb_append_retrospective(
    lithos: Lithos,
    call: Call,
    content: Annotated[str, Field(description="The rule that would have saved the struggle")],
    chain_key: ChainKey = None,
    agent_id: AgentId = None,
    agent_name: Annotated[str | None, Rare] = None,
    agent_owner: Annotated[str | None, Rare] = None,
    thought_type: ThoughtType = "LessonLearned",
    importance: Score = None,
    confidence: Annotated[Score, Rare] = None,
    tags: Texts = None,
    concepts: Annotated[Texts, Rare] = None,
    refs: Annotated[list[int] | None, Field(description="Indexes of the mistake or correction behind it")] = None,
    relations: list[RelationIn] | None = None,
    session_id: Annotated[str | None, Rare] = None,
    signing_key_id: Annotated[str | None, Rare] = None,
    thought_signature: Annotated[Octets, Rare] = None,
    last_checkpoint: Annotated[Known, Rare] = None,
) -> Appended:
    """Store a lesson after a hard failure, a repeated snag or a non-obvious fix, so that no agent struggles twice. Like
    mentisdb_append, with role Retrospective and importance 0.7."""
    session, chain = _entry_place(lithos, call, session_id, chain_key, signed=thought_signature is not None)
    draft = Draft(
        thought_type=thought_type,
        content=content,
        agent_id=agent_id,
        agent_name=agent_name,
        agent_owner=agent_owner,
        role="Retrospective",
        importance=0.7 if importance is None else importance,
        confidence=confidence,
        tags=tags,
        concepts=concepts,
        refs=refs,
        relations=relations,
        session_id=session,
        signing_key_id=signing_key_id,
        thought_signature=thought_signature,
    )
    answer = lithos.ledger.append(call, draft, chain_key=chain, last_checkpoint=last_checkpoint)
    if call.agent is None:
        lithos.agents.seen(answer["chain_key"])
    return answer


@tool(toolset="ledger", reads=True)
def mentisdb_search(
    lithos: Lithos,
    call: Call,
    chain_key: ChainKey = None,
    text: Annotated[str | None, Field(description="Words or a question", max_length=10_000)] = None,
    thought_types: list[ThoughtType] | None = None,
    roles: Annotated[list[Role] | None, Rare] = None,
    tags_any: Texts = None,
    concepts_any: Annotated[Texts, Rare] = None,
    agent_ids: Texts = None,
    agent_names: Annotated[list[str] | None, Field(description="Aliases count too"), Rare] = None,
    agent_owners: Annotated[Texts, Rare] = None,
    min_importance: Annotated[float | None, Rare] = None,
    min_confidence: Annotated[float | None, Rare] = None,
    since: Time = None,
    until: Annotated[Time, Rare] = None,
    limit: LimitOf50 = None,
    cursor: MoreCursor = None,
) -> Thoughts:
    """Find thoughts: prior constraints, decisions, mistakes. With text the best first, with a score; without, the
    newest matches in the order they were written. All filters must hold. Search before you decide anything that
    may have been decided already."""
    chosen = _chosen(
        text,
        thought_types,
        roles,
        tags_any,
        concepts_any,
        agent_ids,
        agent_names,
        agent_owners,
        min_importance,
        min_confidence,
        since,
        until,
    )
    after, most = shown_before(cursor, ["thoughts", chain_key, chosen]), min(limit or THOUGHTS_SHOWN, MOST_THOUGHTS)
    found = lithos.ledger.search(chain_key, chosen, after.depth(most), lithos.sessions.viewer(call))
    by_time = chosen.text is None or not chosen.text.strip()
    page = after.rows({**found}, "thoughts", most, newest_last=by_time)
    return cast(Thoughts, page if by_time else {**page, "total": len(page["thoughts"])})


@tool(toolset="ledger", reads=True, pages=("chains",))
def mentisdb_list_chains(lithos: Lithos, call: Call) -> Chains:
    """Which memories there are: chains with their counts, and the default one. Look here before making another."""
    return lithos.ledger.chains()


@tool(toolset="ledger", reads=True)
def mentisdb_recent_context(
    lithos: Lithos,
    call: Call,
    chain_key: ChainKey = None,
    last_n: Annotated[int, Field(ge=1, le=1000)] = 12,
    max_tokens: MaxTokens = 4000,
) -> Prompt:
    """The latest thoughts as a text to take up work with, dated and attributed. Call it when a session begins."""
    viewer = lithos.sessions.viewer(call)
    return {"prompt": lithos.ledger.recent_context(chain_key, last_n, max_tokens, viewer)}


@tool(toolset="ledger", reads=True)
def mentisdb_memory_markdown(
    lithos: Lithos,
    call: Call,
    chain_key: ChainKey = None,
    text: Annotated[str | None, Field(max_length=10_000)] = None,
    thought_types: list[ThoughtType] | None = None,
    roles: Annotated[list[Role] | None, Rare] = None,
    tags_any: Texts = None,
    concepts_any: Annotated[Texts, Rare] = None,
    agent_ids: Texts = None,
    agent_names: Annotated[Texts, Rare] = None,
    agent_owners: Annotated[Texts, Rare] = None,
    min_importance: Annotated[float | None, Rare] = None,
    min_confidence: Annotated[float | None, Rare] = None,
    since: Time = None,
    until: Annotated[Time, Rare] = None,
    limit: LimitOf50 = None,
    max_tokens: MaxTokens = 4000,
) -> Markdown:
    """A chain, or what the filters choose of it, as a Markdown document in sections, with each correction under what
    it corrects."""
    chosen = _chosen(
        text,
        thought_types,
        roles,
        tags_any,
        concepts_any,
        agent_ids,
        agent_names,
        agent_owners,
        min_importance,
        min_confidence,
        since,
        until,
    )
    viewer = lithos.sessions.viewer(call)
    return {"markdown": lithos.ledger.memory_markdown(chain_key, chosen, limit, max_tokens, viewer)}


@tool(toolset="ledger", reads=True)
def mentisdb_get_thought(
    lithos: Lithos,
    call: Call,
    chain_key: ChainKey = None,
    thought_id: Annotated[str | None, Refers("thought")] = None,
    thought_hash: str | None = None,
    thought_index: Annotated[int | None, Field(ge=0)] = None,
) -> OneThought:
    """One thought by exactly one of id, hash, index. `thought` is null if there is none."""
    return lithos.ledger.thought(
        chain_key,
        thought_id=thought_id,
        thought_hash=thought_hash,
        thought_index=thought_index,
        viewer=lithos.sessions.viewer(call),
    )


@tool(toolset="ledger", reads=True)
def mentisdb_get_genesis_thought(lithos: Lithos, call: Call, chain_key: ChainKey = None) -> OneThought:
    """The first thought of a chain: usually what the memory is for."""
    return lithos.ledger.genesis(chain_key, lithos.sessions.viewer(call))


@tool(toolset="ledger", reads=True)
def mentisdb_traverse_thoughts(
    lithos: Lithos,
    call: Call,
    chain_key: ChainKey = None,
    anchor_id: Annotated[str | None, Refers("thought")] = None,
    anchor_hash: Annotated[str | None, Rare] = None,
    anchor_index: Annotated[int | None, Field(ge=0)] = None,
    anchor_boundary: Literal["genesis", "head"] | None = None,
    direction: Direction = "forward",
    include_anchor: bool = False,
    chunk_size: Annotated[int, Field(ge=1, le=1000)] = 50,
    text: Annotated[str | None, Field(max_length=10_000)] = None,
    thought_types: list[ThoughtType] | None = None,
    roles: Annotated[list[Role] | None, Rare] = None,
    tags_any: Texts = None,
    concepts_any: Annotated[Texts, Rare] = None,
    agent_ids: Texts = None,
    agent_names: Annotated[Texts, Rare] = None,
    agent_owners: Annotated[Texts, Rare] = None,
    min_importance: Annotated[float | None, Rare] = None,
    min_confidence: Annotated[float | None, Rare] = None,
    since: Time = None,
    until: Annotated[Time, Rare] = None,
    time_window: Annotated[TimeWindow | None, Field(description="Epoch start and length, in unit"), Rare] = None,
) -> Traversal:
    """Walk a chain in the order it was written, in chunks, with filters. Begins at an anchor (at most one) or at the
    end that the direction starts from. Pass next_cursor's id as anchor_id to go on."""
    chosen = _chosen(
        text,
        thought_types,
        roles,
        tags_any,
        concepts_any,
        agent_ids,
        agent_names,
        agent_owners,
        min_importance,
        min_confidence,
        since,
        until,
        time_window,
    )
    walk = Walk(direction, anchor_id, anchor_hash, anchor_index, anchor_boundary, include_anchor, chunk_size, chosen)
    return lithos.ledger.traverse(chain_key, walk, lithos.sessions.viewer(call))


@tool(toolset="ledger", reads=True)
def mentisdb_head(lithos: Lithos, call: Call, chain_key: ChainKey = None, last_checkpoint: Known = None) -> Head:
    """The newest thought, counts, integrity, and a signed checkpoint. With last_checkpoint: a proof that the chain
    only grew since, or the error ledger_fork. `verified_through`: up to where every hash was checked again."""
    return lithos.ledger.head(chain_key, last_checkpoint, lithos.sessions.viewer(call))


@tool(toolset="ledger", reads=True)
def lithos_ledger_context(
    lithos: Lithos,
    call: Call,
    chain_key: ChainKey = None,
    thought_id: Annotated[str | None, Refers("thought")] = None,
    thought_index: Annotated[int | None, Field(ge=0)] = None,
    depth: Annotated[int, Field(ge=1, le=10, description="How many links away")] = 3,
    limit: Annotated[int, Field(ge=1, le=500)] = 50,
    max_tokens: MaxTokens = 4000,
) -> Thread:
    """The causal thread around one thought: what it builds on and what builds on it, through refs and relations. Use
    it to learn why something was decided and whether it still holds."""
    viewer = lithos.sessions.viewer(call)
    return lithos.ledger.thread(chain_key, thought_id, thought_index, depth, limit, max_tokens, viewer)


@tool(toolset="ledger", reads=True)
def lithos_ledger_prove(
    lithos: Lithos, call: Call, thought_index: Annotated[int, Field(ge=0)], chain_key: ChainKey = None
) -> Proof:
    """A proof that a thought is at its index in the chain that a signed checkpoint covers (RFC 6962). Others check it
    with docs/ledger-format.md alone."""
    return lithos.ledger.prove(chain_key, thought_index, lithos.sessions.viewer(call))


def _entry_place(
    lithos: Lithos, call: Call, session_id: str | None, chain_key: str | None, *, signed: bool
) -> tuple[str | None, str | None]:
    """Session and chain of a new thought. The agent's current session fills in the one, and its entries go to the chain
    `history` unless another is named. A signed thought says itself which session it is of."""
    if signed and session_id is None:
        return None, chain_key
    if lithos.ledger.has_written(call, chain_key or HISTORY):  # a retry: the session may have moved on since
        return session_id, chain_key or HISTORY
    session = lithos.sessions.scope_of_entry(call, session_id)
    if chain_key is None and lithos.sessions.is_session(session):
        return session, HISTORY
    return session, chain_key


def _without_echo(answer: Appended) -> Appended:
    """Where the thought is, without what its writer sent."""
    brief = {name: answer["thought"][name] for name in ("id", "index")}
    return {"thought": brief, "head_hash": answer["head_hash"]}  # type: ignore[typeddict-item]


def _chosen(
    text: str | None,
    thought_types: list[ThoughtType] | None,
    roles: list[Role] | None,
    tags_any: Texts,
    concepts_any: Texts,
    agent_ids: Texts,
    agent_names: Texts,
    agent_owners: Texts,
    min_importance: float | None,
    min_confidence: float | None,
    since: str | None,
    until: str | None,
    window: TimeWindow | None = None,
) -> Filter:
    return Filter(
        text,
        tuple(thought_types or ()),
        tuple(roles or ()),
        tuple(tags_any or ()),
        tuple(concepts_any or ()),
        tuple(agent_ids or ()),
        tuple(agent_names or ()),
        tuple(agent_owners or ()),
        min_importance,
        min_confidence,
        optional_time(since, "since"),
        optional_time(until, "until"),
        time_window(window["start"], window["delta"], window["unit"]) if window is not None else None,
    )
