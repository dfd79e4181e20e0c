"""The answers of the tools about notes, as they are sent."""

from __future__ import annotations

from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict


class Existing(TypedDict):
    id: str
    path: str
    title: str


class Similar(TypedDict):
    id: str
    path: str
    title: str
    likeness: float


class Written(TypedDict):
    id: str
    path: str
    version: str
    replaced_version: str | None
    action: Literal["inserted", "updated", "merged", "superseded", "unchanged"]
    superseded_ids: list[str]
    existing: NotRequired[Existing]  # another note with the same title in this folder
    similar: NotRequired[list[Similar]]  # notes that say nearly the same
    warnings: NotRequired[list[str]]
    conflict_copies: NotRequired[list[str]]  # saves of others that were kept beside the note


class Deleted(TypedDict):
    success: bool
    reason: NotRequired[str]
    hint: NotRequired[str]
    path: NotRequired[str]
    version: NotRequired[str]


class Ancestor(TypedDict):
    id: str
    title: str
    path: str
    confidence: float
    depth: int  # 1: a source of the note itself


class Neighbouring(TypedDict):
    id: str
    title: str
    path: str
    similarity: float


class Claiming(TypedDict):
    id: str
    title: str
    path: str
    confidence: float
    updated: str


class Conflicting(TypedDict):
    why: str
    about: str
    notes: list[Claiming]  # the most trusted first, then the newest


class ConflictList(TypedDict):
    conflicts: list[Conflicting]
    total: int
    next_cursor: NotRequired[str]


class LinkedNote(TypedDict):
    id: str
    title: str
    path: str


class NoteLink(TypedDict):
    target: str
    display: str
    id: str | None
    status: Literal["resolved", "ambiguous", "broken"]
    candidates: NotRequired[list[str]]  # paths of the notes that an ambiguous link could mean
    resolved_by: NotRequired[Literal["title"]]  # the link names no file: a new title breaks it


class ReadNote(TypedDict):
    id: str
    title: str
    content: str
    metadata: dict[str, Any]
    links: list[NoteLink]
    truncated: bool
    path: str
    version: str
    problem: NotRequired[str]  # why the frontmatter could not be read, or the note does not count as what it is
    successor: NotRequired[LinkedNote | None]  # of a superseded note; null: none that lives
    lineage: NotRequired[list[Ancestor]]
    trust: NotRequired[float]  # no more than that of its least trusted source
    similar: NotRequired[list[Neighbouring]]  # by meaning
    conflict_copies: NotRequired[list[str]]


class ListedNote(TypedDict):
    id: str
    title: str
    path: str
    updated: str
    tags: list[str]


class Completeness(TypedDict):
    degraded: bool  # files not read, or links not resolved yet
    degraded_reason: NotRequired[str]


class NoteList(Completeness):
    items: list[ListedNote]
    total: int
    next_cursor: NotRequired[str]


class NoteGraph(Completeness):
    """Notes and links as columns: 10,000 notes in a few hundred kilobytes. A note is its place in these lists."""

    ids: list[str]
    titles: list[str]
    paths: list[str]
    tags: list[str]  # each tag once
    tagged: list[list[int]]  # of each note: places in `tags`
    links: list[int]  # source, target, source, target, …
    total: int


class NoteLinks(Completeness):
    outgoing: list[LinkedNote]
    incoming: list[LinkedNote]
    total: int
    truncated: NotRequired[bool]
    next_cursor: NotRequired[str]


class Tags(Completeness):
    tags: dict[str, int]
    truncated: NotRequired[bool]
    next_cursor: NotRequired[str]


class Rewritten(TypedDict):
    id: str
    path: str
    version: str


class Moved(TypedDict):
    id: str
    path: str
    old_path: str
    version: str
    rewritten: list[Rewritten]  # other notes whose links follow


class Version(TypedDict):
    at: str
    agent: str | None
    op: str
    path: str | None
    version: str | None
    replaced_version: str | None
    kept: bool  # whether the bytes that were replaced can still be had


class NoteHistory(TypedDict):
    id: str
    versions: list[Version]
    next_cursor: NotRequired[str]


class Difference(TypedDict):
    id: str
    old: str
    new: str
    diff: str


class Restored(TypedDict):
    id: str
    path: str
    version: str


class Problem(TypedDict):
    path: str
    what: str
    line: NotRequired[int]
    target: NotRequired[str]  # of a link
    candidates: NotRequired[list[str]]


class Validation(TypedDict):
    ok: bool
    notes: int
    counts: dict[str, int]  # by kind of problem
    problems: dict[str, list[Problem]]
    truncated: NotRequired[bool]
    next_offset: NotRequired[int]  # of one kind
    more: NotRequired[str]  # how to see the others
