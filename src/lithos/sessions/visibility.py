"""Visibility: the one rule of who sees what a session has not promoted.

Engines filter by the same rule before they take the best: `Where.only_for` in search, a mask over a chain's columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

HISTORY = "history"  # the chain of all sessions' entries; one per session would cost descriptors and memory each
SCOPE = "scope"  # the keyword field of documents that belong to a session and are not promoted


class Scoped(Protocol):
    @property
    def session_id(self) -> str | None:
        """The session that it belongs to. None for ids that no row of `sessions` has: such a row is public."""

    @property
    def promoted(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Viewer:
    """Who looks: the session that the agent is in now."""

    session: str | None = None
    everything: bool = False  # an operator who left an event, or a query over all sessions

    @property
    def scopes(self) -> tuple[str, ...]:
        """Values of `SCOPE` that this viewer may see."""
        return () if self.session is None else (self.session,)


PUBLIC = Viewer()
ALL = Viewer(everything=True)


@dataclass(frozen=True, slots=True)
class ScopedRow:
    session_id: str | None
    promoted: bool = False


def visible(row: Scoped, viewer: Viewer) -> bool:
    """Public and promoted rows for all; the others for those who are in their session."""
    return row.session_id is None or row.promoted or viewer.everything or row.session_id == viewer.session
