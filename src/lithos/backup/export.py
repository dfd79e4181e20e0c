"""Export: a folder that people and programs can read without Lithos, and the way back.

knowledge/ garden/       Markdown, as it is
tables/NAME.jsonl        every row of the shared state: tasks, claims, findings, events, agents …
state/                   ledger, history, checkpoints, store-id: files as they are; keys only on request
manifest.json            SHA-256 and size of every file
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lithos import __version__
from lithos.backup.archive import FORMAT, MANIFEST, Manifest, OnFile
from lithos.backup.make import DATABASE, STATE, MemoryPlaces, copied_ledger, everything, evidence, snapshot_database
from lithos.errors import Conflict, Damaged, NotFound, Unsupported
from lithos.storage import coordination_migrations, dialect_at, open_database

TABLES, STATE_FOLDER = "tables", "state"
_NOT_ROWS = ("migrations", "sqlite_sequence")
_BYTES = "base64:"


def export_memory(places: MemoryPlaces, target: Path, *, keys: bool = False, on_file: OnFile | None = None) -> Manifest:
    """Write the folder; it appears under its name when it is complete."""
    if not (places.state / "store-id").exists():
        raise NotFound(f"there is no memory in {places.data_dir}", hint="Check --data-dir.")
    if target.exists():
        raise Conflict(f"{target} exists", hint="Choose another name; an export is never overwritten.")
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}."))
    try:
        files = _write(places, unfinished, keys, on_file or (lambda name, size: None))
        manifest: Manifest = {
            "format": FORMAT,
            "lithos": __version__,
            "created_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "store_id": (places.state / "store-id").read_text().strip(),
            "with_keys": keys,
            "database": "sqlite" if places.database.startswith("sqlite:") else "postgres",
            "vault": "outside" if places.has_own_vault else "inside",
            "files": files,
        }
        (unfinished / MANIFEST).write_text(json.dumps(manifest, indent=1), encoding="utf-8")
        unfinished.rename(target)
        return manifest
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _write(places: MemoryPlaces, folder: Path, keys: bool, on_file: OnFile) -> dict[str, list[Any]]:
    files: dict[str, list[Any]] = {}

    def take(name: str, path: Path) -> None:
        shown = name.replace(f"{STATE}/", f"{STATE_FOLDER}/", 1) if name.startswith(f"{STATE}/") else name
        copy = folder / shown
        copy.parent.mkdir(parents=True, exist_ok=True)
        try:
            shutil.copy2(path, copy, follow_symlinks=False)
        except FileNotFoundError:  # moved meanwhile: its new name is found by the next look
            return
        files[shown] = _summed(copy)
        on_file(shown, files[shown][1])

    with tempfile.TemporaryDirectory(dir=folder) as staging:
        for name, path in evidence(places, keys):
            take(name, path)
        snapshot_database(places.database, Path(staging) / "coordination.db")
        for table in _dumped(Path(staging) / "coordination.db", folder / TABLES):
            files[f"{TABLES}/{table}.jsonl"] = _summed(folder / TABLES / f"{table}.jsonl")
        for name, path in copied_ledger(places.state / "ledger", Path(staging) / "ledger"):
            take(name, path)
    for _ in range(20):
        known = {name.replace(f"{STATE_FOLDER}/", f"{STATE}/", 1) for name in files} | set(files)
        new = [(name, path) for name, path in everything(places) if name not in known]
        for name, path in new:
            take(name, path)
        if not new:
            break
    return files


def _dumped(database: Path, folder: Path) -> Iterator[str]:
    folder.mkdir(parents=True)
    session = dialect_at(f"sqlite:{database}").connect(write=False)
    try:
        found = session.tx.all("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
        for table in [row["name"] for row in found if row["name"] not in _NOT_ROWS]:
            with open(folder / f"{table}.jsonl", "w", encoding="utf-8") as file:
                for row in session.tx.all(f"SELECT * FROM {table}"):
                    file.write(
                        json.dumps({name: _json(value) for name, value in row.items()}, ensure_ascii=False) + "\n"
                    )
            yield table
    finally:
        session.close()


def _json(value: Any) -> Any:
    if isinstance(value, bytes):
        return _BYTES + base64.b64encode(value).decode()
    return f"text:{value}" if isinstance(value, str) and value.startswith((_BYTES, "text:")) else value


def _plain(value: Any) -> Any:
    if isinstance(value, str) and value.startswith(_BYTES):
        return base64.b64decode(value.removeprefix(_BYTES))
    return value.removeprefix("text:") if isinstance(value, str) else value


def _summed(path: Path) -> list[Any]:
    with open(path, "rb") as file:
        return [hashlib.file_digest(file, "sha256").hexdigest(), os.fstat(file.fileno()).st_size]


def read_export(source: Path, staged: Path) -> Manifest:
    """Verify an export and make a data directory of it."""
    try:
        manifest: Manifest = json.loads((source / MANIFEST).read_text(encoding="utf-8"))
        files, made_with = manifest["files"], int(manifest["format"])
    except (OSError, ValueError, KeyError, TypeError):
        raise NotFound(f"{source} is no export of Lithos: it has no {MANIFEST}", hint="Check the path.") from None
    if made_with > FORMAT:
        raise Unsupported(f"{source} was made by a newer Lithos ({manifest.get('lithos')})", hint="Upgrade this one.")
    for name, summed in files.items():
        path = source / name
        if ".." in Path(name).parts or Path(name).is_absolute() or path.is_symlink() or not path.is_file():
            raise Damaged(f"{source}: {name} is missing or no file", hint="Use another export; nothing was written.")
        if _summed(path) != summed:
            raise Damaged(f"{source}: {name} is not what was exported", hint="Use another export; nothing was written.")
        if name.startswith(f"{TABLES}/"):
            continue
        inner = name.replace(f"{STATE_FOLDER}/", f"{STATE}/", 1) if name.startswith(f"{STATE_FOLDER}/") else name
        (staged / inner).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, staged / inner)
        if inner.startswith(STATE):
            (staged / inner).chmod(0o600)
    (staged / STATE).mkdir(exist_ok=True)
    (staged / STATE).chmod(0o700)
    _load_tables(source / TABLES, staged / DATABASE)
    return manifest


def _load_tables(folder: Path, database: Path) -> None:
    opened = open_database(database, coordination_migrations())
    try:
        known = {row["name"] for row in opened.read(lambda tx: tx.all("SELECT name FROM sqlite_schema"))}
        tables = sorted(path.stem for path in folder.glob("*.jsonl"))
        unknown = [table for table in tables if table not in known]
        if unknown:
            raise Unsupported(f"the export has a table {unknown[0]!r}", hint="It was made by a newer Lithos: upgrade.")
        opened.write(lambda tx: _fill_all(tx, folder, tables))
    finally:
        opened.close()


def _fill_all(tx: Any, folder: Path, tables: list[str]) -> None:
    """In one transaction: rows refer to rows of tables that are filled later."""
    tx.run("PRAGMA defer_foreign_keys = ON")
    for table in tables:
        with open(folder / f"{table}.jsonl", encoding="utf-8") as file:
            _fill(tx, table, [json.loads(line) for line in file])


def _fill(tx: Any, table: str, rows: list[dict[str, Any]]) -> None:
    tx.run(f"DELETE FROM {table}")
    if rows:
        columns = list(rows[0])
        marks = ", ".join("?" * len(columns))
        values = [[_plain(row[column]) for column in columns] for row in rows]
        tx.many(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", values)
