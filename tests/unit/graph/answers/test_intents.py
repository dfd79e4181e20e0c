"""Intents on labelled questions: half may be looked at while tuning, half is only counted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path

import pytest

from lithos.graph.answers.intents import CACHED_FROM, Intent, classify, stemmed

FILE = Path(__file__).resolve().parents[3] / "fixtures" / "intents.txt"
NOW = datetime(2026, 11, 17, 12, tzinfo=UTC)  # a Tuesday
TIMES = {"recent": "recently"}


@dataclass(frozen=True)
class Group:
    domain: str
    intent: str
    subject: str
    direction: str
    time: str
    negated: bool
    questions: tuple[str, ...]

    def fits(self, found: Intent) -> bool:
        time = found.time.name if found.time else ""
        mine = (self.domain, self.intent, self.direction, TIMES.get(self.time, self.time), self.negated)
        return mine == (found.domain, found.intent, found.direction, time, found.negated)


def groups() -> Iterator[Group]:
    for block in FILE.read_text(encoding="utf-8").split("\n[")[1:]:
        head, *lines = block.strip().splitlines()
        kind, subject, direction, time, negated = (part.strip() for part in head.rstrip("]").split("|"))
        domain, intent = kind.split()
        yield Group(domain, intent, subject, direction, time, bool(negated), tuple(lines))


HALVES = {"looked_at": list(groups())[::2], "held_out": list(groups())[1::2]}


def test_there_are_enough_questions() -> None:
    assert sum(len(group.questions) for group in groups()) >= 400


@pytest.mark.parametrize("half", HALVES)
def test_intents_are_right(half: str) -> None:
    asked = [(group, text, classify(text, NOW)) for group in HALVES[half] for text in group.questions]
    wrong = [(text, found.shown()) for group, text, found in asked if not group.fits(found)]
    assert 1 - len(wrong) / len(asked) >= 0.93, wrong


@pytest.mark.parametrize("half", HALVES)
def test_true_paraphrases_share_a_key(half: str) -> None:
    pairs = [pair for group in HALVES[half] for pair in combinations(group.questions, 2)]
    hits = [(a, b) for a, b in pairs if _hits(classify(a, NOW), classify(b, NOW))]
    assert len(hits) / len(pairs) >= 0.6, [pair for pair in pairs if pair not in hits]


def test_questions_that_want_different_answers_never_share_a_key() -> None:
    asked = [(index, classify(text, NOW), text) for index, group in enumerate(groups()) for text in group.questions]
    pairs = [(a, b) for a, b in combinations(asked, 2) if a[0] != b[0]]
    wrong = [(a[2], b[2]) for a, b in pairs if _hits(a[1], b[1])]
    hits = [1 for a, b in combinations(asked, 2) if a[0] == b[0] and _hits(a[1], b[1])]
    assert len(wrong) / (len(wrong) + len(hits)) <= 0.005, wrong  # of all hits, not of all pairs


def _hits(a: Intent, b: Intent) -> bool:
    return a.key == b.key and min(a.confidence, b.confidence) >= CACHED_FROM


@pytest.mark.parametrize("half", HALVES)
def test_subjects_are_right(half: str) -> None:
    asked = [(group, text, classify(text, NOW)) for group in HALVES[half] for text in group.questions]
    wrong = [(text, found.subject) for group, text, found in asked if stemmed(group.subject) != stemmed(found.subject)]
    assert 1 - len(wrong) / len(asked) >= 0.9, wrong


def test_time_is_an_interval() -> None:
    week = classify("what changed in billing last week", NOW).time
    assert week is not None and (week.start.day, week.end.day) == (9, 16)
    month = classify("what changed in billing last month", NOW).time
    assert month is not None and (month.start.month, month.end.month) == (10, 11)
    recent = classify("what changed recently", NOW).time
    assert recent is not None and (recent.end - recent.start).days == 7
    assert classify("how did we do it before", NOW).time is None
    days = classify("what happened with auth in the last 3 days", NOW).time
    assert days is not None and (days.end - days.start).days == 3


def test_a_subject_becomes_the_symbol_that_exists() -> None:
    found = classify("where is the session thing", NOW, known=lambda subject: "session_store")
    assert found.subject == "session_store" and found.confidence >= 0.9


def test_an_empty_or_odd_question_has_low_confidence() -> None:
    assert classify("", NOW).confidence < CACHED_FROM
    assert classify("?!", NOW).confidence < CACHED_FROM
    assert classify("blorp the frobnicator sideways", NOW).confidence < CACHED_FROM
