"""Inputs of the board, checked before anything is read or written."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

from lithos.board.values import SOMEDAY, URGENT, USUAL, TaskStatus
from lithos.core.names import agent_name, is_blank, one_line, plain_text
from lithos.errors import InvalidInput, TooLarge

LONGEST_TITLE = 500
LONGEST_ASPECT = 200
LONGEST_DESCRIPTION = 100_000
LONGEST_SUMMARY = 20_000
LONGEST_TAG = 100
MOST_TAGS = 50
MOST_DEPENDENCIES = 200


@dataclass(frozen=True, slots=True)
class NewTask:
    title: str
    agent: str
    description: str | None = None
    tags: Sequence[str] = ()
    priority: int = USUAL
    depends_on: Sequence[str] = ()

    def checked(self) -> NewTask:
        return NewTask(
            title=one_line(self.title, "title", LONGEST_TITLE),
            agent=agent_name(self.agent),
            description=None if self.description is None else description_of(self.description),
            tags=tags_of(self.tags),
            priority=priority_of(self.priority),
            depends_on=dependencies_of(self.depends_on),
        )


@dataclass(frozen=True, slots=True)
class TaskEdit:
    """None leaves a field unchanged."""

    title: str | None = None
    description: str | None = None
    tags: Sequence[str] | None = None
    status: TaskStatus | None = None
    priority: int | None = None
    depends_on: Sequence[str] | None = None

    def checked(self) -> TaskEdit:
        return TaskEdit(
            title=None if self.title is None else one_line(self.title, "title", LONGEST_TITLE),
            description=None if self.description is None else description_of(self.description),
            tags=None if self.tags is None else tags_of(self.tags),
            status=None if self.status is None else status_of(self.status),
            priority=None if self.priority is None else priority_of(self.priority),
            depends_on=None if self.depends_on is None else dependencies_of(self.depends_on),
        )


def aspect_of(text: str) -> str:
    # NFC: the same word typed on two systems is one aspect, or two agents would hold it at once.
    return unicodedata.normalize("NFC", one_line(text, "aspect", LONGEST_ASPECT))


def description_of(text: str) -> str:
    return plain_text(text, "description", LONGEST_DESCRIPTION)


def summary_of(text: str) -> str:
    if is_blank(text):
        raise InvalidInput("summary is empty", hint="Say in a sentence what you found.")
    return plain_text(text, "summary", LONGEST_SUMMARY)


def tags_of(tags: Sequence[str]) -> tuple[str, ...]:
    if len(tags) > MOST_TAGS:
        raise TooLarge(f"tags: {len(tags)} are too many; {MOST_TAGS} is the most")
    return tuple(dict.fromkeys(one_line(tag, "tags", LONGEST_TAG) for tag in tags))


def priority_of(number: int) -> int:
    if not URGENT <= number <= SOMEDAY:
        raise InvalidInput(f"priority is {number}", hint="0 is the most urgent, 2 the usual, 4 the least.")
    return number


def status_of(word: str) -> TaskStatus:
    for known in get_args(TaskStatus):
        if word == known:
            return word  # type: ignore[return-value]  # equality with a member is not narrowed
    raise InvalidInput(f"status {word[:40]!r} is unknown", hint="open, completed or cancelled.")


def dependencies_of(task_ids: Sequence[str]) -> tuple[str, ...]:
    if len(task_ids) > MOST_DEPENDENCIES:
        raise TooLarge(f"depends_on: {len(task_ids)} are too many; {MOST_DEPENDENCIES} is the most")
    return tuple(dict.fromkeys(one_line(each, "depends_on", 100) for each in task_ids))


def minutes_of(minutes: float | None, usual: float) -> float:
    if minutes is None:
        return usual
    if not minutes > 0:
        raise InvalidInput(f"ttl_minutes is {minutes}", hint="A claim lasts at least one minute.")
    return minutes
