"""The shapes of the board's answers."""

from __future__ import annotations

from typing import NotRequired

from typing_extensions import TypedDict


class Refusable(TypedDict):
    """`success` false comes with `reason` (a code) and `hint`, and with `holder` and `until` if a claim is held."""

    success: bool
    reason: NotRequired[str]
    hint: NotRequired[str]
    holder: NotRequired[str]
    until: NotRequired[str]


class Created(TypedDict):
    task_id: str


class Claimed(Refusable):
    expires_at: NotRequired[str]
    token: NotRequired[int]
    renewed: NotRequired[bool]
    clamped: NotRequired[bool]
    blocked_by: NotRequired[list[str]]


class Renewed(Refusable):
    new_expires_at: NotRequired[str]
    token: NotRequired[int]
    clamped: NotRequired[bool]


class ClaimShown(TypedDict):
    agent: str
    aspect: str
    expires_at: str


class NoteRef(TypedDict):
    id: str
    title: str
    path: str


class TaskRef(TypedDict):
    id: str
    title: str
    status: str


class TaskShown(TypedDict):
    id: str
    title: str
    status: str
    priority: int
    tags: list[str]
    created_by: str
    created_at: str
    updated_at: str
    blocked: bool
    ready: bool
    claims: list[ClaimShown]
    description: NotRequired[str | None]
    depends_on: NotRequired[list[str]]
    blocked_by: NotRequired[list[str]]
    blocks: NotRequired[list[str]]
    findings: NotRequired[int]
    notes: NotRequired[list[NoteRef]]


class TaskPage(TypedDict):
    tasks: list[TaskShown]
    total: int
    next_cursor: str | None


class FindingPosted(TypedDict):
    finding_id: str


class FindingShown(TypedDict):
    id: str
    task_id: str
    agent: str
    summary: str
    knowledge_id: str | None
    created_at: str


class FindingPage(TypedDict):
    findings: list[FindingShown]
    total: int
    next_cursor: str | None


class ChangeShown(TypedDict):
    seq: int
    kind: str
    task_id: str
    aspect: str | None
    agent: str
    at: str


class Changes(TypedDict):
    changes: list[ChangeShown]
    cursor: int
    missed: NotRequired[bool]


class BoardCounts(TypedDict):
    active_tasks: int
    open_claims: int
    completed_tasks: int
    cancelled_tasks: int
    findings: int
