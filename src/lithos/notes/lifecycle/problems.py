"""The lifecycle problems that `validate` lists: what people typed that no tool would write."""

from __future__ import annotations

from collections.abc import Iterator

from lithos.core.secrets import find as find_secrets
from lithos.core.text import with_article
from lithos.notes.answers import Problem
from lithos.notes.fields import FIELDS, problem_of
from lithos.notes.format.note import Note
from lithos.notes.index import queries
from lithos.notes.lifecycle.decisions import successor
from lithos.notes.lifecycle.effective_status import UNAPPROVED
from lithos.notes.lifecycle.lineage import trust_of
from lithos.storage import Tx

KINDS = {
    "bad_life_fields": "Lifecycle fields that cannot be read",
    "shared_merge_keys": "Several active notes with one merge_key",
    "lost_successors": "Superseded notes without a living successor",
    "unapproved_procedures": "Notes under procedural/ without a promotion",
    "too_trusted": "Notes with more confidence than their sources have",
    "secrets": "Notes that hold what looks like a credential",
}

Problems = Iterator[tuple[str, Problem]]


def lifecycle_problems(tx: Tx) -> Problems:
    yield from _shared_keys(tx)
    yield from _lost_successors(tx)
    for row in tx.all("SELECT path FROM notes WHERE effective_status = ? ORDER BY path", UNAPPROVED):
        yield "unapproved_procedures", {"path": row["path"], "what": "not served as a procedure: no promotion"}
    yield from _too_trusted(tx)


def text_problems(note: Note) -> Problems:
    """Problems of the file itself: credentials, and fields that no tool would have written."""
    for each in find_secrets(note.document.text):
        yield "secrets", {"path": note.path, "what": f"what looks like {with_article(each.kind)}", "line": each.line}
    for field in FIELDS:
        if what := problem_of(field, note.text(field.name)):
            yield "bad_life_fields", {"path": note.path, "what": what}


def _shared_keys(tx: Tx) -> Problems:
    first: dict[str, str] = {}
    for row in queries.all_holders(tx):
        holder = first.setdefault(row["merge_key"], row["path"])
        if holder != row["path"]:
            what = f"merge_key {row['merge_key'][:80]!r} belongs to {holder}, which writes go to"
            yield "shared_merge_keys", {"path": row["path"], "what": what}


def _lost_successors(tx: Tx) -> Problems:
    rows = tx.all("SELECT id, path, status, superseded_by FROM notes WHERE status = 'superseded' ORDER BY path")
    known = {row["id"] for row in tx.all("SELECT id FROM notes")} if rows else set()
    after = {row["id"]: row["superseded_by"] for row in rows}
    for row in rows:
        end = successor(row["id"], lambda each: after.get(each))
        if end is None:
            what = "is superseded in a circle" if row["superseded_by"] else "names no successor"
            yield "lost_successors", {"path": row["path"], "what": what}
        elif end not in known:
            yield "lost_successors", {"path": row["path"], "what": f"its successor {end[:80]} does not exist"}


def _too_trusted(tx: Tx) -> Problems:
    for row in tx.all("SELECT id, path, confidence FROM notes WHERE derived_from IS NOT NULL ORDER BY path"):
        own = 1.0 if row["confidence"] is None else row["confidence"]
        most = trust_of(tx, row["id"])
        if most < own:
            what = f"confidence {own} is more than the {most} of its least trusted source"
            yield "too_trusted", {"path": row["path"], "what": what}
