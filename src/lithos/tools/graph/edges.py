"""The graph over code, history and outside sources: edges, and questions across all three."""

from __future__ import annotations

from typing import Annotated, Literal, cast

from pydantic import Field

from lithos.app import Lithos
from lithos.core.call import Call
from lithos.core.cursor import offset_of, page_of
from lithos.core.relative import prefix
from lithos.graph import AllPage, SmartPage, Thoroughness
from lithos.graph.knowledge import EdgePage, LinkAnswer, NodeDomain
from lithos.tools.arguments import MoreCursor
from lithos.tools.dispatch.schemas import Rare
from lithos.tools.registry import tool

NodeId = Annotated[
    str, Field(max_length=1_000, description="Id of code, an entry or a source; or a path, path:line, symbol")
]
EdgeType = Annotated[str, Field(max_length=40, description="For example based_on, implements_pattern, referenced")]
Agent = Annotated[str | None, Field(max_length=200), Rare]
Asked = Annotated[str, Field(max_length=2_000)]


@tool(toolset="graph", notes=True, title="Link two nodes")
def lithos_link_nodes(
    lithos: Lithos,
    call: Call,
    source_id: NodeId,
    target_id: NodeId,
    edge_type: EdgeType,
    reason: Annotated[str, Field(max_length=2_000, description="Why they belong together; read by all")],
    weight: Annotated[float, Field(gt=0, le=1)] = 1.0,
    agent: Agent = None,
) -> LinkAnswer:
    """Assert that two things belong together, where no text says so: code implements a pattern, a decision rests on a
    paper. Again replaces weight and reason."""
    return lithos.graph.link(call, source_id, target_id, edge_type, weight, reason)


@tool(toolset="graph", listed=False, title="Unlink two nodes")
def lithos_unlink_nodes(
    lithos: Lithos, call: Call, source_id: NodeId, target_id: NodeId, edge_type: EdgeType, agent: Agent = None
) -> LinkAnswer:
    """Take an asserted edge back."""
    return lithos.graph.unlink(call, source_id, target_id, edge_type)


@tool(toolset="graph", notes=True, reads=True, title="Get edges")
def lithos_get_edges(
    lithos: Lithos,
    call: Call,
    id: NodeId,
    edge_type: Annotated[str | None, Field(max_length=40)] = None,
    direction: Literal["out", "in", "both"] = "both",
    limit: Annotated[int, Field(ge=1, le=500)] = 50,
    agent: Agent = None,
    cursor: MoreCursor = None,
) -> EdgePage:
    """All edges of a node, each with how it is known: derived from a text, or asserted and by whom. dangling: the other
    end is gone."""
    of = ["edges", id, edge_type, direction]
    found = lithos.graph.edges(call, id, edge_type, direction, offset_of(cursor, of) + limit + 1)
    return cast(EdgePage, page_of(found, "edges", limit, cursor, of))


@tool(toolset="graph", notes=True, reads=True, title="Search everything")
def lithos_search_all(
    lithos: Lithos,
    call: Call,
    query: Asked,
    domains: Annotated[list[NodeDomain] | None, Field(max_length=3)] = None,
    limit_per_domain: Annotated[int, Field(ge=1, le=50)] = 5,
    path_prefix: Annotated[str | None, Field(max_length=500, description="Of code and sources")] = None,
    agent: Agent = None,
) -> AllPage:
    """Code, history and outside sources in one call; each result with what is related to it in the other domains."""
    return lithos.everything.search_all(call, query, domains or (), limit_per_domain, prefix(path_prefix))


@tool(toolset="graph", notes=True, reads=True, title="Search within a budget")
def lithos_smart_search(
    lithos: Lithos,
    call: Call,
    query: Asked,
    token_budget: Annotated[int, Field(ge=50, le=20_000)] = 1000,
    thoroughness: Thoroughness = "moderate",
    agent: Agent = None,
) -> SmartPage:
    """The best of all domains that fits the budget; widens until it has enough."""
    return lithos.everything.smart_search(call, query, token_budget, thoroughness)
