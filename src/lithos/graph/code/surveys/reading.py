"""Reads one file for a survey: parses it, runs the survey's query, returns plain values."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from lithos.graph.code.values import Facts

if TYPE_CHECKING:
    from tree_sitter import Node

GRAMMARS = {
    "tsx": ("tree_sitter_typescript", "language_tsx"),
    "typescript": ("tree_sitter_typescript", "language_typescript"),
    "php": ("tree_sitter_php", "language_php"),
}
SURVEYS = ("style", "literals", "components")


class _Tools(NamedTuple):
    parser: Any
    query: Any
    survey: Callable[[str, bytes, Any, dict[str, list[Node]]], dict[str, Any]]


_tools: dict[str, _Tools] = {}


def read_survey(name: str, source: bytes) -> Facts:
    """`style:python` → the survey's values in `extra`."""
    what, _, language = name.partition(":")
    if what not in SURVEYS:
        raise ValueError(f"there is no survey {what}")
    if name not in _tools:
        import tree_sitter

        module, function = GRAMMARS.get(language, (f"tree_sitter_{language}", "language"))
        grammar = tree_sitter.Language(getattr(importlib.import_module(module), function)())
        own = importlib.import_module(f"lithos.graph.code.surveys.{what}")
        text = own.query(language)
        _tools[name] = _Tools(
            tree_sitter.Parser(grammar), tree_sitter.Query(grammar, text) if text else None, own.survey
        )
    tools = _tools[name]
    root = tools.parser.parse(source).root_node
    captures: dict[str, list[Node]] = {}
    if tools.query is not None:
        import tree_sitter

        captures = tree_sitter.QueryCursor(tools.query).captures(root)
    return Facts(extra=tools.survey(language, source, root, captures))


def text_of(source: bytes, node: Node | None) -> str:
    return "" if node is None else source[node.start_byte : node.end_byte].decode("utf-8", "replace")
