"""The tables of one root's graph. They are derived: another version of them is built again from the files."""

from __future__ import annotations

import hashlib

from lithos.core.canonical import sha256_hex
from lithos.storage import Migration

# Part of the name of the file: facts that other code extracted are never mixed with ours.
EXTRACTION = "4"
RESOLUTION = "2"  # how edges are made of facts: another one makes them again, without parsing

_SQL = """
CREATE TABLE files (
    number INTEGER PRIMARY KEY,
    path TEXT NOT NULL UNIQUE,
    language TEXT NOT NULL,
    version TEXT NOT NULL,
    size INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,
    ctime_ns INTEGER NOT NULL,
    inode INTEGER NOT NULL,
    lines INTEGER NOT NULL,
    reason TEXT NOT NULL,  -- why it is left out; empty for what is served
    parsed INTEGER NOT NULL,  -- 0: no grammar; 1: yes; 2: its grammar failed
    parse_errors INTEGER NOT NULL,
    stale INTEGER NOT NULL,  -- 1: its edges must be resolved again
    asked BLOB  -- hashes of the keys that resolving it looked up, 8 bytes each
) STRICT;
CREATE INDEX files_stale ON files (path) WHERE stale = 1;
CREATE INDEX files_left_out ON files (reason) WHERE reason <> '';

CREATE TABLE facts (file INTEGER PRIMARY KEY, facts BLOB NOT NULL) STRICT;

CREATE TABLE nodes (
    number INTEGER PRIMARY KEY,
    file INTEGER NOT NULL,
    place INTEGER NOT NULL,  -- order within the file
    local TEXT NOT NULL,
    name TEXT NOT NULL,
    type INTEGER NOT NULL,
    line INTEGER NOT NULL,
    end_line INTEGER NOT NULL,
    start_byte INTEGER NOT NULL,
    end_byte INTEGER NOT NULL,
    signature TEXT NOT NULL,
    doc TEXT NOT NULL,
    card INTEGER NOT NULL  -- hash of what search knows of it; 0: nothing
) STRICT;

CREATE TABLE edges (
    source INTEGER NOT NULL,
    type INTEGER NOT NULL,
    target INTEGER NOT NULL,
    how INTEGER NOT NULL,
    confidence REAL NOT NULL,
    line INTEGER NOT NULL,
    PRIMARY KEY (source, type, target)
) STRICT, WITHOUT ROWID;

CREATE TABLE published (
    key INTEGER NOT NULL,
    file INTEGER NOT NULL,
    value BLOB NOT NULL,
    PRIMARY KEY (key, file)
) STRICT, WITHOUT ROWID;

CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
"""
# A first build makes them after its rows: one sort instead of a search of the tree for each row.
INDEXES = {
    "nodes_by_file": "nodes (file, place)",
    "nodes_by_name": "nodes (name, type)",
    "edges_backwards": "edges (target, type, source, how)",
    "published_by_file": "published (file)",
}
FINGERPRINT = sha256_hex((EXTRACTION + _SQL + str(INDEXES)).encode())[:12]
MIGRATIONS = (Migration(1, "code", _SQL),)


def number(text: str) -> int:
    """A stable 63-bit number for an id or a key: the same after every rebuild. Two of a million collide with 1e-7."""
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogateescape"), digest_size=8).digest(), "big") >> 1
