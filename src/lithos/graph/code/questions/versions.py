"""Versions of files: what is there now, who changed it since, and what a change would mean to others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path

from lithos.core.call import Call
from lithos.errors import Forbidden, InvalidInput, NotFound, Unavailable, Unsupported
from lithos.graph.code.code import Code, OpenRoot
from lithos.graph.code.languages import language_of
from lithos.graph.code.questions.files import located, served
from lithos.graph.code.questions.lookup import is_test
from lithos.graph.code.schema import number
from lithos.graph.code.values import Facts
from lithos.graph.git import Git, GitRefused
from lithos.storage import Tx

MOST_COMMITS = 3
_REFUSALS = (NotFound, Forbidden, InvalidInput)


def file_bytes(code: Code, call: Call, path: str) -> tuple[OpenRoot, str, bytes, str]:
    """Root, path within it, bytes and version of a file that is served."""
    root, inside = located(code.visible(call), path)
    data, version, _ = served(root, inside)
    return root, inside, data, version


def version_now(code: Code, call: Call, path: str) -> str | None:
    """None: it is gone, or not served any more."""
    try:
        return file_bytes(code, call, path)[3]
    except _REFUSALS:
        return None


def changed_by(code: Code, call: Call, path: str, since: datetime) -> list[str]:
    """The newest commits of a file after a time: hash, author, subject. Empty where git knows none."""
    try:
        root, inside = located(code.visible(call), path)
        git = Git.find(Path(root.spec.path))
        if git is None:
            return []
        form = "--format=%h %an: %s"
        output = git.run("log", f"--since={since.isoformat()}", f"-n{MOST_COMMITS}", form, "--", inside)
    except (*_REFUSALS, GitRefused, Unavailable, Unsupported):
        return []
    return output.decode("utf-8", "replace").splitlines()


def facts_of(code: Code, path: str, data: bytes) -> Facts | None:
    """The facts of a text that is in no file; None: no grammar reads it."""
    language = language_of(path)
    return code.facts(path, language, data) if language else None


def dependents(root: OpenRoot, path: str, names: Iterable[str]) -> dict[str, int]:
    """For each symbol of a file, by its name within it: how many symbols of other files use it."""
    file = number(path)

    def read(tx: Tx) -> dict[str, int]:
        found: dict[str, int] = {}
        for name in names:
            row = tx.one(_USED, file, name, file)
            if row is not None and row["used"]:
                found[name] = row["used"]
        return found

    return root.store.read(read)


def tests_reaching(code: Code, call: Call, top: Path, paths: Sequence[str]) -> list[str]:
    """Test files that use something of these files, where a root is this folder; nothing where none is."""

    def read(tx: Tx) -> list[str]:
        rows = (row for path in paths for row in tx.all(_USERS, number(path), number(path)))
        return [row["path"] for row in rows if is_test(row["path"])]

    found: dict[str, None] = {}
    for root in code.visible(call):
        if Path(root.spec.path).resolve() == top.resolve():
            found |= dict.fromkeys(root.store.read(read))
    return [*found]


_USERS = """
SELECT DISTINCT f.path FROM nodes n JOIN edges e ON e.target = n.number
JOIN nodes s ON s.number = e.source JOIN files f ON f.number = s.file WHERE n.file = ? AND s.file <> ?
"""
_USED = """
SELECT count(DISTINCT s.number) AS used FROM nodes n JOIN edges e ON e.target = n.number
JOIN nodes s ON s.number = e.source WHERE n.file = ? AND n.local = ? AND s.file <> ?
"""
