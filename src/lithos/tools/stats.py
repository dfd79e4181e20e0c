"""Counts and sizes of the memory."""

from __future__ import annotations

from typing import NotRequired

from typing_extensions import TypedDict

from lithos.app import Lithos
from lithos.core.call import Call
from lithos.graph.sources import SourceState
from lithos.habits import Savings
from lithos.messages import MessageCounts
from lithos.notes import Progress
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


class Vectors(TypedDict):
    embedded: int  # passages that are found by meaning
    waiting: int


class Stats(TypedDict):
    documents: int
    chunks: int
    agents: int
    active_tasks: int
    open_claims: int
    tags: int
    bytes: NotRequired[dict[str, int]]
    index: NotRequired[IndexState]
    problem: NotRequired[str | None]  # what /health says: the first part that does not work
    messages: NotRequired[MessageCounts]
    file_reads: NotRequired[Savings]
    vectors: NotRequired[Vectors]
    sources: NotRequired[list[SourceState]]  # hosts that pages may be ingested from; left out where there are none


@tool(toolset="spec", notes=True, reads=True, title="Size and state")
def lithos_stats(lithos: Lithos, call: Call) -> Stats:
    """How big this memory is: counts of documents, chunks, agents, active tasks, open claims and tags, and bytes on
    disk. Look here before a broad query. `index` tells how far people's edits have been followed."""
    return stats(lithos)


def stats(lithos: Lithos) -> Stats:
    progress = lithos.notes.index.progress  # before the counts: a scan that has ended is in them
    notes, board = lithos.notes.counts(), lithos.board.counts()
    status = lithos.note_search.collection.status()
    sources = lithos.ingest.states()
    found: Stats = {
        "documents": notes["notes"],
        "chunks": lithos.note_search.collection.passage_count(),
        "agents": lithos.agents.count(),
        "active_tasks": board["active_tasks"],
        "open_claims": board["open_claims"],
        "tags": notes["tags"],
        "bytes": lithos.sizes(),
        "messages": lithos.messages.counts(),
        "file_reads": lithos.habits.files.savings(),
        "vectors": {"embedded": status.embedded, "waiting": status.passages - status.embedded},
        "index": _index(progress, notes["unreadable"], lithos.notes.watcher.problem),
        "problem": lithos.health(),
    }
    return {**found, "sources": sources} if sources else found


def _index(progress: Progress, unreadable: int, problem: str | None) -> IndexState:
    return {
        "state": progress.state,
        "done": progress.done,
        "total": progress.total,
        "held": progress.held,
        "unreadable": unreadable,
        "problem": progress.problem or problem,
        "current_at": progress.current_at,
        "scans": progress.scans,
    }
