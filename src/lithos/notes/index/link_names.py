"""The names that links give a note (`[[note|what others call it]]`), kept in `notes.called` for search."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence

import orjson

from lithos.storage import Tx

MOST_CALLED = 32  # of a hub with thousands of links the most frequent names
NOT_CALLED = "[]"
_AMONG = "IN (SELECT value FROM json_each(?))"


def called_by(tx: Tx, sources: Sequence[int]) -> set[int]:
    """The notes that links of these notes give a name."""
    sql = f"SELECT DISTINCT note FROM links WHERE calls IS NOT NULL AND note IS NOT NULL AND source {_AMONG}"
    return {row["note"] for row in tx.all(sql, _listed(sources))}


def all_called(tx: Tx) -> list[int]:
    """Every note that a link gives a name, or gave one when it was last looked at."""
    rows = tx.all(
        "SELECT note AS number FROM links WHERE calls IS NOT NULL AND note IS NOT NULL"
        " UNION SELECT number FROM notes WHERE called <> ? ORDER BY number",
        NOT_CALLED,
    )
    return [row["number"] for row in rows]


def refresh_called(tx: Tx, numbers: Collection[int]) -> dict[str, str]:
    """Bring `called` of these notes to what the links say now; returns path → called of those that changed."""
    if not numbers:
        return {}
    listed = _listed(sorted(numbers))
    given: dict[int, list[tuple[int, str]]] = defaultdict(list)
    for row in tx.all(
        "SELECT note, calls, count(*) AS times FROM links WHERE calls IS NOT NULL AND source <> note"
        f" AND note {_AMONG} GROUP BY note, calls",
        listed,
    ):
        given[row["note"]].append((-row["times"], row["calls"]))
    changed = []
    for row in tx.all(f"SELECT number, path, called FROM notes WHERE number {_AMONG}", listed):
        called = orjson.dumps([calls for _, calls in sorted(given[row["number"]])[:MOST_CALLED]]).decode()
        if called != row["called"]:
            changed.append((called, row["number"], row["path"]))
    tx.many("UPDATE notes SET called = ? WHERE number = ?", [(called, number) for called, number, _ in changed])
    return {path: called for called, _, path in changed}


def _listed(numbers: Sequence[int]) -> str:
    return orjson.dumps(list(numbers)).decode()
