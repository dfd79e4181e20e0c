"""The briefing of a session: its state, for an agent that takes it up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from lithos.board import Board
from lithos.chronicle import Chronicle
from lithos.core.call import Call
from lithos.ledger import EntryScope, Filter
from lithos.sessions import ALL, Sessions, SessionShown

FILES = (("modified_files", "changed"), ("created_files", "new"), ("read_files", "read"))
LESSONS = ("Mistake", "AssumptionInvalidated", "LessonLearned", "Correction")


@dataclass(frozen=True)
class SessionBriefing:
    sessions: Sessions
    chronicle: Chronicle
    board: Board

    def sections(self, call: Call, session: SessionShown, rows: int) -> Iterator[tuple[str, list[str]]]:
        """Headings and lines, the most urgent first. Nothing in it depends on the machine."""
        context = session["context"]
        yield f"Session: {session['name']} ({session['state']})", _now(context)
        yield "Blockers", _texts(context["blockers"], rows)
        yield "Next steps", _texts(context["next_steps"], rows)
        yield "Files", _files(context, rows)
        yield "Decisions", self._entries(session["id"], ("Decision",), rows)
        yield "Failures and lessons", self._entries(session["id"], LESSONS, rows)
        yield "Open tasks", self.board.in_session(session["id"], rows)
        yield "Done", _texts(context["completed_steps"][-rows:], rows)
        yield "Here", [", ".join(session["here"])] if session["here"] else []
        yield "Wanted", _texts([*context["user_wants"], *(f"not: {_text(x)}" for x in context["user_rejects"])], rows)

    def _entries(self, session_id: str, types: tuple[str, ...], rows: int) -> list[str]:
        chosen = Filter(thought_types=types, entries=EntryScope(sessions=(session_id,)))
        found = self.chronicle.read(chosen, ALL, rows)["entries"]
        return [each["content"] for each in reversed(found)]


def _now(context: dict[str, Any]) -> list[str]:
    names = (("current_objective", "objective"), ("current_task", "task"), ("current_step", "step"))
    found = [f"{word}: {context[name]}" for name, word in names if context[name]]
    return found or ["no objective is set"]


def _texts(values: list[Any], rows: int) -> list[str]:
    return [_text(each) for each in values[:rows]]


def _text(value: Any) -> str:
    """A text as it is; of an object its own words."""
    if isinstance(value, dict):
        return ", ".join(f"{name}: {each}" for name, each in value.items())
    return str(value)


def _files(context: dict[str, Any], rows: int) -> list[str]:
    found = [f"{word} {path}" for name, word in FILES for path in context[name]]
    return [*found[:rows], *([f"and {len(found) - rows} more"] if len(found) > rows else [])]
