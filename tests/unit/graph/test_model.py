"""The table of edge types in the docs is the one of the code."""

from __future__ import annotations

from pathlib import Path

from lithos.graph.model import EDGE_RULES, KnowledgeEdge

PAGE = Path(__file__).parents[3] / "docs/graph.md"


def test_the_page_says_of_every_edge_type_which_way_it_points_and_where_it_comes_from() -> None:
    text = PAGE.read_text()
    assert set(EDGE_RULES) == set(KnowledgeEdge)
    for edge, rule in EDGE_RULES.items():
        ends = f"{rule.source} | {rule.target} | {rule.weight}"
        row = f"| `{edge.name.lower()}` {int(edge)} | {ends} | {rule.derived_from} |"
        assert row in text, row
