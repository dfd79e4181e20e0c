"""An edge between two nodes of any domain."""

from __future__ import annotations

from dataclasses import dataclass

from lithos.errors import InvalidInput
from lithos.graph.model import EDGE_NAMES, KnowledgeEdge


@dataclass(frozen=True, slots=True)
class Edge:
    source: str
    target: str
    type: KnowledgeEdge
    weight: float
    how: str  # what it is derived from, or "asserted"
    agent: str = ""  # who asserted it
    reason: str = ""

    def other(self, id: str) -> str:
        return self.target if self.source == id else self.source


def edge_type(given: str | int) -> KnowledgeEdge:
    """By name or number."""
    text = str(given).strip().lower()
    try:
        return KnowledgeEdge(int(text)) if text.isdigit() else EDGE_NAMES[text]
    except (ValueError, KeyError):
        names = ", ".join(f"{name} ({int(edge)})" for name, edge in EDGE_NAMES.items())
        raise InvalidInput(f"edge_type {text[:40]!r} is unknown", hint=f"One of: {names}.") from None
