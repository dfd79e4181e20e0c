"""Queries of the catalogue, each a function of one snapshot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import orjson

from lithos.notes.answers import LinkedNote
from lithos.notes.fields import ENDED, SOURCE_KINDS
from lithos.storage import Row, Tx, copied_from

Direction = Literal["outgoing", "incoming", "both"]
# Beyond any path: the end of a range of paths that share a prefix.
_LAST = "\U0010ffff"
_LARGEST = 2**53
_COUNTS = f"coalesce(status, 'active') NOT IN ({', '.join(map(repr, ENDED))})"


@dataclass(frozen=True, slots=True)
class NoteFilter:
    path_prefix: str | None = None
    tags: tuple[str, ...] = ()
    author: str | None = None
    since: int | None = None  # microseconds since 1970
    effective_status: str | None = None
    current_at: int | None = None  # only notes that had not ended by then

    def where(self) -> tuple[str, list[Any]]:
        clauses, values = ["1 = 1"], list[Any]()
        if self.path_prefix:
            clauses.append("path >= ? AND path < ?")
            values += [self.path_prefix, self.path_prefix + _LAST]
        for tag in self.tags:
            clauses.append("number IN (SELECT number FROM tags WHERE tag = ?)")
            values.append(tag)
        if self.author is not None:
            clauses.append("author = ?")
            values.append(self.author)
        if self.since is not None:
            clauses.append("(updated >= ? OR (changed >= ? AND (edited OR arrived)))")
            values += [self.since, self.since]
        if self.effective_status is not None:
            clauses.append("effective_status = ?")
            values.append(self.effective_status)
        if self.current_at is not None:
            clauses.append("ends > ?")
            values.append(self.current_at)
        return " AND ".join(clauses), values


def as_json(tx: Tx, columns: str, rest: str, *values: Any) -> list[list[Any]]:
    """Many rows as one value: one Row per row costs ten times as much."""
    row = tx.one(f"SELECT json_group_array(json_array({columns})) AS rows FROM {rest}", *values)
    rows: list[list[Any]] = orjson.loads(row["rows"]) if row else []
    return rows


def files(tx: Tx, beneath: str | None = None) -> list[list[Any]]:
    """All files, or one and those in the folder of that name."""
    columns = "path, size, mtime_ns, ctime_ns, inode, device, version, reason"
    if not beneath:
        return as_json(tx, columns, "files")
    where = "files WHERE path = ? OR (path >= ? AND path < ?)"
    return as_json(tx, columns, where, beneath, f"{beneath}/", f"{beneath}/{_LAST}")


def mark(tx: Tx, name: str) -> str | None:
    row = tx.one("SELECT value FROM marks WHERE name = ?", name)
    return row["value"] if row else None


def note_by_id(tx: Tx, note_id: str) -> Row | None:
    return tx.one("SELECT * FROM notes WHERE id = ?", note_id)


def sources(tx: Tx, column: str | None = None, value: str = "") -> list[Row]:
    """Notes of outside sources, newest first; with a column (`url`, `library`, `content_hash`, `id`) those that have
    this value in it."""
    chosen = f"AND {column} = ?" if column else ""
    values = [value] if column else []
    kinds = ", ".join(f"'{kind}'" for kind in SOURCE_KINDS)
    return tx.all(f"{_SOURCES} WHERE kind IN ({kinds}) {chosen} ORDER BY updated DESC, path", *values)


_SOURCES = (
    "SELECT id, path, title, version, kind, url, source, authors, published, venue, library, modules, content_hash, "
    "etag, tags, superseded_by, supersedes, effective_status, updated FROM notes"
)


def by_part_of_id(tx: Tx, part: str, limit: int) -> list[Row]:
    """Notes whose id begins or ends so; the part has only signs of an id in it."""
    return tx.all(
        "SELECT id, title, path FROM notes WHERE id LIKE ? OR id LIKE ? ORDER BY path LIMIT ?",
        *(f"{part}%", f"%{part}", limit),
    )


def newest(tx: Tx, limit: int) -> list[Row]:
    return tx.all("SELECT id, title, path FROM notes ORDER BY changed DESC LIMIT ?", limit)


def note_by_path(tx: Tx, path: str) -> Row | None:
    return tx.one("SELECT * FROM notes WHERE path = ?", path)


def notes_from(tx: Tx, source: str, limit: int) -> list[Row]:
    """The notes whose `source` is this task, the oldest first."""
    return tx.all("SELECT id, title, path FROM notes WHERE source = ? ORDER BY created, path LIMIT ?", source, limit)


def all_count(tx: Tx) -> bool:
    """Whether every note is active and never ends: then no question needs a filter for it."""
    sql = "SELECT 1 AS found FROM notes WHERE effective_status <> 'active' OR ends < 9007199254740991 LIMIT 1"
    return tx.one(sql) is None


def some_have_ended(tx: Tx, at: int) -> bool:
    """Whether a note that still calls itself active has passed its end: else the status alone is filter enough."""
    where = "effective_status = 'active' AND ends < 9007199254740991 AND ends <= ?"
    return tx.one(f"SELECT 1 AS found FROM notes WHERE {where} LIMIT 1", at) is not None


def procedures_from(tx: Tx, provenance: str) -> list[Row]:
    """The notes among the procedures that name this provenance."""
    bounds = ("procedural/", "procedural0")  # "0" comes after "/"
    sql = "SELECT id, path FROM notes WHERE path_key >= ? AND path_key < ? AND provenance = ? ORDER BY path"
    return tx.all(sql, *bounds, provenance)


def active_holders(tx: Tx, merge_key: str) -> list[Row]:
    """The active notes with this key, the oldest first: one, unless a person made a second by hand."""
    sql = f"SELECT id, path FROM notes WHERE merge_key = ? AND {_COUNTS} ORDER BY created, path"
    return tx.all(sql, merge_key)


def all_holders(tx: Tx) -> list[Row]:
    """The active notes with a key, by key, the oldest first."""
    sql = (
        f"SELECT merge_key, path FROM notes WHERE merge_key IS NOT NULL AND {_COUNTS} ORDER BY merge_key, created, path"
    )
    return tx.all(sql)


def expired(tx: Tx, at: int) -> list[Row]:
    """Decapod's rule of decay: active, of a policy that ends, and its time has come."""
    return tx.all(
        "SELECT id, path FROM notes WHERE expires <= ?"
        " AND coalesce(nullif(ttl_policy, ''), 'decay') IN ('decay', 'ephemeral')"
        f" AND {_COUNTS} ORDER BY expires, path",
        at,
    )


