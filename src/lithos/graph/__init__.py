"""The graph: what Lithos knows of code, history and outside sources.

Sub-packages: `code` (symbols), `history` (entries), `sources` (notes with a `kind`), `knowledge` (edges between them).
"""

from __future__ import annotations

from lithos.graph.everything import AllPage, Everything, Related, SmartPage, Thoroughness
from lithos.graph.model import EDGE_RULES, Domain, HistoryType, KnowledgeEdge, SourceType

__all__ = [
    "EDGE_RULES",
    "AllPage",
    "Domain",
    "Everything",
    "HistoryType",
    "KnowledgeEdge",
    "Related",
    "SmartPage",
    "SourceType",
    "Thoroughness",
]
