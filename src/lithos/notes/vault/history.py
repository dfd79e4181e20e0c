"""History: the versions of a note from the audit, their bytes from the history folder, and how to restore one."""

from __future__ import annotations

import difflib
from collections.abc import Container
from contextlib import ExitStack
from dataclasses import replace
from typing import cast

from lithos.core.call import Call
from lithos.core.canonical import same_version, version_of
from lithos.core.cursor import next_page, offset_of
from lithos.core.text import slug
from lithos.errors import Conflict, NotFound
from lithos.notes.answers import Difference, NoteHistory, Restored, Version, Written
from lithos.notes.format.document import Unreadable
from lithos.notes.format.naming import SUFFIX, path_key
from lithos.notes.format.note import Note, read_note
from lithos.notes.index import queries
from lithos.notes.lifecycle.effective_status import status_of
from lithos.notes.vault.loaded import ROOT, Loaded
from lithos.notes.vault.vault import Vault
from lithos.notes.vault.writing import with_fields
from lithos.storage import Database, Event, EventDraft, EventFilter, Events, FileChange, KeptVersion, Outcome, Plan, Tx

_LONGEST_DIFF = 200_000


RECENT_DELETIONS = 200


class History:
    def __init__(self, vault: Vault, database: Database, events: Events) -> None:
        self._vault = vault
        self._database = database
        self._events = events

    def of(self, note_id: str, limit: int = 50, cursor: str | None = None) -> NoteHistory:
        """Newest first; a note that was deleted has one too."""
        filters = ["lithos_note_history", note_id]
        offset = offset_of(cursor, filters)
        events = self._past(note_id, offset + limit + 1)
        if not events:
            self._vault.find(note_id)
        kept = {each.version: each for path in _paths(events, self._path(note_id)) for each in self._kept(path)}
        audited = {event["before_hash"] for event in events}
        versions = [_version(event, kept) for event in events]
        # Replaced as part of a change of another note: one that was moved, and whose links followed.
        versions += [_replaced(each) for version, each in kept.items() if version not in audited]
        versions.sort(key=lambda each: each["at"], reverse=True)
        more = next_page(filters, offset, limit, len(versions))
        return {"id": note_id, "versions": versions[offset : offset + limit], **more}

    def _path(self, note_id: str) -> str | None:
        row = self._vault.catalogue.read(lambda tx: queries.note_by_id(tx, note_id))
        return row["path"] if row else None

    def _kept(self, path: str) -> list[KeptVersion]:
        if not self._vault.index.allows_note(path):
            return []
        return [*self._vault.root.history(path), *self._vault.root.trashed(path)]

    def _past(self, note_id: str, limit: int) -> list[Event]:
        wanted = EventFilter(thing=note_id, type="note", status="committed")

        def work(tx: Tx) -> list[Event]:
            page = self._events.find(tx, wanted, limit=limit)
            found = page["events"]
            while page["next_cursor"] and len(found) < limit:
                page = self._events.find(tx, wanted, limit=limit - len(found), cursor=page["next_cursor"])
                found += page["events"]
            return found

        return [event for event in self._database.read(work) if self._is_served(event)]

    def _is_served(self, event: Event) -> bool:
        """A file that is ignored since then is no note, also where the audit knows it."""
        return event["path"] is None or self._vault.index.allows_note(event["path"])

    def diff(self, note_id: str, old: str | None = None, new: str | None = None) -> Difference:
        """Of two versions; left out, the newest is the file as it is, and the older the one before it."""
        newer = self._bytes(note_id, new)
        older = self._bytes(note_id, old or self._replaced(note_id, version_of(newer)))
        lines = difflib.unified_diff(
            older.decode("utf-8", "replace").splitlines(keepends=True),
            newer.decode("utf-8", "replace").splitlines(keepends=True),
            *(version_of(older), version_of(newer)),
        )
        text = "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)
        return {"id": note_id, "old": version_of(older), "new": version_of(newer), "diff": text[:_LONGEST_DIFF]}

    def _replaced(self, note_id: str, version: str) -> str:
        """The version that this one replaced, as far as the audit knows; a person's save replaced the newest of it."""
        events = [event for event in self._past(note_id, 200) if event["before_hash"] or event["after_hash"]]
        for event in events:
            if event["after_hash"] == version and event["before_hash"]:
                return str(event["before_hash"])
        if events and events[0]["after_hash"]:
            return str(events[0]["after_hash"])
        raise NotFound("there is no earlier version of this note", hint="It has not been changed through Lithos.")

    def _bytes(self, note_id: str, version: str | None) -> bytes:
        """The bytes that had this version; None: those of the file now."""
        try:
            now: bytes | None = self._vault.find(note_id).note.document.encode()
        except NotFound:
            now = None
        if now is not None and (version is None or same_version(version, version_of(now))):
            return now
        for path in _paths(self._past(note_id, 200), self._path(note_id)):
            for kept in self._kept(path):
                if version is None or same_version(version, kept.version):
                    return self._vault.root.read_kept(kept)
        if now is None and not self._past(note_id, 1):
            self._vault.find(note_id)  # raises: there is no such note, and never was
        what = "no version of this note is kept any more"
        if version is not None:
            known = self._has_had(note_id, version)
            what = f"version {version[:80]} of this note is not kept any more" if known else _unknown(version)
        raise NotFound(what, hint="lithos_note_history lists the versions that there are.")

    def _has_had(self, note_id: str, version: str) -> bool:
        hashes = (each for event in self._past(note_id, 200) for each in (event["before_hash"], event["after_hash"]))
        return any(each is not None and same_version(version, each) for each in hashes)

    def revert(self, call: Call, note_id: str, version: str, if_match: str | None = None) -> Written:
        """Bring a kept version back as the newest one."""
        data = self._bytes(note_id, version)
        return cast(Written, self._vault.act(call, lambda held: self._decide_revert(note_id, data, if_match, held)))

    def _decide_revert(self, note_id: str, data: bytes, if_match: str | None, held: ExitStack) -> Plan | Outcome:
        older = read_note(note_id, data)
        self._vault.check_key(older, note_id, held)
        found = self._vault.load(note_id, held)
        self._vault.check_version(found, if_match, replaces=True)
        _check_revival(found, older)
        data = _with_id(found, data)
        answer: Written = {
            "id": found.id,
            "path": found.path,
            "version": version_of(data),
            "replaced_version": found.note.version,
            "action": "updated",
            "superseded_ids": [],
        }
        if answer["version"] == found.note.version:
            return Outcome(dict(answer))
        event = EventDraft("note", "revert", found.id, found.path, None, found.note.version, answer["version"])
        return Plan((FileChange(ROOT, found.path, found.note.version, data),), event, dict(answer))

    def restore(self, call: Call, note: str) -> Restored:
        """Bring a deleted note back to where it was; `note` is its id or its path."""
        deletion, version = self._deletion(note)
        self._need_deleted(deletion["thing"])
        path = self._vault.checked_place(str(deletion["path"]))
        kept = [each for each in self._kept(path) if each.version == version]
        if not kept:
            raise NotFound(f"{path!r} is not in the trash any more", hint="Settings bound how long it is kept.")
        data = self._vault.root.read_kept(kept[0])
        decide = self._decide_restore
        return cast(Restored, self._vault.act(call, lambda held: decide(deletion["thing"], path, data, held)))

    def deleted(self, note: str) -> str | None:
        """The id of a deleted note that bore this id, path or title; None: none is known."""
        try:
            deletion, _ = self._deletion(note)
        except NotFound:
            return None
        found = str(deletion["thing"])
        return found if self._path(found) is None else None

    def _deletion_by_title(self, title: str) -> Event | None:
        """A note's file is named after its title. Of the recent ones: the audit has no index of names."""
        asked = EventFilter(type="note", op="delete", status="committed", store=self._events.store)
        page = self._database.read(lambda tx: self._events.find(tx, asked, limit=RECENT_DELETIONS))
        wanted = slug(title)
        served = filter(self._is_served, page["events"])
        return next((each for each in served if slug(_stem(each["path"] or "")) == wanted), None)

    def _deletion(self, note: str) -> tuple[Event, str | None]:
        """The newest deletion of the note with this id or path, and the version it had; for a file that a person
        removed, its last write."""
        wanted = [EventFilter(thing=note), EventFilter(path=note), EventFilter(path=note + SUFFIX)]
        for each in wanted:
            asked = replace(each, type="note", op="delete", status="committed", store=self._events.store)
            page = self._database.read(lambda tx, asked=asked: self._events.find(tx, asked, limit=1))  # type: ignore[misc]
            for event in filter(self._is_served, page["events"]):
                return event, event["before_hash"]
        for each in wanted:
            asked = replace(each, type="note", status="committed", store=self._events.store)
            page = self._database.read(lambda tx, asked=asked: self._events.find(tx, asked, limit=1))  # type: ignore[misc]
            for event in filter(self._is_served, page["events"]):
                if event["after_hash"]:
                    return event, event["after_hash"]
        if (named := self._deletion_by_title(note)) is not None:
            return named, named["before_hash"]
        raise NotFound(f"no deletion of {note[:200]!r} is known", hint="Give the id or the path that it had.")

    def _need_deleted(self, note_id: str) -> None:
        if (now := self._path(note_id)) is not None:
            raise Conflict(
                f"the note {note_id} is not deleted: it is {now!r}",
                hint="lithos_note_history lists its versions, lithos_note_revert brings one back.",
                path=now,
            )

    def _decide_restore(self, note_id: str, path: str, data: bytes, held: ExitStack) -> Plan:
        self._vault.check_key(read_note(path, data), note_id, held)
        self._vault.hold_path(path, held)
        self._need_deleted(note_id)
        taken = self._vault.catalogue.read(lambda tx: queries.notes_by_key(tx, path_key(path)))
        if taken or self._vault.root.exists(path):
            raise Conflict(f"{path!r} is taken by another note", hint="Move that one first.", path=path)
        answer: Restored = {"id": note_id, "path": path, "version": version_of(data)}
        event = EventDraft("note", "restore", note_id, path, after_hash=answer["version"])
        return Plan((FileChange(ROOT, path, None, data),), event, dict(answer))


