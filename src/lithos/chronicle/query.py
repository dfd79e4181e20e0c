"""Entries of sessions, as answers show them."""

from __future__ import annotations

from typing import NotRequired

from typing_extensions import TypedDict

from lithos.core.cursor import NextPage


class EntryShown(TypedDict):
    id: str
    index: int
    session_id: str
    promoted: bool
    thought_type: str
    role: str
    content: str
    agent_id: str
    timestamp: str
    tags: list[str]
    score: NotRequired[float]


class EntryPage(NextPage):
    entries: list[EntryShown]
    total: int
    receipt: NotRequired[str]  # for lithos_feedback
    degraded: bool
    degraded_reason: NotRequired[str]
