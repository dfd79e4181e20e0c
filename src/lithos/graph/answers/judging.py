"""Judging: what is stored about pieces joins them: verdicts, conflicts, and who lost one."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import Any

from lithos.core.call import Call
from lithos.core.clock import from_micros, rfc3339
from lithos.graph.answers.pieces import Piece
from lithos.graph.trust import ConflictRows, Evidence, Firewall, NodeText, Statement, detect_conflicts


class StoredJudge:
    """`sees`: whether a caller may see the node of this id."""

    def __init__(self, firewall: Firewall, conflicts: ConflictRows, sees: Callable[[Call, str], bool]) -> None:
        self._firewall = firewall
        self._conflicts = conflicts
        self._sees = sees

    def judged(self, call: Call, pieces: Sequence[Piece]) -> list[Piece]:
        others = [piece for piece in pieces if piece.domain != "code"]
        rows = self._firewall.checked([_text_of(piece) for piece in others])
        # Code never sinks: a person who resolves against it says that the alarm was false.
        lost = self._conflicts.losers([piece.id for piece in others])
        found = []
        for piece in pieces:
            row = rows.get(piece.id) if piece.domain != "code" else None
            if row is not None:
                until = rfc3339(from_micros(row.was_true_until)) if row.was_true_until else ""
                piece = replace(
                    piece,
                    verified=row.verified,
                    unchecked=row.unchecked,
                    confidence=min(piece.confidence, row.confidence),
                    was_true_until=until,
                    warnings=(*piece.warnings, *(f"⚠️ {each}" for each in row.warnings)),
                )
            found.append(replace(piece, lost=lost.get(piece.id, "")))
        return found

    def conflicts(self, call: Call, pieces: Sequence[Piece]) -> list[dict[str, Any]]:
        """Conflicts among the pieces, and stored ones of each, as far as the caller sees both sides."""
        statements = [
            Statement(piece.id, piece.domain, piece.whole or piece.text, piece.time.timestamp() if piece.time else 0.0)
            for piece in pieces
            if piece.domain != "code"
        ]
        verdicts = self._firewall.verdicts([_text_of(piece) for piece in pieces if piece.domain != "code"])
        found = detect_conflicts(statements, self._firewall.facts(call), verdicts) if statements else []
        if found and not call.reads_only:
            self._conflicts.record(found)
        ids = [piece.id for piece in pieces]
        rows = [row for row in self._conflicts.of_nodes(ids) if not row["resolved"]]
        seen = {id: self._sees(call, id) for row in rows for id in (row["node_a"], row["node_b"])}
        return [dict(row) for row in rows if seen[row["node_a"]] and seen[row["node_b"]]][:10]

    def state(self, ids: Sequence[str]) -> Hashable:
        checks = self._firewall.rows.get(ids)
        rows = [(row.node_id, row.verified, row.confidence, row.was_true_until) for row in checks.values()]
        conflicts = [(row["conflict_id"], row["resolved"], row.get("winner")) for row in self._conflicts.of_nodes(ids)]
        return tuple(sorted(rows)), tuple(sorted(conflicts))


def _text_of(piece: Piece) -> NodeText:
    evidence = Evidence(commit=piece.kind == "commit", source=piece.domain == "academic" and piece.verified)
    text = "" if piece.version else piece.whole or piece.text
    partial = piece.kind == "finding"  # search gives the best passage of it
    return NodeText(piece.id, piece.domain, text, evidence, url=piece.url, version=piece.version, partial=partial)
