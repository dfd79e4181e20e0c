"""Finding notes: by words, by meaning, and by both."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypedDict

from lithos.app import Lithos
from lithos.core.call import Call
from lithos.core.cursor import shown_before
from lithos.core.relative import prefix
from lithos.errors import TooLarge
from lithos.notes import MeaningAnswer, Rank, ScopeRequest, StatusFilter, WordsAnswer
from lithos.recall import Question, RecallAnswer
from lithos.search import Query, Where
from lithos.tools.arguments import MoreCursor
from lithos.tools.dispatch.references import Refers
from lithos.tools.dispatch.schemas import Rare
from lithos.tools.registry import tool

Limit = Annotated[int, Field(ge=1)]
Tags = Annotated[list[str] | None, Field(description="Only notes with all of these", max_length=50)]
Author = Annotated[str | None, Field(description="Only notes of this author")]
LONGEST_PREFIX = 800  # the full-text engine compiles no pattern of 1,000
Prefix = Annotated[str | None, Field(description='Only paths that start so, e.g. "procedures/"')]

RecallKind = Literal["note", "task", "finding", "thought", "skill", "code", "message", "history", "source"]
Explain = Annotated[bool, Field(description="Add the ranking trace"), Rare]
Standing = Annotated[StatusFilter | None, Field(description="Default: what counts now"), Rare]
AsOf = Annotated[str | None, Field(description="Notes that were current then"), Rare]
Window = Annotated[int | None, Field(ge=1, description="Created in so many days before as_of or now"), Rare]
Ranking = Annotated[Rank, Rare]
Hops = Annotated[
    int, Field(ge=0, le=1, description="1: also what the best hits lead to, for questions that compare or join"), Rare
]


class Recalled(RecallAnswer):
    receipt: str


@tool(toolset="notes", notes=True, reads=True, title="Ask the memory")
def lithos_recall(
    lithos: Lithos,
    call: Call,
    query: Annotated[str, Field(description="A question or keywords, in your own words")],
    limit: Limit = 10,
    kinds: Annotated[list[RecallKind] | None, Field(description="Only these; default all")] = None,
    token_budget: Annotated[int | None, Field(description="Best passages within so many tokens", ge=1)] = None,
    tags: Tags = None,
    author: Author = None,
    path_prefix: Prefix = None,
    status: Standing = None,
    as_of: AsOf = None,
    window_days: Window = None,
    rank: Ranking = "relevance",
    explain: Explain = False,
    cursor: MoreCursor = None,
    hops: Hops = 0,
) -> Recalled:
    """Ask the shared memory; use this first. Searches notes, tasks, findings, thoughts and skills by words and meaning.
    Each result is the best passage of one thing, with its kind and what to cite. `relevant: false`: nothing here
    answers it, do not build on the results. `degraded: true`: part was not searched yet; ask again soon."""
    asked = Query(query, limit=limit, where=_where(tags, author, path_prefix), explain=explain)
    scope = ScopeRequest(status, as_of, window_days, rank)
    after = shown_before(cursor, ["recall", query, asked.where, scope, sorted(kinds or ()), hops])
    found = lithos.recall.recall(Question(call, asked, scope), token_budget, kinds, after, hops=hops)
    receipt = lithos.knowledge.feedback.receipt(query, [hit["id"] for hit in found["results"] if hit["kind"] == "note"])
    return {**found, "receipt": receipt}


@tool(toolset="notes", notes=True, reads=True, title="Search by words")
def lithos_search(
    lithos: Lithos,
    call: Call,
    query: Annotated[
        str, Field(description='Words, or syntax: +must -not "a phrase" title:x tags:y word* word~1 AND OR')
    ],
    limit: Limit = 10,
    tags: Tags = None,
    author: Author = None,
    path_prefix: Prefix = None,
    status: Standing = None,
    as_of: AsOf = None,
    window_days: Window = None,
    rank: Ranking = "relevance",
    explain: Explain = False,
    cursor: MoreCursor = None,
) -> WordsAnswer:
    """Find notes by exact words: names, error texts, identifiers. Best first. `literal`: the query was no valid syntax
    and was taken as plain words."""
    where, scope = _where(tags, author, path_prefix), ScopeRequest(status, as_of, window_days, rank)
    after = shown_before(cursor, ["words", query, where, scope])
    return lithos.note_search.words(query, limit, where, scope, explain=explain, after=after)


@tool(toolset="notes", notes=True, reads=True, title="Search by meaning")
def lithos_semantic(
    lithos: Lithos,
    call: Call,
    query: Annotated[str, Field(description="A question or statement in natural language")],
    limit: Limit = 10,
    threshold: Annotated[float | None, Field(description="Least similarity (default 0.3)", ge=0, le=1)] = None,
    tags: Tags = None,
    author: Author = None,
    path_prefix: Prefix = None,
    status: Standing = None,
    as_of: AsOf = None,
    window_days: Window = None,
    rank: Ranking = "relevance",
    explain: Explain = False,
    cursor: MoreCursor = None,
) -> MeaningAnswer:
    """Find notes by meaning alone, even if the words differ. One result per note, most similar first."""
    where, scope = _where(tags, author, path_prefix), ScopeRequest(status, as_of, window_days, rank)
    after = shown_before(cursor, ["meaning", query, threshold, where, scope])
    return lithos.note_search.meaning(query, limit, threshold, where, scope, explain=explain, after=after)


class ShownPassage(TypedDict):
    position: int
    heading: str
    text: str
    characters: int
    tokens: int


class NotePassages(TypedDict):
    id: str
    title: str
    path: str
    passages: list[ShownPassage]


@tool(toolset="notes", notes=True, reads=True, pages=("passages",))
def lithos_note_passages(
    lithos: Lithos, call: Call, id: Annotated[str, Field(description="Note id, path or title"), Refers("note")]
) -> NotePassages:
    """How a note is cut for search: each passage with its headings, characters and tokens of the model. To see why a
    note is found or not."""
    note = lithos.notes.reader.read(id, None, None)
    shown: list[ShownPassage] = [
        {
            "position": passage.position,
            "heading": passage.heading,
            "text": passage.text,
            "characters": len(passage.text),
            "tokens": lithos.note_search.collection.tokens(note["title"], passage),
        }
        for passage in lithos.note_search.collection.passages(note["id"])
    ]
    return {"id": note["id"], "title": note["title"], "path": note["path"], "passages": shown}


def _where(tags: list[str] | None, author: str | None, path_prefix: str | None) -> Where:
    beneath = prefix(path_prefix)
    if beneath and len(beneath.encode()) > LONGEST_PREFIX:
        raise TooLarge(f"path_prefix has more than {LONGEST_PREFIX} bytes", hint="Name a folder further up.")
    return Where(tags=tuple(tags or ()), author=author, path_prefix=beneath)
