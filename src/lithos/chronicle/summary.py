"""The summary of a session's work, from its rows and entries, without a model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from typing_extensions import TypedDict

from lithos.chronicle.chronicle import Chronicle
from lithos.core.call import Call
from lithos.sessions import Sessions, SessionShown

MOST_ROWS = 10
LONGEST_LINE = 200


class SessionSummary(TypedDict):
    session_id: str
    state: str
    summary: str
    entries: dict[str, int]
    promoted: int


def summarize(sessions: Sessions, chronicle: Chronicle, call: Call, session_id: str) -> SessionSummary:
    """For members: what was done, decided, learned and left open."""
    session = sessions.whole(call, session_id)
    entries = chronicle.all_of(session_id)
    kinds = Counter(each["thought_type"] for each in entries)
    text = "\n".join(_lines(session, entries, kinds))
    promoted = sum(each["promoted"] for each in entries)
    return {
        "session_id": session_id,
        "state": session["state"],
        "summary": text,
        "entries": dict(kinds),
        "promoted": promoted,
    }


def _lines(session: SessionShown, entries: list[Any], kinds: Counter[str]) -> Iterator[str]:
    context = session["context"]
    yield f"# {session['name']} ({session['state']})"
    if session.get("summary"):
        yield session["summary"]
    if session.get("reason"):
        yield f"Failed: {session['reason']}"
    if context["current_objective"]:
        yield f"Objective: {context['current_objective']}"
    yield from _section("Done", context["completed_steps"])
    yield from _section("Decided", [each["content"] for each in entries if each["thought_type"] == "Decision"])
    lessons = ("Mistake", "LessonLearned", "Correction", "PatternDetected")
    yield from _section("Learned", [each["content"] for each in entries if each["thought_type"] in lessons])
    yield from _section("Files", [*context["created_files"], *context["modified_files"]])
    yield from _section("Left open", [*context["blockers"], *context["next_steps"]])
    if kinds:
        yield "Entries: " + ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())


def _section(heading: str, values: list[Any]) -> Iterator[str]:
    if not values:
        return
    yield f"## {heading}"
    for each in values[-MOST_ROWS:]:
        yield f"- {' '.join(str(each).split())[:LONGEST_LINE]}"
    if len(values) > MOST_ROWS:
        yield f"- and {len(values) - MOST_ROWS} more"
