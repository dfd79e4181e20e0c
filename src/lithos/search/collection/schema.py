"""The schema of a collection: its filter fields and the size of its passages."""

from __future__ import annotations

from dataclasses import dataclass

from lithos.search.collection.chunking import PassageLimits


@dataclass(frozen=True)
class CollectionSchema:
    """The fields and limits of a collection. A change of any of it rebuilds the indexes."""

    name: str
    keywords: frozenset[str]
    numbers: tuple[str, ...]
    limits: PassageLimits
    parted: bool = False  # the text index in parts, so that erasing a document does not rewrite all of it

    def layout(self, model: str) -> str:
        limits = self.limits
        return f"8|{model}|{limits.target}|{limits.most}|{limits.tokens}|{','.join(sorted(self.numbers))}"
