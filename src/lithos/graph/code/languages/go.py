"""Go: definitions, imports, bindings, calls of one file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lithos.graph.code.chains import chain
from lithos.graph.code.languages.file_reader import FileReader
from lithos.graph.code.languages.scan import Lines
from lithos.graph.code.values import NO_SCOPE, EdgeType, Facts, NodeType

if TYPE_CHECKING:
    from tree_sitter import Node

QUERY = """
(package_clause (package_identifier) @package) (import_spec) @import
(function_declaration) @function (method_declaration) @method
(type_declaration (type_spec) @type) (type_declaration (type_alias) @type)
(source_file (const_declaration (const_spec) @constant)) (source_file (var_declaration (var_spec) @variable))
(source_file (var_declaration (var_spec_list (var_spec) @variable)))
(function_declaration body: (block) @body)
(short_var_declaration) @short (var_spec) @local_variable (assignment_statement) @assign
(range_clause) @range (func_literal) @literal (type_switch_statement) @switch
(call_expression function: [(identifier) (selector_expression) (call_expression) (parenthesized_expression)
  (index_expression) (type_instantiation_expression)] @call)
(return_statement (expression_list . (_) @return))
(comment) @comment (interpreted_string_literal) @masked (raw_string_literal) @masked
"""
_TYPE = re.compile(r"[*&\s]*((?:[^\W\d]\w*\.)?[^\W\d]\w*)(?:\[.*\])?\Z", re.DOTALL)


def type_of(text: str) -> str:
    """`*pkg.T` → `pkg.T`; slices, arrays, maps and channels are containers."""
    text = text.strip()
    if text.startswith("("):  # several results: the first
        inner = _first(text[1:-1])
        parts = inner.split()
        text = parts[-1] if len(parts) > 1 and not inner.startswith(("func", "map", "[]", "chan", "*")) else inner
    text = text.lstrip("*& ")
    if text.startswith("..."):
        inner = type_of(text[3:])
        return f"[]{inner}" if inner and not inner.startswith("[]") else ""
    if text.startswith("["):
        inner = type_of(text[text.index("]") + 1 :]) if "]" in text else ""
        return f"[]{inner}" if inner and not inner.startswith("[]") else ""
    if text.startswith("map["):
        inner = type_of(text[_closing(text, 3) + 1 :])
        return f"[]{inner}" if inner and not inner.startswith("[]") else ""
    if text.startswith(("chan ", "<-chan ")):
        inner = type_of(text.split("chan ", 1)[1])
        return f"[]{inner}" if inner and not inner.startswith("[]") else ""
    found = _TYPE.match(text)
    return found.group(1) if found and not text.startswith(("func", "struct", "interface")) else ""


def _closing(text: str, at: int) -> int:
    depth = 0
    for index in range(at, len(text)):
        depth += {"[": 1, "]": -1}.get(text[index], 0)
        if depth == 0:
            return index
    return len(text)


def _first(text: str) -> str:
    depth = 0
    for index, char in enumerate(text):
        depth += {"[": 1, "]": -1, "(": 1, ")": -1, "{": 1, "}": -1}.get(char, 0)
        if char == "," and depth == 0:
            return text[:index].strip()
    return text.strip()


class GoFile(FileReader):
    def __init__(self, source: bytes, lines: Lines) -> None:
        super().__init__(source, lines)
        self.facts.extra["package"] = ""
        self._structs: dict[str, dict[str, object]] = {}
        self._results: dict[int, list[str]] = {}

    def finish(self) -> None:
        self.facts.extra["types"] = self._structs
        self.facts.extra["results"] = {self.facts.symbols[index].local: types for index, types in self._results.items()}

    def on_package(self, node: Node) -> None:
        self.facts.extra["package"] = self.text(node)

    def on_import(self, node: Node) -> None:
        path = self.text(node.child_by_field_name("path")).strip('"`')
        alias = node.child_by_field_name("name")
        local = self.text(alias) if alias is not None else ""
        if local in ("_", "."):
            self.imported(node, "*" if local == "." else "", path, "*")
            return
        self.imported(node, local or default_name(path), path, "")

    # Definitions

    def on_function(self, node: Node) -> None:
        if self.define(node, NodeType.FUNCTION) is not None:
            self._parts(node, self.newest)

    def on_method(self, node: Node) -> None:
        receiver = node.child_by_field_name("receiver")
        declared = receiver.named_children[0] if receiver is not None and receiver.named_children else None
        owner_node = declared.child_by_field_name("type") if declared is not None else None
        owner = type_of(self.text(owner_node)) if owner_node is not None else ""
        symbol = self.define(node, NodeType.METHOD, prefix=owner)
        if symbol is None:
            return
        index = self.newest
        symbol.flags = f"@{owner}"
        name = declared.child_by_field_name("name") if declared is not None else None
        if name is not None:
            self.taken.add(name.start_byte)
            self.bind(index, self.text(name), "R", owner, self.line(node))
        self._parts(node, index)

    def _parts(self, node: Node, index: int) -> None:
        symbol = self.facts.symbols[index]
        result = node.child_by_field_name("result")
        if result is not None:
            types = self._result_types(result)
            self._results[index] = types
            symbol.returns = types[0] if types else ""
        self._parameters(node.child_by_field_name("parameters"), index, symbol.receives)

    def _result_types(self, result: Node) -> list[str]:
        if result.type != "parameter_list":
            return [type_of(self.text(result))]
        found: list[str] = []
        for each in result.named_children:
            kind = each.child_by_field_name("type")
            names = each.children_by_field_name("name")
            found += [type_of(self.text(kind)) if kind is not None else ""] * max(1, len(names))
        return found

    def _parameters(self, node: Node | None, scope: int, receives: list[str] | None = None) -> None:
        for each in node.named_children if node is not None else []:
            kind = each.child_by_field_name("type")
            text = type_of(self.text(kind)) if kind is not None else ""
            if each.type == "variadic_parameter_declaration" and text and not text.startswith("[]"):
                text = f"[]{text}"
            if text and receives is not None:
                receives.append(text)
            for name in each.children_by_field_name("name"):
                self.taken.add(name.start_byte)
                self.bind(scope, self.text(name), "t" if text else "?", text, self.line(each))

    def on_literal(self, node: Node) -> None:
        self._parameters(node.child_by_field_name("parameters"), self.scopes.at(node.start_byte))

    def on_body(self, node: Node) -> None:
        return

    def on_type(self, node: Node) -> None:
        body = node.child_by_field_name("type")
        kind = NodeType.TYPE_ALIAS
        if body is not None and body.type == "struct_type":
            kind = NodeType.CLASS
        elif body is not None and body.type == "interface_type":
            kind = NodeType.INTERFACE
        symbol = self.define(node, kind)
        if symbol is None or body is None:
            return
        index = self.newest
        parts: dict[str, object] = {"fields": {}, "embeds": [], "methods": []}
        if kind == NodeType.CLASS:
            self._fields(body, index, parts)
        elif kind == NodeType.INTERFACE:
            self._interface(body, index, parts)
        else:
            symbol.returns = type_of(self.text(body))
        if symbol.parent == NO_SCOPE:
            self._structs[symbol.local] = parts

    def _fields(self, body: Node, index: int, parts: dict[str, object]) -> None:
        fields, embeds = parts["fields"], parts["embeds"]
        assert isinstance(fields, dict) and isinstance(embeds, list)
        for block in body.named_children:
            for field in block.named_children if block.type == "field_declaration_list" else []:
                if field.type != "field_declaration":
                    continue
                names, kind = field.children_by_field_name("name"), field.child_by_field_name("type")
                text = type_of(self.text(kind)) if kind is not None else ""
                if not names and text and kind is not None:
                    embeds.append(text)
                    self.taken.add(kind.start_byte)
                    self.facts.bases.append((index, text, EdgeType.EMBEDS, self.line(field)))
                for name in names:
                    self.define(field, NodeType.VARIABLE, name=name, parent=index, opens=False)
                    fields[self.text(name)] = text

    def _interface(self, body: Node, index: int, parts: dict[str, object]) -> None:
        embeds, methods = parts["embeds"], parts["methods"]
        assert isinstance(embeds, list) and isinstance(methods, list)
        for element in body.named_children:
            if element.type == "method_elem":
                symbol = self.define(element, NodeType.METHOD, parent=index, opens=False)
                if symbol is not None:
                    result = element.child_by_field_name("result")
                    symbol.returns = (self._result_types(result) or [""])[0] if result is not None else ""
                    methods.append(symbol.name)
            elif element.type == "type_elem" and element.named_child_count == 1:
                text = type_of(self.text(element))
                if text:
                    embeds.append(text)
                    self.facts.bases.append((index, text, EdgeType.EMBEDS, self.line(element)))

    def on_constant(self, node: Node) -> None:
        for name in node.children_by_field_name("name"):
            self.define(node, NodeType.CONSTANT, name=name, opens=False)

    def on_variable(self, node: Node) -> None:
        kind, value = node.child_by_field_name("type"), node.child_by_field_name("value")
        for name in node.children_by_field_name("name"):
            symbol = self.define(node, NodeType.VARIABLE, name=name, opens=False)
            bound, text = self._value(value, kind)
            if symbol is not None and text:
                symbol.returns = text if bound == "t" else f"={text}"

    # Bindings

    def _value(self, value: Node | None, kind: Node | None) -> tuple[str, str]:
        if kind is not None:
            return "t", type_of(self.text(kind))
        if value is None:
            return "?", ""
        if value.type == "expression_list":
            value = value.named_children[0] if value.named_children else value
        return self._expression(value)

    def _expression(self, value: Node) -> tuple[str, str]:
        if value.type == "unary_expression":
            operand = value.child_by_field_name("operand")
            return self._expression(operand) if operand is not None else ("?", "")
        if value.type == "composite_literal":
            return "t", type_of(self.text(value.child_by_field_name("type")))
        if value.type == "type_assertion_expression":
            return "t", type_of(self.text(value.child_by_field_name("type")))
        if value.type == "call_expression":
            function = value.child_by_field_name("function")
            arguments = value.child_by_field_name("arguments")
            name = self.text(function)
            if name in ("new", "make") and arguments is not None and arguments.named_children:
                return "t", type_of(self.text(arguments.named_children[0]))
            if name == "append" and arguments is not None and arguments.named_children:
                return self._expression(arguments.named_children[0])
        if value.type in ("identifier", "selector_expression", "call_expression", "index_expression"):
            return "v", chain(self.text(value))
        return "?", ""

    def on_short(self, node: Node) -> None:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if left is None or right is None:
            return
        scope, line = self.scopes.at(node.start_byte), self.line(node)
        names, values = left.named_children, right.named_children
        for at, name in enumerate(names):
            self.taken.add(name.start_byte)
            if len(values) == len(names):
                kind, text = self._expression(values[at])
            elif values and values[0].type == "call_expression":
                kind, text = (f"{at}", chain(self.text(values[0])))
            else:
                kind, text = self._expression(values[0]) if at == 0 and values else ("?", "")
            self.bind(scope, self.text(name), kind if text else "?", text, line)

    def on_local_variable(self, node: Node) -> None:
        scope = self.scopes.at(node.start_byte)
        if scope == NO_SCOPE:
            return
        kind, text = self._value(node.child_by_field_name("value"), node.child_by_field_name("type"))
        for name in node.children_by_field_name("name"):
            self.taken.add(name.start_byte)
            self.bind(scope, self.text(name), kind if text else "?", text, self.line(node))

    def on_assign(self, node: Node) -> None:
        return

    def on_range(self, node: Node) -> None:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if left is None or right is None:
            return
        value = chain(self.text(right))
        for at, name in enumerate(left.named_children):
            if name.type == "identifier":
                self.taken.add(name.start_byte)
                last = at == 1 and value
                self.bind(
                    self.scopes.at(node.start_byte),
                    self.text(name),
                    "e" if last else "?",
                    value if last else "",
                    self.line(node),
                )

    def on_switch(self, node: Node) -> None:
        alias = node.child_by_field_name("alias")
        for name in alias.named_children if alias is not None else []:
            self.taken.add(name.start_byte)
            self.bind(self.scopes.at(node.start_byte), self.text(name), "?", "", self.line(node))

    # Uses

    def on_call(self, node: Node) -> None:
        if node.type == "index_expression" or node.type == "type_instantiation_expression":  # f[T](…)
            operand = node.child_by_field_name("operand") or (node.named_children[0] if node.named_children else None)
            if operand is not None and operand.type in ("identifier", "selector_expression"):
                self.call(operand)
        elif node.type != "parenthesized_expression":
            self.call(node)

    def on_return(self, node: Node) -> None:
        return


def default_name(path: str) -> str:
    """The name under which a package is used where no alias is given: its last part, versions passed over."""
    parts = [part for part in path.split("/") if not re.fullmatch(r"v\d+", part)] or [path]
    name = re.sub(r"\.v\d+\Z", "", parts[-1])
    return name.removeprefix("go-").removesuffix("-go").replace("-", "_")


def extract(source: bytes, captures: dict[str, list[Node]], lines: Lines) -> Facts:
    return GoFile(source, lines).read(captures)
