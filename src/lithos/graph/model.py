"""Numbers of domains, nodes and edges beyond code, and one table of what each edge type means and is derived from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Final


class Domain(IntEnum):
    CODE = 0
    HISTORY = 1
    ACADEMIC = 2


class HistoryType(IntEnum):
    """Numbers of the Sylk specification; 105 and 106 are ours: its skills use them, its enumeration lacks them."""

    ENTRY = 100  # commits too
    SESSION = 101
    WORKFLOW = 102  # a task
    OUTCOME = 103  # a completed task
    DECISION = 104
    PATTERN = 105
    FAILURE = 106


class SourceType(IntEnum):
    PAPER = 200
    DOCUMENTATION = 201
    BEST_PRACTICE = 202
    RFC = 203
    STACKOVERFLOW = 204
    BLOG = 205
    TUTORIAL = 206


class KnowledgeEdge(IntEnum):
    """Numbers of the Sylk specification; 109 and 110 are ours: its code uses them undefined."""

    PRODUCED_BY = 50
    RESULTED_IN = 51
    SIMILAR_TO = 52
    FOLLOWED_BY = 53
    SUPERSEDES = 54
    MODIFIED = 100
    CREATED = 101
    DELETED = 102
    BASED_ON = 103
    REFERENCES = 104
    VALIDATED_BY = 105
    DOCUMENTS = 106
    USES_LIBRARY = 107
    IMPLEMENTS_PATTERN = 108
    REFERENCED = 109
    INSPIRED_BY = 110
    CITES = 150
    RELATED_TO = 151


@dataclass(frozen=True, slots=True)
class EdgeRule:
    """Which way an edge type points, its usual weight, and the texts and rows that it is derived from."""

    source: str
    target: str
    weight: float
    derived_from: str


EDGE_RULES: Final[Mapping[KnowledgeEdge, EdgeRule]] = {
    KnowledgeEdge.PRODUCED_BY: EdgeRule("entry", "session", 1.0, "the session of a thought"),
    KnowledgeEdge.RESULTED_IN: EdgeRule("workflow", "outcome", 1.0, "a task that was completed"),
    KnowledgeEdge.SIMILAR_TO: EdgeRule(
        "pattern or failure", "earlier one", 0.8, "the same name, or at least half of the words in common"
    ),
    KnowledgeEdge.FOLLOWED_BY: EdgeRule("entry", "next entry", 1.0, "the order of a session's thoughts"),
    KnowledgeEdge.SUPERSEDES: EdgeRule(
        "newer", "older", 1.0, "relations Supersedes, Corrects and Invalidates; reverting commits; superseded notes"
    ),
    KnowledgeEdge.MODIFIED: EdgeRule("entry", "code", 1.0, "commits; record_file; files_modified of a summary"),
    KnowledgeEdge.CREATED: EdgeRule("entry", "code", 1.0, "commits; record_file"),
    KnowledgeEdge.DELETED: EdgeRule("entry", "code", 1.0, "commits that removed a file or a symbol"),
    KnowledgeEdge.BASED_ON: EdgeRule("decision", "academic", 1.0, "a source named in the text of a decision"),
    KnowledgeEdge.REFERENCES: EdgeRule("entry", "academic", 1.0, "a source named in the text of any other entry"),
    KnowledgeEdge.VALIDATED_BY: EdgeRule(
        "entry", "academic", 1.0, '"validated by", "confirmed by" or "recommended by" before the name of a source'
    ),
    KnowledgeEdge.DOCUMENTS: EdgeRule("academic", "code", 1.0, "a symbol or path of a root in the text of a source"),
    KnowledgeEdge.USES_LIBRARY: EdgeRule("code", "academic", 1.0, "imports of a library whose source is here"),
    KnowledgeEdge.IMPLEMENTS_PATTERN: EdgeRule(
        "code", "academic", 0.85, "a source named in the first 600 characters of a symbol's comment"
    ),
    KnowledgeEdge.REFERENCED: EdgeRule("entry", "code", 0.9, "code references of an entry outside modified files"),
    KnowledgeEdge.INSPIRED_BY: EdgeRule("academic", "entry", 0.8, "the id of an entry or commit in a source's text"),
    KnowledgeEdge.CITES: EdgeRule(
        "academic", "academic", 1.0, "a DOI, arXiv id, RFC number, URL or title in references of another source"
    ),
    KnowledgeEdge.RELATED_TO: EdgeRule(
        "academic", "academic", 1.0, "links between notes of sources, by title, path or id"
    ),
}
EDGE_NAMES: Final = {edge.name.lower(): edge for edge in KnowledgeEdge}
