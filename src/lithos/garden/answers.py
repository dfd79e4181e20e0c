"""The answers of the garden's tools."""

from __future__ import annotations

from typing import NotRequired

from typing_extensions import TypedDict


class Paths(TypedDict):
    paths: list[str]
    truncated: NotRequired[bool]
    next_cursor: NotRequired[str]


class Slice(TypedDict):
    start_line: int
    end_line: int
    content: str


class Reading(TypedDict):
    path: str
    version: str
    lines: int
    content: NotRequired[str]
    slices: NotRequired[list[Slice]]


class Match(TypedDict):
    path: str
    line: int
    match: str
    before: NotRequired[list[str]]
    after: NotRequired[list[str]]


class Matches(TypedDict):
    matches: list[Match]
    truncated: NotRequired[bool]
    next_cursor: NotRequired[str]


class Hashes(TypedDict):
    hash: str
    version: str


class SectionShown(TypedDict):
    anchor: str | None
    heading: str
    level: int
    path: str
    start_line: int
    end_line: int


class Sections(TypedDict):
    sections: list[SectionShown]
    version: str


class Made(TypedDict):
    path: str


class Changed(TypedDict):
    """Common to every change; the fields of the specification come on top."""

    path: str
    version: str
    unchanged: NotRequired[bool]
    warnings: NotRequired[list[str]]


class Written(Changed):
    new_hash: str


class Appended(Changed):
    new_size: int


class Patched(Changed):
    before_hash: str
    after_hash: str


class Snapshot(TypedDict):
    history_path: str
    version: str


class Finding(TypedDict):
    rule: str
    severity: str
    message: str


class Lint(TypedDict):
    warnings: list[str]
    blocked: bool
    blocked_reasons: list[str]
    diagnostics: NotRequired[list[Finding]]
    version: NotRequired[str]
    fixed: NotRequired[bool]


class Logged(TypedDict):
    event_id: str
    completes: str | None


class Proposal(TypedDict):
    proposal_id: str | None
    diff: str
    safety_report: str
    requires_approval: bool
    warnings: list[str]
    blocked: bool
    blocked_reasons: list[str]


class OpenProposal(TypedDict):
    """A proposal that waits; `stale` names its files that have changed since."""

    proposal_id: str
    at: str
    agent: str | None
    user: str | None
    paths: list[str]
    diff: str
    stale: list[str]


class OpenProposals(TypedDict):
    proposals: list[OpenProposal]
    next_cursor: NotRequired[str]


class ProposalRefused(TypedDict):
    proposal_id: str
    refused: bool


class AppliedFile(TypedDict):
    path: str
    before_hash: str | None
    after_hash: str
    version: str


class ProposalApplied(TypedDict):
    proposal_id: str
    files: list[AppliedFile]
    warnings: list[str]


class Undone(TypedDict):
    event_id: str
    files: list[str]


class Moved(TypedDict):
    ok: bool
    path: str


class Chapter(TypedDict):
    """One change in a file's story."""

    event_id: str
    at: str
    agent: str | None
    user: str | None
    type: str
    op: str
    status: str
    section_anchor: str | None
    rationale: str | None
    before_version: str | None
    after_version: str | None
    diff: str | None


class PathHistory(TypedDict):
    path: str
    version: str | None
    changes: list[Chapter]
    next_cursor: NotRequired[str]


class Explanation(TypedDict):
    """The effect of an operation on a path, and the rules that decide it."""

    path: str
    op: str
    allowed: bool
    kind: str | None
    reasons: list[str]
