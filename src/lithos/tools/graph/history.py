"""History: what was decided, tried and learned, written down and asked for."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal, cast

from pydantic import ConfigDict, Field
from typing_extensions import TypedDict

from lithos.app import Lithos
from lithos.core.call import Call
from lithos.core.cursor import offset_of, page_of, shown_before
from lithos.core.since import parse_since
from lithos.core.text import slug
from lithos.graph.history import (
    RESOLVED,
    THOUGHT_OF_CATEGORY,
    THOUGHT_OF_SUMMARY,
    AskedCategory,
    Category,
    DecisionPage,
    FailurePage,
    FileOperation,
    HistoryPage,
    HistoryQuestion,
    Include,
    NewEntry,
    PatternPage,
    SessionHistory,
    StoredEntry,
    SummaryType,
    labelled,
)
from lithos.graph.knowledge import (
    ALL_ROWS,
    CodeHistory,
    FactPage,
    LinkedNodes,
    academic_for,
    code_for_history,
    extracted_facts,
    history_for_code,
)
from lithos.ledger import SessionFilter, optional_time, tuple_of
from lithos.tools.arguments import MoreCursor
from lithos.tools.dispatch.schemas import Rare
from lithos.tools.registry import tool

Agent = Annotated[str | None, Field(max_length=200), Rare]
Session = Annotated[str | None, Field(max_length=100, description="Left out: your current session"), Rare]
References = Annotated[
    list[str] | None, Field(max_length=64, description="Code: id, path, path:line or symbol; unknown ones come back")
]
Tags = Annotated[list[str] | None, Field(max_length=50), Rare]
Asked = Annotated[str, Field(description="Words or a question", max_length=10_000)]
Ten = Annotated[int, Field(ge=1, le=200)]
Ids = Annotated[list[str] | None, Field(max_length=100), Rare]
Said = Annotated[str, Field(max_length=50_000)]
Optional = Annotated[str | None, Field(max_length=50_000)]


class EntryMetadata(TypedDict, total=False):
    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]

    agent: Annotated[str, Field(max_length=100)]
    task_id: Annotated[str, Field(max_length=100)]
    confidence: Annotated[float, Field(ge=0, le=1)]


@tool(toolset="history", title="Store a summary")
def lithos_store_summary(
    lithos: Lithos,
    call: Call,
    content: Said,
    summary_type: SummaryType,
    session_id: Session = None,
    code_references: References = None,
    tags: Tags = None,
    metadata: Annotated[EntryMetadata | None, Rare] = None,
    files_modified: Annotated[list[str] | None, Field(max_length=64)] = None,
    agent: Agent = None,
) -> StoredEntry:
    """Keep a summary of finished work, with the code that it is about. For good: it cannot be edited. `unresolved`
    lists references that name nothing; the rest is stored."""
    more = metadata or {}
    marks = [f"{name}:{more[name]}" for name in ("agent", "task_id") if name in more]
    entry = NewEntry(
        content,
        THOUGHT_OF_SUMMARY[summary_type],
        session_id=session_id,
        references=tuple(code_references or ()),
        modified=tuple(files_modified or ()),
        tags=(summary_type, *(tags or ()), *marks),
        confidence=more.get("confidence"),
        summary_type=summary_type,
    )
    return lithos.history.writer.store(call, entry)


@tool(toolset="history", title="Store an entry")
def lithos_store_entry(
    lithos: Lithos,
    call: Call,
    content: Said,
    category: Category,
    title: Annotated[str | None, Field(max_length=200)] = None,
    session_id: Session = None,
    code_references: Annotated[References, Rare] = None,
    agent: Agent = None,
) -> StoredEntry:
    """Keep one thing worth knowing later: a decision with its reason, an insight, an open question. For good."""
    entry = NewEntry(content, THOUGHT_OF_CATEGORY[category], title, session_id, tuple(code_references or ()))
    return lithos.history.writer.store(call, entry)


@tool(toolset="history", title="Record a file")
def lithos_record_file(
    lithos: Lithos,
    call: Call,
    path: Annotated[str, Field(max_length=1_000)],
    operation: FileOperation,
    summary: Optional = None,
    changes: Annotated[list[Said], Field(max_length=100)] | Optional = None,
    session_id: Session = None,
    agent: Agent = None,
) -> StoredEntry:
    """Keep that you read, changed or created a file, and why."""
    content = labelled(
        [
            ("", summary or f"{operation} {path}"),
            ("Changes", changes if isinstance(changes, str) else "; ".join(changes or ())),
        ]
    )
    by_edge = {"read": "references", "modified": "modified", "created": "created"}
    entry = NewEntry(
        content,
        THOUGHT_OF_CATEGORY["timeline"],
        session_id=session_id,
        tags=("file", operation),
        **{by_edge[operation]: (path,)},  # type: ignore[arg-type]
    )
    return lithos.history.writer.store(call, entry)


@tool(toolset="history", title="Record a pattern")
def lithos_record_pattern(
    lithos: Lithos,
    call: Call,
    category: Annotated[str, Field(max_length=80, description="For example testing, errors, naming")],
    name: Annotated[str, Field(max_length=100)],
    pattern: Said,
    example: Optional = None,
    session_id: Session = None,
    code_references: Annotated[References, Rare] = None,
    agent: Agent = None,
) -> StoredEntry:
    """Keep a way of doing things that you met here. Record it each time you meet it: lithos_find_patterns counts."""
    content = labelled([(name.strip(), pattern), ("Example", example)])
    tags = (f"category:{category.strip().casefold()}", f"name:{slug(name, 100)}")
    entry = NewEntry(
        content,
        THOUGHT_OF_CATEGORY["pattern"],
        session_id=session_id,
        references=tuple(code_references or ()),
        tags=tags,
    )
    return lithos.history.writer.store(call, entry)


@tool(toolset="history", title="Record a failure")
def lithos_record_failure(
    lithos: Lithos,
    call: Call,
    approach: Said,
    reason: Said,
    context: Optional = None,
    resolution: Optional = None,
    session_id: Session = None,
    code_references: Annotated[References, Rare] = None,
    agent: Agent = None,
) -> StoredEntry:
    """Keep what did not work and why, so that it is not tried again."""
    parts = (("Approach", approach), ("Reason", reason), ("Context", context), ("Resolution", resolution))
    entry = NewEntry(
        labelled(parts),
        THOUGHT_OF_CATEGORY["failure"],
        session_id=session_id,
        references=tuple(code_references or ()),
        tags=(RESOLVED,) if resolution and resolution.strip() else (),
    )
    return lithos.history.writer.store(call, entry)


@tool(toolset="history", reads=True, title="Search history")
def lithos_search_history(
    lithos: Lithos,
    call: Call,
    query: Asked,
    limit: Ten = 10,
    summary_type: SummaryType | Literal["any"] = "any",
    session_id: Annotated[str | None, Field(max_length=100, description="Only this session")] = None,
    since: Annotated[str | None, Field(description="RFC 3339, 2d or yesterday")] = None,
    until: str | None = None,
    categories: Annotated[list[AskedCategory] | None, Rare] = None,
    sources: Annotated[
        list[str] | None, Field(max_length=20, description="thoughts, board, git, or names of agents"), Rare
    ] = None,
    session_ids: Ids = None,
    exclude_sessions: Ids = None,
    current_only: Annotated[bool, Rare] = False,
    cross_session: Annotated[bool, Field(description="All sessions, promoted or not"), Rare] = False,
    promoted_only: Annotated[bool, Rare] = False,
    agent: Agent = None,
    cursor: MoreCursor = None,
) -> HistoryPage:
    """What happened and why, by words and meaning: entries of agents, outcomes and findings of the board, commits.
    Yours, public and promoted ones; cross_session asks all sessions."""
    question = HistoryQuestion(
        query,
        limit,
        None if summary_type == "any" else summary_type,
        frozenset(categories or ()),
        tuple(sources or ()),
        since=None if since is None else parse_since(since, lithos.clock.now()),
        until=optional_time(until, "until"),
        sessions=SessionFilter(
            current_only, cross_session, tuple_of(session_ids), tuple_of(exclude_sessions), promoted_only
        ),
        session_id=session_id.casefold() if session_id else None,
    )
    # Not the moment that "2d" means: it is another one for each page.
    after = shown_before(cursor, ["history", replace(question, since=None, limit=0), since])
    found = lithos.history.search(call, replace(question, limit=after.depth(limit)))
    return cast(HistoryPage, after.rows({**found}, "results", limit))


@tool(toolset="history", reads=True, title="Find patterns")
def lithos_find_patterns(
    lithos: Lithos,
    call: Call,
    query: Asked,
    min_occurrences: Annotated[int, Field(ge=1)] = 2,
    category: Annotated[str | None, Field(max_length=80)] = None,
    agent: Agent = None,
) -> PatternPage:
    """Recurring ways of doing things, grouped by meaning, with how often and where each was met."""
    return lithos.history.patterns(call, query, min_occurrences, category)


@tool(toolset="history", reads=True, title="Find failures")
def lithos_find_failures(
    lithos: Lithos,
    call: Call,
    query: Asked,
    limit: Ten = 10,
    resolved_only: bool = False,
    agent: Agent = None,
    cursor: MoreCursor = None,
) -> FailurePage:
    """What went wrong before, and how it was resolved. Ask before you try something."""
    after = shown_before(cursor, ["failures", query, resolved_only])
    every = lithos.history.failures(call, query, after.depth(limit), resolved_only=resolved_only)
    found = cast(FailurePage, after.rows({**every}, "results", limit))
    for row in found["results"]:
        if (counted := lithos.habits.mistakes.confidence_of(row["id"])) is not None:
            row["confidence"] = counted
    return found


@tool(toolset="history", notes=True, reads=True, title="Get decisions")
def lithos_get_decisions(
    lithos: Lithos, call: Call, query: Asked, limit: Ten = 10, agent: Agent = None, cursor: MoreCursor = None
) -> DecisionPage:
    """Why is it so: decisions with their rationale and the sources that they rest on."""
    after = shown_before(cursor, ["decisions", query])
    every = lithos.history.decisions(call, query, after.depth(limit))
    found = cast(DecisionPage, after.rows({**every}, "results", limit))
    for row in found["results"]:
        linked = academic_for(lithos.graph, call, row["id"], 3)["results"]
        if linked:
            row["sources"] = [{"id": each["id"], "title": each["title"], "edge": each["edge"]} for each in linked]
    return found


@tool(toolset="history", reads=True, title="Get a session's history")
def lithos_get_session_history(
    lithos: Lithos,
    call: Call,
    session_id: Annotated[str | None, Field(max_length=100, description="Left out: your current session")] = None,
    chronological: bool = True,
    include: Include = "all",
    limit: Annotated[int, Field(ge=1, le=1000), Rare] = 200,
    agent: Agent = None,
    cursor: MoreCursor = None,
) -> SessionHistory:
    """The newest entries of one session in order; of a session that you are not in, the promoted ones."""
    chosen = session_id.casefold() if session_id else None
    of = ["session", chosen, chronological, include]
    most = offset_of(cursor, of) + limit + 1
    found = lithos.history.session(call, chosen, include, chronological=chronological, limit=most)
    return cast(SessionHistory, page_of(found, "results", limit, cursor, of, newest_last=chronological))


@tool(toolset="history", reads=True, title="Get the history of code")
def lithos_get_history_for_code(
    lithos: Lithos,
    call: Call,
    symbol_id: Annotated[str, Field(max_length=1_000, description="Id, path, path:line or symbol")],
    limit: Ten = 10,
    agent: Agent = None,
    cursor: MoreCursor = None,
) -> CodeHistory:
    """When a function or file was made and changed, why, and which of it was a bug: commits and entries, newest first.
    Ask before you change it."""
    found = history_for_code(lithos.graph, call, symbol_id, ALL_ROWS)
    return cast(CodeHistory, page_of(found, "results", limit, cursor, ["history of code", symbol_id]))


@tool(toolset="history", reads=True, title="Get the code of an entry")
def lithos_get_code_for_history(
    lithos: Lithos,
    call: Call,
    history_id: Annotated[str, Field(max_length=200)],
    limit: Annotated[int, Field(ge=1, le=500), Rare] = 50,
    agent: Agent = None,
    cursor: MoreCursor = None,
) -> LinkedNodes:
    """The code that an entry or commit made, changed, removed or names. `removed`: it is gone since."""
    found = code_for_history(lithos.graph, call, history_id)
    return cast(LinkedNodes, page_of(found, "results", limit, cursor, ["code of history", history_id]))


@tool(toolset="history", reads=True, listed=False, title="Extract facts")
def lithos_extract_facts(
    lithos: Lithos,
    call: Call,
    ids: Annotated[list[str] | None, Field(max_length=50, description="Entries, by id")] = None,
    query: Annotated[str | None, Field(max_length=10_000, description="Instead of ids")] = None,
    limit: Annotated[int, Field(ge=1, le=500)] = 50,
    agent: Agent = None,
    cursor: MoreCursor = None,
) -> FactPage:
    """Entries as facts: subject, relation, value, and the sentence that says it. No model is asked."""
    found = extracted_facts(lithos.graph, lithos.history, call, ids or (), query)
    return cast(FactPage, page_of(found, "facts", limit, cursor, ["facts", ids, query]))
