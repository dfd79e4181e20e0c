"""The gate of history: every entry is checked before it is appended. Nothing is refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from lithos.core.call import Call
from lithos.errors import LithosError
from lithos.graph.history import Admission, CodeLink, HistoryQuestion, NewEntry, ThoughtEntries
from lithos.graph.trust import Earlier, Evidence, Firewall, claims_in

MOST_EARLIER = 5
Similar = Callable[[str, Sequence[str]], Sequence[float]]
REVIEW = "needs_review"


class FirewallGate:
    """`similar` says how alike a text is to others, 0 to 1."""

    def __init__(self, firewall: Firewall, thoughts: ThoughtEntries, similar: Similar) -> None:
        self._firewall = firewall
        self._thoughts = thoughts
        self._similar = similar

    def admit(self, call: Call, entry: NewEntry, links: tuple[CodeLink, ...]) -> Admission:
        references = (*entry.references, *entry.modified, *entry.created)
        evidence = Evidence(user=call.by_person)
        found = self._firewall.verify(call, entry.text, references, evidence, self._earlier(call, entry))
        if call.by_person or found.doubt < 1.0:
            self._firewall.vouch(entry.text, replace(evidence, doubt=found.doubt))
        # The caller's own number stays as it was given; the verdict's is kept where there is none, and with the check.
        confidence = found.confidence if entry.confidence is None and found.confidence < 1.0 else None
        tags = (REVIEW,) if found.needs_review else ()
        return Admission(tags, confidence, found.shown())

    def _earlier(self, call: Call, entry: NewEntry) -> list[Earlier]:
        """Entries on the same matter, if the new one claims anything."""
        if not claims_in(entry.text):
            return []
        try:
            rows = self._thoughts.find(call, HistoryQuestion(entry.text[:2_000], MOST_EARLIER)).rows
        except LithosError:
            return []  # a search that cannot answer must not keep an entry from being written
        texts = [row["content"] for row in rows]
        return [
            Earlier(row["id"], text, similarity)
            for row, text, similarity in zip(rows, texts, self._similar(entry.text, texts), strict=True)
        ]
