"""One more step from the best hits: what they are linked to, and what their passages lead to.

For a question that names two things or compares them, the answer is often in a document that the question does not
describe. Measured on questions of dialogues that have several answers, the second round gains nothing outside the
noise, so that it is off unless `hops` asks for it; links lead where no word of the question does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from lithos.search import Hit

FROM = 2  # best hits whose passages make a further question
FURTHER = 0.2  # of the score that a hit has in it
LONGEST_PASSAGE = 300  # characters of it in the further question
LINKED_FROM = 3  # best notes whose links are followed
MOST_LINKED = 5  # links of one note
LINKED = 0.5  # of the score of the note that has the link, for one that shares nothing with the question

_COMPARES = re.compile(
    r"\b(?:both|compared?|comparison|differ\w*|versus|vs|than|common|share[sd]?|between|either|same as|each of|and)\b",
    re.I,
)
_NAME = re.compile(r"\b[A-Z][\w'’.-]*(?:\s+[A-Z][\w'’.-]*)*|[\"“«]([^\"”»]{2,80})[\"”»]|`([^`]{2,80})`")
_ASKS = re.compile(
    r"^(?:what|when|where|who|whose|whom|which|why|how|did|do|does|is|are|was|were|would|could|should|has|have|had|can|in|"
    r"on|at|the|a|an|and|or|if|for)\b\s*",
    re.I,
)


class Scored(NamedTuple):
    """A hit of some kind; rendered only if it is shown."""

    score: float
    kind: str
    hit: Hit
    render: Callable[[Hit], dict[str, Any]]

    @property
    def key(self) -> str:
        return f"{self.kind} {self.hit.id}"


def asks_for_two(text: str) -> bool:
    """Whether a question names two things or compares. Without names in it, comparing is enough."""
    return len(names(text)) > 1 or _COMPARES.search(text) is not None


def names(text: str) -> list[str]:
    """The names in a text: capitalised words that follow each other, and quoted ones."""
    found: dict[str, None] = {}
    for match in _NAME.finditer(text):
        name = next((group for group in match.groups() if group), match[0])
        while (asked := _ASKS.match(name)) is not None and asked[0]:
            name = name[asked.end() :]
        if name := re.sub(r"['’]s$", "", name.strip(" .-")):
            found[name] = None
    return list(found)


def further_questions(text: str, best: Iterable[Scored]) -> list[str]:
    """The question with what each of the best hits says: its names lead on."""
    return [f"{text} {each.hit.passage[:LONGEST_PASSAGE]}" for each in list(best)[:FROM] if each.hit.passage]


def with_further(first: list[Scored], further: Iterable[list[Scored]]) -> list[Scored]:
    """The hits of the first round, each with some of its score in the others."""
    scores = {each.key: each for each in first}
    for hits in further:
        for each in hits:
            known = scores.get(each.key)
            own = FURTHER * each.score
            scores[each.key] = each._replace(score=own) if known is None else known._replace(score=known.score + own)
    return sorted(scores.values(), key=lambda each: -each.score)


def with_linked(hits: list[Scored], linked: Mapping[str, list[Hit]]) -> list[Scored]:
    """`linked`: key of a hit → the notes that it is linked to, as they answer the question."""
    scores = {each.key: each for each in hits}
    for source in hits:
        for hit in linked.get(source.key, ()):
            reached = source._replace(
                score=LINKED * source.score, hit=replace(hit, score=round(LINKED * source.score, 4))
            )
            known = scores.get(reached.key)
            if known is None or known.score < reached.score:
                scores[reached.key] = reached if known is None else known._replace(score=reached.score)
    return sorted(scores.values(), key=lambda each: -each.score)
