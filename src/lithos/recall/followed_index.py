"""A derived collection that follows the rows of another part: each question first applies what changed since."""

from __future__ import annotations

from lithos.core.part import Part
from lithos.search import Collection, Feed, Finish, Projector, Query


class FollowedIndex(Part):
    """Keeps no position: the first question after a start compares hashes, and finds what a kill lost."""

    def __init__(self, name: str, collection: Collection, feed: Feed) -> None:
        self.collection = collection
        self._name = name
        self._projector = Projector(collection, feed, name, compares=False)

    def begin(self, query: Query) -> Finish:
        """Everything committed before this call is found by the question."""
        self._projector.catch_up()
        return self._projector.begin(query)

    def busy(self) -> bool:
        return self.collection.busy()

    def sizes(self) -> dict[str, int]:
        return {self._name: self.collection.size()}

    def problem(self) -> str | None:
        return self.collection.problem()

    def close(self) -> None:
        self._projector.close()
        self.collection.close()
