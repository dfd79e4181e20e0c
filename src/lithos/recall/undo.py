"""Undo: takes back one change of any kind that can be taken back, as long as nothing came after it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NotRequired

from typing_extensions import TypedDict

from lithos.board import Board, TaskEdit
from lithos.core.call import Call
from lithos.core.text import with_article
from lithos.errors import Conflict, Forbidden, InvalidInput, NotFound
from lithos.garden import Garden
from lithos.notes import Move, Notes
from lithos.storage import Database, Event, EventFilter, Events

TOOL = "lithos_undo"
LOOKED_BACK = 100  # events of an agent
_FINAL = {
    "finding": "A finding stays: post another that corrects it (lithos_finding_post).",
    "renew": "A renewal ends by itself; lithos_task_release gives the claim back.",
    "upload": "A skill's versions stay: upload the earlier text again, or mentisdb_deprecate_skill.",
}
_TIED = frozenset({"supersede"})  # two notes changed, each in view of the other
_REOPENING = {"completed": "open", "cancelled": "open"}
_TEXT = "bring the text back"
_DID = {
    "restore the files": "restored the files",
    "delete the note": "deleted the note",
    "restore the note": "restored the note",
    "move the note back": "moved the note back",
    _TEXT: "brought the text back",
    "restore the fields": "restored the fields",
    "cancel the task": "cancelled the task",
    "open the task again": "opened the task again",
    "close the task again": "closed the task again",
    "give the claim back": "gave the claim back",
    "claim it again": "claimed it again",
}
Reversal = tuple[str, Callable[[], dict[str, Any]]]  # what it does ("delete the note"), and the act itself


class UndoneEvent(TypedDict):
    event: str
    kind: str
    op: str
    at: str
    thing: str
    path: NotRequired[str]
    agent: NotRequired[str]


class UndoPreview(UndoneEvent):
    will: str
    diff: str  # of a note's text


class UndoAnswer(TypedDict):
    undone: UndoneEvent
    did: str
    result: dict[str, Any]


@dataclass(frozen=True)
class Undo:
    database: Database
    events: Events
    notes: Notes
    board: Board
    garden: Garden

    def undo(self, call: Call, event_id: str | None) -> UndoAnswer:
        """The named event, or the agent's last change that is not undone yet."""
        event = self._named(call, event_id) if event_id is not None else self._last(call)
        named = replace(call, rationale=_reason(event["id"]))
        try:
            does, act = self._reversal(named, event)
            result = act()
        except Conflict as error:
            raise self._changed_since(event, error) from None
        done = self._done(call) or event  # a retry is answered with the first answer: tell what that one undid
        return {"undone": _shown(done), "did": _DID[does], "result": result}

    def preview(self, call: Call, event_id: str | None) -> UndoPreview:
        """The event that `undo` would take back, and what it would do; nothing is changed."""
        event = self._named(call, event_id) if event_id is not None else self._last(call)
        does, _ = self._reversal(call, event)
        diff = ""
        if does == _TEXT:
            diff = self.notes.history.diff(event["thing"], event["after_hash"], event["before_hash"])["diff"]
        return {**_shown(event), "will": does, "diff": diff}

    # ------------------------------------------------------------------ which event
    def _named(self, call: Call, event_id: str) -> Event:
        event = self._find(event_id)
        if event is None:
            raise NotFound(
                f"there is no event {event_id[:80]!r}", hint="lithos_events_query lists events with their ids."
            )
        if event["agent"] != call.agent and not call.operator:
            raise Forbidden(
                f"this change was made by {event['agent'] or 'an unnamed agent'}, not by {call.agent or 'you'}",
                hint="Only the operator undoes the changes of others (lithos undo EVENT on the server's machine).",
            )
        if not self._is_served(event):
            raise NotFound("the file of this event is ignored, and no note", hint="notes.ignore names what is none.")
        if event["status"] != "committed":
            raise InvalidInput(f"event {event_id} changed nothing (it is {event['status']})")
        return event

    def _last(self, call: Call) -> Event:
        if call.agent is None:
            raise InvalidInput("no agent is named whose last change this was", hint="Pass agent, or name the event.")
        recent = self._recent(call.agent)
        undone = {_undone_by(each) for each in recent if each["tool"] == TOOL}
        for event in recent:
            if (
                event["tool"] != TOOL
                and event["id"] not in undone
                and event["type"] in ("note", "task", *_garden(event))
                and self._is_served(event)
            ):
                return event
        raise NotFound(
            f"there is no change of {call.agent!r} left to undo",
            hint="lithos_changes shows what was changed, and by whom.",
        )

    def _is_served(self, event: Event) -> bool:
        return event["type"] != "note" or event["path"] is None or self.notes.index.allows_note(event["path"])

    def _recent(self, agent: str) -> list[Event]:
        wanted = EventFilter(agent=agent, status="committed", store=self.events.store)
        return self.database.read(lambda tx: self.events.find(tx, wanted, limit=LOOKED_BACK))["events"]

    def _find(self, event_id: str) -> Event | None:
        wanted = EventFilter(id=event_id, store=self.events.store)
        found = self.database.read(lambda tx: self.events.find(tx, wanted, limit=1))["events"]
        return found[0] if found else None

    def _done(self, call: Call) -> Event | None:
        """The event that the newest undo of this caller took back."""
        wanted = EventFilter(agent=call.agent, store=self.events.store)
        rows = self.database.read(lambda tx: self.events.find(tx, wanted, limit=5))["events"]
        newest = next((each for each in rows if each["tool"] == TOOL), None)
        return self._find(_undone_by(newest)) if newest is not None else None

    # ------------------------------------------------------------------ how
    def _reversal(self, call: Call, event: Event) -> Reversal:
        if event["op"] in _FINAL:
            raise InvalidInput(f"{with_article(event['op'])} cannot be undone", hint=_FINAL[event["op"]])
        if event["details"].get("changes") and not _is_one_note(event):
            return "restore the files", lambda: dict(self.garden.history.undo(call, event["id"]))
        if event["type"] == "note":
            return self._note_reversal(call, event)
        if event["type"] == "task":
            return self._task_reversal(call, event)
        raise InvalidInput(f"a change of the kind {event['type']} cannot be undone", hint="Change it back by hand.")

    def _note_reversal(self, call: Call, event: Event) -> Reversal:
        note, op, before, after = event["thing"], event["op"], event["before_hash"], event["after_hash"]
        if op in ("create", "restore"):
            return "delete the note", lambda: self._delete(call, event)
        if op == "delete":
            return "restore the note", lambda: dict(self.notes.history.restore(call, note))
        if op == "move":
            return "move the note back", lambda: self._move_back(call, event)
        if op not in _TIED and before and after:
            return _TEXT, lambda: dict(self.notes.history.revert(call, note, before, after))
        raise InvalidInput(
            f"a note's {op} cannot be undone",
            hint="lithos_note_history lists its versions, lithos_note_revert brings one back.",
        )

    def _delete(self, call: Call, event: Event) -> dict[str, Any]:
        gone = self.notes.vault.delete(call, event["thing"], event["after_hash"])
        if not gone["success"]:
            raise Conflict(f"{event['path']!r} is gone already", path=event["path"])
        return dict(gone)

    def _move_back(self, call: Call, event: Event) -> dict[str, Any]:
        found = self.notes.reader.read(event["thing"])
        if found["path"] != event["path"]:
            raise Conflict(f"the note was moved again, to {found['path']!r}", path=found["path"])
        rewritten = bool(event["details"].get("rewritten"))
        moved = self.notes.mover.move(call, Move(event["thing"], event["details"]["from"], rewritten, found["version"]))
        return dict(moved)

    def _task_reversal(self, call: Call, event: Event) -> Reversal:
        task, op, agent = event["thing"], event["op"], call.agent or "operator"
        board, aspect = self.board, event["details"].get("aspect")
        self._need_newest(event)
        if event["details"].get("before"):
            edit = TaskEdit(**event["details"]["before"])
            return "restore the fields", lambda: _accepted(board.update(call, task, agent, edit))
        if op == "create":
            return "cancel the task", lambda: _accepted(board.cancel(call, task, agent))
        if op in _REOPENING:
            return "open the task again", lambda: _accepted(board.update(call, task, agent, TaskEdit(status="open")))
        if op == "reopened":
            return "close the task again", lambda: _accepted(board.complete(call, task, agent))
        if op == "claim" and aspect:
            return "give the claim back", lambda: _accepted(board.release(call, task, aspect, agent))
        if op == "release" and aspect:
            return "claim it again", lambda: _accepted(board.claim(call, task, aspect, agent))
        raise InvalidInput(f"a task's {op} cannot be undone", hint="lithos_task_update changes it back.")

    def _need_newest(self, event: Event) -> None:
        wanted = EventFilter(thing=event["thing"], type="task", status="committed")  # of every host
        rows = self.database.read(lambda tx: self.events.find(tx, wanted, limit=20))["events"]
        later = [
            each for each in rows if each["sequence"] > event["sequence"] and each["op"] not in ("finding", "renew")
        ]
        if later:
            raise Conflict("the task was changed after that", by=later[0]["agent"], event_id=later[0]["id"])

    def _changed_since(self, event: Event, error: Conflict) -> Conflict:
        """Who changed it since, and the way out."""
        store = None if event["type"] == "task" else self.events.store
        wanted = EventFilter(thing=event["thing"], status="committed", store=store)
        rows = self.database.read(lambda tx: self.events.find(tx, wanted, limit=20))["events"]
        later = [each for each in rows if each["sequence"] > event["sequence"]]
        by = f"{later[-1]['agent'] or 'a person'} (event {later[-1]['id']})" if later else "a person"
        return Conflict(
            f"it was changed since by {by}: {error.message}",
            hint="Undo the later change first, or correct it by hand; lithos_note_history lists a note's versions.",
            **error.details,
        )


def _reason(event_id: str) -> str:
    return f"undo {event_id}"


def _undone_by(event: Event) -> str:
    """The event that an undo took back."""
    return (event["rationale"] or "").partition("undo ")[2].split(" ")[0]


def _garden(event: Event) -> tuple[str, ...]:
    return (event["type"],) if event["details"].get("changes") else ()


def _is_one_note(event: Event) -> bool:
    changes = event["details"].get("changes", [])
    return event["type"] == "note" and len(changes) == 1


def _accepted(answer: Any) -> dict[str, Any]:
    if not answer.get("success", True):
        raise Conflict(f"refused: {answer.get('reason')}", reason=answer.get("reason"))
    return dict(answer)


def _shown(event: Event) -> UndoneEvent:
    shown: UndoneEvent = {
        "event": event["id"],
        "kind": event["type"],
        "op": event["op"],
        "at": event["at"],
        "thing": event["thing"],
    }
    if event["path"]:
        shown["path"] = event["path"]
    if event["agent"]:
        shown["agent"] = event["agent"]
    return shown
