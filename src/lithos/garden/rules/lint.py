"""Lint of a file or of a change to it: hard blocks, and warnings that need a reason."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from lithos.core.markdown import Kind
from lithos.garden.lists import item_ranges
from lithos.garden.rules.policy import Policy, Severity
from lithos.garden.sections import Outline, Section, outline
from lithos.notes import Frontmatter, parse_frontmatter

_ASCII_SPACES = (" ", "\n", "\t", "\r", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x1f")
CAPS = ("evidence_cap", "section_length")
_ABSENT = object()


@dataclass(frozen=True, slots=True)
class Diagnostic:
    rule: str
    severity: Severity
    message: str

    def as_dict(self) -> dict[str, str]:
        return {"rule": self.rule, "severity": self.severity, "message": self.message}


@dataclass(slots=True)
class Report:
    policy: Policy
    diagnostics: list[Diagnostic] = field(default_factory=list)

    def add(self, rule: str, message: str, severity: Severity | None = None) -> None:
        known = severity or self.policy.severity.of(rule)
        if known != "off":
            self.diagnostics.append(Diagnostic(rule, known, message))

    @property
    def warnings(self) -> list[str]:
        return [each.message for each in self.diagnostics if each.severity == "warn"]

    @property
    def blocked_reasons(self) -> list[str]:
        return [each.message for each in self.diagnostics if each.severity == "block"]

    @property
    def blocked(self) -> bool:
        return bool(self.blocked_reasons)

    @property
    def caps_exceeded(self) -> list[str]:
        """The warnings that ask for a rationale."""
        return [each.message for each in self.diagnostics if each.rule in CAPS and each.severity == "warn"]

    def as_dict(self) -> dict[str, Any]:
        return {"warnings": self.warnings, "blocked": self.blocked, "blocked_reasons": self.blocked_reasons}


def lint(text: str, policy: Policy) -> Report:
    """The state of one file, without regard to what it was."""
    report = Report(policy)
    outlined = outline(text, policy.anchor_pattern)
    for anchor, count in Counter(outlined.anchors).items():
        if count > 1:
            report.add("duplicate_anchor", f"anchor {anchor!r} occurs {count} times", "warn")
    for section in outlined.sections:
        _lint_section(outlined, section, report)
    _lint_format(outlined, report)
    return report


def check_change(before: str | None, after: str | None, policy: Policy, user_id: str | None = None) -> Report:
    """Hard blocks of a change by any tool, and the lint of its result."""
    if after is None:
        report = Report(policy)
        report.add("delete", "files of the garden are never deleted")
        return report
    old = outline(before or "", policy.anchor_pattern)
    new = outline(after, policy.anchor_pattern, near=old)
    report = lint(after, policy)
    _check_anchors(old, new, report)
    _check_headings(old, new, report)
    if before is not None:
        _check_identity(front_matter(old), front_matter(new), report)
    elif user_id is not None:
        _check_owner(parse_frontmatter(front_matter(new)), user_id, report)
    return report


def items_of(outlined: Outline, section: Section) -> list[str]:
    """The list items of a section's own text, each with its continuation lines."""
    ranges = item_ranges(outlined.scan, section.body, section.own_end)
    return ["".join(outlined.lines[first:after]) for first, after in ranges]


def front_matter(outlined: Outline) -> str | None:
    end = outlined.scan.front
    return "".join(outlined.lines[1 : end - 1]) if end else None


def _check_anchors(old: Outline, new: Outline, report: Report) -> None:
    lost = Counter(old.anchors) - Counter(new.anchors)
    lost |= _attached(old) - _attached(new)
    for name in lost:
        report.add("anchor", f"anchor {name!r} would be removed or altered")
    for name in Counter(new.anchors) - Counter(old.anchors):
        if new.anchors.count(name) > 1:
            report.add("duplicate_anchor", f"anchor {name!r} would stand twice")


def _attached(outlined: Outline) -> Counter[str]:
    """An anchor that no longer follows its heading is as good as gone."""
    return Counter(section.anchor for section in outlined.sections if section.anchor is not None)


def _check_headings(old: Outline, new: Outline, report: Report) -> None:
    was, now = (Counter(section.name for section in each.sections) for each in (old, new))
    for name in now - was:
        if now[name] > 1:
            report.add("duplicate_heading", f"the heading {name!r} would stand {now[name]} times")


def _check_identity(before: str | None, after: str | None, report: Report) -> None:
    if before == after:
        return
    old, new = parse_frontmatter(before), parse_frontmatter(after)
    if old.problem or new.problem:
        report.add(
            "identity", f"the frontmatter cannot be read, so it must stay as it is: {old.problem or new.problem}"
        )
        return
    for key in sorted(report.policy.identity_keys):
        if old.fields.get(key, _ABSENT) != new.fields.get(key, _ABSENT):
            report.add("identity", f"identity key {key!r} would change")


def _check_owner(front: Frontmatter, user_id: str, report: Report) -> None:
    owner = front.fields.get("user_id")
    if owner is not None and owner != user_id:
        report.add("identity", f"the frontmatter names user {str(owner)[:80]!r}, the path {user_id!r}")


def _lint_section(outlined: Outline, section: Section, report: Report) -> None:
    policy = report.policy
    canonical = policy.headings.get(section.anchor or "")
    if canonical is not None and canonical != section.heading:
        report.add("heading", f"heading {section.heading!r} of {section.anchor!r} should be {canonical!r}")
    if section.anchor in policy.evidence.anchors:
        _lint_evidence(items_of(outlined, section), section, report)
        return
    cap = policy.narrative.words
    words = _words("".join(outlined.lines[section.body : section.own_end]), cap)
    if words > cap and section.anchor != policy.change_log.anchor:
        report.add("section_length", f"section {section.name!r} has {words} words; {cap} is the cap")


def _words(text: str, cap: int) -> int:
    """How many; 0 where the spaces alone show that they are not more than the cap, at a twentieth of the cost."""
    if text.isascii() and sum(map(text.count, _ASCII_SPACES)) < cap:
        return 0
    return len(text.split())


def _lint_evidence(items: list[str], section: Section, report: Report) -> None:
    evidence = report.policy.evidence
    if len(items) > evidence.cap:
        report.add("evidence_cap", f"section {section.name!r} has {len(items)} items; {evidence.cap} is the cap")
    for number, item in enumerate(items, 1):
        if evidence.token not in item:
            report.add("evidence_token", f"item {number} of {section.name!r} has no {evidence.token} token")


def _lint_format(outlined: Outline, report: Report) -> None:
    lines = outlined.lines
    if lines and not lines[-1].endswith(("\n", "\r")):
        report.add("whitespace", "the last line has no end")
    if sum(map(len, map(str.rstrip, lines))) + len(lines) == len(outlined.text):
        return  # every line loses its newline and nothing else: seen in a tenth of the time
    trailing = sum(map(drifts, lines, outlined.scan.kinds))
    if trailing:
        report.add("whitespace", f"{trailing} lines end in white space")


def drifts(line: str, kind: Kind) -> bool:
    """Whether a line ends in white space that means nothing: it does in code, and two spaces are a line break."""
    bare = line.rstrip("\r\n")
    if kind in (Kind.CODE, Kind.FRONT, Kind.HTML) or bare == bare.rstrip():
        return False
    return not (bare.endswith("  ") and bare.strip())
