"""Limits of a collection, by number."""

from __future__ import annotations

import pytest

from lithos.search import Document
from lithos.search.collection.unindexed import UnindexedChange


@pytest.mark.parametrize(("characters", "is_large"), [(200_000, False), (200_001, True)])
def test_no_query_waits_for_a_document_of_more_than_200000_characters(characters: int, is_large: bool) -> None:
    change = UnindexedChange(1, Document(id="a", title="", text="x" * characters, hash="h"), lambda document: ())
    assert change.large is is_large
