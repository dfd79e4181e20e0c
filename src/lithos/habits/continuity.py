"""Continuity: an agent saves where it is, and takes its task up again with everything it knew.

The words of a checkpoint are a thought; its scratchpad and claims are a row that only its agent reads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NotRequired, cast

import orjson
from typing_extensions import TypedDict

from lithos.board import Board
from lithos.core.call import Call
from lithos.core.clock import Clock, from_micros, micros, rfc3339
from lithos.core.names import one_line, plain_text
from lithos.errors import InvalidInput, LithosError, NotFound, TooLarge
from lithos.graph.code import Code, changed_by, version_now
from lithos.habits.scratchpad import Owner, Scratchpads, beginnings
from lithos.ledger import Draft, Ledger
from lithos.sessions import ALL, HISTORY, Sessions
from lithos.storage import Database, Row

TaskState = Literal["in_progress", "blocked", "paused", "completed"]
TAG = "task_checkpoint"
LONGEST_SUMMARY = 4_000
LONGEST_STEP = 500
MOST_STEPS = 100
LARGEST_CONTEXT = 64 * 1024  # bytes
MOST_FILES = 200
MOST_CHANGED = 10  # files whose authors are looked up
SHOWN_WHOLE = 800  # characters of the scratchpad in an answer
LATEST = "latest"


class TaskDecision(TypedDict):
    question: str
    choice: str
    reason: NotRequired[str]


class CheckpointSaved(TypedDict):
    saved: bool
    id: str
    session_id: NotRequired[str]
    hint: str


class ChangedFile(TypedDict):
    path: str
    change: str
    by: NotRequired[list[str]]


class LapsedClaim(TypedDict):
    task_id: str
    aspect: str
    title: NotRequired[str]
    state: str
    hint: NotRequired[str]


class TaskResumed(TypedDict):
    found: bool
    id: NotRequired[str]
    summary: NotRequired[str]
    status: NotRequired[str]
    saved_at: NotRequired[str]
    agent: NotRequired[str]
    completed: NotRequired[list[str]]
    next_steps: NotRequired[list[str]]
    decisions: NotRequired[list[TaskDecision]]
    context: NotRequired[dict[str, Any]]
    files_read: NotRequired[list[str]]
    files_modified: NotRequired[list[str]]
    changed_since: NotRequired[list[ChangedFile]]
    scratchpad: NotRequired[dict[str, str]]
    restored: NotRequired[list[str]]
    claims: NotRequired[list[LapsedClaim]]
    hint: str


@dataclass(frozen=True, slots=True)
class Progress:
    """An account of a task by its agent."""

    summary: str
    completed: Sequence[str] = ()
    next_steps: Sequence[str] = ()
    status: TaskState = "in_progress"
    context: Mapping[str, Any] | None = None
    decisions: Sequence[Mapping[str, Any]] = ()
    task_id: str | None = None

    def checked(self) -> dict[str, Any]:
        context = dict(self.context or {})
        if len(orjson.dumps(context)) > LARGEST_CONTEXT:
            raise TooLarge(f"context has more than {LARGEST_CONTEXT} bytes", hint="Write long text to a note.")
        return {
            "summary": plain_text(self.summary.strip(), "summary", LONGEST_SUMMARY) or _empty("summary"),
            "status": self.status,
            "completed": _steps(self.completed, "completed"),
            "next_steps": _steps(self.next_steps, "next_steps"),
            "decisions": [_decision(each) for each in self.decisions],
            "context": context,
            **({"task_id": self.task_id} if self.task_id else {}),
        }


class Continuity:
    def __init__(
        self,
        database: Database,
        sessions: Sessions,
        ledger: Ledger,
        board: Board,
        code: Code,
        scratchpads: Scratchpads,
        clock: Clock,
        store: str,
    ) -> None:
        self._database = database
        self._sessions = sessions
        self._ledger = ledger
        self._board = board
        self._code = code
        self._scratchpads = scratchpads
        self._clock = clock
        self._store = store

    def save(self, call: Call, progress: Progress, session_id: str | None = None) -> CheckpointSaved:
        """Durable when this returns."""
        owner = self._scratchpads.owner(call, session_id)
        words = progress.checked()
        if progress.task_id is not None and self._board.show(progress.task_id) is None:
            raise NotFound(f"there is no task {progress.task_id[:80]!r}", hint="lithos_task_list shows them.")
        pad = {key: note["content"] for key, note in self._scratchpads.notes(owner).items()}
        self._ledger.refuse_secrets({"scratchpad": [*pad.values()]})
        files = self._files(call, owner)
        claims = self._claims(owner.agent, progress.task_id)
        draft = Draft(
            thought_type="Checkpoint",
            role="Checkpoint",
            content=orjson.dumps(words, option=orjson.OPT_SORT_KEYS).decode(),
            agent_id=owner.agent,
            importance=0.7,
            tags=[TAG, progress.status, *([f"task:{progress.task_id}"] if progress.task_id else [])],
            session_id=self._sessions.scope_of_entry(call, owner.session_id or None),
        )
        thought = self._ledger.append(call, draft, chain_key=HISTORY)["thought"]
        row = (thought["id"], self._store, thought["index"], *owner.key, progress.task_id)
        kept = (orjson.dumps(pad).decode(), orjson.dumps(files).decode(), orjson.dumps(claims).decode())
        now = micros(self._clock.now())
        self._database.write(lambda tx: tx.put(_INSERT, *row, *kept, now))
        answer: CheckpointSaved = {
            "saved": True,
            "id": thought["id"],
            "hint": 'lithos_resume_task with this id, or "latest", takes it up again.',
        }
        return {**answer, "session_id": owner.session_id} if owner.session_id else answer

    def resume(self, call: Call, task_id: str = LATEST, session_id: str | None = None) -> TaskResumed:
        """The newest checkpoint of this agent, then of its session; or the one with this id or of this board task."""
        owner = self._scratchpads.owner(call, session_id)
        row, words = self._found(call, owner, task_id.strip())
        if row is None:
            return {"found": False, "hint": "Nothing was saved yet. lithos_save_checkpoint keeps where you are."}
        mine = (row["agent"], row["bound"]) == (owner.agent, int(owner.bound))
        pad: dict[str, str] = orjson.loads(row["scratchpad"]) if mine else {}
        back = self._scratchpads.restore(call, owner, pad)
        files: dict[str, Any] = orjson.loads(row["files"])
        answer: dict[str, Any] = {
            "found": True,
            "id": row["thought_id"],
            **{name: words[name] for name in ("summary", "status", "completed", "next_steps") if name in words},
            "saved_at": rfc3339(from_micros(row["at"])),
            **{name: words[name] for name in ("decisions", "context") if words.get(name)},
            **{name: sorted(files[part]) for name, part in _PARTS if files.get(part)},
        }
        if not mine:
            answer["agent"] = row["agent"]
        optional = {
            "changed_since": [*self._changed(call, files, row["at"])],
            "scratchpad": beginnings(pad, SHOWN_WHOLE),
            "restored": back,
            "claims": [*self._lapsed(owner.agent, orjson.loads(row["claims"]))],
        }
        answer |= {name: value for name, value in optional.items() if value}
        return cast(TaskResumed, {**answer, "hint": _hint(words, answer)})

    def prune(self, days: float) -> int:
        old = micros(self._clock.now()) - int(days * 86_400_000_000)
        return self._database.write(lambda tx: tx.run("DELETE FROM task_checkpoints WHERE at < ?", old))

    # -- steps

    def _found(self, call: Call, owner: Owner, task_id: str) -> tuple[Row | None, dict[str, Any]]:
        """The row and the words; a checkpoint whose thought was forgotten is none."""
        if task_id and task_id != LATEST:
            candidates = self._database.read(lambda tx: tx.all(_NAMED, self._store, task_id, task_id))
            allowed = [row for row in candidates if self._may(call, owner, row)]
            if not allowed:
                raise NotFound(f"there is no checkpoint {task_id[:80]!r} of yours", hint='Send "latest".')
        else:
            sql, key = _MINE, (self._store, owner.agent, int(owner.bound))
            allowed = self._database.read(lambda tx: tx.all(sql, *key))
            if owner.session_id:
                allowed += self._database.read(lambda tx: tx.all(_OF_SESSION, self._store, owner.session_id))
        for row in allowed:
            thought = self._ledger.thought(HISTORY, thought_index=row["place"], viewer=ALL)["thought"]
            if thought is not None and not thought.get("forgotten") and thought["id"] == row["thought_id"]:
                return row, orjson.loads(thought["content"])
        return None, {}

    def _may(self, call: Call, owner: Owner, row: Row) -> bool:
        if (row["agent"], row["bound"]) == (owner.agent, int(owner.bound)):
            return True
        return bool(row["session_id"]) and row["session_id"] == owner.session_id

    def _files(self, call: Call, owner: Owner) -> dict[str, Any]:
        if not owner.session_id:
            return {}
        context = self._sessions.whole(call, owner.session_id)["context"]
        changed = {**context["modified_files"], **context["created_files"]}
        read: dict[str, str] = {}
        for path, facts in [*context["read_files"].items()][-MOST_FILES:]:
            read[path] = str(facts.get("version", "")) if isinstance(facts, Mapping) else ""
        modified = {path: version_now(self._code, call, path) or "" for path in [*changed][-MOST_FILES:]}
        return {"read": read, "modified": modified}

    def _changed(self, call: Call, files: Mapping[str, Any], since: int) -> Iterator[ChangedFile]:
        known = {**files.get("read", {}), **files.get("modified", {})}
        shown = 0
        for path, version in known.items():
            now = version_now(self._code, call, path) if version else version
            if now == version or shown == MOST_CHANGED:
                continue
            shown += 1
            entry: ChangedFile = {"path": path, "change": "gone" if now is None else "changed"}
            by = changed_by(self._code, call, path, from_micros(since))
            yield {**entry, "by": by} if by else entry

    def _claims(self, agent: str, task_id: str | None) -> list[dict[str, str]]:
        if task_id is None:
            return []
        task = self._board.show(task_id)
        held = [] if task is None else [each for each in task["claims"] if each["agent"] == agent]
        return [{"task_id": task_id, "aspect": each["aspect"]} for each in held]

    def _lapsed(self, agent: str, claims: Sequence[Mapping[str, str]]) -> Iterator[LapsedClaim]:
        """Claims that were held when the checkpoint was saved, as they are now."""
        for claim in claims:
            try:
                task = self._board.show(claim["task_id"])
            except LithosError:
                task = None
            if task is None:
                continue
            now = next((each for each in task["claims"] if each["aspect"] == claim["aspect"]), None)
            entry: LapsedClaim = {"task_id": claim["task_id"], "aspect": claim["aspect"], "state": task["status"]}
            entry["title"] = task["title"]
            if task["status"] == "open" and now is None:
                entry |= {"state": "lapsed", "hint": "lithos_task_claim takes it again."}
            elif now is not None:
                entry["state"] = "held" if now["agent"] == agent else f"held by {now['agent']}"
            yield entry


def _hint(words: Mapping[str, Any], answer: Mapping[str, Any]) -> str:
    changed = answer.get("changed_since")
    start = f"Read {changed[0]['path']} again: it changed. " if changed else ""
    if words.get("next_steps"):
        return f"{start}Continue with: {words['next_steps'][0]}"
    if words.get("status") == "completed":
        return f"{start}The task was completed: nothing is left to do."
    return f"{start}No next step was saved: decide it from the summary."


def _steps(steps: Sequence[str], name: str) -> list[str]:
    if len(steps) > MOST_STEPS:
        raise TooLarge(f"{name} has {len(steps)} steps; {MOST_STEPS} is the most")
    return [plain_text(each, name, LONGEST_STEP) for each in steps]


def _decision(given: Mapping[str, Any]) -> dict[str, str]:
    names = ("question", "choice", "reason")
    unknown = sorted(set(given) - set(names))
    if unknown or not given.get("choice"):
        raise InvalidInput(
            "a decision has question, choice and reason", hint='{"question": …, "choice": …, "reason": …}'
        )
    return {name: one_line(str(given[name]), name, 1_000) for name in names if given.get(name)}


def _empty(name: str) -> str:
    raise InvalidInput(f"{name} is empty", hint="Say in a sentence what you did so far.")


_PARTS = (("files_read", "read"), ("files_modified", "modified"))
_INSERT = """
INSERT INTO task_checkpoints
(thought_id, store, place, session_id, agent, bound, task_id, scratchpad, files, claims, at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (thought_id) DO NOTHING
"""
_NEWEST = "ORDER BY at DESC, place DESC LIMIT 5"
_NAMED = f"SELECT * FROM task_checkpoints WHERE store = ? AND (thought_id = ? OR task_id = ?) {_NEWEST}"
_MINE = f"SELECT * FROM task_checkpoints WHERE store = ? AND agent = ? AND bound = ? {_NEWEST}"
_OF_SESSION = f"SELECT * FROM task_checkpoints WHERE store = ? AND session_id = ? {_NEWEST}"
