"""The style of one file: counted cases of each convention, with the first line of each."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tree_sitter import Node

SCRIPT = ("javascript", "typescript", "tsx")
_SCRIPT_QUERY = """
(comment) @masked (template_string) @masked (string) @string
(jsx_attribute (string) @jsx)
[(expression_statement) (lexical_declaration) (variable_declaration) (return_statement) (throw_statement)
 (import_statement) (break_statement) (continue_statement)] @statement
[(object) (array) (named_imports) (export_clause)] @literal
[(arguments) (formal_parameters)] @call
(try_statement) @try (throw_statement) @throw (await_expression) @await
(call_expression function: (member_expression property: (property_identifier) @method))
(export_statement) @export
(class_declaration) @class
(import_statement source: (string) @source)
"""
_QUERIES = {
    "python": """
(comment) @masked (string) @string
[(list) (dictionary) (set) (tuple)] @literal
[(argument_list) (parameters)] @call
(try_statement) @try (raise_statement) @throw (await) @await
(import_statement) @import (import_from_statement) @import (future_import_statement) @import
""",
    "go": """
(comment) @masked (raw_string_literal) @masked (interpreted_string_literal) @masked
(if_statement condition: (binary_expression left: (identifier) @err))
""",
    "rust": """
[(line_comment) (block_comment)] @masked [(string_literal) (raw_string_literal)] @masked
[(field_initializer_list) (array_expression) (use_list) (field_declaration_list) (enum_variant_list)] @literal
[(arguments) (parameters)] @call
(try_expression) @try (await_expression) @await
""",
    "java": "[(line_comment) (block_comment)] @masked (try_statement) @try (throw_statement) @throw",
    "c_sharp": "(comment) @masked (try_statement) @try (throw_statement) @throw (await_expression) @await",
    "php": "(comment) @masked (string) @string (encapsed_string) @string (try_statement) @try",
    "ruby": "(comment) @masked (string) @string",
}
_PREFIX = re.compile(rb"^[A-Za-z]*")
_OPENERS = (b"{", b"(", b"[", b":", b"=>", b"->", b" do", b"then")
Cases = dict[str, dict[str, list[int]]]


def query(language: str) -> str:
    if language in SCRIPT:
        kinds = _SCRIPT_QUERY
        return (
            kinds
            if language == "tsx" or language == "javascript"
            else kinds.replace("(jsx_attribute (string) @jsx)", "")
        )
    return _QUERIES.get(language, "")


def survey(language: str, source: bytes, root: Node, captures: dict[str, list[Node]]) -> dict[str, Any]:
    """Convention → value → [count, first line]."""
    cases: Cases = {}
    masked = _rows(
        (*captures.get("masked", ()), *(n for n in captures.get("string", ()) if n.start_point[0] != n.end_point[0]))
    )
    _indent(cases, source, masked)
    _quotes(cases, language, source, captures)
    if language in SCRIPT:
        _semicolons(cases, source, captures.get("statement", ()))
        _exports(cases, source, captures)
        _order(cases, source, captures.get("source", ()))
    if language == "python":
        _python_order(cases, source, captures.get("import", ()))
    for kind in ("literal", "call"):
        _commas(cases, kind, source, captures.get(kind, ()))
    _patterns(cases, language, source, captures)
    return {"style": cases}


def _count(cases: Cases, name: str, value: str, row: int) -> None:
    found = cases.setdefault(name, {}).setdefault(value, [0, row + 1])
    found[0] += 1


def _rows(nodes: Iterable[Node]) -> set[int]:
    """Rows inside comments and strings of several lines; their first row counts as code."""
    rows: set[int] = set()
    for node in nodes:
        rows.update(range(node.start_point[0] + 1, node.end_point[0] + 1))
    return rows


def _indent(cases: Cases, source: bytes, masked: set[int]) -> None:
    """By the step to the next line after one that opens a block; absolute widths tell of nesting, not of style."""
    before, opened = b"", False
    for row, line in enumerate(source.split(b"\n")):
        text = line.strip()
        if not text or row in masked or text.startswith((b"//", b"#", b"*", b"/*", b"--")):
            continue
        lead = line[: len(line) - len(line.lstrip())]
        if opened and len(lead) > len(before) and lead.startswith(before):
            step = lead[len(before) :]
            if step == b"\t":
                _count(cases, "indent_style", "tabs", row)
            elif step.strip(b" ") == b"" and len(step) <= 8:
                _count(cases, "indent_style", "spaces", row)
                _count(cases, "indent_size", str(len(step)), row)
        before, opened = lead, text.endswith(_OPENERS)


def _quotes(cases: Cases, language: str, source: bytes, captures: dict[str, list[Node]]) -> None:
    if language in ("go", "rust", "java", "c", "cpp"):
        return
    jsx = {node.start_byte for node in captures.get("jsx", ())}
    for node in captures.get("string", ()):
        if node.start_byte in jsx:
            continue
        text = source[node.start_byte : node.end_byte]
        body = text[len(_PREFIX.match(text)[0]) :]  # type: ignore[index]
        mark = body[:1]
        if body.startswith((b'"""', b"'''")) or mark not in (b'"', b"'") or len(body) < 3:
            continue
        if b'"' in body[1:-1] or b"'" in body[1:-1]:
            continue  # the other quote was needed inside
        _count(cases, "quote_style", "double" if mark == b'"' else "single", node.start_point[0])


