"""Mistakes: approaches that went wrong, looked up before they are tried again.

Each is a thought (Mistake) of the chain `history`; repeated reports and outcomes are rows, one per agent and session.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal, NotRequired, cast

from typing_extensions import TypedDict

from lithos.core.call import Call
from lithos.core.clock import Clock, from_micros, micros, parse_time, rfc3339
from lithos.core.names import one_line, plain_text
from lithos.core.text import cut
from lithos.errors import InvalidInput, NotFound
from lithos.graph.history import RESOLVED, labelled
from lithos.habits.matching import Matcher
from lithos.habits.repeating import REPEATS, repeats
from lithos.ledger import Draft, Filter, Ledger, Thought
from lithos.sessions import HISTORY, Sessions, Viewer
from lithos.storage import Database, Effects, EventDraft, Outcome, Tx

MistakeOutcome = Literal["avoided", "happened", "wrong"]
FIRST, STEP = 0.3, 0.85  # confidence = 1 − 0.3 · 0.85^(n−1): 0.7 at first, 0.95 at twelve
WRONG_COSTS = 0.25  # of the confidence, for each agent that found the warning wrong
LEAST_CONFIDENCE = 0.2  # below it a warning is not shown
TAG = "mistake"
LONGEST = 4_000
LONGEST_APPROACH = 8_000  # of a longer one the beginning is compared
CANDIDATES = 12
SHOWN = 5
_PARTS = (("pattern", "Approach"), ("error", "Reason"), ("context", "Context"), ("fix", "Resolution"))
_SPLIT = re.compile(r"\n(?=(?:Reason|Context|Resolution): )")


class MistakeReported(TypedDict):
    recorded: bool
    id: str
    occurrences: int
    confidence: float
    repeated: bool
    session_id: NotRequired[str]


class MistakeWarning(TypedDict):
    id: str
    pattern: str
    error: str
    fix: str
    context: NotRequired[str]
    confidence: float
    occurrences: int
    last_seen_at: str
    similarity: float


class MistakesChecked(TypedDict):
    known_issues: bool
    safe_to_proceed: bool
    warnings: list[MistakeWarning]
    degraded: bool
    degraded_reason: NotRequired[str]


class MistakeJudged(TypedDict):
    id: str
    confidence: float
    occurrences: int


@dataclass(frozen=True, slots=True)
class Mistake:
    pattern: str
    error: str
    fix: str
    context: str = ""
    tags: tuple[str, ...] = ()

    def checked(self) -> Mistake:
        named = zip((name for name, _ in _PARTS), self.texts, strict=True)
        texts = [plain_text(each.strip(), name, LONGEST) for name, each in named]
        for name, text in zip(("pattern", "error"), texts, strict=False):
            one_line(" ".join(text.split())[:200], name, LONGEST, hint="Say what was tried and what went wrong.")
        return Mistake(texts[0], texts[1], texts[3], texts[2], self.tags)

    @property
    def texts(self) -> tuple[str, str, str, str]:
        """In the order of `_PARTS`."""
        return self.pattern, self.error, self.context, self.fix

    @property
    def content(self) -> str:
        """As history records a failure, so that each sees the other's entries; `parsed` is the inverse."""
        return labelled([*zip((word for _, word in _PARTS), self.texts, strict=True)])


def parsed(content: str) -> Mistake:
    """Any failure: without our labels the whole text is what was tried."""
    found: dict[str, str] = {}
    for part in _SPLIT.split(content):
        word, colon, text = part.partition(": ")
        if colon and word in (label for _, label in _PARTS):
            found.setdefault(word, text)
    said = [found.get(label, "") for _, label in _PARTS]
    return Mistake(said[0] or content, said[1], said[3], said[2])


@dataclass(frozen=True, slots=True)
class _Standing:
    occurrences: int
    confidence: float
    last_seen: int


