# ruff: noqa: E501 - a pattern that is broken over lines is harder to read
"""Intents: what a question asks for, about what, in which direction and time. Rules, no model, no tokens."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from datetime import datetime
from itertools import dropwhile
from typing import Any, Final

from lithos.core.clock import rfc3339
from lithos.graph.answers.time_scope import TimeScope, time_scope

CODE, HISTORY, ACADEMIC = "code", "history", "academic"
LOCATE, PATTERN, EXPLAIN, GENERAL = "LOCATE", "PATTERN", "EXPLAIN", "GENERAL"
HISTORICAL, ACTIVITY, OUTCOME, SIMILAR, RESUME = "HISTORICAL", "ACTIVITY", "OUTCOME", "SIMILAR", "RESUME"
RESEARCH = "RESEARCH"
CACHED_FROM: Final = 0.8
LONGEST = 2_000

# In this order: the first pattern that is found decides.
_RULES: Final = tuple(
    (domain, intent, re.compile(pattern))
    for domain, intent, pattern in (
        (HISTORY, RESUME, r"leave off|left off|\bpick up\b|^(?:please )?(?:continue|resume)\b|where (?:was|were) (?:i|we)\b|(?:was|were) (?:i|we) working on|current (?:state|status)$"),
        (ACADEMIC, RESEARCH, r"\bbest practi[cs]es?\b|\brecommended\b|\bdocs? recommend|\bliterature\b|\bpapers?\b|\bresearch\b|\brfcs?\b|\btrade-?offs?\b|\bvs\b|\bversus\b|^compare\b|\bcomparison\b|^should we use .+ or\b|\bstate of the art\b"),
        (HISTORY, SIMILAR, r"\bsimilar\b|\bhave we (?:seen|had|met|hit)\b|\b(?:problems?|errors?|issues?|failures?) like\b|\blike (?:this|before)\b|\bcomparable\b|\bresembl"),
        (HISTORY, OUTCOME, r"^did (?!we\b|you\b|i\b).+ (?:work|succeed|pass|fail|complete|finish|land|help)\b|^(?:was|were|is|are) .+ (?:successful|complete|completed|finished|done)\b|\b(?:result|outcome|status)s? of\b|\b(?:outcome|result)$|\bturn(?:ed)? out\b|^(?:have|has) .+ (?:passed|succeeded|failed|finished|completed)\b|\bissues? (?:did|were) .* f(?:i|ou)nd"),
        (HISTORY, HISTORICAL, r"\bhow did (?:we|you|i|they)\b|\bhow (?:was|were) .+ (?:fixed|solved|done|handled|implemented|built)\b|\bwhat did we (?:do|decide|choose|use|try)\b|\bwhy did (?:we|they|you)\b|\bwhy (?:was|were) .+ (?:chosen|picked|selected|decided|made|used)\b|\bwhat was (?:the|our) (?:solution|fix|reason|approach|rationale|decision|choice)\b|\bpast (?:solutions?|decisions?|approach)|\bpreviously\b|\blast time\b|\bwhat (?:decisions?|approach|solution) did\b|\b(?:what|which) (?:was|were) decided\b|\bwhat was decided\b|\bearlier\b|\bprior\b"),
        (HISTORY, ACTIVITY, r"\bwhat(?:'s| has| have| is)? (?:recently )?(?:been )?(?:changed|happened|happening|new|done)\b|\b(?:recent|latest) (?:changes?|modifications?|activity|commits?|work)\b|^changes? (?:to|in)\b|^who (?:has |last |recently )?(?:worked|changed|touched|modified|edited|wrote|committed|broke)\b|\bhistory of\b|\b(?:which|what) files? (?:were |have been |has been )?(?:changed|modified|touched|edited)\b|\bchanged (?:in|on|with)\b|\bmodifications?\b|\bactivity\b|\bcommits?\b"),
        (HISTORY, GENERAL, r"^(?:what|who|which|when) (?:did|was|were|has|have) (?!.* (?:called|defined|used)\b)"),
        (CODE, PATTERN, r"\bstrateg(?:y|ies)\b|\bapproach(?:es)?\b|\bpatterns?\b|\bconventions?\b|\bhow do we\b|\bhow (?:are|is) .+ (?:handled|done|managed|organi[sz]ed|structured)\b|\bframeworks?\b.* (?:do )?we use|\bidioms?\b"),
        (CODE, LOCATE, r"\bcall(?:s|ers?|ees?)\b|\bcalled (?:by|from)\b|^(?:what|which|who)\b.* (?:call|uses?|extends?|inherits?|implements?|imports?|depends? on)\b|\bis .+ (?:called|used|imported|referenced)\b|\b(?:usages?|uses|references|subclasses|callers|callees|implementations) (?:of|to)\b|\binherit(?:s)? from\b"),
        (CODE, EXPLAIN, r"\bhow does\b|\bhow do (?!we\b|i\b)|\bexplain\b|^what does .+ (?:do|mean)$|\bwalk (?:me )?through\b|\bdescribe\b|\bunderstand\b|^what (?:is|are) .+ for$|\bpurpose of\b|^why (?:does|do|is|are|doesn't|isn't)\b"),
        (CODE, LOCATE, r"\bwhere(?:'s| is| are| does| do| can)?\b|^(?:please )?(?:can you )?(?:find|locate)\b|\bshow me\b|\b(?:which|what) (?:file|module|folder|directory|package)\b|\bpoint me to\b|\blocation of\b|\bdefinition of\b"),
    )
)  # fmt: skip
_LISTING = re.compile(
    r"^(?:list|count|how many|enumerate)\b|^(?:what|which) .+ (?:are there|exist|are used|is used)$|^(?:what|which) .+ exist\b"
)
_BACKWARDS = re.compile(
    r"^(?:what|who|which \w+)(?: \w+)?(?: does not| do not| don't| doesn't| never)? (?:calls?|uses?|imports?|references?)\b"
    r"|\bcallers of\b|\bis .+ (?:called|used|imported|referenced)\b|\b(?:usages?|uses|references) (?:of|to)\b"
)
_FORWARDS = re.compile(
    r"\bdoes .+ call\b|\beverything .+ calls\b|\bcallees of\b|\bcalled by\b|\bdoes .+ (?:use|import|depend on)\b"
)
_BELOW = re.compile(
    r"\bsubclasses\b|^(?:what|which)(?: \w+)? (?:extends?|inherits? from|implements?)\b|\bthat (?:extend|inherit|implement)"
)
_NEGATED = re.compile(r"\b(?:not|never|doesn't|don't|isn't|aren't|didn't|without|no longer|cannot|can't)\b")
_QUOTED = re.compile(r"[\"“`]([^\"”`]{2,120})[\"”`]")
_CODE_WORD = re.compile(
    r"(?:[^\W\d]\w*[._:/#])+\w+|\w+\(\)|[a-z]+[A-Z]\w*|[A-Z][a-z0-9]+[A-Z]\w*|[A-Z]{2,}[a-z]\w*|[A-Z]+_[A-Z_]+|\w+_\w+"
)
_STOP: Final = frozenset(
    re.findall(
        r"[\w']+",
        "a an the this that these those our my your its their is are was were be been being do does did doing done has have had i me "
        "we us you they it there here where where's what what's which who who's why how when can could should would please in on at of "
        "to for from with by about into and or but if so as than then also all any some every everything each other find locate show "
        "list give tell point count many file files' module folder directory package function functions class classes method methods "
        "struct code codebase repo repository project defined defines define contains contain live lives exist exists found "
        "explain describe walk through work works working works' understand help purpose mean means call calls called caller callers "
        "callee callees use uses used using usage usages reference references extend extends inherit inherits subclass subclasses "
        "implement implements strategy strategies approach approaches pattern patterns convention conventions handle handled handling "
        "follow take took way ways best practice practices recommended recommend papers paper research literature rfc docs say says "
        "compare comparison vs versus tradeoff tradeoffs trade between past previous previously before last time earlier solution "
        "solutions fix fixed solve solved deal decide decided decision decisions choose chose chosen choosing go went reason rationale "
        "make made changed change changes happened happen history recent recently latest modified touched edited worked wrote written committed broke result results "
        "outcome status successful succeed succeeded success pass passed fail failed turn turned out complete completed similar seen "
        "like problems problem issues issue continue resume pick up leave left off not never don't doesn't didn't isn't no longer "
        "let's new now currently framework frameworks write done managed used programming work happens does't didnt",
    )
)
_ALIASES: Final = {
    "error": "error_handling",
    "exception": "error_handling",
    "auth": "authentication",
    "test": "testing",
    "cache": "caching",
    "log": "logging",
    "name thing": "naming",
    "name": "naming",
}


@dataclass(frozen=True, slots=True)
class Intent:
    """A classified question. `key` is what two questions must share for one answer to serve both."""

    domain: str
    intent: str
    subject: str
    direction: str
    time: TimeScope | None
    negated: bool
    confidence: float
    others: tuple[str, ...] = ()  # what a question that names its subject says besides: "timeouts of `send`"
    session: str = ""  # whose entries count too

    @property
    def key(self) -> Hashable:
        # With the day: "today" is another question tomorrow.
        time = f"{self.time.name} {self.time.start:%Y-%m-%d}" if self.time else ""
        subject = stemmed(self.subject)
        return self.domain, self.intent, subject, self.others, self.direction, time, self.negated, self.session

    def shown(self) -> dict[str, Any]:
        answer: dict[str, Any] = {"domain": self.domain, "intent": self.intent, "subject": self.subject}
        if self.direction:
            answer["direction"] = self.direction
        if self.time is not None:
            start, end = rfc3339(self.time.start), rfc3339(self.time.end)
            answer["time_scope"] = {"name": self.time.name, "start": start, "end": end}
        if self.negated:
            answer["negated"] = True
        return {**answer, "confidence": round(self.confidence, 2)}


def classify(query: str, now: datetime, known: Callable[[str], str | None] = lambda subject: None) -> Intent:
    """`known` turns a subject into the name of a symbol or topic that exists, or None."""
    text = " ".join(query[:LONGEST].split()).rstrip("?!. ")
    scope, rest = time_scope(text, now)
    low = rest.lower() or text.lower()
    whole = text.lower()
    domain, intent, matched = _decided(low, whole)
    direction = _direction(low) if domain == CODE and intent == LOCATE else ""
    subject, is_name = _subject(rest, intent)
    found = known(subject) if subject else None
    if found is not None:
        subject, is_name = found, True
    if intent == RESUME and not subject:
        subject = "session"
    negated = _NEGATED.search(low) is not None
    others = _others(rest, subject) if is_name else ()
    return Intent(domain, intent, subject, direction, scope, negated, _confidence(matched, subject, is_name), others)


def _decided(low: str, whole: str) -> tuple[str, str, bool]:
    for domain, intent, pattern in _RULES:
        if pattern.search(low) or (domain == HISTORY and pattern.search(whole)):
            return domain, intent, True
    return CODE, GENERAL, _LISTING.search(low) is not None


def _direction(low: str) -> str:
    for direction, pattern in (("calls", _FORWARDS), ("subclasses", _BELOW), ("called_by", _BACKWARDS)):
        if pattern.search(low):
            return direction
    return ""


def _confidence(matched: bool, subject: str, is_name: bool) -> float:
    if not subject:
        return 0.5
    if not matched:
        return 0.6
    return 0.95 if is_name else 0.85


def _subject(text: str, intent: str) -> tuple[str, bool]:
    """snake_case, and whether it was written like a name of code."""
    if quoted := _QUOTED.search(text):
        return snake_case(quoted.group(1)), True
    if name := _CODE_WORD.search(text):
        return snake_case(name.group()), True
    words = [word.lower().removesuffix("'s") for word in re.findall(r"[\w'+#-]+", text)]
    kept = [word for word in words if word not in _STOP]
    if not kept and intent != RESUME:  # the question is about a word that questions are made of
        kept = [
            word for word in words if word in ("files", "test", "tests", "errors", "error", "functions", "classes")
        ][:1]
    subject = snake_case(" ".join(kept))
    plain = " ".join(_stem(word) for word in kept)
    if intent == SIMILAR and not kept:
        return "errors", False
    return (_ALIASES[plain] if plain in _ALIASES and intent == PATTERN else subject), False


def _others(text: str, subject: str) -> tuple[str, ...]:
    """The names and words that say something, without those of the subject."""
    names = {snake_case(name) for name in _CODE_WORD.findall(text)}
    plain = _CODE_WORD.sub(" ", text).lower()
    words = {word.removesuffix("'s") for word in re.findall(r"[\w'+#-]+", plain)} - _STOP
    known = {subject, *subject.split("_")}
    return tuple(sorted({_stem(each) for each in names | words if each not in known}))


def without_frame(query: str) -> str:
    """ "how did we handle cart sizes" without the words that such questions begin with."""
    return " ".join(dropwhile(_is_common, query.split())) or query


def telling(query: str) -> str:
    """The words of a question that say what it is about."""
    return " ".join(word for word in query.split() if not _is_common(word))


def _is_common(word: str) -> bool:
    return word.lower().strip("?,.:") in _STOP


def snake_case(text: str) -> str:
    last = re.sub(r"\(\)$", "", text.strip())
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", last)
    return re.sub(r"\W+", "_", spaced).strip("_").lower()


def stemmed(subject: str) -> str:
    """The subject as cache keys have it: without plurals, short forms written out."""
    plain = "_".join(_stem(word) for word in subject.split("_"))
    return {"auth": "authentication", "authentication_code": "authentication"}.get(plain, plain)


def _stem(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return f"{word[:-3]}y"
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-2] if word.endswith(("sses", "shes", "ches", "xes")) else word[:-1]
    return word
