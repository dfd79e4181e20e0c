"""What is wrong with a file, or with a change to it: hard blocks, and warnings that only need a reason."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lithos.core.markdown import Kind
from lithos.garden.policy import Policy
from lithos.garden.sections import Outline, Section, outline

_ITEM = re.compile(r"^(?:[-+*]|\d{1,9}[.)])[ \t]+\S")


@dataclass(slots=True)
class Report:
    warnings: list[str] = field(default_factory=list)
    blocked_reasons: list[str] = field(default_factory=list)
    caps_exceeded: list[str] = field(default_factory=list)  # the warnings that ask for a rationale

    @property
    def blocked(self) -> bool:
        return bool(self.blocked_reasons)

    def as_dict(self) -> dict[str, Any]:
        return {"warnings": self.warnings, "blocked": self.blocked, "blocked_reasons": self.blocked_reasons}


def lint(text: str, policy: Policy) -> Report:
    """The state of one file, without regard to what it was."""
    report = Report()
    outlined = outline(text)
    for anchor, count in Counter(outlined.anchors).items():
        if count > 1:
            report.warnings.append(f"anchor {anchor!r} stands {count} times")
    for section in outlined.sections:
        _lint_section(outlined, section, policy, report)
    _lint_format(text, report)
    return report


def check_change(
    before: str | None,
    after: str | None,
    policy: Policy,
    identity_before: Mapping[str, Any],
    identity_after: Mapping[str, Any],
) -> Report:
    """Hard blocks of a change, whatever the tool; `identity_*` are the two front matters."""
    if after is None:
        return Report(blocked_reasons=["files of the garden are never deleted"])
    report = lint(after, policy)
    if before is None:
        return report
    lost = Counter(outline(before).anchors) - Counter(outline(after).anchors)
    report.blocked_reasons += [f"anchor {name!r} would be removed or altered" for name in lost]
    for key in sorted(policy.identity_keys):
        if (key in identity_before or key in identity_after) and identity_before.get(key) != identity_after.get(key):
            report.blocked_reasons.append(f"identity key {key!r} would change")
    return report


def items_of(outlined: Outline, section: Section) -> list[str]:
    """The list items of a section's own text, each with its continuation lines."""
    items: list[str] = []
    for index in range(section.body, section.own_end):
        line = outlined.lines[index]
        if outlined.scan.kinds[index] is not Kind.NESTED and line.strip():
            continue
        if _ITEM.match(line):
            items.append(line)
        elif items and line.strip():
            items[-1] += line
    return items


def _lint_section(outlined: Outline, section: Section, policy: Policy, report: Report) -> None:
    canonical = policy.headings.get(section.anchor or "")
    if canonical is not None and canonical != section.heading:
        report.warnings.append(f"heading {section.heading!r} of {section.anchor!r} should be {canonical!r}")
    if section.anchor in policy.evidence.anchors:
        _lint_evidence(items_of(outlined, section), section, policy, report)
        return
    words = len("".join(outlined.lines[section.body : section.own_end]).split())
    if words > policy.narrative.words and section.anchor != policy.change_log.anchor:
        _exceed(report, f"section {section.name!r} has {words} words; {policy.narrative.words} is the cap")


def _lint_evidence(items: list[str], section: Section, policy: Policy, report: Report) -> None:
    if len(items) > policy.evidence.cap:
        _exceed(report, f"section {section.name!r} has {len(items)} items; {policy.evidence.cap} is the cap")
    for number, item in enumerate(items, 1):
        if policy.evidence.token not in item:
            report.warnings.append(f"item {number} of {section.name!r} has no {policy.evidence.token} token")


def _lint_format(text: str, report: Report) -> None:
    if text and not text.endswith("\n"):
        report.warnings.append("the last line has no end")
    trailing = sum(1 for line in text.splitlines() if line != line.rstrip() and not line.endswith("  "))
    if trailing:
        report.warnings.append(f"{trailing} lines end in white space")


def _exceed(report: Report, warning: str) -> None:
    report.warnings.append(warning)
    report.caps_exceeded.append(warning)
