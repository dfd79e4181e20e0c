"""Sessions: the model, who is where, and the one rule of who sees what."""

from __future__ import annotations

from lithos.sessions.answers import (
    ContextShown,
    ContextUpdated,
    SessionChanged,
    SessionChanges,
    SessionCreated,
    SessionPage,
    SessionShown,
    SessionStats,
)
from lithos.sessions.commands import SessionCommand, is_session_command, parse_session_command
from lithos.sessions.file_locks import FileLocked, FileLocks, LockMode, LockTerms
from lithos.sessions.membership import is_member, proved_sessions
from lithos.sessions.model import FIELDS, STATES, ClaimLimits, Session, SessionConfig, SessionState
from lithos.sessions.reads import note_files, note_read_files, note_worktree
from lithos.sessions.restoring import kept_parts, read_session, write_session
from lithos.sessions.sessions import LARGEST_PAGE, LONGEST_WAIT_S, PROMOTIONS, NewSession, Sessions
from lithos.sessions.store import JOURNAL as SESSIONS_JOURNAL
from lithos.sessions.visibility import ALL, HISTORY, PUBLIC, SCOPE, Scoped, ScopedRow, Viewer, visible

__all__ = [
    "ALL",
    "FIELDS",
    "HISTORY",
    "LARGEST_PAGE",
    "LONGEST_WAIT_S",
    "PROMOTIONS",
    "PUBLIC",
    "SCOPE",
    "SESSIONS_JOURNAL",
    "STATES",
    "ClaimLimits",
    "ContextShown",
    "ContextUpdated",
    "FileLocked",
    "FileLocks",
    "LockMode",
    "LockTerms",
    "NewSession",
    "Scoped",
    "ScopedRow",
    "Session",
    "SessionChanged",
    "SessionChanges",
    "SessionCommand",
    "SessionConfig",
    "SessionCreated",
    "SessionPage",
    "SessionShown",
    "SessionState",
    "SessionStats",
    "Sessions",
    "Viewer",
    "is_member",
    "is_session_command",
    "kept_parts",
    "note_files",
    "note_read_files",
    "note_worktree",
    "parse_session_command",
    "proved_sessions",
    "read_session",
    "visible",
    "write_session",
]
