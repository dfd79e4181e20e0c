"""The resolver: cache, then graph with every check, then a model if configured and allowed; else the evidence."""

from __future__ import annotations

import secrets
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

from lithos.core.call import Call
from lithos.core.clock import Clock
from lithos.core.text import estimate_tokens
from lithos.errors import InvalidInput, NotFound, Unavailable
from lithos.graph.answers.answer_check import Cited, check_answer
from lithos.graph.answers.cache import AnswerCache
from lithos.graph.answers.code_finder import CodeFinder, Found
from lithos.graph.answers.intents import (
    ACADEMIC,
    ACTIVITY,
    CODE,
    EXPLAIN,
    HISTORICAL,
    HISTORY,
    LOCATE,
    OUTCOME,
    RESEARCH,
    RESUME,
    SIMILAR,
    Intent,
    classify,
)
from lithos.graph.answers.pieces import Piece, ScoredPiece, scored, source_line
from lithos.graph.answers.prompt import build_prompt
from lithos.graph.answers.prose import Prose
from lithos.graph.answers.selection import MOST_TOKENS, Chosen, choose
from lithos.graph.trust import Decay
from lithos.graph.trust.freshness import DECAYS

LONGEST_QUERY = 2_000
CANDIDATES = 10  # of each domain
MOST_CONFLICTS = 3  # in an answer: many false statements must not make a question expensive
CONTEXTS = 200  # that check_answer remembers
CONCISE_TOKENS = 1_500  # the default; who asks for more wants more pieces
GOOD_QUALITY = 0.8
GOOD_TRUST = {ACADEMIC: 60}  # no paper has more
# So many pieces answer such a question; more of them cost tokens and seldom say more.
MOST_PIECES = {RESEARCH: 3, ACTIVITY: 6, HISTORICAL: 4, OUTCOME: 5, SIMILAR: 5, RESUME: 6}
_DOMAINS = (CODE, HISTORY, ACADEMIC)


class Finder(Protocol):
    """One domain of the graph."""

    @property
    def domain(self) -> str: ...

    def find(self, call: Call, intent: Intent, query: str, limit: int) -> Found: ...


class Judge(Protocol):
    """The part that stores checks and conflicts of pieces."""

    def judged(self, call: Call, pieces: Sequence[Piece]) -> list[Piece]: ...

    def conflicts(self, call: Call, pieces: Sequence[Piece]) -> list[dict[str, Any]]: ...

    def state(self, ids: Sequence[str]) -> Hashable:
        """The verdicts and conflicts of these nodes: what changes them makes a cached answer stale."""


@dataclass(frozen=True, slots=True)
class Gathered:
    """Pieces on a question, judged and chosen."""

    intent: Intent
    chosen: Chosen[ScoredPiece]
    conflicts: list[dict[str, Any]]
    states: tuple[tuple[Any, Hashable], ...]
    degraded: str


@dataclass(frozen=True, slots=True)
class _Context:
    intent: Intent
    scope: Hashable
    cited: tuple[Cited, ...]


