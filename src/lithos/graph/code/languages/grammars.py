"""Grammars: native code, loaded one at a time when the first file of a language comes. The parsing child's alone."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from lithos.graph.code.languages import CONFIGS, configs
from lithos.graph.code.languages.scan import Lines
from lithos.graph.code.surveys.reading import read_survey
from lithos.graph.code.values import Facts

if TYPE_CHECKING:
    from tree_sitter import Node

Extract = Callable[[bytes, "dict[str, list[Node]]", Lines], Facts]
_MODULES = {
    "tsx": ("tree_sitter_typescript", "language_tsx"),
    "typescript": ("tree_sitter_typescript", "language_typescript"),
    "php": ("tree_sitter_php", "language_php"),
}
_READERS = {"tsx": "typescript", "javascript": "typescript"}
_OWN = ("python", "typescript", "go", "rust")


class Reader:
    """Parses files of one language. A syntax tree lives no longer than its file's turn: Django's would need 515 MB."""

    def __init__(self, language: str) -> None:
        import tree_sitter

        module, function = _MODULES.get(language, (f"tree_sitter_{language}", "language"))
        grammar = tree_sitter.Language(getattr(importlib.import_module(module), function)())
        name = _READERS.get(language, language)
        own = importlib.import_module(f"lithos.graph.code.languages.{name if name in _OWN else 'others'}")
        text = own.query(language) if hasattr(own, "query") else own.QUERY
        self._extract: Extract = own.reader(language) if hasattr(own, "reader") else own.extract
        self._query = tree_sitter.Query(grammar, text)
        self._parser = tree_sitter.Parser(grammar)
        self._cursor = tree_sitter.QueryCursor

    def read(self, source: bytes) -> Facts:
        tree = self._parser.parse(source)
        captures = self._cursor(self._query).captures(tree.root_node)
        lines = Lines(source)
        facts = self._extract(source, captures, lines)
        facts.lines = len(lines) - (1 if source.endswith(b"\n") or not source else 0)
        facts.parse_errors = _errors(tree.root_node) if tree.root_node.has_error else 0
        return facts


def _errors(root: Node) -> int:
    """How many places the grammar could not read."""
    count, pending = 0, [root]
    while pending:
        node = pending.pop()
        if node.is_error or node.is_missing:
            count += 1
            continue
        pending.extend(child for child in node.children if child.has_error)
    return count


_readers: dict[str, Reader] = {}


def read(language: str, source: bytes) -> Facts:
    if ":" in language:
        return read_survey(language, source)
    if language in CONFIGS.values():
        return configs.read(language, source)
    if language not in _readers:
        _readers[language] = Reader(language)
    return _readers[language].read(source)
