"""History of a file: who changed it, when and why, with diffs; and undo of a change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from lithos.core.call import Call
from lithos.core.canonical import version_of
from lithos.core.cursor import next_page, offset_of
from lithos.errors import Conflict, InvalidInput, LithosError, NotFound
from lithos.garden.answers import Chapter, PathHistory, Undone
from lithos.garden.editor import tell_of_the_others
from lithos.garden.edits.diff import unified
from lithos.garden.targets import GARDEN, VAULT, NoteFiles, one_line
from lithos.storage import (
    Database,
    Effects,
    Event,
    EventDraft,
    EventFilter,
    Events,
    FileChange,
    Plan,
    Root,
    Tx,
)

MOST = 200
NOTE = "note"  # the type of a note's events, whichever tool wrote it
_IN_PLACE = ("create", "update", "append", "merge", "revert", "decay")


class FileHistory:
    def __init__(
        self,
        roots: Mapping[str, Root],
        database: Database,
        events: Events,
        effects: Effects,
        notes: NoteFiles | None = None,
    ) -> None:
        self._notes = notes
        self._roots = roots
        self._database = database
        self._events = events
        self._effects = effects

    def of(self, root: str, path: str, limit: int = 50, cursor: str | None = None) -> PathHistory:
        """Newest first; a diff where both versions are still kept."""
        filters, limit = ["lithos_file_history", root, path], min(limit, MOST)
        offset = offset_of(cursor, filters)
        events = self._database.read(lambda tx: self._of_path(tx, path, offset + limit + 1))
        version = self._roots[root].version(path)
        if version is None and not events:
            raise NotFound(f"nothing is known of {path!r}", hint="Paths are relative to the garden or the vault.")
        shown = [self._chapter(root, path, each) for each in events[offset : offset + limit]]
        return {"path": path, "version": version, "changes": shown, **next_page(filters, offset, limit, len(events))}

    def _of_path(self, tx: Tx, path: str, limit: int) -> list[Event]:
        found = self._newest(tx, EventFilter(path=path), limit)
        found += self._newest(tx, EventFilter(thing=path, op="move"), limit)  # away from here
        unique = {event["id"]: event for event in found}
        return sorted(unique.values(), key=lambda event: event["sequence"], reverse=True)[:limit]

    def _newest(self, tx: Tx, wanted: EventFilter, limit: int) -> list[Event]:
        page = self._events.find(tx, wanted, limit=limit)
        found = page["events"]
        while page["next_cursor"] and len(found) < limit:
            page = self._events.find(tx, wanted, limit=limit - len(found), cursor=page["next_cursor"])
            found += page["events"]
        return found

    def _chapter(self, root: str, path: str, event: Event) -> Chapter:
        changes: list[dict[str, Any]] = event["details"].get("changes", [])
        facts = next((each for each in changes if each["path"] == path), {})
        before = facts.get("before", event["before_hash"])
        after = facts.get("after", event["after_hash"])
        return {
            "event_id": event["id"],
            "at": event["at"],
            "agent": event["agent"],
            "user": event["user"],
            "type": event["type"],
            "op": event["op"],
            "status": event["status"],
            "section_anchor": event["section_anchor"],
            "rationale": event["rationale"],
            "before_version": before,
            "after_version": after,
            "diff": self._diff(root, path, before, after) if event["status"] == "committed" else None,
        }

    def _diff(self, root: str, path: str, before: str | None, after: str | None) -> str | None:
        old = self._text(root, path, before) if before is not None else ""
        new = self._text(root, path, after)
        return unified(old, new, path) if old is not None and new is not None else None

    def _text(self, root: str, path: str, version: str | None) -> str | None:
        """The text that had this version, from the file itself or from its history; None: not kept any more."""
        if version is None:
            return None
        try:
            return self._bytes(root, path, version).decode("utf-8")
        except (LithosError, UnicodeDecodeError):
            return None

    def _bytes(self, root: str, path: str, version: str) -> bytes:
        if self._roots[root].exists(path):
            file = self._roots[root].read(path)
            if file.version == version:
                return file.data
        return self._roots[root].version_kept(path, version)

    def undo(self, call: Call, event_id: str) -> Undone:
        """Take one change back, all of its files or none; refused where they changed since."""
        one_line(call.rationale)

        event = self._event(event_id)
        if self._notes is not None and event["type"] == NOTE:
            undone = self._notes.apply(call, event["thing"], lambda: self._undoing(call, event))
        else:
            undone = self._effects.apply(call, lambda: self._undoing(call, event)).answer
        return cast(Undone, undone)

    def _undoing(self, call: Call, event: Event) -> Plan:
        changes = [self._reversed(each) for each in _changes(event)]
        facts = [_facts(change, event["type"]) for change in changes]
        draft = EventDraft(
            event["type"],
            "undo",
            event["thing"] if event["type"] == NOTE else event["id"],
            changes[0].path,
            event["section_anchor"],
            changes[0].before,
            facts[0]["after"],
            one_line(call.rationale),
            details={"changes": facts, "undoes": event["id"]},
        )
        answer = {"event_id": event["id"], "files": [change.path for change in changes]}
        return Plan(tuple(changes), draft, answer, after=lambda tx: tell_of_the_others(tx, self._events, call, draft))

    def _event(self, event_id: str) -> Event:
        found = self._database.read(lambda tx: self._events.find(tx, EventFilter(id=event_id)))["events"]
        if not found:
            raise NotFound(f"there is no event {event_id[:80]!r}", hint="`lithos history PATH` shows their ids.")
        event = self._whole(found[0])
        if event["status"] != "committed" or not _changes(event):
            raise InvalidInput(
                f"event {event_id} ({event['op']}, {event['status']}) cannot be undone",
                hint="A committed change of a file can. lithos_move takes back a move, lithos_note_restore a deletion.",
            )
        return event

    def _whole(self, event: Event) -> Event:
        """The event that holds all files of a change, for one about a single file of it."""
        if "part_of" not in event["details"]:
            return event
        wanted = EventFilter(thing=event["details"]["part_of"], op=event["op"], status="committed")
        tied = self._database.read(lambda tx: self._events.find(tx, wanted))["events"]
        return next((each for each in tied if "changes" in each["details"]), event)

    def _reversed(self, facts: dict[str, Any]) -> FileChange:
        root, path = facts.get("root", GARDEN), facts["path"]
        now = self._roots[root].version(path)
        if now != facts["after"]:
            raise Conflict(
                f"{path!r} was changed after that event; undoing it would lose the later change",
                hint="Undo the later changes first, newest first, or edit the file.",
                path=path,
                version=now,
            )
        before = facts["before"]
        old = self._roots[root].version_kept(path, before) if before is not None else None
        if old is None and now is None:
            raise InvalidInput(f"{path!r} was not there before and is not there now")
        return FileChange(root, path, now, old)


def _changes(event: Event) -> list[dict[str, Any]]:
    """The files that an event changed in place; a plain write of a note names its one file in the event itself."""
    listed: list[dict[str, Any]] = event["details"].get("changes", [])
    if listed or event["type"] != NOTE or event["op"] not in _IN_PLACE:
        return listed
    return [{"root": VAULT, "path": event["path"], "before": event["before_hash"], "after": event["after_hash"]}]


def _facts(change: FileChange, event_type: str) -> dict[str, Any]:
    after = version_of(change.after) if change.after is not None else None
    known = {"root": change.root, "path": change.path, "type": event_type}
    return {**known, "before": change.before, "after": after}
