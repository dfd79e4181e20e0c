"""Drafts: a change computed and checked without I/O, so that proposals and writes cannot disagree."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from lithos.core.canonical import version_of
from lithos.errors import Damaged, Forbidden
from lithos.garden.edits.edits import Edit, ReplaceSection, edited, logged, target_of
from lithos.garden.edits.hashing import text_hash
from lithos.garden.edits.untouched_check import UntouchedCheck, promise_of
from lithos.garden.rules.lint import Report, check_change
from lithos.garden.rules.policy import Policy
from lithos.garden.sections import outline
from lithos.garden.targets import Target
from lithos.storage import FileChange


@dataclass(frozen=True, slots=True)
class Current:
    """The file as it is now; both None: there is none."""

    text: str | None = None
    version: str | None = None


@dataclass(frozen=True)
class Draft:
    target: Target
    before: Current
    after: str
    report: Report
    op: str
    section: str | None  # anchor or heading path of the one section that changes; None: the file
    before_hash: str | None  # canonical: of the section, or of the file
    after_hash: str
    untouched: UntouchedCheck | None = None  # of the rest of the file, where one section changes

    @property
    def unchanged(self) -> bool:
        return self.after == self.before.text

    @cached_property
    def version(self) -> str:
        return version_of(self.data)

    @cached_property
    def data(self) -> bytes:
        return self.after.encode()

    def change(self) -> FileChange:
        return FileChange(self.target.root, self.target.path, self.before.version, self.data)

    def facts(self) -> dict[str, Any]:
        """For the event: what undo, statements and retries compare with."""
        return {
            "root": self.target.root,
            "path": self.target.path,
            "type": self.target.event_type,
            "before": self.before.version,
            "after": self.version,
            "before_hash": self.before_hash,
            "after_hash": self.after_hash,
        }


def drafted(
    target: Target, before: Current, edit: Edit, policy: Policy, user: str | None, line: str | None = None
) -> Draft:
    """The draft, or a refusal. `line` goes under the Change Log; a change that would change nothing leaves none."""
    after = edited(before.text, edit, policy)
    report = check_change(before.text, after, policy, user)
    wanted = target_of(edit)
    log: str | None = None
    section, at = _section(before.text, wanted, policy)
    if line is not None and not report.blocked and after != before.text:
        log = with_override(line, report)
        after = logged(after, log, policy, target.kind, section)
    return Draft(
        target,
        before,
        after,
        report,
        edit.op,
        section,
        _hash(before.text, at, policy),
        _hash(after, at, policy) or "",
        _promise(before.text, edit, log, policy),
    )


def check_untouched(draft: Draft, found: str) -> None:
    """Damaged, if anything but what was asked for differs from the text before."""
    if draft.untouched is not None and not draft.untouched.kept_by(found):
        raise Damaged(
            f"{draft.target.path!r}: more than the section would have changed; the change was taken back",
            hint="Please report this with the log: it is a bug in Lithos, or a disk that fails.",
        )


def refuse_blocked(draft: Draft) -> None:
    if draft.report.blocked:
        raise Forbidden(
            f"{draft.target.path!r}: {draft.report.blocked_reasons[0]}",
            hint="The garden's policy forbids this for every tool; lithos_lint_check explains.",
            blocked_reasons=draft.report.blocked_reasons,
        )


def with_override(line: str, report: Report) -> str:
    return f"{line} (over the cap: {'; '.join(report.caps_exceeded)})" if report.caps_exceeded else line


def _section(text: str | None, wanted: str | None, policy: Policy) -> tuple[str | None, int | None]:
    """The name of the section for the event, and its number among all: an edit inside it changes lines, not numbers."""
    if wanted is None or text is None:
        return None, None
    outlined = outline(text, policy.anchor_pattern)
    section = outlined.find(wanted)
    return section.anchor or outlined.label(section), outlined.sections.index(section)


def _promise(before: str | None, edit: Edit, log: str | None, policy: Policy) -> UntouchedCheck | None:
    wanted = target_of(edit)
    if before is None or wanted is None:
        return None
    outlined = outline(before, policy.anchor_pattern)
    return promise_of(outlined, outlined.find(wanted), not isinstance(edit, ReplaceSection), f"- {log}")


def _hash(text: str | None, at: int | None, policy: Policy) -> str | None:
    if text is None:
        return None
    outlined = outline(text, policy.anchor_pattern)
    return text_hash(text if at is None else outlined.text_of(outlined.sections[at]))