class Mistakes:
    def __init__(
        self,
        database: Database,
        effects: Effects,
        sessions: Sessions,
        ledger: Ledger,
        matcher: Matcher,
        clock: Clock,
    ) -> None:
        self._database = database
        self._effects = effects
        self._sessions = sessions
        self._ledger = ledger
        self._matcher = matcher
        self._clock = clock

    def report(self, call: Call, mistake: Mistake, session_id: str | None = None) -> MistakeReported:
        """A new mistake, or one more occurrence of a known one: the same meaning and the same key words."""
        new = mistake.checked()
        session = self._sessions.scope_of_entry(call, session_id)
        own = session if self._sessions.is_session(session) else None
        known = None if self._ledger.has_written(call, HISTORY) else self._same(new, self._sessions.viewer(call))
        if known is None:
            draft = Draft(
                thought_type="Mistake",
                content=new.content,
                agent_id=call.agent,
                importance=0.7,
                confidence=1 - FIRST,
                tags=[TAG, "failure", *([RESOLVED] if new.fix else []), *new.tags],
                session_id=session,
            )
            thought = self._ledger.append(call, draft, chain_key=HISTORY)["thought"]
        else:
            self._ledger.refuse_secrets({"pattern": new.content})
            thought = known
        row = (thought["id"], call.agent or "", own or "", micros(self._clock.now()))
        repeated = known is not None

        def work(tx: Tx) -> Outcome:
            tx.run(_REPORT, *row)
            standing = _standing(tx, thought)
            answer: dict[str, Any] = {
                "recorded": True,
                "id": thought["id"],
                "occurrences": standing.occurrences,
                "confidence": standing.confidence,
                "repeated": repeated,
            }
            answer |= {"session_id": own} if own else {}
            op = "repeat" if repeated else "report"
            return Outcome(answer, (EventDraft("mistake", op, thing=thought["id"], details={"repeated": repeated}),))

        return cast(MistakeReported, self._effects.commit(call, work))

    def check(self, call: Call, approach: str) -> MistakesChecked:
        """Mistakes that this approach would repeat, the surest first. Only what the caller may see."""
        text = " ".join(approach.split())
        if not text:
            raise InvalidInput("approach is empty", hint="Say in a sentence what you are going to do.")
        text = cut(text, LONGEST_APPROACH)
        found, degraded = self._candidates(text, self._sessions.viewer(call), CANDIDATES)
        warnings: list[MistakeWarning] = []
        for thought in found:
            mistake = parsed(thought["content"])
            score = repeats(self._matcher, text, mistake.pattern, mistake.error, mistake.fix)
            if score < REPEATS:
                continue
            standing = self._database.read(lambda tx, thought=thought: _standing(tx, thought))  # type: ignore[misc]
            if standing.confidence >= LEAST_CONFIDENCE:
                warnings.append(_warning(thought, mistake, standing, score))
        warnings.sort(key=lambda each: (-each["similarity"] * each["confidence"], each["id"]))
        answer: MistakesChecked = {
            "known_issues": bool(warnings),
            "safe_to_proceed": not warnings,
            "warnings": warnings[:SHOWN],
            "degraded": bool(degraded),
        }
        return {**answer, "degraded_reason": degraded} if degraded else answer

    def judge(self, call: Call, thought_id: str, outcome: MistakeOutcome) -> MistakeJudged:
        """The outcome of a warning. `happened` counts as an occurrence, `wrong` lowers the confidence."""
        viewer = self._sessions.viewer(call)
        thought = self._thought(thought_id, viewer)
        own = self._sessions.current(call) or ""
        row = (thought["id"], call.agent or "", own)
        now = micros(self._clock.now())

        def work(tx: Tx) -> Outcome:
            tx.run(_OUTCOME, *row, outcome, now)
            if outcome == "happened":
                tx.run(_REPORT, *row, now)
            standing = _standing(tx, thought)
            answer = {"id": thought["id"], "confidence": standing.confidence, "occurrences": standing.occurrences}
            return Outcome(answer, (EventDraft("mistake", outcome, thing=thought["id"]),))

        return cast(MistakeJudged, self._effects.commit(call, work))

    def confidence_of(self, thought_id: str) -> float | None:
        """The confidence that reports and outcomes gave a mistake; None: none of them came since it was written."""
        counted = self._database.read(lambda tx: tx.one(_COUNTED, thought_id, thought_id))
        return confidence(max(1, counted["reports"]), counted["wrong"]) if counted and counted["rows"] else None

    # -- steps

    def _thought(self, thought_id: str, viewer: Viewer) -> Thought:
        try:
            found = self._ledger.thought(HISTORY, thought_id=thought_id, viewer=viewer)["thought"]
        except NotFound:
            found = None
        if found is None or found["thought_type"] != "Mistake":
            raise NotFound(f"there is no mistake {thought_id[:80]!r}", hint="lithos_check_mistakes shows ids.")
        return found

    def _candidates(self, text: str, viewer: Viewer, limit: int) -> tuple[list[Thought], str]:
        try:
            chosen = Filter(text=text[:2_000], thought_types=("Mistake",))
            found = self._ledger.search(HISTORY, chosen, limit, viewer)
        except NotFound:  # nothing was ever reported
            return [], ""
        return found["thoughts"], found.get("degraded_reason", "") if found["degraded"] else ""

    def _same(self, new: Mistake, viewer: Viewer) -> Thought | None:
        for thought in self._candidates(f"{new.pattern} {new.error}", viewer, 5)[0]:
            mistake = parsed(thought["content"])
            if self._matcher.same(new.pattern, mistake.pattern) and self._matcher.alike(new.error, mistake.error):
                return thought
        return None


