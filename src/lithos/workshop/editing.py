"""Editing: files of a worktree read, written and edited, confined to it, each change recorded for the session."""

from __future__ import annotations

import fnmatch
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson

from lithos.core.call import Call
from lithos.core.canonical import same_version, version_of
from lithos.core.clock import rfc3339
from lithos.core.keyed_lock import KeyedLock
from lithos.errors import Conflict, Forbidden
from lithos.graph.code import KeptTexts, excerpt, is_secret
from lithos.sessions import FileLocks, note_files, note_read_files
from lithos.storage import EventDraft, FileChange, Plan, Recovered, Root, Storage, Tx, checked
from lithos.workshop import rows
from lithos.workshop.edits import EditRequest, checked_size, decoded, edited
from lithos.workshop.values import Worktree

PREFIX = "work-"
EVENT = "work_file"
_GIT_NAMES = frozenset({".git", "git~1"})  # the second is how Windows shortens the first


class Files:
    """The one reader and writer of files in worktrees."""

    def __init__(
        self,
        storage: Storage,
        locks: FileLocks,
        texts: KeptTexts,
        exclusive: Sequence[str],
        folder: Path,
        turns: KeyedLock,
    ) -> None:
        self._storage = storage
        self._locks = locks
        self._texts = texts
        self._exclusive = exclusive
        self._guard = threading.Lock()
        storage.effects.on_recovered(EVENT, _after_recovery)
        self._turns = turns
        self._prepare(folder)

    def _prepare(self, worktrees: Path) -> None:
        """Roots that open intents name must exist before storage settles them."""
        sql = "SELECT DISTINCT root FROM intent_changes WHERE root LIKE 'work-%'"
        for row in self._storage.database.read(lambda tx: tx.all(sql)):
            folder = worktrees / row["root"].removeprefix(PREFIX)
            if folder.is_dir():
                self._storage.add_root(row["root"], folder)

    def root(self, worktree: Worktree) -> Root:
        """Opened on first use; what a crash left staged in it is settled then."""
        name = f"{PREFIX}{worktree.id}"
        with self._guard:
            found = self._storage.roots.get(name)
            if found is None:
                found = self._storage.add_root(name, worktree.path)
                found.recover()
        return found

    def settle(self, worktree: Worktree) -> None:
        """No staged file of ours may be seen by a command or by git."""
        self.root(worktree).sweep(everything=True)

    def forget(self, worktree_id: str) -> None:
        with self._guard:
            self._storage.drop_root(f"{PREFIX}{worktree_id}", history=True)

    def release(self, worktree_id: str) -> None:
        """Close the folder of a worktree that is removed while idle."""
        with self._guard:
            self._storage.drop_root(f"{PREFIX}{worktree_id}")

    # -- reading

    def read(
        self, call: Call, worktree: Worktree, path: str, start: int | None, end: int | None, known: str | None
    ) -> dict[str, Any]:
        name = checked_path(path)
        file = self.root(worktree).read(name)
        decoded(file.data)
        text = excerpt(name, file.data, file.version, start, end, known, self._texts)
        facts = {f"{worktree.project}:{name}": {"version": file.version, "at": rfc3339(self._storage.clock.now())}}

        def note(tx: Tx) -> None:
            rows.note_change(tx, worktree, name, "read", file.version, call.agent or "")
            note_read_files(tx, worktree.session_id, facts)

        self._storage.database.write(note)
        return {"path": name, "version": file.version, "lines": _lines(file.data), **text}

    # -- writing

    def write(self, call: Call, worktree: Worktree, path: str, content: str, if_match: str | None) -> dict[str, Any]:
        """Create or replace a file. What the session has not seen is not overwritten."""
        name, data = checked_path(path), checked_size(content.encode())

        def decide() -> Plan:
            before = self.root(worktree).version(name)
            if before is not None or if_match is not None:
                self._check_seen(worktree, name, before, if_match)
            return self._plan(call, worktree, name, before, data)

        self._take_lock(call, worktree, name)
        with self._turns.hold(worktree.files_lock):
            return dict(self._storage.effects.apply(call, decide).answer)

    def edit(
        self, call: Call, worktree: Worktree, path: str, request: EditRequest, if_match: str | None
    ) -> dict[str, Any]:
        """Replace one text or a range of lines."""
        name = checked_path(path)

        def decide() -> Plan:
            file = self.root(worktree).read(name)
            if if_match is not None or request.by_lines:
                self._check_seen(worktree, name, file.version, if_match)
            return self._plan(call, worktree, name, file.version, edited(file.data, request))

        self._take_lock(call, worktree, name)
        with self._turns.hold(worktree.files_lock):
            return dict(self._storage.effects.apply(call, decide).answer)

    def _check_seen(self, worktree: Worktree, path: str, version: str | None, if_match: str | None) -> None:
        """Conflict unless the file is what the caller, or its session, has seen last."""
        if if_match is not None:
            if version is not None and same_version(if_match, version):
                return
            message = f"{path} is at another version than if_match; nothing was changed"
        else:
            seen = self._storage.database.read(lambda tx: rows.versions(tx, worktree.id, path))
            if version in seen:
                return
            known = "changed since this session saw it" if seen else "exists, and this session has not read it"
            message = f"{path} {known}; nothing was changed"
        raise Conflict(message, hint="lithos_work_read it, then decide again.", version=version)

    def _plan(self, call: Call, worktree: Worktree, path: str, before: str | None, data: bytes) -> Plan:
        version, agent = version_of(data), call.agent or ""
        kind: rows.ChangeKind = "created" if before is None else "modified"
        facts = {
            "worktree_id": worktree.id,
            "session_id": worktree.session_id,
            "kind": kind,
            "version": version,
            "project": worktree.project,
            "agent": agent,
        }
        event = EventDraft(
            EVENT, kind, thing=worktree.id, path=path, before_hash=before, after_hash=version, details=facts
        )
        change = FileChange(f"{PREFIX}{worktree.id}", path, before, data)
        answer = {"path": path, "version": version, "lines": _lines(data), "created": before is None}
        return Plan((change,), event, answer, after=lambda tx: _note(tx, path, facts))

    def _take_lock(self, call: Call, worktree: Worktree, path: str) -> None:
        """A path marked exclusive is written by one agent at a time, across sessions."""
        if not any(fnmatch.fnmatchcase(path, pattern) for pattern in self._exclusive):
            return
        locked = self._locks.lock(call, f"{worktree.project}/{path}", "write", worktree.session_id)
        if not locked["success"]:
            raise Conflict(
                f"{path} is exclusive, and {locked.get('holder')} holds it",
                hint=f"Wait until {locked.get('until')}, or ask for lithos_file_unlock.",
                holder=locked.get("holder"),
            )


def checked_path(path: str) -> str:
    """A path inside the worktree that agents may touch; `./` before it is forgiven."""
    name = checked(path.removeprefix("./"))
    for part in name.split("/"):
        if part.rstrip(". ").casefold() in _GIT_NAMES:
            raise Forbidden(f"{name[:200]!r} belongs to git", hint="lithos_work_commit and _diff use git for you.")
    if is_secret(name):
        raise Forbidden(f"{name[:200]!r} looks like a credential file", hint="Such files are never served.")
    return name


def _lines(data: bytes) -> int:
    return data.count(b"\n") + (1 if data and not data.endswith(b"\n") else 0)


def _note(tx: Tx, path: str, facts: dict[str, Any]) -> None:
    rows.note_version(tx, facts["worktree_id"], path, facts["kind"], facts["version"], facts["agent"])
    field: Any = "created_files" if facts["kind"] == "created" else "modified_files"
    note_files(tx, facts["session_id"], field, {f"{facts['project']}:{path}": {"version": facts["version"]}})


def _after_recovery(tx: Tx, recovered: Recovered) -> None:
    event = recovered.event
    details = event["details"] if isinstance(event["details"], dict) else orjson.loads(event["details"])
    _note(tx, event["path"], details)
