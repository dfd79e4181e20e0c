"""STYLE's words that a maintainer would not grep for: not in src, docs, benchmarks, scripts and names of tests."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.sources import FILES, ROOT, nodes_of, text_of

PHRASES = (
    "anew",
    "whoever",
    "whatever",
    "somebody",
    "nobody",
    "told",
    "tells of",
    "mend",
    "mends",
    "mended",
    "mending",
    "trouble",
    "troubles",
    "comes to light",
    "come to light",
    "for ever",
    "all the same",
    "lies",
    "stands",
    "of its own",
    "of their own",
    "that is why",
)
WORDS = re.compile(r"\b(?:" + "|".join(phrase.replace(" ", r"\s+") for phrase in PHRASES) + r")\b", re.IGNORECASE)

_TEST = re.compile(r"^\s*(?:async )?def (test_\w+)", re.MULTILINE)

# (file, text around the word): why it stays.
ALLOWED: dict[tuple[str, str], str] = {}
# Folder: why its files are not checked.
UNCHECKED: dict[str, str] = {
    "src/lithos/storage/database/migrations/": "a migration that was applied somewhere never changes",
}


def _files() -> list[Path]:
    code = [path for folder in ("src", "benchmarks", "scripts") for path in (ROOT / folder).rglob("*")]
    source = [path for path in code if path.suffix in (".py", ".md", ".sql", ".yaml")]
    pages = [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md", ROOT / "SECURITY.md"]
    found = sorted(path for path in (*source, *pages) if path.is_file())
    return [path for path in found if not _name(path).startswith(tuple(UNCHECKED))]


def _found(text: str) -> Iterator[str]:
    """Each line with a word of the list; a phrase may run over a line break."""
    for match in WORDS.finditer(text):
        start = text.rfind("\n", 0, match.start()) + 1
        end = text.find("\n", match.end())
        yield text[start : end if end >= 0 else None].strip()


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_no_file_has_a_word_of_the_list() -> None:
    lines = [(_name(path), line) for path in _files() for line in _found(text_of(path))]
    assert [
        (name, line) for name, line in lines if not any(name == file and part in line for file, part in ALLOWED)
    ] == []


def test_names_of_tests_have_no_word_of_the_list() -> None:
    names = [name for path in (ROOT / "tests").rglob("*.py") for name in _TEST.findall(text_of(path))]
    assert [name for name in names if WORDS.search(name.replace("_", " "))] == []


def test_docstrings_say_what_a_thing_is_without_beginning_so() -> None:
    """Descriptions of tools are texts for models, and excepted."""
    begins = [
        f"{_name(path)}:{node.name if hasattr(node, 'name') else 'module'}"
        for path in FILES
        for node in nodes_of(path)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and (ast.get_docstring(node) or "").startswith("What ")
        and not getattr(node, "name", "").startswith(("lithos_", "mentisdb_"))
    ]
    assert begins == []


def test_every_exception_is_still_needed() -> None:
    for file, part in ALLOWED:
        assert any(part in line for line in _found(text_of(ROOT / file))), (file, part)


@pytest.mark.parametrize(
    "text", ["made anew", "Whoever waits", "for\never", "is told why", "a trouble", "all  the same"]
)
def test_the_check_finds_a_word(text: str) -> None:
    assert [*_found(text)]


@pytest.mark.parametrize("text", ["troubleshooting", "recommend", "renewed", "forever", "untold"])
def test_the_check_compares_whole_words(text: str) -> None:
    assert not [*_found(text)]
