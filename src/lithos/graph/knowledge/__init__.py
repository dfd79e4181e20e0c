"""Knowledge: the edges between code, history and outside sources; derived ones, and those that agents assert."""

from __future__ import annotations

from lithos.graph.knowledge.asserted import AssertedEdges, LinkAnswer
from lithos.graph.knowledge.commit_entries import COMMIT_KEYWORDS, COMMIT_NUMBERS, CommitEntries
from lithos.graph.knowledge.commit_store import CommitStore, commit_id
from lithos.graph.knowledge.edges import Edge
from lithos.graph.knowledge.follow_board import BoardFollower
from lithos.graph.knowledge.follow_code import CodeFollower
from lithos.graph.knowledge.follow_commits import CommitFollower
from lithos.graph.knowledge.follow_sources import SourceFollower
from lithos.graph.knowledge.follow_thoughts import ThoughtFollower
from lithos.graph.knowledge.knowledge import EdgePage, EdgeShown, Follower, Knowledge
from lithos.graph.knowledge.nodes import Node, NodeDomain, Nodes, NodeShown, code_shown
from lithos.graph.knowledge.questions import (
    ALL_ROWS,
    CodeHistory,
    FactPage,
    LinkedNodes,
    academic_for,
    code_for_academic,
    code_for_history,
    extracted_facts,
    history_for_academic,
    history_for_code,
)
from lithos.graph.knowledge.source_nodes import NoteNodes, SourceNodes, source_facts
from lithos.graph.knowledge.store import KnowledgeStore, open_knowledge
from lithos.graph.knowledge.thoughts import origin as thought_origin

__all__ = [
    "ALL_ROWS",
    "COMMIT_KEYWORDS",
    "COMMIT_NUMBERS",
    "AssertedEdges",
    "BoardFollower",
    "CodeFollower",
    "CodeHistory",
    "CommitEntries",
    "CommitFollower",
    "CommitStore",
    "Edge",
    "EdgePage",
    "EdgeShown",
    "FactPage",
    "Follower",
    "Knowledge",
    "KnowledgeStore",
    "LinkAnswer",
    "LinkedNodes",
    "Node",
    "NodeDomain",
    "NodeShown",
    "Nodes",
    "NoteNodes",
    "SourceFollower",
    "SourceNodes",
    "ThoughtFollower",
    "academic_for",
    "code_for_academic",
    "code_for_history",
    "code_shown",
    "commit_id",
    "extracted_facts",
    "history_for_academic",
    "history_for_code",
    "open_knowledge",
    "source_facts",
    "thought_origin",
]
