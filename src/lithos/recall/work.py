"""Tasks, findings and skills in one derived collection, and their contributions to recall.

The collection follows by itself: each question first applies what the board's journal and the skill table say changed
since the last one. What a kill loses, the first question after a start finds by comparing hashes.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Literal

from lithos.board import Board, BoardText
from lithos.core.part import Part
from lithos.recall.kind import Changed, ChangesQuery, FinishKind, KindHits, Question
from lithos.search import Collection, Document, DocumentChange, Finish, Hit, Query, Remove, SearchResult, Where
from lithos.skills import Skills

WorkName = Literal["task", "finding", "skill"]
WORK: tuple[WorkName, ...] = ("task", "finding", "skill")
WORK_KEYWORDS = ("kind", "status", "task")
WORK_NUMBERS = ("time",)


class WorkIndex(Part):
    """One collection for three kinds: each is small beside the notes, and a model's vectors cost the same."""

    def __init__(self, collection: Collection, board: Board, skills: Skills) -> None:
        self.collection = collection
        self._board = board
        self._skills = skills
        self._lock = threading.Lock()
        self._cursor: int | None = None  # of the board's journal; None: compare everything
        self._skill_state: dict[str, str] = {}
        self._starts = -1  # of the collection, when it was filled

    def catch_up(self) -> None:
        """Catch up: everything committed before this call is found by the question that follows."""
        with self._lock:
            starts = self.collection.starts
            if starts != self._starts:  # damage made it start empty
                self._cursor, self._skill_state, self._starts = None, {}, starts
            changes = self._board_changes()
            changes += self._skill_changes()
            if changes:
                self.collection.apply(changes)

    def begin(self, query: Query) -> Finish:
        self.catch_up()
        filled, begun = self._starts, self.collection.begin(query)

        def finish(least: float = 0.0) -> SearchResult:
            found = begun(least)
            if self.collection.starts == filled:
                return found
            return replace(found, degraded="; ".join(filter(None, ["the index is being rebuilt", found.degraded])))

        return finish

    def _board_changes(self) -> list[DocumentChange]:
        if self._cursor is not None:
            tasks: set[str] = set()
            while "missed" not in (seen := self._board.changes(self._cursor)):
                self._cursor = seen["cursor"]
                tasks |= {each["task_id"] for each in seen["changes"]}
                if not seen["changes"]:  # else there may be another page
                    return [_of_board(each) for each in self._board.texts(tasks)] if tasks else []
        self._cursor = self._board.changes()["cursor"]
        return self._compared("task:", "finding:", documents=map(_of_board, self._board.texts()))

    def _skill_changes(self) -> list[DocumentChange]:
        state = self._skills.states()
        if state == self._skill_state:
            return []
        changed = [name for name, value in state.items() if self._skill_state.get(name) != value]
        self._skill_state = state
        return [self._of_skill(self._skills.get(name)) for name in changed]

    def _compared(self, *prefixes: str, documents: Iterable[Document]) -> list[DocumentChange]:
        known = {key: value for key, value in self.collection.known().items() if key.startswith(prefixes)}
        current = {each.id: each for each in documents}
        gone: list[DocumentChange] = [Remove(key) for key in known if key not in current]
        return gone + [each for key, each in current.items() if known.get(key) != each.hash]

    def _of_skill(self, skill: Any) -> Document:
        text = self._skills.read(skill["skill_id"], None, "markdown")["content"]
        facts = [skill["name"], skill["description"], text]
        return Document(
            id=f"skill:{skill['skill_id']}",
            title=skill["name"],
            text="\n\n".join(facts[1:]),
            hash=_hash(*facts, skill["status"]),
            author=skill["latest_uploaded_by_agent_id"] or "",
            tags=tuple(skill["tags"]),
            keywords={"kind": ("skill",), "status": (skill["status"],)},
        )

    def start(self) -> None:
        return

    def busy(self) -> bool:
        return self.collection.busy()

    def sizes(self) -> dict[str, int]:
        return {"work": self.collection.size()}

    def problem(self) -> str | None:
        return self.collection.problem()

    def close(self) -> None:
        self.collection.close()


def _of_board(each: BoardText) -> Document:
    return Document(
        id=f"{each.kind}:{each.id}",
        title=each.title,
        text=each.text,
        hash=_hash(each.title, each.text, each.status, str(each.at), *each.tags),
        author=each.agent,
        tags=each.tags,
        keywords={"kind": (each.kind,), "status": (each.status or "-",), "task": (each.task_id or each.id,)},
        numbers={"time": each.at / 1e6},
    )


def _hash(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


class WorkKind:
    """Tasks, findings or skills: shared, so that every caller sees all of them.

    One question to their collection serves all that are asked: the first of them has the hits of all.
    """

    def __init__(self, name: WorkName, index: WorkIndex) -> None:
        self.name = name
        self._index = index

    def find(self, question: Question) -> KindHits:
        return self.begin(question)()

    def begin(self, question: Question) -> FinishKind:
        asked = tuple(name for name in WORK if name in (question.kinds or (self.name,)))
        if asked[:1] != (self.name,):
            return lambda least=0.0: KindHits(SearchResult((), False), _shown)
        where = question.query.where
        own = Where(tags=where.tags, author=where.author, any_of={} if asked == WORK else {"kind": asked})
        begun = self._index.begin(replace(question.query, where=own))
        return lambda least=0.0: KindHits(begun(least), _shown)

    def changes(self, query: ChangesQuery) -> Sequence[Changed]:
        return ()  # the audit has them: `Changes` reads it


def _shown(hit: Hit) -> dict[str, Any]:
    kind, _, id = hit.id.partition(":")
    row: dict[str, Any] = {
        "kind": kind,
        "id": id,
        "title": hit.title,
        "heading": "",
        "path": "",
        "author": hit.author,
    }
    row |= {"version": "", "passage": hit.passage, "score": hit.score}
    if kind == "finding":
        row["task_id"] = hit.keywords["task"][0]
    else:
        row["status"] = hit.keywords["status"][0]
    return row
