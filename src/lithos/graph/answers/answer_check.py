"""Checking an answer against its context: citations that exist, code statements with code, claims that hold."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lithos.graph.trust import Checked, CodeFacts, Verdict, check, claims_in
from lithos.graph.trust.claims.verify import shown_claim

_CITED = re.compile(r"[\[【]\s*(\d{1,9}(?:\s*[,;–-]\s*\d{1,9})*)\s*[\]】]")
_QUOTED = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)  # `rows[0]` is no citation
MOST_CITED = 50  # numbers of one range
_INFERENCE = re.compile(r"\[INFERENCE\]\s*([^\[\n]+)")
_MARKED_AFTER = re.compile(r"((?:(?![.!?]\s)[^\n\[])+[.!?]?)[ \t]*\[INFERENCE\](?:[.!?]|[ \t]*$)", re.MULTILINE)
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=\[INFERENCE\]|[^\s\[])|\n+")
_CODE_NAME = re.compile(
    r"`[^`]+`|\b\w+\(\)|\b\w+_\w+\b|\b[a-z]+[A-Z]\w*|\b[A-Z][a-z]+[A-Z]\w*|\b[\w/]+\.(?:py|go|ts|tsx|js|rs|java|rb)\b"
)
_HEDGED = re.compile(
    r"\b(?:should|could|might|may|would|unknown|unclear|not sure|uncertain|no (?:source|evidence|information))\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Cited:
    """One numbered source of a context."""

    id: str
    domain: str
    warned: bool
    text: str = ""  # as the context shows it, with its path

    def mentions(self, name: str) -> bool:
        return name.lower() in f"{self.id}\n{self.text}".lower()


@dataclass(frozen=True, slots=True)
class AnswerCheck:
    cited: tuple[str, ...]
    unknown_citations: tuple[int, ...]
    without_code: tuple[str, ...]  # statements on code without a code source
    contradicted: tuple[Checked, ...]
    inferences: tuple[str, ...]
    warnings: tuple[str, ...]  # lines of the answer that pass a warning on
    unmentioned: tuple[str, ...]  # cited sources whose warning the answer does not mention

    @property
    def passes(self) -> bool:
        return bool(self.cited) and not (self.unknown_citations or self.without_code or self.contradicted)

    def shown(self) -> dict[str, Any]:
        return {
            "ok": self.passes,
            "cites_nothing": not (self.cited or self.unknown_citations),
            "sources_used": list(self.cited),
            "unknown_citations": list(self.unknown_citations),
            "statements_without_code": list(self.without_code),
            "contradicted": [shown_claim(each) for each in self.contradicted],
            "inferences": list(self.inferences),
            "warnings": list(self.warnings),
            "warnings_not_mentioned": list(self.unmentioned),
        }


def check_answer(answer: str, sources: Sequence[Cited], facts: CodeFacts) -> AnswerCheck:
    answer = _MARKED_AFTER.sub(r" [INFERENCE] \1", answer)
    numbers = _numbers(answer)
    used = {number: sources[number - 1] for number in numbers if 1 <= number <= len(sources)}
    found = [check(claim, facts) for claim in claims_in(_without_marks(answer))]
    warned = tuple(" ".join(line.split()) for line in answer.splitlines() if "⚠️" in line)
    return AnswerCheck(
        tuple(dict.fromkeys(each.id for each in used.values())),
        tuple(number for number in numbers if number not in used),
        tuple(_without_code(answer, sources, facts)),
        tuple(each for each in found if each.verdict is Verdict.CONTRADICTED),
        tuple(match.strip() for match in _INFERENCE.findall(answer)),
        warned,
        tuple(each.id for each in used.values() if each.warned and not warned),
    )


def _numbers(text: str) -> list[int]:
    found: dict[int, None] = {}
    for group in _CITED.findall(_QUOTED.sub(" ", text)):
        for part in re.split(r"[,;]", group):
            ends = [int(each) for each in re.split(r"[–-]", part)]
            low, high = min(ends), max(ends)
            found.update(dict.fromkeys((*range(low, min(high, low + MOST_CITED)), high)))
    return list(found)


def _without_code(answer: str, sources: Sequence[Cited], facts: CodeFacts) -> list[str]:
    """Sentences that state something of code, are no inference, and cite no code that is about it."""
    missing = []
    for sentence in _SENTENCE.split(answer):
        text = sentence.strip()
        if not _CODE_NAME.search(text) or "[INFERENCE]" in text or text.endswith("?") or _HEDGED.search(text):
            continue
        cited = [sources[number - 1] for number in _numbers(text) if 1 <= number <= len(sources)]
        code = [each for each in cited if each.domain == "code"]
        if code:
            symbols = [name for name in _names(text) if facts.named(name)]
            supported = not symbols or any(each.mentions(_last(name)) for name in symbols for each in code)
        else:
            supported = bool(cited) and not claims_in(_without_marks(text))
        if not supported:
            missing.append(text[:300])
    return missing


def _names(text: str) -> list[str]:
    """Names of code in a sentence, without calls and quotes."""
    found = (match.strip("`").partition("(")[0].strip() for match in _CODE_NAME.findall(text))
    return [name for name in found if re.fullmatch(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*", name)]


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _without_marks(text: str) -> str:
    return _CITED.sub("", text).replace("⚠️", "")
