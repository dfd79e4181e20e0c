"""Numbered changes of the shared schema, for SQLite and PostgreSQL alike.

How to add one
--------------
Write `NNNN_name.sql` here, with the number that docs/architecture.md gives your part; `0001_ground.sql` is the model.
It runs once, in one transaction, on both dialects. Use only these words for types, and nothing else that differs:

    {text}     text, sorted by code point on both
    {integer}  64 bits; times are microseconds since 1970 (core.clock.micros), truth values 0 and 1
    {real}     a double
    {bytes}    raw bytes
    {counter}  a column that counts up by itself and is the primary key: `sequence {counter}`
    {strict}   after the closing bracket of every table: SQLite then checks types as PostgreSQL does

JSON is kept as {text} (`orjson.dumps(...).decode()`). `INSERT … ON CONFLICT (…) DO UPDATE SET x = excluded.x`,
`RETURNING`, partial indexes, `LIMIT ? OFFSET ?` mean the same on both; `INSERT OR REPLACE`, `rowid`, `datetime('now')`,
`IFNULL` do not exist on one of them (`COALESCE` does on both). `user` is a reserved word in PostgreSQL: say `user_id`.
What only one dialect needs goes into `NNNN_name.postgres.sql` or `NNNN_name.sqlite.sql`; it runs after the shared part.

A migration that has been released is never edited: write the next one.
"""
