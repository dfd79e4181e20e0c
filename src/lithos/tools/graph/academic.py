"""Outside knowledge: papers, documentation and pages that were read, and what they say about our work."""

from __future__ import annotations

from typing import Annotated, cast

from pydantic import BeforeValidator, Field

from lithos.app import Lithos
from lithos.core.call import Call
from lithos.core.cursor import page_of, shown_before
from lithos.graph.knowledge import ALL_ROWS, LinkedNodes, academic_for, code_for_academic, history_for_academic
from lithos.graph.sources import (
    DEPTHS,
    Comparison,
    Ingested,
    IngestRequest,
    SourceKind,
    SourcePage,
    SourceText,
    Synthesis,
)
from lithos.tools.arguments import MoreCursor
from lithos.tools.dispatch.schemas import Rare
from lithos.tools.registry import tool

Agent = Annotated[str | None, Field(max_length=200), Rare]
Asked = Annotated[str, Field(max_length=2_000)]
Five = Annotated[int, Field(ge=1, le=50)]
Short = Annotated[str | None, Field(max_length=300), Rare]
Few = Annotated[list[str] | None, Field(max_length=10)]
Depth = Annotated[
    int,
    BeforeValidator(lambda given: DEPTHS.get(given, given) if isinstance(given, str) else given),
    Field(ge=1, le=3, description="1 to 3, or quick, standard, deep"),
]
Prose = Annotated[bool, Field(description="Add a cited summary"), Rare]


@tool(toolset="academic", notes=True, title="Ingest a source")
def lithos_ingest_source(
    lithos: Lithos,
    call: Call,
    source: Annotated[
        str,
        Field(max_length=2_000, description="File, repository folder, .bib, CSL-JSON, https://…, library:NAME"),
    ],
    kind: SourceKind | None = None,
    title: Short = None,
    authors: Annotated[list[str] | None, Field(max_length=50), Rare] = None,
    published_at: Short = None,
    venue: Short = None,
    tags: Annotated[list[str] | None, Field(max_length=50), Rare] = None,
    technology: Short = None,
    agent: Agent = None,
) -> Ingested:
    """Read a paper, page or document once, so that all can ask it: it becomes a note under academic/. duplicate: it is
    there already; superseded: it replaced an earlier version; no_text: a scan."""
    given = SourceText(
        title or "",
        "",
        kind,
        authors=tuple(authors or ()),
        published_at=published_at or "",
        venue=venue or "",
        tags=tuple(dict.fromkeys((*(tags or ()), *((technology.casefold(),) if technology else ())))),
    )
    return lithos.ingest.ingest(call, IngestRequest(source, given))


@tool(toolset="academic", notes=True, reads=True, title="Research")
def lithos_research(
    lithos: Lithos,
    call: Call,
    query: Asked,
    depth: Depth = 2,
    focus_areas: Few = None,
    include_papers: bool = True,
    include_docs: bool = True,
    prose: Prose = False,
    cursor: MoreCursor = None,
) -> SourcePage:
    """What the sources that were ingested say, 10 results per depth: passages with page or section to cite."""
    areas = focus_areas or ()
    after = shown_before(cursor, ["research", query, depth, areas, include_papers, include_docs])
    return lithos.sources.research(
        query, depth, areas, papers=include_papers, docs=include_docs, prose=prose, after=after
    )


@tool(toolset="academic", notes=True, reads=True, title="Find best practices")
def lithos_find_best_practices(
    lithos: Lithos,
    call: Call,
    topic: Asked,
    technology: Annotated[str | None, Field(max_length=100)] = None,
    limit: Five = 5,
    cursor: MoreCursor = None,
) -> SourcePage:
    """Recommended ways, from best practices and documentation."""
    chosen = technology.casefold() if technology else None
    return lithos.sources.best_practices(topic, chosen, limit, shown_before(cursor, ["practices", topic, chosen]))


@tool(toolset="academic", notes=True, reads=True, title="Find papers")
def lithos_find_papers(
    lithos: Lithos,
    call: Call,
    query: Asked,
    limit: Five = 5,
    min_year: Annotated[int | None, Field(ge=1900, le=2100)] = None,
    venues: Annotated[Few, Field(description="Preferred ones come first")] = None,
    cursor: MoreCursor = None,
) -> SourcePage:
    """Papers on a topic, with the best passage of each."""
    after = shown_before(cursor, ["papers", query, min_year, venues or ()])
    return lithos.sources.papers(query, limit, min_year, venues or (), after)


@tool(toolset="academic", notes=True, reads=True, title="Compare approaches")
def lithos_compare_approaches(
    lithos: Lithos,
    call: Call,
    approaches: Annotated[list[str], Field(max_length=4, description="2 to 4")],
    context: Annotated[str | None, Field(max_length=500)] = None,
    criteria: Few = None,
    prose: Prose = False,
) -> Comparison:
    """Evidence for each approach and criterion, with citations; `missing` lists what no source speaks of."""
    return lithos.sources.compare(approaches, context, criteria or (), prose=prose)


@tool(toolset="academic", notes=True, reads=True, title="Theory beside our code")
def lithos_synthesize_with_codebase(
    lithos: Lithos, call: Call, topic: Asked, show_gaps: bool = True, prose: Prose = False, agent: Agent = None
) -> Synthesis:
    """What sources recommend, beside our code that does it. gap: nothing of ours does."""
    return lithos.sources.synthesize(call, topic, show_gaps=show_gaps, prose=prose)


@tool(toolset="academic", notes=True, reads=True, title="Code for a source")
def lithos_get_code_for_academic(
    lithos: Lithos, call: Call, academic_id: str, limit: Five = 5, agent: Agent = None, cursor: MoreCursor = None
) -> LinkedNodes:
    """Code that implements a source, uses its library, or is documented by it."""
    found = code_for_academic(lithos.graph, call, academic_id, ALL_ROWS)
    return cast(LinkedNodes, page_of(found, "results", limit, cursor, ["code of a source", academic_id]))


@tool(toolset="academic", notes=True, reads=True, title="History for a source")
def lithos_get_history_for_academic(
    lithos: Lithos,
    call: Call,
    academic_id: str,
    limit: Annotated[Five, Rare] = 50,
    agent: Agent = None,
    cursor: MoreCursor = None,
) -> LinkedNodes:
    """Decisions and entries that rest on a source or name it."""
    found = history_for_academic(lithos.graph, call, academic_id)
    return cast(LinkedNodes, page_of(found, "results", limit, cursor, ["history of a source", academic_id]))


@tool(toolset="academic", notes=True, reads=True, title="Sources for something")
def lithos_get_academic_for(
    lithos: Lithos,
    call: Call,
    id: Annotated[str, Field(max_length=1_000, description="A symbol, file, decision or entry")],
    limit: Five = 5,
    agent: Agent = None,
    cursor: MoreCursor = None,
) -> LinkedNodes:
    """Sources that a piece of code or a decision rests on."""
    found = academic_for(lithos.graph, call, id, ALL_ROWS)
    return cast(LinkedNodes, page_of(found, "results", limit, cursor, ["sources of", id]))
