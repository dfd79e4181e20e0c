"""The shape of the code: who imports whom, how long things are, what the command line costs before it does anything."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lithos.app import open_lithos
from lithos.settings import LithosConfig, StorageSettings
from tests.support.sources import FILES, SOURCE, TESTS, nodes_of, text_of

# Packages behind one door. The others (core, tools, host, cli) have no common door on purpose: importing one module
# of theirs must not import the rest, or the guest and `--help` would pay for it.
FACADES = (
    "agents",
    "backup",
    "board",
    "chronicle",
    "garden",
    "habits",
    "importing",
    "ledger",
    "messages",
    "notes",
    "recall",
    "search",
    "serving",
    "sessions",
    "skills",
    "storage",
)

LONGEST_FILE = 600
LONGEST_FUNCTION = 60
LARGEST_FOLDER = 20
# One file per noun, named as the verb that a person types.
FLAT = ("cli",)

ENGINES = ("numpy", "tantivy", "onnxruntime", "tokenizers", "cryptography", "psycopg", "rich", "httpx2")
HEAVY = ("pydantic", "mcp", "mcp_types", "yaml", "rich", "numpy", "tantivy", "onnxruntime", "apsw", "cryptography")


def _package(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def _imports(path: Path) -> Iterator[tuple[int, str]]:
    for node in nodes_of(path):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.lineno, node.module
        elif isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)


def _functions(path: Path) -> Iterator[tuple[str, int]]:
    for node in nodes_of(path):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{path.relative_to(SOURCE)}:{node.lineno} {node.name}", (node.end_lineno or 0) - node.lineno + 1


def _imported_modules(path: Path, names: set[str]) -> Iterator[str]:
    """Also inside functions; not under TYPE_CHECKING, where nothing is imported at run time."""
    pending: list[ast.AST] = [nodes_of(path)[0]]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            within = {f"{node.module}.{alias.name}" for alias in node.names}
            yield from (within & names) or ({node.module} & names)
        elif isinstance(node, ast.Import):
            yield from {alias.name for alias in node.names} & names
        pending += ast.iter_child_nodes(node)


def _cycles(graph: dict[str, set[str]]) -> list[set[str]]:
    """The groups of modules that import each other in a circle."""
    reach = {module: _reachable(graph, module) for module in graph}
    circles = {frozenset(other for other in reach[module] if module in reach[other]) for module in graph}
    return [set(circle) for circle in circles if circle]


def _reachable(graph: dict[str, set[str]], start: str) -> set[str]:
    found: set[str] = set()
    pending = [*graph[start]]
    while pending:
        module = pending.pop()
        if module not in found:
            found.add(module)
            pending += graph[module]
    return found


def test_no_module_imports_itself_through_others_not_even_inside_a_function() -> None:
    paths = {".".join(["lithos", *path.relative_to(SOURCE).with_suffix("").parts]): path for path in FILES}
    paths = {name.removesuffix(".__init__"): path for name, path in paths.items()}
    graph = {name: set(_imported_modules(path, set(paths))) - {name} for name, path in paths.items()}
    assert [sorted(cycle) for cycle in _cycles(graph)] == []


def test_a_circle_through_an_import_inside_a_function_is_found(tmp_path: Path) -> None:
    """The check itself: it must be able to fail."""
    (tmp_path / "a.py").write_text("from b import x\n")
    (tmp_path / "b.py").write_text("def x():\n    import a\n")
    (tmp_path / "c.py").write_text("if TYPE_CHECKING:\n    import a\nimport b\n")
    graph = {name: set(_imported_modules(tmp_path / f"{name}.py", {"a", "b", "c"})) for name in "abc"}
    assert graph == {"a": {"b"}, "b": {"a"}, "c": {"b"}}
    assert _cycles(graph) == [{"a", "b"}]


def test_other_packages_come_in_by_the_front_door() -> None:
    through_the_window = [
        f"{path.relative_to(SOURCE)}:{line} imports {module}"
        for path in FILES
        for line, module in _imports(path)
        for parts in [module.split(".")]
        if len(parts) > 2 and parts[0] == "lithos" and parts[1] in FACADES and parts[1] != _package(path)
    ]
    assert through_the_window == []


@pytest.mark.parametrize("package", FACADES)
def test_a_front_door_says_what_it_offers(package: str) -> None:
    text = (SOURCE / package / "__init__.py").read_text(encoding="utf-8")
    if text.strip():
        assert "__all__" in text


def test_no_file_is_longer_than_a_person_reads() -> None:
    lengths = {str(path): text_of(path).count("\n") for path in (*FILES, *TESTS.rglob("*.py"))}
    assert {name: length for name, length in lengths.items() if length > LONGEST_FILE} == {}


def test_nothing_waits_in_a_way_that_loses_a_cancellation() -> None:
    """`asyncio.wait_for` of Python 3.11 returns the result if it is cancelled in the moment that the result comes: a
    loop around it then goes on, and the end of the server waits for it. `asyncio.timeout` does not."""
    assert [str(path) for path in FILES if "asyncio.wait_for(" in text_of(path)] == []


def test_the_list_of_parts_fits_three_screens() -> None:
    assert text_of(SOURCE / "app.py").count("\n") <= 150


def test_a_folder_has_no_more_files_than_a_reader_takes_in() -> None:
    folders = [path for path in SOURCE.rglob("*") if path.is_dir() and path.name != "__pycache__"]
    sizes = {str(path.relative_to(SOURCE)): len([*path.glob("*.py")]) for path in folders}
    assert {name: size for name, size in sizes.items() if size > LARGEST_FOLDER and name not in FLAT} == {}


def test_unit_tests_are_in_the_folders_of_what_they_test() -> None:
    folders = {path.parent.relative_to(TESTS / "unit") for path in (TESTS / "unit").rglob("test_*.py")}
    assert [str(folder) for folder in sorted(folders) if not (SOURCE / folder).is_dir()] == []


def test_no_function_is_longer_than_a_page() -> None:
    lengths = dict(each for path in FILES for each in _functions(path))
    assert {name: length for name, length in lengths.items() if length > LONGEST_FUNCTION} == {}


def test_the_command_line_imports_nothing_heavy_before_a_verb_runs() -> None:
    script = f"import sys, lithos.cli.root as root; root.app(); print([m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("words", "unread"),
    [(["--help"], ["typer", "inspect"]), (["note", "write", "--help"], ["pydantic", "lithos.cli.task"])],
)
def test_help_imports_only_what_it_prints(words: list[str], unread: list[str]) -> None:
    script = (
        f"import sys; from lithos.cli.root import run; code = run({words!r}); "
        f"sys.exit(code or str([m for m in {unread!r} if m in sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert (done.stderr.strip(), "Usage: lithos" in done.stdout) == ("[]", True)


def test_the_guest_imports_the_standard_library_alone() -> None:
    script = (
        "import sys, lithos.host.guest.guest; "
        "print(sorted({name.split('.')[0] for name in sys.modules} - set(sys.stdlib_module_names)))"
    )
    done = subprocess.run([sys.executable, "-I", "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert set(ast.literal_eval(done.stdout)) <= {"lithos", "__main__", "_distutils_hack", "_virtualenv"}


def test_an_idle_server_has_imported_no_engine(tmp_path: Path) -> None:
    opened = (
        "import sys, lithos.serving, lithos.host.server, lithos.tools.catalogue as c; c.catalogue(); "
        "from pathlib import Path; from lithos.app import open_lithos; from lithos.settings import *; "
        f"open_lithos(LithosConfig(storage=StorageSettings(data_dir=Path({str(tmp_path)!r})))).close(); "
        f"print([m for m in {ENGINES!r} if m in sys.modules])"
    )
    # The first start makes the keys, for which it needs their library.
    open_lithos(LithosConfig(storage=StorageSettings(data_dir=tmp_path))).close()
    done = subprocess.run([sys.executable, "-c", opened], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"