def notes_by_key(tx: Tx, key: str) -> list[Row]:
    """The notes whose paths differ from this one at most in case or Unicode form."""
    return tx.all("SELECT * FROM notes WHERE path_key = ? ORDER BY path", key)


def first_beneath(tx: Tx, folder_key: str) -> Row | None:
    """Any note in a folder whose name has this key."""
    where = "path_key >= ? AND path_key < ? ORDER BY path_key LIMIT 1"
    return tx.one(f"SELECT path FROM notes WHERE {where}", f"{folder_key}/", f"{folder_key}/{_LAST}")


def owners(tx: Tx, ids: Sequence[str]) -> dict[str, str]:
    """id → path of the notes that are served under one of these ids."""
    rows = tx.all("SELECT id, path FROM notes WHERE id IN (SELECT value FROM json_each(?))", _listed(ids))
    return {row["id"]: row["path"] for row in rows}


def ids_at(tx: Tx, paths: Sequence[str]) -> dict[str, str]:
    """path → id of the notes that are served from these paths."""
    rows = as_json(tx, "path, id", "notes WHERE path IN (SELECT value FROM json_each(?))", _listed(paths))
    return dict(rows)


def without_own_id(tx: Tx, paths: Sequence[str]) -> list[list[Any]]:
    """[path, id, version] of those of these notes whose files name no id."""
    where = "notes WHERE own_id IS NULL AND path IN (SELECT value FROM json_each(?)) ORDER BY path"
    return as_json(tx, "path, id, version", f"(SELECT path, id, version FROM {where})", _listed(paths))


