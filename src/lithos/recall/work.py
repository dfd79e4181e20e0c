"""Tasks, findings and skills in one derived collection, and their contributions to recall."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from lithos.board import Board, BoardText
from lithos.recall.followed_index import FollowedIndex
from lithos.recall.kind import Changed, ChangesQuery, FinishKind, KindHits, Question
from lithos.search import Collection, Document, DocumentChange, Hit, JournalFeed, Remove, SearchResult, Where
from lithos.skills import Skills
from lithos.storage import JournalEntry

WorkName = Literal["task", "finding", "skill"]
WORK: tuple[WorkName, ...] = ("task", "finding", "skill")
WORK_KEYWORDS = ("kind", "status", "task")
WORK_NUMBERS = ("time",)


class WorkFeed(JournalFeed):
    """Tasks and findings by the board's journal; skills by their states, which are few."""

    def __init__(self, board: Board, skills: Skills) -> None:
        super().__init__(board.followers)
        self._board = board
        self._skills = skills
        self._skill_states: dict[str, str] = {}
        self._skill_commits: int | None = None

    def restart(self, known: Mapping[str, str]) -> bool:
        self._skill_states, self._skill_commits = {}, None
        return super().restart(known)

    def next_batch(self) -> Sequence[DocumentChange]:
        return super().next_batch() or self._changed_skills()

    def _missing(self, known: dict[str, str]) -> Iterator[Sequence[DocumentChange]]:
        held = {key: value for key, value in known.items() if key.startswith(("task:", "finding:"))}
        current = {each.id: each for each in map(_of_board, self._board.texts())}
        yield [Remove(key) for key in held if key not in current]
        yield [each for key, each in current.items() if held.get(key) != each.hash]

    def _changed(self, entries: Sequence[JournalEntry]) -> Sequence[DocumentChange]:
        return [_of_board(each) for each in self._board.texts({each.subject for each in entries})]

    def _changed_skills(self) -> Sequence[DocumentChange]:
        commits = self._skills.commits()
        if commits is not None and commits == self._skill_commits:
            return ()
        states = self._skills.states()
        changed = [name for name, state in states.items() if self._skill_states.get(name) != state]
        self._skill_states, self._skill_commits = states, commits
        return [self._of_skill(self._skills.get(name)) for name in changed]

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


class WorkIndex(FollowedIndex):
    """One collection for three kinds: each is small beside the notes, and a model's vectors cost the same."""

    def __init__(self, collection: Collection, board: Board, skills: Skills) -> None:
        super().__init__("work", collection, WorkFeed(board, skills))


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