class Resolver:
    def __init__(
        self,
        finders: Sequence[Finder],
        code: CodeFinder,
        judge: Judge,
        clock: Clock,
        *,
        scope: Callable[[Call, Intent], Hashable],
        enter: Callable[[Call, str], object],
        prose: Prose | None = None,
        decays: Mapping[str, Decay] = DECAYS,
        on_many_changes: Callable[[Callable[[], None]], None] = lambda tell: None,
    ) -> None:
        self._finders = {finder.domain: finder for finder in finders}
        self._code = code
        self.judge = judge
        self._clock = clock
        self._scope = scope  # callers with an equal one may share a cached answer
        self._enter = enter  # raises unless the caller belongs to the session
        self.prose = prose  # a program around Lithos may set its own
        self._decays = decays
        self.cache = AnswerCache(lambda: clock.now().timestamp())
        on_many_changes(self.cache.clear)
        self._contexts: OrderedDict[str, _Context] = OrderedDict()
        self._lock = threading.Lock()
        self.counts: Counter[str] = Counter()

    # Questions

    def classify(self, call: Call, query: str) -> Intent:
        return self._read(call, query)[0]

    def _read(self, call: Call, query: str) -> tuple[Intent, list[str]]:
        """The intent of a question, and the ids of the symbols that it names."""
        text = _checked_query(query)
        plain = classify(text, self._clock.now())
        named = [node.id for node in self._code.known(call, text, plain.subject)]
        if named and plain.domain == CODE and 0.6 < plain.confidence < 0.9:
            plain = replace(plain, confidence=0.9)
        return plain, named

    def understood(self, call: Call, query: str) -> dict[str, Any]:
        """The intent of a question, with the symbols that its subject means."""
        intent, named = self._read(call, query)
        return {**intent.shown(), "symbols": named[:3]} if named else intent.shown()

    def ask(
        self,
        call: Call,
        query: str,
        token_budget: int,
        domains: Sequence[str] | None,
        *,
        allow_llm: bool,
        explain: bool,
        session_id: str | None = None,
    ) -> dict[str, Any]:
        """`session_id`: entries of this session count too, for its members."""
        intent, named = self._read(call, query)
        if session_id is not None:
            self._enter(call, session_id)  # before the cache: what members asked is kept there
            intent = replace(intent, session=session_id)
        chosen = _domains(domains, intent)
        # With the symbols: `Count` and `count` are one subject and two things.
        scope = (self._scope(call, intent), tuple(named), chosen, token_budget, allow_llm)
        self.counts["asked"] += 1
        cached = None if explain else self.cache.get(intent, scope)
        if cached is not None:
            self._count(cached)
            return {**cached, "level": "cache"}
        found = self.gather(call, query, intent, token_budget, chosen, concise=token_budget <= CONCISE_TOKENS)
        answer, keep = self._answered(call, query, found, allow_llm)
        if keep:
            states = found.states
            self.cache.put(
                intent, scope, answer, lambda: tuple(probe() for probe, _ in states), tuple(s for _, s in states)
            )
        self._count(answer)
        if explain:
            now = self._clock.now()
            rows = [each.shown(number, now) for number, each in enumerate(found.chosen.pieces, 1)]
            return {**answer, "pieces": rows, "left_out": found.chosen.left_out}
        return answer

    def gather(
        self,
        call: Call,
        query: str,
        intent: Intent,
        token_budget: int,
        domains: Sequence[str],
        *,
        concise: bool = False,
    ) -> Gathered:
        """Pieces of all domains, judged, in the order of their quality, within the budget. `concise`: no more of them
        than such a question needs."""
        now = self._clock.now()
        most = MOST_PIECES.get(intent.intent) if concise else None
        limit = most if most is not None and intent.intent == ACTIVITY else CANDIDATES
        found = {
            name: self._finders[name].find(call, intent, query, limit) for name in domains if name in self._finders
        }
        pieces = [piece for each in found.values() for piece in each.pieces]
        judged = self.judge.judged(call, pieces)
        conflicts = self.judge.conflicts(call, judged)
        chosen = choose([scored(piece, now, self._decays) for piece in judged], token_budget, most)
        reasons = [each.degraded for each in found.values() if each.degraded]
        states = tuple(state for each in found.values() for state in each.states)
        verdicts = partial(self.judge.state, [piece.id for piece in pieces])
        states = (*states, (verdicts, verdicts()))
        return Gathered(intent, chosen, conflicts, states, "; ".join(reasons))

    def _answered(self, call: Call, query: str, found: Gathered, allow_llm: bool) -> tuple[dict[str, Any], bool]:
        """The answer, and whether it may be cached."""
        enough = _suffices(found)
        answer = self._evidence(found, "graph" if enough else "evidence")
        keep = bool(found.chosen.pieces) and not found.degraded
        if enough or not allow_llm or self.prose is None:
            return answer, keep
        prompt = build_prompt(query, found.chosen.pieces, _prompted(found.conflicts))
        self.counts["llm"] += 1
        try:
            text = self.prose.complete(prompt)
        except Unavailable as error:  # the evidence is still an answer
            reasons = "; ".join(filter(None, (found.degraded, f"no answer by the model: {error}")))
            return {**answer, "degraded": True, "degraded_reason": reasons}, False
        checked = check_answer(text, _cited(found.chosen.pieces), self._code.facts(call))
        answer |= {"answer": text, "level": "llm", "check": checked.shown(), "tokens": estimate_tokens(text)}
        return answer, keep and checked.passes

    def _evidence(self, found: Gathered, level: str) -> dict[str, Any]:
        now = self._clock.now()
        lines = [_line(number, each) for number, each in enumerate(found.chosen.pieces, 1)]
        text = "\n".join(lines) or _nothing(found.intent)
        answer: dict[str, Any] = {
            "answer": text,
            "sources": [source_line(number, each.piece, now) for number, each in enumerate(found.chosen.pieces, 1)],
            "level": level,
            "intent": found.intent.shown(),
        }
        if found.conflicts:
            answer["conflicts"] = found.conflicts[:MOST_CONFLICTS]
            if len(found.conflicts) > MOST_CONFLICTS:
                answer["conflicts_left_out"] = len(found.conflicts) - MOST_CONFLICTS
        said = [text, *answer["sources"], *(each["description"] for each in answer.get("conflicts", []))]
        answer["tokens"] = sum(estimate_tokens(each) for each in said)
        files = {each.piece.path: each.piece.file_bytes for each in found.chosen.pieces if each.piece.file_bytes}
        answer["tokens_of_files"] = sum(size // 4 for size in files.values())
        answer["degraded"] = bool(found.degraded)
        return {**answer, "degraded_reason": found.degraded} if found.degraded else answer

    def _count(self, answer: dict[str, Any]) -> None:
        self.counts["tokens_given"] += answer["tokens"]
        self.counts["tokens_of_files"] += answer["tokens_of_files"]
        self.counts["tokens_saved"] += max(0, answer["tokens_of_files"] - answer["tokens"])

    # Contexts

    def build_context(self, call: Call, query: str, token_budget: int, domains: Sequence[str] | None) -> dict[str, Any]:
        text = _checked_query(query)
        intent = self.classify(call, text)
        chosen = _domains(domains or _DOMAINS, intent)
        found = self.gather(call, text, intent, min(token_budget, MOST_TOKENS), chosen)
        now = self._clock.now()
        prompt = build_prompt(text, found.chosen.pieces, _prompted(found.conflicts))
        context_id = self._remember(_Context(intent, self._scope(call, intent), tuple(_cited(found.chosen.pieces))))
        answer: dict[str, Any] = {
            "context_id": context_id,
            "context": prompt,
            "sources": [source_line(number, each.piece, now) for number, each in enumerate(found.chosen.pieces, 1)],
            "tokens": estimate_tokens(prompt),
            "left_out": found.chosen.left_out,
            "degraded": bool(found.degraded),
        }
        return {**answer, "degraded_reason": found.degraded} if found.degraded else answer

    def _remember(self, context: _Context) -> str:
        context_id = secrets.token_hex(8)
        with self._lock:
            self._contexts[context_id] = context
            while len(self._contexts) > CONTEXTS:
                self._contexts.popitem(last=False)
        return context_id

    def check_answer(self, call: Call, answer: str, context_id: str) -> dict[str, Any]:
        with self._lock:
            context = self._contexts.get(context_id.strip())
        if context is None or self._scope(call, context.intent) != context.scope:
            raise NotFound(
                f"there is no context {context_id[:40]!r}",
                hint="lithos_build_context makes one; a host keeps the last 200 until it ends.",
            )
        return check_answer(answer, context.cited, self._code.facts(call)).shown()

    def status(self) -> dict[str, Any]:
        names = ("asked", "llm", "tokens_given", "tokens_of_files", "tokens_saved")
        return {**{name: self.counts[name] for name in names}, "cache": self.cache.status()}


def _checked_query(query: str) -> str:
    text = query.strip()
    if not text or len(text) > LONGEST_QUERY:
        raise InvalidInput(f"a question has 1 to {LONGEST_QUERY} characters", hint="Ask one thing.")
    return text


def _domains(given: Sequence[str] | None, intent: Intent) -> tuple[str, ...]:
    """Those asked for; else the question's own, with history beside ways of doing things."""
    if given:
        return tuple(name for name in _DOMAINS if name in given)
    if intent.intent == RESEARCH:
        return (ACADEMIC,)
    if intent.domain == CODE:
        return (CODE,) if intent.intent in (LOCATE, EXPLAIN) else (CODE, HISTORY)
    return (HISTORY,)


def _suffices(found: Gathered) -> bool:
    pieces = found.chosen.pieces
    if found.intent.negated:  # "what never calls X": the pieces are those that do
        return False
    if found.intent.intent == LOCATE:  # a place in the code is a fact, also where texts disagree
        return bool(pieces)
    if any(not each["resolved"] for each in found.conflicts):
        return False
    least = GOOD_TRUST.get(found.intent.domain, 80)
    return len([each for each in pieces if each.quality > GOOD_QUALITY and each.trust >= least]) >= 2


def _cited(pieces: Sequence[ScoredPiece]) -> list[Cited]:
    return [
        Cited(each.piece.id, each.piece.domain, any("⚠️" in warning for warning in each.warnings), each.text)
        for each in pieces
    ]


def _prompted(conflicts: Sequence[dict[str, Any]]) -> list[tuple[str, str, str]]:
    return [(each["type"], each["description"], each.get("resolution", "")) for each in conflicts]


def _line(number: int, each: ScoredPiece) -> str:
    piece = each.piece
    head = f"[{number}] {piece.title}" + (f" {' '.join(each.notable)}" if each.notable else "")
    # Indented: no line of a text can pass for a numbered piece.
    return "\n".join([" ".join(head.split("\n")), *(f" {line}" for line in piece.text.splitlines() if line.strip())])


def _nothing(intent: Intent) -> str:
    return f"Nothing in the graph answers this ({intent.intent}, {intent.subject or 'no subject'})."