def _semicolons(cases: Cases, source: bytes, nodes: Iterable[Node]) -> None:
    for node in nodes:
        parent = node.parent
        if parent is not None and parent.type in ("for_statement", "for_in_statement"):
            continue
        text = source[node.start_byte : node.end_byte]
        _count(cases, "semicolons", "yes" if text.endswith(b";") else "no", node.end_point[0])


def _commas(cases: Cases, kind: str, source: bytes, nodes: Iterable[Node]) -> None:
    """Of lists whose closing bracket has its own line."""
    name = "trailing_comma" if kind == "literal" else "trailing_comma_call"
    for node in nodes:
        if node.start_point[0] == node.end_point[0]:
            continue
        text = source[node.start_byte : node.end_byte - 1].rstrip(b" \t")
        inner = text.rstrip()
        if not text.endswith(b"\n") or len(inner) < 2 or node.named_child_count == 0:
            continue
        last = node.named_children[-1]
        if last.type in ("comment", "line_comment", "rest_pattern", "spread_element", "list_splat", "dictionary_splat"):
            continue
        if last.type in ("rest_type", "generator_expression", "list_comprehension", "for_in_clause"):
            continue
        _count(cases, name, "yes" if inner.endswith(b",") else "no", node.end_point[0])


def _exports(cases: Cases, source: bytes, captures: dict[str, list[Node]]) -> None:
    for node in captures.get("export", ()):
        text = source[node.start_byte : node.start_byte + 16]
        _count(cases, "export_style", "default" if text.startswith(b"export default") else "named", node.start_point[0])


def _order(cases: Cases, source: bytes, nodes: Iterable[Node]) -> None:
    """The kinds of the import sources in their order, each once."""
    kinds = [_kind(source[node.start_byte + 1 : node.end_byte - 1]) for node in nodes]
    _sequence(cases, kinds)


def _kind(module: bytes) -> str:
    if module.startswith((b"node:", b"bun:")):
        return "builtin"
    if module == b"react" or module.startswith((b"react/", b"react-dom")):
        return "react"
    if module.endswith((b".css", b".scss", b".less")):
        return "styles"
    if module.startswith(b"."):
        return "relative"
    return "internal" if module.startswith((b"@/", b"~/", b"src/", b"#")) else "external"


def _python_order(cases: Cases, source: bytes, nodes: Iterable[Node]) -> None:
    import sys

    kinds: list[str] = []
    for node in nodes:
        if node.parent is not None and node.parent.type != "module":
            continue
        words = source[node.start_byte : node.end_byte].split()
        module = words[1].split(b".")[0].decode("ascii", "replace") if len(words) > 1 else ""
        if words[1:2] and words[1].startswith(b"."):
            kinds.append("relative")
        elif module == "__future__":
            kinds.append("future")
        else:
            kinds.append("builtin" if module in sys.stdlib_module_names else "external")
    _sequence(cases, kinds)


def _sequence(cases: Cases, kinds: list[str]) -> None:
    seen = list(dict.fromkeys(kinds))
    if len(seen) > 1:
        regular = [kind for place, kind in enumerate(kinds) if place == 0 or kinds[place - 1] != kind]
        _count(cases, "import_order", ",".join(seen) if len(regular) == len(seen) else "unordered", 0)


def _patterns(cases: Cases, language: str, source: bytes, captures: dict[str, list[Node]]) -> None:
    for node in captures.get("try", ()):
        _count(cases, "error_handling", "? operator" if language == "rust" else "try-catch", node.start_point[0])
    for node in captures.get("err", ()):
        if source[node.start_byte : node.end_byte] == b"err":
            _count(cases, "error_handling", "early return of err", node.start_point[0])
    for node in captures.get("await", ()):
        _count(cases, "async_style", "async-await", node.start_point[0])
    for node in captures.get("method", ()):
        if source[node.start_byte : node.end_byte] in (b"then", b"catch", b"finally"):
            _count(cases, "async_style", "promises", node.start_point[0])
    for node in captures.get("class", ()):
        head = source[node.start_byte : node.start_byte + 200].partition(b"{")[0]
        if b"extends" in head and b"Component" in head:
            _count(cases, "component_style", "class", node.start_point[0])
