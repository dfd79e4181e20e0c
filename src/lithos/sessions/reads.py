"""Files and worktree of a session, noted by the server itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from lithos.errors import TooLarge
from lithos.sessions import store
from lithos.sessions.context import parse_changes, write_context
from lithos.sessions.model import WRITABLE, session_of
from lithos.storage import Tx


def note_files(
    tx: Tx, session_id: str, field: Literal["modified_files", "created_files"], files: Mapping[str, Mapping[str, Any]]
) -> bool:
    """Add to the files of a session without a new version of the context."""
    return _note(tx, session_id, {field: {"add": dict(files)}})


def note_worktree(tx: Tx, session_id: str, branch: str, base: str, path: str | None) -> bool:
    """The branch fields of a session's context."""
    return _note(tx, session_id, {"branch_name": branch, "base_branch": base, "worktree": path})


def note_read_files(tx: Tx, session_id: str, files: Mapping[str, Mapping[str, Any]]) -> bool:
    """Add to `read_files` without a new version of the context. False: the session takes none, or is full."""
    return _note(tx, session_id, {"read_files": {"add": dict(files)}})


def _note(tx: Tx, session_id: str, changes: Mapping[str, Any]) -> bool:
    store.lock(tx, session_id)
    row = store.ask(tx, session_id).one()
    if row is None or session_of(row).state not in WRITABLE or row["closed_at"] is not None:
        return False
    try:
        write_context(tx, session_id, row, parse_changes(changes), quiet=True)
    except TooLarge:  # a megabyte of context: what the agents wrote comes first
        return False
    return True
