"""The board: tasks, claims and findings of agents that work together."""

from __future__ import annotations

from lithos.board.answers import (
    BoardCounts,
    Changes,
    Claimed,
    Created,
    FindingPage,
    FindingPosted,
    FindingShown,
    NoteRef,
    Refusable,
    Renewed,
    TaskPage,
    TaskRef,
    TaskShown,
)
from lithos.board.board import LONGEST_WAIT_S, Board, Notes, Terms
from lithos.board.inputs import NewTask, TaskEdit
from lithos.board.lists import LARGEST_PAGE, USUAL_PAGE, Page, TaskFilter
from lithos.board.steps import check_token
from lithos.board.tasks import BoardText

__all__ = [
    "LARGEST_PAGE",
    "LONGEST_WAIT_S",
    "USUAL_PAGE",
    "Board",
    "BoardCounts",
    "BoardText",
    "Changes",
    "Claimed",
    "Created",
    "FindingPage",
    "FindingPosted",
    "FindingShown",
    "NewTask",
    "NoteRef",
    "Notes",
    "Page",
    "Refusable",
    "Renewed",
    "TaskEdit",
    "TaskFilter",
    "TaskPage",
    "TaskRef",
    "TaskShown",
    "Terms",
    "check_token",
]
