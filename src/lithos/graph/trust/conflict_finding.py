"""Finds conflicts of texts as they are projected: each new one beside those that claim something of the same names."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lithos.graph.code import Code, GraphFacts
from lithos.graph.trust.check_rows import claimed_names
from lithos.graph.trust.conflict_detection import Statement, detect_conflicts
from lithos.graph.trust.conflict_rows import ConflictRows
from lithos.graph.trust.firewall import Firewall, NodeText

MOST_BESIDE = 50  # texts on the same names that a new one is held against


class ConflictFinder:
    """`texts`: of nodes by id; `written`: when a node was written, in seconds."""

    def __init__(
        self,
        code: Code,
        firewall: Firewall,
        rows: ConflictRows,
        texts: Callable[[Sequence[str]], Sequence[NodeText]],
        written: Callable[[str], float],
    ) -> None:
        self._code = code
        self._firewall = firewall
        self._rows = rows
        self._texts = texts
        self._written = written

    def find(self, ids: Sequence[str]) -> None:
        """Record what contradicts these texts: code, and each other text that claims something of the same names."""
        facts = GraphFacts(self._code, [root for root in self._code.roots() if not root.spec.users])
        for node in self._texts(ids):
            names = claimed_names(node.text)
            beside = [each for each in self._firewall.rows.touching(names, MOST_BESIDE) if each != node.id]
            nodes = [node, *self._texts(beside)]
            verdicts = self._firewall.verdicts(nodes)
            said = [Statement(each.id, each.domain, each.text, self._written(each.id)) for each in nodes]
            found = [each for each in detect_conflicts(said, facts, verdicts) if node.id in (each.a, each.b)]
            if found:
                self._rows.record(found)
