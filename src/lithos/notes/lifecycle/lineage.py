"""Lineage: the notes that a note was derived from, and the trust that follows from theirs."""

from __future__ import annotations

from typing import Any

import orjson

from lithos.errors import NotFound
from lithos.notes.answers import Ancestor
from lithos.notes.index import queries
from lithos.notes.lifecycle.decisions import trusted
from lithos.storage import Row, Tx

DEEPEST = 20
MOST = 200


def source_ids(value: Any) -> list[str]:
    """`derived_from` as people write it: one id or a list of them; anything else names none."""
    listed = value if isinstance(value, list) else [value]
    return [each for each in listed if isinstance(each, str) and each]


def ancestors(tx: Tx, row: Row) -> list[Ancestor]:
    """The sources of a note and theirs, nearest first, each once; cycles and unknown ids end a line."""
    found: dict[str, Ancestor] = {}
    level = _named(row)
    for depth in range(1, DEEPEST + 1):
        rows = [each for note_id in level if (each := queries.note_by_id(tx, note_id)) and note_id != row["id"]]
        fresh = [each for each in rows if each["id"] not in found][: MOST - len(found)]
        for each in fresh:
            found[each["id"]] = {
                "id": each["id"],
                "title": each["title"],
                "path": each["path"],
                "confidence": _confidence(each),
                "depth": depth,
            }
        level = list(dict.fromkeys(note_id for each in fresh for note_id in _named(each)))
        if not level:
            break
    return list(found.values())


def trust_of(tx: Tx, note_id: str) -> float:
    """No more than its own confidence, and no more than that of anything it came from."""
    row = queries.note_by_id(tx, note_id)
    if row is None:
        raise NotFound(f"derived_from: there is no note {note_id[:80]!r}", hint="Give ids of notes that exist.")
    return trusted(_confidence(row), (each["confidence"] for each in ancestors(tx, row)))


def _named(row: Row) -> list[str]:
    return source_ids(orjson.loads(row["derived_from"])) if row["derived_from"] else []


def _confidence(row: Row) -> float:
    """The confidence that the note states, within bounds; 1.0 if it states none, as the specification has it."""
    said = row["confidence"]
    return 1.0 if said is None else min(1.0, max(0.0, said))
