"""Selection: the tests that a change touches, by name, by a coverage map, by the code graph."""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from lithos.workshop.discovery import language_of

MOST_TESTS = 300
MOST_ROWS = 1_000_000  # of a coverage map
LONGEST_READ_S = 5.0
LONGEST_VALUE = 1_000_000
Reached = Callable[[Sequence[str]], Iterable[str]]  # touched files → test files that reach them, of the code graph
_SCRIPT_TEST = re.compile(r"\.(?:test|spec)\.[cm]?[jt]sx?$|(?:^|/)__tests__/.*\.[cm]?[jt]sx?$")
_PYTHON_TEST = re.compile(r"(?:^|/)(?:test_[^/]+|[^/]+_test)\.py$")
_CONTEXT_FILE = re.compile(r"^(?P<file>[^:|]+\.py)::")


def is_test_file(path: str) -> bool:
    if path.endswith(".py"):
        return bool(_PYTHON_TEST.search(path))
    if path.endswith(".go"):
        return path.endswith("_test.go")
    if path.endswith(".rs"):
        return path.startswith("tests/") or "/tests/" in path
    return bool(_SCRIPT_TEST.search(path))


def module_name(path: str) -> str:
    """The name that a file and its tests share: `test_board.py`, `board_test.go`, `board.spec.ts` → board."""
    name = path.rpartition("/")[2]
    name = re.sub(r"\.(?:test|spec)(?=\.)", "", name).partition(".")[0]
    name = name.removeprefix("test_").removesuffix("_test")
    if name in ("__init__", "index", "mod", "lib", "main"):  # the folder names the module
        name = path.rpartition("/")[0].rpartition("/")[2] or name
    return name.casefold()


def select_tests(
    files: Sequence[str], everything: Iterable[str], root: Path, maps: Sequence[Path], reached: Reached
) -> dict[str, list[str]]:
    """Test files → why each is chosen."""
    tests = [path for path in everything if is_test_file(path)]
    known = set(tests)
    found: dict[str, list[str]] = {path: ["touched"] for path in files if path in known}
    sources = [path for path in files if path not in known]
    names = {(module_name(path), _family(path)) for path in sources}
    for path in tests:
        if any((name, _family(path)) in names for name in (module_name(path), *_test_folders(path))):
            found.setdefault(path, []).append("same name")
    packages = {path.rpartition("/")[0] for path in sources if path.endswith(".go")}
    for path in tests:
        if path.endswith(".go") and path.rpartition("/")[0] in packages:
            found.setdefault(path, []).append("same package")
    for map_path in maps:
        for path in covering(map_path, root, sources):
            if path in known:
                found.setdefault(path, []).append("coverage")
    for path in reached(sources):
        if path in known:
            found.setdefault(path, []).append("code graph")
    return dict(sorted(found.items(), key=lambda pair: (pair[1][0] != "touched", pair[0]))[:MOST_TESTS])


def _test_folders(path: str) -> list[str]:
    """Modules whose tests fill a folder: `tests/test_utils/test_echo.py` → utils."""
    parts = path.casefold().split("/")[:-1]
    return [each.removeprefix("test_") for each in parts if each.startswith("test_")]


def _family(path: str) -> str:
    language = language_of(path)
    return "script" if language in ("javascript", "typescript", "vue", "svelte") else language


def covering(database: Path, root: Path, files: Sequence[str]) -> set[str]:
    """Test files whose recorded contexts ran lines of these files: a `.coverage` with dynamic contexts."""
    if not files or not database.is_file() or database.is_symlink():
        return set()
    try:
        connection = sqlite3.connect(f"{database.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
    except sqlite3.Error:
        return set()
    try:
        _bound(connection)
        rows = connection.execute(_COVERED).fetchmany(MOST_ROWS)
    except sqlite3.Error:  # not a coverage file, or of a version without these tables: it says nothing
        return set()
    finally:
        connection.close()
    wanted = tuple(f"/{path}" for path in files)
    contexts = {context for path, context in rows if f"/{path}".endswith(wanted)}
    return {found for context in contexts if (found := _file_of_context(context, root))}


def _bound(connection: sqlite3.Connection) -> None:
    """A run may have written the file: a view in it could compute without end."""
    end = time.monotonic() + LONGEST_READ_S
    connection.set_progress_handler(lambda: time.monotonic() > end, 10_000)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_VALUE)
    connection.execute("PRAGMA trusted_schema = OFF")


_COVERED = """
SELECT DISTINCT f.path, c.context FROM line_bits b JOIN file f ON f.id = b.file_id
JOIN context c ON c.id = b.context_id WHERE c.context <> ''
UNION SELECT DISTINCT f.path, c.context FROM arc a JOIN file f ON f.id = a.file_id
JOIN context c ON c.id = a.context_id WHERE c.context <> ''
"""


def _file_of_context(context: str, root: Path) -> str:
    """`tests/test_a.py::test_x|run` of pytest-cov, or the dotted name of coverage's own `test_function`."""
    named = _CONTEXT_FILE.match(context)
    if named is not None:
        return named["file"]
    parts = context.split(".")
    for count in range(len(parts) - 1, 0, -1):
        path = "/".join(parts[:count]) + ".py"
        if (root / path).is_file():
            return path
    return ""
