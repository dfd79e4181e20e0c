"""The tables of the catalogue. They are derived: another version of them is rebuilt, not migrated."""

from __future__ import annotations

from lithos.core.canonical import sha256_hex
from lithos.notes.fields import COLUMNS
from lithos.storage import Migration

_SQL_TYPES = {"text": "TEXT", "texts": "TEXT", "time": "INTEGER", "number": "REAL"}
_FIELD_COLUMNS = "\n".join(f"    {field.column} {_SQL_TYPES[field.type]}," for field in COLUMNS)
_FIELD_INDEXES = "\n".join(
    f"CREATE INDEX notes_by_{field.column} ON notes ({field.column}) WHERE {field.column} IS NOT NULL;"
    for field in COLUMNS
    if field.indexed
)

_SQL = f"""
CREATE TABLE files (
    path TEXT PRIMARY KEY,
    size INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,
    ctime_ns INTEGER NOT NULL,
    inode INTEGER NOT NULL,
    device INTEGER NOT NULL,
    version TEXT NOT NULL,
    reason TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX files_with_a_reason ON files (path) WHERE reason IS NOT NULL;

CREATE TABLE notes (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    own_id TEXT,
    path TEXT NOT NULL UNIQUE,
    path_key TEXT NOT NULL,
    title TEXT NOT NULL,
    updated INTEGER NOT NULL,
    undated INTEGER NOT NULL,  -- 1: `updated` is the date of the file
    changed INTEGER NOT NULL,  -- when these bytes came to this path, by any hand
    edited INTEGER NOT NULL,  -- 1: that was after the catalogue first saw the note
    arrived INTEGER NOT NULL,  -- 1: the note was new then, and the catalogue had seen all others
    by_us INTEGER NOT NULL,  -- 1: by a call through Lithos
    version TEXT NOT NULL,
    problem TEXT,
    bare INTEGER NOT NULL,  -- 1: no frontmatter
    tags TEXT NOT NULL,
    aliases TEXT NOT NULL,
    called TEXT NOT NULL,  -- what links to it call it; search finds it by that
{_FIELD_COLUMNS}
    effective_status TEXT NOT NULL,  -- the status as filters see it
    ends INTEGER NOT NULL,  -- until when it is current
    minhash BLOB  -- of an active note: finds near-duplicates
) STRICT;
CREATE INDEX notes_by_path_key ON notes (path_key);
CREATE INDEX notes_by_update ON notes (updated DESC, path);
CREATE INDEX notes_by_change ON notes (changed DESC, path);
CREATE INDEX notes_by_own_id ON notes (own_id) WHERE own_id IS NOT NULL;
{_FIELD_INDEXES}
CREATE INDEX notes_that_do_not_count ON notes (number) WHERE effective_status <> 'active' OR ends < 9007199254740991;
CREATE INDEX notes_that_end ON notes (ends) WHERE effective_status = 'active' AND ends < 9007199254740991;

CREATE TABLE tags (
    number INTEGER NOT NULL,
    tag TEXT NOT NULL,
    PRIMARY KEY (number, tag)
) STRICT, WITHOUT ROWID;
CREATE INDEX tags_by_name ON tags (tag, number);

-- Every last name under which a link may reach a note: file name, id, title, aliases.
CREATE TABLE names (
    number INTEGER NOT NULL,
    name TEXT NOT NULL,
    PRIMARY KEY (number, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX names_by_name ON names (name, number);

-- Of the frontmatter, then of the body. `status` is resolved, ambiguous, broken or attachment.
CREATE TABLE links (
    source INTEGER NOT NULL,
    position INTEGER NOT NULL,
    target TEXT NOT NULL,
    markdown INTEGER NOT NULL,
    name TEXT NOT NULL,
    note INTEGER,  -- of a Markdown link: by path or unique file name, never by title
    status TEXT NOT NULL,
    attachment INTEGER NOT NULL,  -- 1: named like a file that is no note; without a note it is not broken
    calls TEXT,  -- the text of the link, where it is another name for its note
    PRIMARY KEY (source, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX links_by_name ON links (name);
CREATE INDEX links_by_note ON links (note, source) WHERE note IS NOT NULL;
CREATE INDEX links_that_call ON links (note, calls) WHERE note IS NOT NULL AND calls IS NOT NULL;

CREATE TABLE marks (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
"""

# Part of the file's name: a program with other tables makes a new file, and removes this one.
FINGERPRINT = sha256_hex(_SQL.encode())[:8]
MIGRATIONS = (Migration(1, "catalogue", _SQL),)
