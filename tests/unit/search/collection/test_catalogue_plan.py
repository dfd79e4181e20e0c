"""A commit must not read every document of the catalogue."""

from __future__ import annotations

from pathlib import Path

import apsw

from lithos.search.collection import catalogue as module
from lithos.search.collection.catalogue import Catalogue


def test_finishing_a_batch_uses_the_index_of_documents_in_motion(tmp_path: Path) -> None:
    Catalogue(tmp_path / "catalogue.db", "layout").close()
    connection = apsw.Connection(str(tmp_path / "catalogue.db"))
    for statement in (
        f"UPDATE documents SET state = 0 WHERE state = 1 {module._MOVING}",
        f"DELETE FROM documents WHERE state = 2 {module._MOVING}",
        f"DELETE FROM texts WHERE ordinal IN (SELECT ordinal FROM documents WHERE state = 2 {module._MOVING})",
    ):
        plan = " ".join(row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}"))
        assert "documents_in_motion" in plan
        assert "SCAN" not in plan
