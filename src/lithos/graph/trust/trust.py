"""Trust: the part that keeps verdicts, provenance and conflicts, and checks again when code changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lithos.core.call import Call
from lithos.core.clock import from_micros, rfc3339
from lithos.core.part import Part
from lithos.errors import NotFound
from lithos.graph.trust.check_rows import CheckRow, ProvenanceRow, SourceType
from lithos.graph.trust.conflict_detection import ConflictType
from lithos.graph.trust.conflict_finding import ConflictFinder
from lithos.graph.trust.conflict_rows import ConflictRows, ConflictShown
from lithos.graph.trust.firewall import Firewall, NodeText
from lithos.graph.trust.following import WrittenFollower

_NAMES = {
    SourceType.CODE: "code analysis",
    SourceType.HISTORY: "history lookup",
    SourceType.ACADEMIC: "external reference",
    SourceType.INFERENCE: "inference",
    SourceType.USER: "user input",
}


class Trust(Part):
    """`sees`: whether a caller may see a node; `text`: the node of this id, if it has a text."""

    def __init__(
        self,
        firewall: Firewall,
        conflict_rows: ConflictRows,
        written: WrittenFollower,
        finder: ConflictFinder,
        sees: Callable[[Call, str], bool],
        text: Callable[[str], NodeText | None],
        most_checks: int,
    ) -> None:
        self.firewall = firewall
        self.conflict_rows = conflict_rows
        self._written = written
        self._finder = finder
        self.sees = sees
        self._text = text
        self._most_checks = most_checks

    def follow(self) -> None:
        """Check what was written since and find what contradicts it; check again what rests on code that changed."""
        self._finder.find(self._written.follow())
        self.firewall.recheck()

    def marks(self, ids: Sequence[str]) -> dict[str, str]:
        """Id → the warning for readers of a node: the code contradicts it, or no longer agrees."""
        found = {}
        for id, row in self.firewall.rows.get(ids).items():
            if row.was_true_until is not None:
                found[id] = f"⚠️ was true until {rfc3339(from_micros(row.was_true_until))}"
            elif row.needs_review:
                found[id] = "⚠️ UNVERIFIED: " + "; ".join(row.warnings)[:400]
        return found

    def prune(self) -> None:
        self.firewall.rows.prune(self._most_checks)
        self.conflict_rows.prune()

    def forget(self, node_id: str) -> None:
        self.firewall.rows.forget([node_id])

    def conflicts(
        self, call: Call, subject: str | None, kind: ConflictType | None, resolved: bool, limit: int
    ) -> list[ConflictShown]:
        return self.conflict_rows.find(subject, kind, resolved, lambda id: self.sees(call, id), limit)

    def resolve(self, call: Call, conflict_id: str, resolution: str, winner: str) -> dict[str, Any]:
        return self.conflict_rows.resolve(call, conflict_id, resolution, winner, lambda id: self.sees(call, id))

    def provenance(self, call: Call, id: str) -> dict[str, Any]:
        """Where a node comes from. Code is its own source; a text's rows follow from its check."""
        given = id.strip()
        if not self.sees(call, given):
            raise NotFound(f"there is no node {given[:120]!r}", hint="Give an id from an answer's sources.")
        node = self._text(given)
        if node is None:
            path = given.partition("#")[0]
            return {"id": given, "sources": [_shown(ProvenanceRow(given, SourceType.CODE, given, path))]}
        row = self.firewall.checked([node])[given]
        sources = [_shown(each) for each in self.firewall.rows.provenance(given)]
        return {"id": given, "sources": sources, "verification": verification_shown(row)}


def verification_shown(row: CheckRow) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "verified": row.verified,
        "verification_type": row.verification_type,
        "confidence": round(row.confidence, 4),
        "checked_at": rfc3339(from_micros(row.checked_at)),
    }
    if row.unchecked:
        shown["unchecked"] = True
    if row.needs_review:
        shown["needs_review"] = True
    if row.claims:
        shown["claims"] = row.claims
    if row.warnings:
        shown["warnings"] = row.warnings
    if row.was_true_until is not None:
        shown["was_true_until"] = rfc3339(from_micros(row.was_true_until))
    return shown


def _shown(row: ProvenanceRow) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "source_type": int(row.source_type),
        "source": _NAMES[row.source_type],
        "confidence": round(row.confidence, 4),
    }
    for name, value in (("node_id", row.source_node_id), ("path", row.source_path), ("url", row.source_url)):
        if value:
            shown[name] = value
    if row.verified_at is not None:
        shown["verified_at"] = rfc3339(from_micros(row.verified_at))
    return shown
