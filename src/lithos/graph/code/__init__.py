"""The code graph: repositories that agents ask instead of searching files."""

from __future__ import annotations

from lithos.graph.code.code import KEYWORDS, Code, CodeOptions, OpenRoot
from lithos.graph.code.questions.facts import Bases, CodeNode, GraphFacts
from lithos.graph.code.questions.files import file, listing, structure
from lithos.graph.code.questions.finding import scope, search
from lithos.graph.code.questions.patterns import detect
from lithos.graph.code.questions.questions import (
    EDGE_TYPES,
    SYMBOL_TYPES,
    context,
    dependencies,
    entry_by_id,
    file_symbols,
    similar,
    symbol,
)
from lithos.graph.code.roots.roots import RootSpec
from lithos.graph.code.status import root_status

__all__ = [
    "EDGE_TYPES",
    "KEYWORDS",
    "SYMBOL_TYPES",
    "Bases",
    "Code",
    "CodeNode",
    "CodeOptions",
    "GraphFacts",
    "OpenRoot",
    "RootSpec",
    "context",
    "dependencies",
    "detect",
    "entry_by_id",
    "file",
    "file_symbols",
    "listing",
    "root_status",
    "scope",
    "search",
    "similar",
    "structure",
    "symbol",
]
