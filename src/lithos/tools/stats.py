"""How much there is."""

from __future__ import annotations

from typing import NotRequired

from typing_extensions import TypedDict

from lithos.app import Lithos
from lithos.core.call import Call
from lithos.tools.registry import tool


class Stats(TypedDict):
    documents: int
    chunks: int
    agents: int
    active_tasks: int
    open_claims: int
    tags: int
    bytes: NotRequired[dict[str, int]]


@tool(toolset="core", reads=True)
def lithos_stats(lithos: Lithos, call: Call) -> Stats:
    """How big this memory is: counts of documents, chunks, agents, active tasks, open claims and tags, and bytes on
    disk. Look here before a broad query."""
    return {
        "documents": lithos.count("documents"),
        "chunks": lithos.count("chunks"),
        "agents": lithos.count("agents"),
        "active_tasks": lithos.count("active_tasks"),
        "open_claims": lithos.count("open_claims"),
        "tags": lithos.count("tags"),
        "bytes": lithos.sizes(),
    }
