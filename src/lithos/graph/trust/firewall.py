"""The firewall at work: checks what was written, remembers the verdicts, and checks again when the code changes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from lithos.core.call import Call
from lithos.core.canonical import sha256_hex
from lithos.core.clock import Clock, micros
from lithos.graph.code import Code, GraphFacts
from lithos.graph.trust.check_rows import (
    CheckRow,
    CheckRows,
    ProvenanceRow,
    SourceType,
    check_row,
    words_of,
)
from lithos.graph.trust.claims.extraction import claims_in
from lithos.graph.trust.claims.values import Checked, Verdict
from lithos.graph.trust.claims.verify import Earlier, Evidence, Verification, verify

AT_ONCE = 200
MOST_RECHECKED = 5_000  # after one change of code
MANY_FILES = 100
RULES = "5."  # a new number checks every text again: rows of other rules do not fit the claims read now


@dataclass(frozen=True, slots=True)
class NodeText:
    """A node whose text may hold claims."""

    id: str
    domain: str  # history, academic
    text: str
    evidence: Evidence = field(default_factory=Evidence)
    references: tuple[str, ...] = ()
    url: str = ""
    version: str = ""  # of a note: its text is read only if this version was not checked yet
    partial: bool = False  # `text` is a passage of a text that never changes: its verdict is on the whole

    @property
    def hash(self) -> str:
        return f"{RULES}{self.version or text_hash(self.text)}"[:32]

    def is_checked_by(self, row: CheckRow) -> bool:
        return row.text_hash.startswith(RULES) if self.partial else row.text_hash == self.hash


class Firewall:
    """`texts` gives the texts of nodes by id; those that are gone are left out."""

    def __init__(
        self, code: Code, rows: CheckRows, clock: Clock, texts: Callable[[Sequence[str]], Sequence[NodeText]]
    ) -> None:
        self._code = code
        self.rows = rows
        self._clock = clock
        self._texts = texts
        self._lock = threading.Lock()
        self._changed: set[tuple[str, str]] = set()
        self._many: list[Callable[[], None]] = []
        code.listen(self._on_change)

    def on_many_changes(self, tell: Callable[[], None]) -> None:
        """Call `tell` when more than a hundred files changed at once."""
        self._many.append(tell)

    def facts(self, call: Call) -> GraphFacts:
        return GraphFacts(self._code, self._code.visible(call))

    def verify(
        self, call: Call, text: str, references: Sequence[str], evidence: Evidence, earlier: Sequence[Earlier] = ()
    ) -> Verification:
        """Over the code that the caller sees; for the answer to a write."""
        return verify(text, references, self.facts(call), evidence=evidence, earlier=earlier)

    def vouch(self, text: str, evidence: Evidence) -> None:
        """Remember who wrote this text and what spoke against it, until the node that it becomes is checked."""
        id = vouched_id(text)
        row = CheckRow(id, "history", "", evidence, False, 0, 1.0, True, False, [], [], self._now())
        self.rows.put([row], {}, [])

    def checked(self, nodes: Sequence[NodeText]) -> dict[str, CheckRow]:
        """The verdicts on these texts; those that have none yet, or another text, are checked and stored."""
        found = self.rows.get([node.id for node in nodes])
        missing = [node for node in nodes if node.id not in found or not node.is_checked_by(found[node.id])]
        return {**found, **self._check(self._loaded(missing), found)} if missing else found

    def _loaded(self, nodes: Sequence[NodeText]) -> list[NodeText]:
        """With their whole texts: those of notes and of passages are read now."""
        unread = {node.id: node for node in self._texts([node.id for node in nodes if node.version or node.partial])}
        return [unread.get(node.id, node) for node in nodes]

    def verdicts(self, nodes: Sequence[NodeText]) -> dict[str, list[Checked]]:
        """The stored verdict on every claim of these texts."""
        rows = self.checked(nodes)
        found: dict[str, list[Checked]] = {node.id: [] for node in nodes}
        for node in self._loaded([each for each in nodes if rows[each.id].claims]):
            pairs = zip(claims_in(node.text), rows[node.id].claims, strict=False)
            found[node.id] = [
                Checked(claim, Verdict(row["verdict"]), tuple(row.get("proof", ())), row.get("reason", ""))
                for claim, row in pairs
            ]
        return found

    def _check(self, nodes: Sequence[NodeText], before: dict[str, CheckRow]) -> dict[str, CheckRow]:
        # Stored verdicts are seen by everyone who sees the node: roots of single users do not count.
        facts = GraphFacts(self._code, [root for root in self._code.roots() if not root.spec.users])
        vouched = self.rows.get([vouched_id(node.text) for node in nodes])
        rows: dict[str, CheckRow] = {}
        words: dict[str, set[str]] = {}
        provenance: list[ProvenanceRow] = []
        for node in nodes:
            said = vouched.get(vouched_id(node.text))
            heard = [each.evidence for each in (said, before.get(node.id)) if each is not None]
            evidence = replace(
                node.evidence,
                user=node.evidence.user or any(each.user for each in heard),
                doubt=min([node.evidence.doubt, *(each.doubt for each in heard)]),
            )
            found = verify(node.text, node.references, facts, evidence=evidence)
            row = check_row(node.id, node.domain, node.hash, evidence, found, self._now())
            rows[node.id] = replace(row, was_true_until=_was_true_until(before.get(node.id), row))
            words[node.id] = words_of(found.checked)
            provenance += _provenance(node, found, row)
        self.rows.put(rows.values(), words, provenance)
        self.rows.forget([*vouched])
        return rows

    # Changes of code

    def _on_change(self, root: str, paths: Sequence[str]) -> None:
        with self._lock:
            self._changed.update((root, path) for path in paths)
        if len(paths) > MANY_FILES:
            for tell in self._many:
                tell()

    def recheck(self) -> int:
        """Check again what rests on code that changed since the last call; the number of nodes."""
        with self._lock:
            changed, self._changed = self._changed, set()
        if not changed:
            return 0
        facts = GraphFacts(self._code, self._code.roots())
        words: dict[str, None] = {}
        for root, path in sorted(changed):
            words |= dict.fromkeys((f"{root}:{path}", path.rpartition("/")[2]))
            words |= dict.fromkeys(node.name for node in facts.at(f"{root}:{path}"))
        ids = self.rows.touching(list(words), MOST_RECHECKED)
        for start in range(0, len(ids), AT_ONCE):
            part = ids[start : start + AT_ONCE]
            before = self.rows.get(part)
            texts = self._texts(part)
            self._check(texts, before)
            gone = set(part) - {node.id for node in texts}
            if gone:
                self.rows.forget(sorted(gone))
        return len(ids)

    def _now(self) -> int:
        return micros(self._clock.now())


def text_hash(text: str) -> str:
    return sha256_hex(text.encode())[:32]


def vouched_id(text: str) -> str:
    return f"text:{text_hash(text)}"


def _was_true_until(before: CheckRow | None, now: CheckRow) -> int | None:
    """Set when code stops agreeing, kept while it disagrees, cleared when it agrees again."""
    if before is None or before.text_hash != now.text_hash or not now.contradicted:
        return None
    if before.was_true_until is not None:
        return before.was_true_until
    was_true = not before.contradicted and any(each["verdict"] == "confirmed" for each in before.claims)
    return now.checked_at if was_true else None


def _provenance(node: NodeText, found: Verification, row: CheckRow) -> list[ProvenanceRow]:
    at = row.checked_at if row.verified else None
    proofs = {proof: None for each in found.checked if each.verdict is Verdict.CONFIRMED for proof in each.proof}
    made = [
        ProvenanceRow(node.id, SourceType.CODE, proof, proof.partition("#")[0], "", row.confidence, at)
        for proof in proofs
    ]
    if row.evidence.user:
        made.append(ProvenanceRow(node.id, SourceType.USER, "", "", "", row.confidence, at))
    if row.evidence.commit:
        made.append(ProvenanceRow(node.id, SourceType.HISTORY, node.id, "", "", row.confidence, at))
    if row.evidence.source or node.url:
        made.append(ProvenanceRow(node.id, SourceType.ACADEMIC, node.id, "", node.url, row.confidence, at))
    return made or [ProvenanceRow(node.id, SourceType.INFERENCE, "", "", "", row.confidence, None)]
