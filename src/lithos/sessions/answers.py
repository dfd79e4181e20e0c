"""The shapes of the answers about sessions."""

from __future__ import annotations

from typing import Any, NotRequired

from typing_extensions import TypedDict


class SessionShown(TypedDict):
    """Members see all of it; others do without branch, DAG, limits, metadata, members and context."""

    id: str
    name: str
    state: str
    owner: str
    member: bool
    created_at: str
    activated_at: str | None
    suspended_at: str | None
    completed_at: str | None
    last_active_at: str
    closed_at: NotRequired[str]
    summary: NotRequired[str]
    reason: NotRequired[str]
    agents: NotRequired[list[str]]
    here: NotRequired[list[str]]
    active_dag_id: NotRequired[str | None]
    dag_history: NotRequired[list[Any]]
    branch_name: NotRequired[str | None]
    base_branch: NotRequired[str | None]
    worktree: NotRequired[str | None]
    config: NotRequired[dict[str, Any]]
    metadata: NotRequired[dict[str, Any]]
    context: NotRequired[dict[str, Any]]
    version: NotRequired[int]


class SessionChanged(TypedDict):
    session_id: str
    state: str
    joined: NotRequired[bool]
    left: NotRequired[str]
    suspended: NotRequired[str]
    promoted: NotRequired[int]
    closed: NotRequired[int]


class SessionCreated(SessionChanged):
    name: str
    config: dict[str, Any]


class SessionPage(TypedDict):
    sessions: list[SessionShown]
    total: int
    next_cursor: str | None
    current: NotRequired[str]


class ContextShown(TypedDict):
    session_id: str
    state: str
    version: int
    bytes: int
    context: dict[str, Any]


class ContextUpdated(TypedDict):
    session_id: str
    version: int
    bytes: int


class SessionStats(TypedDict):
    by_state: dict[str, int]
    closed: int
    agents_here: int
    promoted: int
    context_bytes: int


class SessionEntryShown(TypedDict):
    seq: int
    kind: str
    session_id: str
    agent: str
    at: str


class SessionChanges(TypedDict):
    changes: list[SessionEntryShown]
    cursor: int
    missed: NotRequired[bool]
