"""The briefing: what an agent should know before it starts, within a budget of tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from typing_extensions import TypedDict

from lithos.board import Board, Page, TaskFilter
from lithos.core.call import Call
from lithos.core.text import estimate_tokens
from lithos.notes import Knowledge, Notes
from lithos.recall.changes import LAST_VISIT, Changes, ChangesRequest, mail_line
from lithos.recall.kind import Question
from lithos.recall.recall import Recall
from lithos.recall.session_briefing import SessionBriefing
from lithos.search import Query
from lithos.sessions import Viewer

Tier = Literal["micro", "standard", "full"]
TOKENS = {"micro": 150, "standard": 600, "full": 2_000}
ROWS = {"micro": 3, "standard": 6, "full": 20}
PINNED = "pinned"  # the tag of notes that every briefing names
LONGEST_LINE = 140
TITLES_TOKENS = 380  # with the fence around it a hook stays under 500


class BriefingAnswer(TypedDict):
    briefing: str
    tier: str
    tokens: int
    cursor: str


class TitlesAnswer(TypedDict):
    titles: str
    tokens: int


@dataclass(frozen=True)
class Briefing:
    board: Board
    notes: Notes
    knowledge: Knowledge
    changes: Changes
    recall: Recall
    viewer: Callable[[Call], Viewer]
    session: SessionBriefing
    mail: Callable[[Call], Mapping[str, int]]  # senders of what waits for the caller

    def answer(self, call: Call, topic: str | None, tier: Tier, session_id: str | None = None) -> BriefingAnswer:
        """Markdown; the most urgent first, so that what a small budget cuts off matters least."""
        chosen = session_id or self.session.sessions.current(call)
        if chosen is not None:
            return self._of_session(call, chosen, topic, tier)
        since = LAST_VISIT[0] if call.agent is not None and self.changes.last_visit(call.agent) else "1d"
        found = self.changes.answer(
            ChangesRequest(since, limit=ROWS[tier], asked_by=call.agent, viewer=self.viewer(call))
        )
        sections = self._sections(call, topic, ROWS[tier], found["changes"], since)
        text = "\n".join(_within(sections, TOKENS[tier])) or "Nothing is stored here yet."
        return {"briefing": text, "tier": tier, "tokens": estimate_tokens(text), "cursor": found["cursor"]}

    def titles(self, call: Call) -> TitlesAnswer:
        """For hooks, which put it into a model's context unasked: titles, own claims and authors, no body of a note.
        It counts as no visit of the agent."""
        rows = ROWS["standard"]
        request = ChangesRequest("1d", limit=rows, kinds=("note",), viewer=self.viewer(call))
        changed = self.changes.answer(request)["changes"].get("note", [])
        sections = [
            ("Your claims", self._claims(call.agent, rows) if call.agent is not None else []),
            ("Ready tasks", self._ready(None, rows)),
            ("Notes changed since yesterday", changed),
            ("Notes that matter", self._notes(rows)),
        ]
        text = "\n".join(_within(sections, TITLES_TOKENS))
        return {"titles": text.replace("<", "‹").replace(">", "›"), "tokens": estimate_tokens(text)}

    def _of_session(self, call: Call, session_id: str, topic: str | None, tier: Tier) -> BriefingAnswer:
        """For members: the session's state, then what others changed since it was last worked on."""
        session = self.session.sessions.whole(call, session_id)
        since = session["suspended_at"] or session["last_active_at"]
        request = ChangesRequest(since, limit=ROWS[tier], asked_by=call.agent, viewer=Viewer(session_id))
        found = self.changes.answer(request)
        sections = [("Inbox", self._inbox(call)), *self.session.sections(call, session, ROWS[tier])]
        if topic:
            sections.append((f"About {_short(topic, 60)}", self._about(call, topic, ROWS[tier])))
        lines = [f"{kind}: {line}" for kind, lines in found["changes"].items() for line in lines]
        sections.append(("Changed outside since", lines[: ROWS[tier]]))
        text = "\n".join(_within(sections, TOKENS[tier]))
        return {"briefing": text, "tier": tier, "tokens": estimate_tokens(text), "cursor": found["cursor"]}

    def _sections(
        self, call: Call, topic: str | None, rows: int, changed: dict[str, list[str]], since: str
    ) -> Iterator[tuple[str, list[str]]]:
        if call.agent is not None:
            yield "Your claims", self._claims(call.agent, rows)
        yield "Inbox", self._inbox(call)
        yield "Ready tasks", self._ready(topic, rows)
        if topic:
            yield f"About {_short(topic, 60)}", self._about(call, topic, rows)
        lines = [f"{kind}: {line}" for kind, lines in changed.items() for line in lines]
        yield f"Changed since {'your last visit' if since == LAST_VISIT[0] else 'yesterday'}", lines[:rows]
        yield "Notes that matter", self._notes(rows)
        yield "Open conflicts", self._conflicts(rows)

    def _inbox(self, call: Call) -> list[str]:
        """Count and senders alone: what others wrote is data, and enters no briefing."""
        waiting = self.mail(call)
        return [mail_line(waiting)] if waiting else []

    def _claims(self, agent: str, rows: int) -> list[str]:
        tasks = self.board.list(TaskFilter(claimed_by=agent), Page(rows))["tasks"]
        return [
            f"{task['title']} […{task['id'][-8:]}]: {claim['aspect']} until {claim['expires_at'][:19]}Z"
            for task in tasks
            for claim in task["claims"]
            if claim["agent"] == agent
        ]

    def _ready(self, topic: str | None, rows: int) -> list[str]:
        page = self.board.ready(Page(rows))
        lines = [f"P{task['priority']} {task['title']} […{task['id'][-8:]}]" for task in page["tasks"]]
        more = page["total"] - len(lines)
        return [*lines, f"and {more} more"] if more > 0 and lines else lines

    def _about(self, call: Call, topic: str, rows: int) -> list[str]:
        found = self.recall.recall(Question(call, Query(topic, limit=rows)))
        if not found["relevant"]:
            return ["nothing is known yet"]
        return [f"{hit['kind']} {hit['title']} [{hit['path'] or '…' + hit['id'][-8:]}]" for hit in found["results"]]

    def _notes(self, rows: int) -> list[str]:
        pinned = self.notes.reader.list(tags=[PINNED], limit=rows)["items"]
        lines = [f"{each['title']} [{each['path']}]" for each in pinned]
        titles = self.notes.reader.titles(self.knowledge.feedback.most_used(rows))
        return [*lines, *(f"{title} […{key[-8:]}]" for key, title in titles.items() if title not in str(lines))][:rows]

    def _conflicts(self, rows: int) -> list[str]:
        groups = self.knowledge.likes.disputed_claims(rows)
        return [f"{each['about']}: {' / '.join(note['title'] for note in each['notes'][:3])}" for each in groups]


def _within(sections: Iterable[tuple[str, list[str]]], budget: int) -> Iterator[str]:
    """Whole lines while they fit; a heading only with a line below it."""
    left = budget
    for heading, lines in sections:
        title = f"## {heading}"
        for line in (f"- {_short(each, LONGEST_LINE)}" for each in lines):
            cost = estimate_tokens(f"{title}\n{line}\n" if title else f"{line}\n")
            if cost > left:
                return
            left -= cost
            if title:
                yield title
                title = ""
            yield line


def _short(text: str, longest: int) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= longest else flat[: longest - 1].rstrip() + "…"