def list_notes(
    tx: Tx, wanted: NoteFilter, limit: int, offset: int, after: tuple[int, str] | None = None
) -> tuple[list[Row], int]:
    """(a page, how many there are in all); the newest first, by path where times are equal. `after`: behind the note
    of this time and path."""
    where, values = wanted.where()
    total = tx.one(f"SELECT count(*) AS total FROM notes WHERE {where}", *values)
    if after is not None:
        where, values = f"{where} AND (updated < ? OR (updated = ? AND path > ?))", [*values, after[0], *after]
    columns = "id, title, path, updated, tags, author, version"
    rows = tx.all(
        f"SELECT {columns} FROM notes WHERE {where} ORDER BY updated DESC, path LIMIT ? OFFSET ?",
        *values,
        limit,
        offset,
    )
    return rows, total["total"] if total else 0


def graph(tx: Tx, wanted: NoteFilter, limit: int) -> tuple[list[list[Any]], list[list[Any]], int]:
    """(number, id, title, path, tags) of the newest notes, their links as pairs of numbers, and how many notes there
    are in all."""
    where, values = wanted.where()
    total = tx.one(f"SELECT count(*) AS total FROM notes WHERE {where}", *values)
    chosen = f"(SELECT * FROM notes WHERE {where} ORDER BY updated DESC, path LIMIT ?)"
    notes = as_json(tx, "number, id, title, path, tags", chosen, *values, limit)
    links = as_json(tx, "source, note", "(SELECT DISTINCT source, note FROM links WHERE note IS NOT NULL)")
    return notes, links, total["total"] if total else 0


def changed_since(tx: Tx, since: int, path_prefix: str, most: int = -1) -> list[Row]:
    """The notes whose files changed at or after this moment, the newest change first; `most` of them, -1: all."""
    within = " AND notes.path >= ? AND notes.path < ?" if path_prefix else ""
    return tx.all(
        "SELECT id, notes.path, title, notes.version, changed, edited, by_us, mtime_ns FROM notes"
        " CROSS JOIN files ON files.path = notes.path"  # notes first: the newest come from an index, without a sort
        f" WHERE changed >= ?{within} ORDER BY changed DESC, notes.path LIMIT ?",
        *(since, *([path_prefix, path_prefix + _LAST] if path_prefix else []), most),
    )


def tag_counts(tx: Tx, prefix: str, limit: int, after: Sequence[Any] | None = None) -> list[tuple[str, int]]:
    """The most used first; `after`: behind the tag of this count and name."""
    place = (after[0], *after) if after else (_LARGEST, _LARGEST, "")
    rows = tx.all(
        "SELECT tag, count(*) AS notes FROM tags WHERE tag >= ? AND tag < ? GROUP BY tag"
        " HAVING notes < ? OR (notes = ? AND tag > ?) ORDER BY notes DESC, tag LIMIT ?",
        *(prefix, prefix + _LAST, *place, limit),
    )
    return [(row["tag"], row["notes"]) for row in rows]


_REACH = """(
    WITH RECURSIVE reach (number, depth) AS (
        SELECT ?, 0
        UNION
        SELECT {to}, depth + 1 FROM reach JOIN links ON {start} = number WHERE depth < ? AND links.note IS NOT NULL
    )
    SELECT number, depth FROM reach
)"""
_OUTGOING = _REACH.format(to="links.note", start="links.source")
_INCOMING = _REACH.format(to="links.source", start="links.note")


class Reached(NamedTuple):
    step: int
    path: str
    id: str
    title: str

    @property
    def place(self) -> tuple[int, str]:
        return self.step, self.path

    def shown(self) -> LinkedNote:
        return {"id": self.id, "title": self.title, "path": self.path}


def reach(tx: Tx, number: int, direction: Literal["outgoing", "incoming"], depth: int) -> list[Reached]:
    """The notes that can be reached in so many steps, nearest first, each once."""
    sql = _OUTGOING if direction == "outgoing" else _INCOMING
    steps: dict[int, int] = {}
    for reached, step in as_json(tx, "number, depth", sql, number, depth):
        steps[reached] = min(step, steps.get(reached, step))
    del steps[number]
    where = "notes WHERE number IN (SELECT value FROM json_each(?))"
    rows = as_json(tx, "number, id, title, path", where, _listed(list(steps)))
    return sorted(Reached(steps[reached], path, note_id, title) for reached, note_id, title, path in rows)


