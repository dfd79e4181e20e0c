"""Finding thoughts by text: the `thoughts` collection, fed behind each append, or a plain look where there is none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lithos.ledger.answers import Thoughts, as_thought
from lithos.ledger.format import Entry
from lithos.ledger.query import Filter, matches, says

if TYPE_CHECKING:
    from lithos.ledger.chain import Chain


class ThoughtSearch:
    def __init__(self, collection: None) -> None:
        self._collection = collection

    def take(self, chain: Chain) -> None:
        """A chain was opened: bring the collection up to what it holds."""

    def note(self, chain: Chain, entry: Entry) -> None:
        """A thought was appended."""

    def purge(self, chain: Chain, index: int) -> None:
        """A thought was forgotten: no byte of it may stay in an index."""

    def find(self, chain: Chain, chosen: Filter, limit: int) -> Thoughts:
        found = []
        for index in matches(chain, chosen)[::-1]:
            entry = chain.entry(int(index))
            if says(entry, chosen.words):
                found.append(as_thought(entry))
                if len(found) == limit:
                    break
        return {"thoughts": found, "chain_key": chain.key, "total": len(found)}
