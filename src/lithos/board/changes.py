"""The board's changes: one journal entry each. The number of a `claimed` entry is the fencing token of its claim."""

from __future__ import annotations

from typing import Literal

from lithos.board.answers import Changes, ChangeShown
from lithos.core.clock import rfc3339
from lithos.storage import Journal, JournalEntry, JournalHead, JournalPage, NewEntry, Tx

ChangeKind = Literal["created", "updated", "completed", "cancelled", "reopened", "claimed", "released", "finding"]

JOURNAL = Journal("board")


def record(tx: Tx, head: JournalHead, kind: ChangeKind, task_id: str, agent: str, *, aspect: str | None = None) -> int:
    """Append one change, of which a transaction makes one; its number."""
    details = {"aspect": aspect} if aspect is not None else {}
    return JOURNAL.append(tx, head, NewEntry(kind, task_id, agent, details))


def shown(page: JournalPage, most: int | None = None) -> Changes:
    """At most the first ones; the cursor goes on after the last that is shown."""
    entries = page.entries[:most]
    cursor = page.cursor if len(entries) == len(page.entries) else entries[-1].seq
    return {"changes": [_shown(entry) for entry in entries], "cursor": cursor}


def _shown(entry: JournalEntry) -> ChangeShown:
    return {
        "seq": entry.seq,
        "kind": entry.kind,
        "task_id": entry.subject,
        "aspect": entry.details.get("aspect"),
        "agent": entry.agent,
        "at": rfc3339(entry.at),
    }