def links_of(tx: Tx, number: int) -> list[Row]:
    """The links of a note in the order of its text, with the note that each leads to."""
    return tx.all(
        "SELECT links.target, links.name, links.status, notes.id, notes.path, notes.title FROM links"
        " LEFT JOIN notes ON notes.number = links.note WHERE links.source = ? ORDER BY position",
        number,
    )


def conflict_copies(tx: Tx, paths: Sequence[str]) -> list[str]:
    """The conflict copies beside these notes."""
    sql = "SELECT path FROM files WHERE path >= ? AND path < ? AND reason IS NOT NULL ORDER BY path"
    wanted = [(path, path[:-3]) for path in paths]
    found = ((path, row["path"]) for path, start in wanted for row in tx.all(sql, start, start + _LAST))
    return [copy for path, copy in found if copied_from(copy) == path]


def links_to_resolve(tx: Tx, names: Sequence[str], sources: Sequence[int]) -> list[list[Any]]:
    """[source, position, target, markdown, name, note, status, path of the source, attachment, calls], each once."""
    columns = "links.source, position, target, markdown, name, note, links.status, notes.path, attachment, calls"
    joined = "links CROSS JOIN notes ON notes.number = links.source WHERE"
    found = as_json(tx, columns, f"{joined} name IN (SELECT value FROM json_each(?))", _listed(names))
    known = set(names)
    own = as_json(tx, columns, f"{joined} links.source IN (SELECT value FROM json_each(?))", _listed(sources))
    return found + [link for link in own if link[4] not in known]


def named(tx: Tx, names: Sequence[str]) -> list[list[Any]]:
    """The notes that links with these last names could mean, as the fields of `resolving.Named`."""
    return as_json(
        tx,
        "number, id, path, title, json(aliases)",
        "notes WHERE number IN (SELECT number FROM names WHERE name IN (SELECT value FROM json_each(?)))",
        _listed(names),
    )


def sources_of(tx: Tx, number: int) -> list[Row]:
    """The notes that link to this one."""
    return tx.all(
        "SELECT DISTINCT notes.id, notes.path FROM links JOIN notes ON notes.number = links.source WHERE note = ?"
        " ORDER BY notes.path",
        number,
    )


def counts(tx: Tx) -> dict[str, int]:
    row = tx.one(
        "SELECT (SELECT count(*) FROM notes) AS notes, (SELECT count(DISTINCT tag) FROM tags) AS tags,"
        " (SELECT count(*) FROM files WHERE reason IS NOT NULL) AS unreadable"
    )
    return dict(row) if row else {}


def versions(tx: Tx) -> dict[str, tuple[str, str, int, str]]:
    """id → (path, version, updated, called) of every note."""
    rows = as_json(tx, "id, path, version, updated, called", "notes")
    return {note_id: (path, version, updated, called) for note_id, path, version, updated, called in rows}


def minhashes(tx: Tx) -> dict[str, bytes]:
    rows = as_json(tx, "id, hex(minhash)", "notes WHERE minhash IS NOT NULL")
    return {note_id: bytes.fromhex(minhash) for note_id, minhash in rows}


def unresolved(tx: Tx) -> list[Row]:
    return tx.all(
        "SELECT notes.path, position, links.target, links.status, links.markdown, links.name FROM links"
        " JOIN notes ON notes.number = links.source WHERE links.note IS NULL AND links.status <> 'attachment'"
        " ORDER BY notes.path, position"
    )


def links_by_other_names(tx: Tx) -> list[Row]:
    """Resolved wiki-links whose name is not that of the file they lead to: by id, alias or title."""
    return tx.all(
        "SELECT source.path, position, links.target, note.id, note.path AS leads_to, note.title FROM links"
        " JOIN notes AS source ON source.number = links.source JOIN notes AS note ON note.number = links.note"
        " WHERE NOT links.markdown AND note.path_key <> links.name"
        " AND substr(note.path_key, -length(links.name) - 1) <> '/' || links.name ORDER BY source.path, position"
    )


def _listed(values: Sequence[Any]) -> str:
    return orjson.dumps(list(values)).decode()
