"""The firewall: what an agent says about code is held against the code before it counts.

Nothing is refused. The text stays as written; the verdict, its proof and the confidence are stored beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from lithos.graph.trust.claims.checking import check
from lithos.graph.trust.claims.extraction import claims_in, is_read_whole
from lithos.graph.trust.claims.values import CODE_ENDINGS, Checked, Claim, ClaimKind, CodeFacts, Verdict

CONTRADICTED_FACTOR = 0.5
MISSING_FILE_FACTOR = 0.8
HISTORY_FACTOR = 0.7
SIMILAR_ENOUGH = 0.7
LEAST_VERIFIED = 0.8
_FUNCTIONAL = (ClaimKind.LOCATION, ClaimKind.DEFAULT, ClaimKind.COUNT)  # one subject has one value


class VerificationType(IntEnum):
    """Numbers of the Sylk specification; 4 is ours."""

    NONE = 0
    CODE = 1
    HISTORY = 2
    USER = 3
    SOURCE = 4


@dataclass(frozen=True, slots=True)
class Evidence:
    """Witnesses for a text besides its claims."""

    user: bool = False  # a person wrote it
    commit: bool = False  # it is a commit's message
    source: bool = False  # the original was read
    doubt: float = 1.0  # factor of the files that were missing and of the history against it when it was written


@dataclass(frozen=True, slots=True)
class Earlier:
    """A text of history about the same thing, and how similar it is."""

    id: str
    text: str
    similarity: float


@dataclass(frozen=True, slots=True)
class Verification:
    verified: bool
    type: VerificationType
    confidence: float
    checked: tuple[Checked, ...] = ()
    missing: tuple[str, ...] = ()  # references that are not there
    opposed: tuple[tuple[str, str], ...] = ()  # (id of the earlier text, what it says)
    warnings: tuple[str, ...] = field(default=())
    doubt: float = 1.0  # the part of `confidence` that does not come from the claims

    @property
    def unchecked(self) -> bool:
        """Whether nothing speaks for or against it."""
        return not self.verified and not any(each.verdict is not Verdict.UNKNOWN for each in self.checked)

    @property
    def contradicted(self) -> bool:
        return any(each.verdict is Verdict.CONTRADICTED for each in self.checked)

    @property
    def needs_review(self) -> bool:
        return self.contradicted or bool(self.opposed)

    def shown(self) -> dict[str, Any]:
        """As answers and stored metadata have it."""
        answer: dict[str, Any] = {
            "verified": self.verified,
            "verification_type": int(self.type),
            "confidence": round(self.confidence, 4),
        }
        if self.unchecked:
            answer["unchecked"] = True
        if self.checked:
            answer["claims"] = [shown_claim(each) for each in self.checked]
        if self.warnings:
            answer["warnings"] = list(self.warnings)
        if self.needs_review:
            answer["needs_review"] = True
        return answer


def shown_claim(checked: Checked) -> dict[str, Any]:
    row: dict[str, Any] = {
        "claim": checked.claim.text,
        "kind": str(checked.claim.kind),
        "verdict": str(checked.verdict),
    }
    if checked.proof:
        row["proof"] = list(checked.proof)
    if checked.reason:
        row["reason"] = checked.reason
    return row


def verify(
    text: str,
    references: Sequence[str],
    facts: CodeFacts,
    *,
    evidence: Evidence | None = None,
    earlier: Sequence[Earlier] = (),
) -> Verification:
    """Pure over `facts`. `references` are files and symbols that the text names as its own."""
    evidence = evidence or Evidence()
    checked = tuple(check(claim, facts) for claim in claims_in(text))
    missing = tuple(each for each in references if _is_missing(each, facts))
    # Code wins: a false text that came first takes nothing from one that the code confirms.
    unproven = [each.claim for each in checked if each.verdict is not Verdict.CONFIRMED]
    opposed = _opposed(unproven, earlier)
    contradicted = [each for each in checked if each.verdict is Verdict.CONTRADICTED]
    doubt = MISSING_FILE_FACTOR ** len(missing) * (HISTORY_FACTOR if opposed else 1.0)
    confidence = CONTRADICTED_FACTOR ** len(contradicted) * doubt * evidence.doubt
    kind = _type(checked, evidence)
    whole = is_read_whole(text)  # else true claims at its beginning would vouch for the rest
    verified = kind is not VerificationType.NONE and whole and not contradicted and confidence >= LEAST_VERIFIED
    warnings = [f"contradicted by the code: {each.claim.text} ({each.reason})" for each in contradicted]
    warnings += [f"the file {each} is not there" for each in missing]
    warnings += [f"an earlier entry says otherwise: {said}" for _, said in opposed]
    warnings += [] if whole else ["it is too long: claims at its end were not checked"]
    return Verification(
        verified,
        kind if verified else VerificationType.NONE,
        confidence,
        checked,
        missing,
        opposed,
        tuple(warnings),
        doubt,
    )


def _type(checked: Sequence[Checked], evidence: Evidence) -> VerificationType:
    if any(each.verdict is Verdict.CONFIRMED for each in checked):
        return VerificationType.CODE
    for speaks, kind in (
        (evidence.commit, VerificationType.HISTORY),
        (evidence.user, VerificationType.USER),
        (evidence.source, VerificationType.SOURCE),
    ):
        if speaks:
            return kind
    return VerificationType.NONE


def _is_missing(reference: str, facts: CodeFacts) -> bool:
    """A reference that is written like a file and is none; symbols that are gone count through their claims."""
    path = reference.partition("#")[0]
    head, _, line = path.rpartition(":")
    path = head if line.isdigit() else path
    is_file = "/" in path or path.rpartition(".")[2] in CODE_ENDINGS
    return is_file and facts.complete() and not facts.places(path) and not facts.named(reference.partition("(")[0])


def _opposed(claims: Sequence[Claim], earlier: Sequence[Earlier]) -> tuple[tuple[str, str], ...]:
    found = []
    for each in earlier:
        if each.similarity >= SIMILAR_ENOUGH:
            theirs = claims_in(each.text)
            found += [(each.id, other.text) for mine in claims for other in theirs if opposed(mine, other)]
    return tuple(dict.fromkeys(found))


def opposed(a: Claim, b: Claim) -> bool:
    """Whether two claims cannot both be true: the same relation of the same subject, another value or a negation."""
    if a.key != b.key:
        return False
    if a.negated != b.negated:
        return _value(a) == _value(b) and (bool(_value(a)) or a.kind is ClaimKind.EXISTENCE)
    if a.negated:
        return False
    if a.kind is ClaimKind.USES:
        return bool(a.detail) and a.detail == b.detail and _value(a) != _value(b)
    return a.kind in _FUNCTIONAL and not _compatible(a, b)


def _value(claim: Claim) -> str:
    return "" if claim.kind is ClaimKind.EXISTENCE else claim.value.lower().strip("'\"`")


def _compatible(a: Claim, b: Claim) -> bool:
    mine, theirs = _value(a).partition(":")[0].rstrip("/"), _value(b).partition(":")[0].rstrip("/")
    if a.kind is ClaimKind.LOCATION:  # a folder and a file in it, a path and its end
        return f"/{mine}".endswith(f"/{theirs}") or f"/{theirs}".endswith(f"/{mine}") or _inside(mine, theirs)
    return mine == theirs


def _inside(a: str, b: str) -> bool:
    return a.startswith(f"{b}/") or b.startswith(f"{a}/")
