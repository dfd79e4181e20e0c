"""The schema of a collection: its filter fields and the size of its passages."""

from __future__ import annotations

from dataclasses import dataclass

from lithos.search.collection.passages import PassageLimits


@dataclass(frozen=True)
class CollectionSchema:
    """The fields and limits of a collection. A change of any of it rebuilds the indexes."""

    name: str
    keywords: frozenset[str]
    numbers: tuple[str, ...]
    limits: PassageLimits
    parted: bool = False  # the text index in parts, so that erasing a document does not rewrite all of it
    uncut: bool = False  # each document is one passage and no Markdown; the model reads its beginning

    def layout(self, model: str) -> str:
        limits, uncut = self.limits, "|uncut2" if self.uncut else ""
        return f"11|{model}|{limits.target}|{limits.most}|{limits.tokens}|{','.join(sorted(self.numbers))}{uncut}"
