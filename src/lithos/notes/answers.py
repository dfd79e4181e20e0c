"""The answers of the tools about notes, as they go over the wire."""

from __future__ import annotations

from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict


class Existing(TypedDict):
    id: str
    path: str
    title: str


class Written(TypedDict):
    id: str
    path: str
    version: str
    replaced_version: str | None
    action: Literal["inserted", "updated", "merged", "superseded"]
    existing: NotRequired[Existing]  # another note with the same title in this folder
    warnings: NotRequired[list[str]]


class Deleted(TypedDict):
    success: bool
    reason: NotRequired[str]
    path: NotRequired[str]
    version: NotRequired[str]


class NoteLink(TypedDict):
    target: str
    display: str
    id: str | None
    status: Literal["resolved", "ambiguous", "broken"]
    candidates: NotRequired[list[str]]  # paths of the notes that an ambiguous link could mean


class ReadNote(TypedDict):
    id: str
    title: str
    content: str
    metadata: dict[str, Any]
    links: list[NoteLink]
    truncated: bool
    path: str
    version: str
    problem: NotRequired[str]  # why the frontmatter could not be read
    conflict_copies: NotRequired[list[str]]


class ListedNote(TypedDict):
    id: str
    title: str
    path: str
    updated: str
    tags: list[str]


class NoteList(TypedDict):
    items: list[ListedNote]
    total: int


class LinkedNote(TypedDict):
    id: str
    title: str
    path: str


class NoteLinks(TypedDict):
    outgoing: list[LinkedNote]
    incoming: list[LinkedNote]
    truncated: NotRequired[bool]


class Tags(TypedDict):
    tags: dict[str, int]
    truncated: NotRequired[bool]


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