def _check_revival(found: Loaded, older: Note | Unreadable) -> None:
    """A version from before its successor came would stand beside it."""
    superseded = status_of(found.note) == "superseded"
    if superseded and isinstance(older, Note) and status_of(older) != "superseded":
        raise Conflict(
            f"{found.path!r} is superseded; that version would count beside its successor",
            hint="Make it active again first (lithos_write with status), or change the successor.",
            successor_id=found.note.text("superseded_by"),
        )


def _with_id(found: Loaded, data: bytes) -> bytes:
    """A version from before the note had its id must not make it another note."""
    older = read_note(found.path, data)
    if isinstance(older, Note) and older.own_id not in (None, found.id):
        raise Conflict(
            f"that version is of another note, {older.own_id}, which had this path before",
            hint="lithos_note_restore brings a deleted note back.",
        )
    if not isinstance(older, Note) or older.own_id == found.note.own_id or older.has_id:
        return data
    return with_fields(older.document, {"id": found.id}).encode()


def _unknown(version: str) -> str:
    return f"this note never had a version {version[:80]!r}"


def _paths(events: list[Event], now: str | None) -> list[str]:
    """Every path that the note has had, the newest first."""
    found = [now]
    for event in events:
        found += [event["path"], event["details"].get("from")]
    return list(dict.fromkeys(path for path in found if path))


def _version(event: Event, kept: Container[str | None]) -> Version:
    return {
        "at": event["at"],
        "agent": event["agent"],
        "op": event["op"],
        "path": event["path"],
        "version": event["after_hash"],
        "replaced_version": event["before_hash"],
        "kept": event["before_hash"] in kept,
    }


def _replaced(kept: KeptVersion) -> Version:
    return {
        "at": kept.at,
        "agent": None,
        "op": "rewrite",
        "path": kept.path,
        "version": None,
        "replaced_version": kept.version,
        "kept": True,
    }


def _stem(path: str) -> str:
    return path.rpartition("/")[2].removesuffix(SUFFIX)
