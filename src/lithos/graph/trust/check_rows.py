"""Rows of trust: verdicts, provenance and conflicts, in the database that hosts share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import orjson

from lithos.graph.trust.claims.extraction import claims_in
from lithos.graph.trust.claims.values import Checked, ClaimKind, Verdict
from lithos.graph.trust.claims.verify import Evidence, Verification, shown_claim
from lithos.storage import Database, Row, Tx

_AT_ONCE = 500
DOMAINS = {"code": 0, "history": 1, "academic": 2}


class SourceType(IntEnum):
    """Numbers of the Sylk specification."""

    CODE = 0
    HISTORY = 1
    ACADEMIC = 2
    INFERENCE = 3
    USER = 4


@dataclass(frozen=True, slots=True)
class CheckRow:
    node_id: str
    domain: str
    text_hash: str
    evidence: Evidence
    verified: bool
    verification_type: int
    confidence: float
    unchecked: bool
    needs_review: bool
    claims: list[dict[str, Any]]
    warnings: list[str]
    checked_at: int
    was_true_until: int | None = None

    @property
    def contradicted(self) -> bool:
        return any(each["verdict"] == "contradicted" for each in self.claims)


@dataclass(frozen=True, slots=True)
class ProvenanceRow:
    node_id: str
    source_type: SourceType
    source_node_id: str = ""
    source_path: str = ""
    source_url: str = ""
    confidence: float = 1.0
    verified_at: int | None = None


def words_of(checked: Sequence[Checked]) -> set[str]:
    """Names and paths whose change may change a verdict."""
    found: set[str] = set()
    for each in checked:
        claim = each.claim
        for mention in (claim.subject, claim.of):
            if mention is not None and mention.name:
                found.add(mention.name.rpartition(".")[2].rpartition("/")[2][:200])
                if mention.is_path:
                    found.add(mention.text.partition(":")[0].rpartition("/")[2][:200])
        if claim.kind is ClaimKind.USES and claim.detail:
            found.add(f"for {claim.detail}"[:200])  # what else is used for it contradicts this
        found |= {proof.partition("#")[0][:500] for proof in each.proof}
    return found


def claimed_names(text: str) -> list[str]:
    """The words under which the claims of a text are stored."""
    return sorted(words_of([Checked(claim, Verdict.UNKNOWN) for claim in claims_in(text)]))


class CheckRows:
    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, ids: Sequence[str]) -> dict[str, CheckRow]:
        found: dict[str, CheckRow] = {}
        for start in range(0, len(ids), _AT_ONCE):
            part = list(ids[start : start + _AT_ONCE])
            sql = f"SELECT * FROM graph_checks WHERE node_id IN ({', '.join('?' * len(part))})"
            rows = self._database.read(lambda tx, sql=sql, part=part: tx.all(sql, *part))  # type: ignore[misc]
            found.update((row["node_id"], _check_row(row)) for row in rows)
        return found

    def put(self, rows: Iterable[CheckRow], words: dict[str, set[str]], provenance: Sequence[ProvenanceRow]) -> None:
        batch = list(rows)

        def work(tx: Tx) -> None:
            tx.lock("graph_checks")
            ids = [(row.node_id,) for row in batch]
            for table in ("graph_checks", "graph_check_words", "graph_provenance"):
                tx.many(f"DELETE FROM {table} WHERE node_id = ?", ids)
            tx.many(f"INSERT INTO graph_checks VALUES ({', '.join('?' * 13)})", [_values(row) for row in batch])
            pairs = [(node, word) for node, found in words.items() for word in sorted(found)]
            tx.many("INSERT INTO graph_check_words VALUES (?, ?)", pairs)
            sources = [
                (
                    *(each.node_id, int(each.source_type), each.source_node_id, each.source_path),
                    *(each.source_url, each.confidence, each.verified_at),
                )
                for each in provenance
            ]
            tx.many("INSERT INTO graph_provenance VALUES (?, ?, ?, ?, ?, ?, ?)", sources)

        if batch:
            self._database.write(work)

    def touching(self, words: Sequence[str], limit: int) -> list[str]:
        """Nodes whose verdicts rest on one of these names or paths."""
        found: dict[str, None] = {}
        for start in range(0, len(words), _AT_ONCE):
            part = list(words[start : start + _AT_ONCE])
            sql = f"SELECT DISTINCT node_id FROM graph_check_words WHERE word IN ({', '.join('?' * len(part))}) LIMIT ?"
            rows = self._database.read(lambda tx, sql=sql, part=part: tx.all(sql, *part, limit))  # type: ignore[misc]
            found.update((row["node_id"], None) for row in rows)
        return list(found)[:limit]

    def provenance(self, node_id: str) -> list[ProvenanceRow]:
        sql = "SELECT * FROM graph_provenance WHERE node_id = ? ORDER BY confidence DESC, source_type, source_node_id"
        rows = self._database.read(lambda tx: tx.all(sql, node_id))
        return [ProvenanceRow(**{**row, "source_type": SourceType(row["source_type"])}) for row in rows]

    def forget(self, node_ids: Sequence[str]) -> None:
        """Nothing of these nodes stays: their sentences are in the claims."""

        def work(tx: Tx) -> None:
            ids = [(each,) for each in node_ids]
            for table in ("graph_checks", "graph_check_words", "graph_provenance"):
                tx.many(f"DELETE FROM {table} WHERE node_id = ?", ids)
            tx.many("DELETE FROM graph_conflicts WHERE node_a = ?", ids)
            tx.many("DELETE FROM graph_conflicts WHERE node_b = ?", ids)

        self._database.write(work)

    def prune(self, most: int) -> int:
        """Drop the oldest verdicts above `most`; a question about such a node checks it again."""

        def work(tx: Tx) -> int:
            sql = "SELECT node_id FROM graph_checks ORDER BY checked_at DESC, node_id LIMIT 1000 OFFSET ?"
            ids = [(row["node_id"],) for row in tx.all(sql, most)]
            for table in ("graph_checks", "graph_check_words", "graph_provenance"):
                tx.many(f"DELETE FROM {table} WHERE node_id = ?", ids)
            return len(ids)

        return self._database.write(work)


def _values(row: CheckRow) -> tuple[Any, ...]:
    bits = row.evidence.user | row.evidence.commit << 1 | row.evidence.source << 2
    bits |= round((1 - row.evidence.doubt) * 1_000) << 3
    return (
        *(row.node_id, DOMAINS[row.domain], row.text_hash, bits, int(row.verified), row.verification_type),
        *(row.confidence, int(row.unchecked), int(row.needs_review), orjson.dumps(row.claims).decode()),
        *(orjson.dumps(row.warnings).decode(), row.checked_at, row.was_true_until),
    )


def _check_row(row: Row) -> CheckRow:
    bits = row["evidence"]
    return CheckRow(
        row["node_id"],
        next(name for name, number in DOMAINS.items() if number == row["domain"]),
        row["text_hash"],
        Evidence(bool(bits & 1), bool(bits & 2), bool(bits & 4), 1 - (bits >> 3) / 1_000),
        bool(row["verified"]),
        row["verification_type"],
        row["confidence"],
        bool(row["unchecked"]),
        bool(row["needs_review"]),
        orjson.loads(row["claims"]),
        orjson.loads(row["warnings"]),
        row["checked_at"],
        row["was_true_until"],
    )


def check_row(node_id: str, domain: str, text_hash: str, evidence: Evidence, found: Verification, now: int) -> CheckRow:
    claims = [shown_claim(each) for each in found.checked]
    return CheckRow(
        *(node_id, domain, text_hash, evidence, found.verified, int(found.type), found.confidence),
        *(found.unchecked, found.needs_review, claims, list(found.warnings), now),
    )
