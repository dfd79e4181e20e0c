"""The code as text and as a tree, each file read and parsed once for all tests that judge its shape."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "lithos"
TESTS = ROOT / "tests"
FILES = sorted(SOURCE.rglob("*.py"))


@cache
def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    """Every node of a module; the first one is the module."""
    return tuple(ast.walk(ast.parse(text_of(path))))
