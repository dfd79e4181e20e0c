"""The code graph: repositories that agents ask instead of searching files."""

from __future__ import annotations

from lithos.graph.code.code import KEYWORDS, Code, CodeOptions, OpenRoot
from lithos.graph.code.languages import language_of
from lithos.graph.code.languages import shown as shown_language
from lithos.graph.code.parser import Source
from lithos.graph.code.questions.facts import Bases, CodeNode, GraphFacts
from lithos.graph.code.questions.files import KeptTexts, excerpt, file, listing, located, structure
from lithos.graph.code.questions.finding import ranked, scope, search
from lithos.graph.code.questions.imports import ImportUse, imports_of
from lithos.graph.code.questions.lookup import Symbol, find, is_test, near_names, nodes, rendered, within
from lithos.graph.code.questions.patterns import detect
from lithos.graph.code.questions.questions import (
    EDGE_TYPES,
    SYMBOL_TYPES,
    context,
    degraded,
    dependencies,
    entries_by_id,
    entry_by_id,
    file_symbols,
    similar,
    symbol,
)
from lithos.graph.code.questions.states import FileState, file_states, folders_state, names_state, uses_state
from lithos.graph.code.questions.versions import (
    changed_by,
    dependents,
    facts_of,
    file_bytes,
    tests_reaching,
    version_now,
)
from lithos.graph.code.roots.roots import RootSpec
from lithos.graph.code.roots.rule import is_secret
from lithos.graph.code.schema import number
from lithos.graph.code.status import root_status
from lithos.graph.code.surveyed import FileSurvey, Surveys
from lithos.graph.code.values import NODE_NAMES, Facts, NodeType

__all__ = [
    "EDGE_TYPES",
    "KEYWORDS",
    "NODE_NAMES",
    "SYMBOL_TYPES",
    "Bases",
    "Code",
    "CodeNode",
    "CodeOptions",
    "Facts",
    "FileState",
    "FileSurvey",
    "GraphFacts",
    "ImportUse",
    "KeptTexts",
    "NodeType",
    "OpenRoot",
    "RootSpec",
    "Source",
    "Surveys",
    "Symbol",
    "changed_by",
    "context",
    "degraded",
    "dependencies",
    "dependents",
    "detect",
    "entries_by_id",
    "entry_by_id",
    "excerpt",
    "facts_of",
    "file",
    "file_bytes",
    "file_states",
    "file_symbols",
    "find",
    "folders_state",
    "imports_of",
    "is_secret",
    "is_test",
    "language_of",
    "listing",
    "located",
    "names_state",
    "near_names",
    "nodes",
    "number",
    "ranked",
    "rendered",
    "root_status",
    "scope",
    "search",
    "shown_language",
    "shown as shown_language",
    "similar",
    "structure",
    "symbol",
    "tests_reaching",
    "uses_state",
    "version_now",
    "within",
]