def _standing(tx: Tx, thought: Thought) -> _Standing:
    reports = tx.all("SELECT agent, at FROM mistake_reports WHERE thought_id = ?", thought["id"])
    outcomes = tx.all("SELECT outcome, at FROM mistake_outcomes WHERE thought_id = ?", thought["id"])
    count = max(1, len(reports))
    wrong = sum(1 for each in outcomes if each["outcome"] == "wrong")
    seen = [each["at"] for each in reports] or [micros(parse_time(thought["timestamp"]))]
    return _Standing(count, confidence(count, wrong), max(seen))


def confidence(occurrences: int, wrong: int = 0) -> float:
    """1 − 0.3 · 0.85^(n−1), less a quarter of it for each agent that found the warning wrong."""
    sure = 1 - FIRST * STEP ** (occurrences - 1)
    return round(sure * (1 - WRONG_COSTS) ** wrong, 4)


def _warning(thought: Thought, mistake: Mistake, standing: _Standing, score: float) -> MistakeWarning:
    warning: MistakeWarning = {
        "id": thought["id"],
        "pattern": cut(mistake.pattern, 300),
        "error": cut(mistake.error, 300),
        "fix": cut(mistake.fix, 400),
        "confidence": standing.confidence,
        "occurrences": standing.occurrences,
        "last_seen_at": rfc3339(from_micros(standing.last_seen)),
        "similarity": round(score, 3),
    }
    return {**warning, "context": cut(mistake.context, 200)} if mistake.context else warning


_COUNTED = """
SELECT reports.n AS reports, judged.wrong AS wrong, reports.n + judged.n AS rows
FROM (SELECT count(*) AS n FROM mistake_reports WHERE thought_id = ?) AS reports,
     (SELECT count(*) AS n, coalesce(sum(CASE WHEN outcome = 'wrong' THEN 1 ELSE 0 END), 0) AS wrong
      FROM mistake_outcomes WHERE thought_id = ?) AS judged
"""
_REPORT = """
INSERT INTO mistake_reports (thought_id, agent, session_id, at) VALUES (?, ?, ?, ?)
ON CONFLICT (thought_id, agent, session_id) DO UPDATE SET at = excluded.at
"""
_OUTCOME = """
INSERT INTO mistake_outcomes (thought_id, agent, session_id, outcome, at) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (thought_id, agent, session_id) DO UPDATE SET outcome = excluded.outcome, at = excluded.at
"""
