"""Literal values of a script: objects, arrays, strings, numbers. Read as syntax; nothing is executed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lithos.graph.code.surveys.reading import text_of

if TYPE_CHECKING:
    from tree_sitter import Node

DEEPEST = 12
MOST_ITEMS = 2_000


def query(language: str) -> str:
    return ""


def survey(language: str, source: bytes, root: Node, captures: dict[str, list[Node]]) -> dict[str, Any]:
    """`exports`: the exported value; `names`: values of the file's own names, each with its line."""
    reader = _Reader(source)
    for node in root.named_children:
        reader.statement(node)
    return {
        "exports": reader.resolved(reader.exported),
        "names": {k: [v, line] for k, (v, line) in reader.names.items()},
    }


class _Reader:
    def __init__(self, source: bytes) -> None:
        self._source = source
        self.names: dict[str, tuple[Any, int]] = {}
        self.exported: Any = None

    def statement(self, node: Node) -> None:
        if node.type == "export_statement":
            value = node.child_by_field_name("value")
            if value is not None:
                self.exported = self.value(value)
            for child in node.named_children:
                if child.type in ("lexical_declaration", "variable_declaration"):
                    self.statement(child)
        elif node.type in ("lexical_declaration", "variable_declaration"):
            for child in node.named_children:
                name, value = child.child_by_field_name("name"), child.child_by_field_name("value")
                if name is not None and value is not None and name.type == "identifier":
                    self.names[text_of(self._source, name)] = (self.value(value), node.start_point[0] + 1)
        elif node.type == "expression_statement" and node.named_children:
            inner = node.named_children[0]
            left, right = inner.child_by_field_name("left"), inner.child_by_field_name("right")
            assigned = inner.type == "assignment_expression" and left is not None and right is not None
            if assigned and right is not None and text_of(self._source, left) in ("module.exports", "exports.default"):
                self.exported = self.value(right)

    def resolved(self, value: Any) -> Any:
        """A name, or a call around one object (`defineConfig({…})`), as that value."""
        for _ in range(4):
            if isinstance(value, dict) and "$ref" in value and value["$ref"] in self.names:
                value = self.names[value["$ref"]][0]
            elif isinstance(value, dict) and "$call" in value:
                value = next((each for each in value["args"] if isinstance(each, dict | list)), None)
            else:
                return value
        return value

    def value(self, node: Node, depth: int = 0) -> Any:
        kind = node.type
        if depth > DEEPEST:
            return None
        if kind in ("as_expression", "satisfies_expression", "parenthesized_expression", "non_null_expression"):
            return self.value(node.named_children[0], depth) if node.named_children else None
        if kind == "object":
            return self._object(node, depth)
        if kind == "array":
            return [self.value(each, depth + 1) for each in node.named_children[:MOST_ITEMS] if each.type != "comment"]
        text = text_of(self._source, node)
        if kind == "string":
            return text[1:-1]
        if kind == "template_string":
            return text[1:-1] if "${" not in text else None
        if kind == "number":
            return float(text) if "." in text else int(text) if text.isdigit() else text
        if kind in ("true", "false", "null", "undefined"):
            return {"true": True, "false": False}.get(kind)
        if kind == "unary_expression":
            return text
        if kind in ("identifier", "member_expression"):
            return {"$ref": text}
        if kind == "call_expression":
            function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
            given = arguments.named_children[:20] if arguments is not None else []
            return {"$call": text_of(self._source, function), "args": [self.value(each, depth + 1) for each in given]}
        return None

    def _object(self, node: Node, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for child in node.named_children[:MOST_ITEMS]:
            if child.type == "pair":
                key, value = child.child_by_field_name("key"), child.child_by_field_name("value")
                if key is not None and value is not None:
                    name = text_of(self._source, key)
                    plain = name[1:-1] if key.type == "string" else name
                    found[plain] = self.value(value, depth + 1)
            elif child.type == "shorthand_property_identifier":
                found[text_of(self._source, child)] = {"$ref": text_of(self._source, child)}
        return found
