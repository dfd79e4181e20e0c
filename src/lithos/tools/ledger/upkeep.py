"""Operator tools for chains: checkpoints, forgetting, conversion, import. `lithos ledger` calls these."""

from __future__ import annotations

from typing import Annotated, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from lithos.app import Lithos
from lithos.core.call import Call
from lithos.ledger import Adapter, Checkpoint, Forgotten, Imported
from lithos.tools.arguments import ChainKey
from lithos.tools.registry import tool


class Converted(TypedDict):
    chain_key: str
    storage_adapter: str
    thought_count: int
    problem: NotRequired[str]


class Kept(TypedDict):
    checkpoint: Checkpoint
    folder: str


@tool(toolset="operator", bare=True)
def lithos_ledger_checkpoint(
    lithos: Lithos,
    call: Call,
    chain_key: ChainKey = None,
    export: Annotated[bool, Field(description="The chain is about to be copied: leaves an event")] = False,
) -> Kept:
    """Sign a checkpoint now, and keep it with the others."""
    chain = lithos.ledger.chain(chain_key)
    if export:
        lithos.chronicle.note_export(call, chain.key)
    return {"checkpoint": chain.write_checkpoint(), "folder": chain.folder.name}


@tool(toolset="operator", destructive=True, bare=True)
def lithos_ledger_forget(
    lithos: Lithos,
    call: Call,
    reason: Annotated[str, Field(description="Why; kept for good")],
    chain_key: ChainKey = None,
    thought_id: str | None = None,
    thought_index: Annotated[int | None, Field(ge=0)] = None,
    thought_hash: str | None = None,
) -> Forgotten:
    """Remove a thought's content for good; its place, hash and proofs stay."""
    return lithos.ledger.forget(
        call,
        chain_key,
        thought_id=thought_id,
        thought_hash=thought_hash,
        thought_index=thought_index,
        reason=reason,
    )


@tool(toolset="operator", bare=True)
def lithos_ledger_convert(lithos: Lithos, call: Call, to: Adapter, chain_key: ChainKey = None) -> Converted:
    """Store a chain as the other adapter does; no hash changes."""
    info = lithos.ledger.convert(chain_key, to)
    return {
        "chain_key": info["chain_key"],
        "storage_adapter": info["storage_adapter"],
        "thought_count": info["thought_count"],
    }


@tool(toolset="operator", bare=True)
def lithos_ledger_import(
    lithos: Lithos,
    call: Call,
    text: Annotated[str, Field(description="Markdown")],
    chain_key: ChainKey = None,
    agent_id: Annotated[str | None, Field(description="Whose thoughts they become", max_length=200)] = None,
) -> Imported:
    """Bring in a MEMORY.md: each bullet and paragraph becomes a thought."""
    return lithos.ledger.import_memory(call, chain_key, text, agent_id)
