"""Reads a commit message: a fix, a feature, a refactoring; the issues it names; the commit it reverts. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

_FIXES = re.compile(
    r"^(?:fix|bugfix|hotfix)(?:\([^)]*\))?!?:|\b(?:fix(?:e[sd])?|bug(?:fix)?|regress(?:ion|ed)|crash(?:e[sd])?|broken|"
    r"correct(?:ed|s)|prevent(?:ed|s)|avoid(?:ed|s)|restor(?:ed|es)|repair(?:ed|s))\b",
    re.IGNORECASE,
)
_CLOSES = re.compile(r"\b(?:fix(?:e[sd])?|clos(?:e[sd]?)|resolv(?:e[sd]?))\s*:?\s+(?:[\w./-]+)?#(\d+)", re.IGNORECASE)
_NAMES = re.compile(r"(?:^|[\s(\[:])#(\d+)\b")
_ADDS = re.compile(
    r"^(?:feat(?:\([^)]*\))?!?:|add(?:ed|s)?\b|allow(?:ed|s)?\b|implement(?:ed|s)?\b|support(?:ed|s)?\b)", re.I
)
_CHANGES = re.compile(
    r"^(?:refactor(?:ed|s|\([^)]*\))?!?:?|renam(?:e[sd]?)|mov(?:e[sd]?)|remov(?:e[sd]?)|simplif(?:y|ies|ied)|clean(?:ed)?\b|"
    r"split|extract(?:ed|s)?|replac(?:e[sd]?)|drop(?:ped|s)?)\b",
    re.IGNORECASE,
)
_REVERTS = re.compile(r"This reverts commit ([0-9a-f]{7,64})", re.IGNORECASE)
_TICKET = re.compile(
    r"^(?:\[[^\]]*\]\s*)?(?:fix(?:e[sd])?|refs|ref|closes?)\s+#\d+(?:\s*,\s*#\d+)*\s*(?:--|:|-)\s*", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Message:
    summary_type: str  # bug_fix, feature, refactoring; task_completion: none of these is said
    issues: tuple[str, ...]
    closes: tuple[str, ...]
    reverts: str


def described(subject: str, body: str) -> Message:
    said = _TICKET.sub("", subject)
    text = f"{subject}\n{body}"
    closes = tuple(dict.fromkeys(_CLOSES.findall(text)))
    if _ADDS.search(said):
        kind = "feature"
    elif _FIXES.search(said):
        kind = "bug_fix"
    elif _CHANGES.search(said):
        kind = "refactoring"
    elif closes:
        kind = "bug_fix"
    else:
        kind = "task_completion"
    reverts = _REVERTS.search(body)
    return Message(kind, tuple(dict.fromkeys(_NAMES.findall(text))), closes, reverts[1] if reverts else "")
