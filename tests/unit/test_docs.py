"""The pages hold together: what they point to is there."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
from pathlib import Path

import pytest

from lithos import storage

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "lithos"
ARCHITECTURE = ROOT / "docs" / "architecture.md"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
_CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)  # examples point nowhere on purpose
_LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    prose = _CODE.sub("", page.read_text(encoding="utf-8"))
    links = [link for link in _LINK.findall(prose) if "://" not in link]
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_the_architecture_names_only_files_that_exist() -> None:
    text = ARCHITECTURE.read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:[a-z_]+/)+[a-z_]*(?:\.py)?)`", text))
    packages = [SOURCE, *SOURCE.glob("*/"), ROOT]  # "index/scan_diff.py" of notes
    missing = [name for name in sorted(named) if not any((folder / name).exists() for folder in packages)]
    assert named
    assert missing == []


def test_the_tree_of_the_architecture_has_every_package() -> None:
    text = ARCHITECTURE.read_text(encoding="utf-8")
    tree = text[text.index("src/lithos/\n") : text.index("tests/  support/")]
    packages = [folder.parent for folder in SOURCE.glob("*/__init__.py")]
    inner = [folder.parent for folder in SOURCE.glob("*/*/__init__.py")]
    assert [each.name for each in packages if f"\n  {each.name}/" not in tree] == []
    assert [f"{each.parent.name}/{each.name}" for each in inner if f"{each.name}/" not in tree] == []
    files = {path.name for path in SOURCE.rglob("*.py")}
    assert [name for name in re.findall(r"\b([a-z_]+\.py)\b", tree) if name not in files] == []


def test_the_architecture_names_only_classes_and_members_that_exist() -> None:
    spans = re.findall(r"`([^`\n]+)`", ARCHITECTURE.read_text(encoding="utf-8"))
    classes = _members_of_classes()
    named = {word for span in spans for word in re.findall(r"\b(?:[A-Z][a-z]+)+(?:\.\w+)?\b", span)}
    ours = named - {"True", "False", "None", "Iterator"}
    assert len(ours) > 50
    assert [each for each in sorted(ours) if not _is_known(each, classes)] == []


def test_the_storage_interface_of_the_architecture_is_the_real_one() -> None:
    """Its classes, their methods' arguments and their fields; a stub may leave out what parts above never use."""
    block = re.search(r"```python\n(class Tx:.*?)```", ARCHITECTURE.read_text(encoding="utf-8"), re.DOTALL)
    assert block is not None
    stubs = [each for each in ast.parse(block[1]).body if isinstance(each, ast.ClassDef)]
    assert [each.name for each in stubs] == ["Tx", "Database", "Effects", "Outcome", "Plan", "FileChange"]
    for stub in stubs:
        real = vars(storage)[stub.name]
        for each in stub.body:
            if isinstance(each, ast.FunctionDef):
                taken = list(inspect.signature(getattr(real, each.name)).parameters)
                assert [argument.arg for argument in each.args.args] == taken[: len(each.args.args)], each.name
            elif isinstance(each, ast.AnnAssign):
                assert ast.unparse(each.target) in {field.name for field in dataclasses.fields(real)}


def _members_of_classes() -> dict[str, set[str]]:
    """Class → every name in it, and those in its base classes; a type with a name has none."""
    members: dict[str, set[str]] = {}
    bases: dict[str, set[str]] = {}
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                members.setdefault(node.name, set()).update(name for each in ast.walk(node) for name in _names(each))
                bases.setdefault(node.name, set()).update(name for each in node.bases for name in _names(each))
            elif isinstance(node, ast.Assign):
                members |= {name: set() for each in node.targets for name in _names(each) if name not in members}
    return {
        name: own.union(*(members.get(base, set()) for base in bases.get(name, ()))) for name, own in members.items()
    }


def _names(node: ast.AST) -> list[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            return [name]
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return [name]
    return []


def _is_known(named: str, classes: dict[str, set[str]]) -> bool:
    name, _, member = named.partition(".")
    return name in classes and (not member or member in classes[name])


def test_the_site_shows_every_page() -> None:
    shown = re.findall(r"[\w/-]+\.md", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    pages = [page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md")]
    assert sorted(shown) == sorted(pages)


def test_the_readme_shows_only_numbers_of_the_benchmarks() -> None:
    rows = re.findall(r"^\| (?:a |the same|memory).*$", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    shown = [number for row in rows for number in re.findall(r"[\d.]+(?= (?:ms|s|MB)\b)", row)]
    measured = (ROOT / "docs/benchmarks.md").read_text(encoding="utf-8")
    assert len(shown) >= 8
    assert [number for number in shown if f"{number} " not in measured and f"{number}," not in measured] == []
