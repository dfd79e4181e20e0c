"""How much there is."""

from __future__ import annotations

from typing import NotRequired

from typing_extensions import TypedDict

from lithos.app import Lithos
from lithos.core.call import Call
from lithos.tools.registry import tool


class IndexState(TypedDict):
    state: str  # starting | scanning | current | unreachable
    done: int  # files of this scan
    total: int
    held: int  # notes that are served although their folder or disk is out of reach
    unreadable: int  # files that are not served
    problem: str | None
    current_at: str | None
    scans: int


class Stats(TypedDict):
    documents: int
    chunks: int
    agents: int
    active_tasks: int
    open_claims: int
    tags: int
    bytes: NotRequired[dict[str, int]]
    index: NotRequired[IndexState]


@tool(toolset="core", reads=True)
def lithos_stats(lithos: Lithos, call: Call) -> Stats:
    """How big this memory is: counts of documents, chunks, agents, active tasks, open claims and tags, and bytes on
    disk. Look here before a broad query. `index` tells how far people's edits have been followed."""
    lithos.notes.be_current()
    return stats(lithos)


def stats(lithos: Lithos) -> Stats:
    index = _index(lithos)  # before the counts: a scan that has ended is in them
    return {
        "documents": lithos.count("documents"),
        "chunks": lithos.count("chunks"),
        "agents": lithos.count("agents"),
        "active_tasks": lithos.count("active_tasks"),
        "open_claims": lithos.count("open_claims"),
        "tags": lithos.count("tags"),
        "bytes": lithos.sizes(),
        "index": index,
    }


def _index(lithos: Lithos) -> IndexState:
    progress = lithos.notes.index.progress
    return {
        "state": progress.state,
        "done": progress.done,
        "total": progress.total,
        "held": progress.held,
        "unreadable": lithos.notes.counts()["unreadable"],
        "problem": progress.problem or lithos.notes.watcher.problem,
        "current_at": progress.current_at,
        "scans": progress.scans,
    }
