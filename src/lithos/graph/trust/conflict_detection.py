"""Conflicts between pieces of knowledge, found from their claims. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from lithos.graph.trust.claims.checking import check
from lithos.graph.trust.claims.extraction import claims_in
from lithos.graph.trust.claims.values import Checked, Claim, ClaimKind, CodeFacts, Verdict
from lithos.graph.trust.claims.verify import opposed
from lithos.graph.trust.freshness import CODE

MONTH_SECONDS: Final = 30 * 86_400.0
MOST_CONFLICTS: Final = 50


class ConflictType(IntEnum):
    """Numbers of the Sylk specification."""

    TEMPORAL = 0
    SOURCE_MISMATCH = 1
    SEMANTIC = 2


CONFLICT_NAMES: Final = {
    ConflictType.TEMPORAL: "Temporal",
    ConflictType.SOURCE_MISMATCH: "Source Mismatch",
    ConflictType.SEMANTIC: "Semantic Contradiction",
}
RESOLUTIONS: Final = {
    ConflictType.TEMPORAL: "Prefer newer information unless older is from code",
    ConflictType.SOURCE_MISMATCH: "Code is source of truth - history may be outdated",
    ConflictType.SEMANTIC: "Requires human review to determine which is correct",
}


@dataclass(frozen=True, slots=True)
class Statement:
    """A text of the graph that may say something: an entry, a finding, a source."""

    id: str
    domain: str
    text: str
    time: float  # seconds


@dataclass(frozen=True, slots=True)
class Conflict:
    """`a` and `b` in the order of their ids: a pair has one row."""

    type: ConflictType
    subject: str
    a: str
    b: str
    description: str

    @property
    def resolution(self) -> str:
        return RESOLUTIONS[self.type]


def detect_conflicts(
    statements: Sequence[Statement], facts: CodeFacts, checks: Mapping[str, Sequence[Checked]] | None = None
) -> list[Conflict]:
    """Contradictions with code and among each other; age alone is none. `checks`: verdicts that are known already."""
    found: dict[tuple[str, str], Conflict] = {}
    by_key: dict[tuple[str, str, str], list[tuple[Statement, Claim]]] = {}
    for each in statements:
        if each.domain == CODE:
            continue
        checked = (checks or {}).get(each.id)
        judged = [check(claim, facts) for claim in claims_in(each.text)] if checked is None else checked
        for one in judged:
            if one.verdict is Verdict.CONTRADICTED and one.proof:
                _keep(found, _with_code(each, one))
            by_key.setdefault(one.claim.key, []).append((each, one.claim))
    for group in by_key.values():
        for place, (first, mine) in enumerate(group):
            for second, theirs in group[place + 1 :]:
                if first.id != second.id and opposed(mine, theirs):
                    _keep(found, _between(first, mine, second, theirs))
    return list(found.values())[:MOST_CONFLICTS]


def _keep(found: dict[tuple[str, str], Conflict], conflict: Conflict) -> None:
    found.setdefault((conflict.a, conflict.b), conflict)


def _with_code(said: Statement, checked: Checked) -> Conflict:
    a, b = sorted((said.id, checked.proof[0]))
    description = f"History claims '{checked.claim.text}' but code shows otherwise: {checked.reason}"
    return Conflict(ConflictType.SOURCE_MISMATCH, _subject(checked.claim), a, b, description)


def _between(first: Statement, mine: Claim, second: Statement, theirs: Claim) -> Conflict:
    apart = abs(first.time - second.time)
    kind = ConflictType.TEMPORAL if apart > MONTH_SECONDS else ConflictType.SEMANTIC
    a, b = sorted((first.id, second.id))
    text = f"'{mine.text}' contradicts '{theirs.text}'"
    if kind is ConflictType.TEMPORAL:
        text = f"{text}; written {int(apart / 86_400)} days apart"
    return Conflict(kind, _subject(mine), a, b, text)


def _subject(claim: Claim) -> str:
    """ "We use X for Y" is about Y."""
    purpose = claim.detail if claim.kind is ClaimKind.USES and not claim.subject.name else ""
    return purpose.lower()[:200] or (claim.subject.name or claim.value).rpartition(".")[2].lower()[:200]
