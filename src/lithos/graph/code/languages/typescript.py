"""TypeScript and JavaScript: definitions, imports and re-exports, bindings, calls of one file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lithos.graph.code.chains import chain
from lithos.graph.code.languages.file_reader import CONSTANT, FileReader
from lithos.graph.code.languages.scan import Lines
from lithos.graph.code.values import NO_SCOPE, EdgeType, Facts, NodeType

if TYPE_CHECKING:
    from tree_sitter import Node

_SHARED = """
(function_declaration) @function (generator_function_declaration) @function
(class_declaration) @class (class) @class_expression (method_definition) @method
(variable_declarator) @variable (import_statement) @import (export_statement) @export
(assignment_expression left: (member_expression) @target right: (_)) @assign
(call_expression function: [(identifier) (member_expression) (call_expression) (parenthesized_expression)
  (super)] @call)
(new_expression constructor: (_) @call)
(pair key: (property_identifier) value: [(arrow_function) (function_expression)]) @pair
(return_statement (_) @return)
(arrow_function) @arrow (function_expression) @arrow
(for_in_statement) @for (catch_clause) @catch
(comment) @comment (string) @masked
"""
_TYPED = """
(abstract_class_declaration) @class (interface_declaration) @interface (type_alias_declaration) @type
(enum_declaration) @enum (function_signature) @function (method_signature) @method (abstract_method_signature) @method
(public_field_definition) @field (property_signature) @field (internal_module) @namespace
(required_parameter) @parameter (optional_parameter) @parameter
"""
_JAVASCRIPT = "(field_definition) @field"
_ELEMENTS = "(jsx_opening_element name: (_) @element) (jsx_self_closing_element name: (_) @element)"
_NAMED = re.compile(r"(?:type\s+)?([\w$]+|default)(?:\s+as\s+([\w$]+))?\s*\Z")
_WRAPPED = re.compile(
    r"(?:Promise|Readonly|Partial|Required|Awaited|NonNullable|PromiseLike|Ref|Signal)<(.*)>\Z", re.DOTALL
)
_LIST = re.compile(
    r"(?:Array|ReadonlyArray|Set|ReadonlySet|Iterable|IterableIterator|Generator|AsyncIterable)<(.*)>\Z", re.DOTALL
)
_MAP = re.compile(r"(?:Map|WeakMap|Record|ReadonlyMap)<[^,]+,(.*)>\Z", re.DOTALL)


def query(language: str) -> str:
    if language == "typescript":
        return _SHARED + _TYPED
    return _SHARED + (_TYPED if language == "tsx" else _JAVASCRIPT) + _ELEMENTS


def type_of(text: str) -> str:
    """The type that an annotation names, as a chain; `[]T` for a container of T."""
    text = text.strip().lstrip(":").strip()
    if text.startswith(("{", "(", "typeof", "keyof", '"', "'", "`", "[")):
        return ""
    parts = [part.strip() for part in text.split("|") if part.strip() not in ("null", "undefined", "")]
    if (len(parts) > 1 and "<" not in text) or len(parts) == 1:
        text = parts[0]
    for pattern in (_WRAPPED, _LIST, _MAP):
        if found := pattern.match(text):
            inner = type_of(found.group(1).strip())
            if pattern is _WRAPPED:
                return inner
            return f"[]{inner}" if inner and not inner.startswith("[]") else ""
    if text.endswith("[]"):
        inner = type_of(text[:-2])
        return f"[]{inner}" if inner and not inner.startswith("[]") else ""
    return chain(text.split("<")[0].strip())


class TypeScriptFile(FileReader):
    def __init__(self, source: bytes, lines: Lines) -> None:
        super().__init__(source, lines)
        self._exports: dict[str, list[str]] = {}  # exported name → [local chain] or [module, name]
        self._stars: list[str] = []
        self._returned: dict[int, set[str]] = {}
        self._named_functions: set[int] = set()

    def finish(self) -> None:
        if self._exports:
            self.facts.extra["exports"] = self._exports
        if self._stars:
            self.facts.extra["stars"] = self._stars
        for scope, values in self._returned.items():
            symbol = self.facts.symbols[scope]
            if not symbol.returns and len(values) == 1 and (value := next(iter(values))):
                symbol.returns = f"={value}"

    # Definitions

    def on_function(self, node: Node) -> None:
        parent = self.scopes.at(node.start_byte)
        name = node.child_by_field_name("name")
        recent = [s.name for s in self.facts.symbols[-3:] if s.parent == parent]
        if name is None or (node.type == "function_signature" and self.text(name) in recent):
            return  # an overload of the same function
        if self.define(node, NodeType.FUNCTION) is not None:
            self._function_parts(node, self.newest)

    def _define_function(self, node: Node, name: Node | str, function: Node) -> None:
        """A function that a name is bound to."""
        if self.define(node, NodeType.FUNCTION, name=name) is not None:
            self._named_functions.add(function.start_byte)
            self._function_parts(function, self.newest)

    def _function_parts(self, node: Node, index: int) -> None:
        symbol = self.facts.symbols[index]
        returns = node.child_by_field_name("return_type")
        symbol.returns = type_of(self.text(returns)) if returns is not None else ""
        body = node.child_by_field_name("body")
        if body is not None and body.type != "statement_block" and not symbol.returns:
            value = chain(self.text(body))
            symbol.returns = f"={value}" if value else ""
        parameters = node.child_by_field_name("parameters") or node.child_by_field_name("parameter")
        if parameters is None:
            return
        for each in [parameters] if parameters.type == "identifier" else parameters.named_children:
            pattern = each.child_by_field_name("pattern") or each.child_by_field_name("left") or each
            annotation = each.child_by_field_name("type")
            text = type_of(self.text(annotation)) if annotation is not None else ""
            if text:
                symbol.receives.append(text)
            for name in _names(pattern):
                self.taken.add(name.start_byte)
                whole = pattern.type == "identifier"
                self.bind(
                    index, self.text(name), "t" if text and whole else "?", text if whole else "", self.line(each)
                )

    def on_class(self, node: Node) -> None:
        if self.define(node, NodeType.CLASS) is None:
            return
        self._heritage(node, self.newest)

    def on_class_expression(self, node: Node) -> None:
        """`provide(class Clock {})`; one that a variable is named after is known by the variable."""
        bound = node.parent is not None and node.parent.type == "variable_declarator"
        if node.child_by_field_name("name") is not None and not bound:
            self.on_class(node)

    def _heritage(self, node: Node, index: int) -> None:
        for child in node.children:
            if child.type == "class_heritage":
                for clause in child.children:
                    if clause.type == "extends_clause":
                        value = clause.child_by_field_name("value")
                        if value is not None:
                            self.base(index, value)
                    elif clause.type == "implements_clause":
                        for each in clause.named_children:
                            self.base(index, each, EdgeType.IMPLEMENTS)
                    elif clause.is_named:
                        self.base(index, clause)  # JavaScript has no clause node
            elif child.type == "extends_type_clause":
                for each in child.named_children:
                    self.base(index, each)

    def on_interface(self, node: Node) -> None:
        if self.define(node, NodeType.INTERFACE) is not None:
            self._heritage(node, self.newest)

    def on_type(self, node: Node) -> None:
        symbol = self.define(node, NodeType.TYPE_ALIAS)
        value = node.child_by_field_name("value")
        if symbol is not None and value is not None:
            symbol.returns = type_of(self.text(value))

    def on_enum(self, node: Node) -> None:
        if self.define(node, NodeType.ENUM) is None:
            return
        index, body = self.newest, node.child_by_field_name("body")
        for member in body.named_children if body is not None else []:
            name = member.child_by_field_name("name") or member
            if name.type in ("property_identifier", "string"):
                self.define(member, NodeType.CONSTANT, name=self.text(name).strip("\"'"), parent=index, opens=False)

    def on_namespace(self, node: Node) -> None:
        name = node.child_by_field_name("name")
        if name is not None and name.type == "identifier":
            self.define(node, NodeType.PACKAGE)

    def on_method(self, node: Node) -> None:
        parent = self.scopes.at(node.start_byte)
        name = node.child_by_field_name("name")
        if name is None or name.type == "computed_property_name":
            return
        text = self.text(name).strip("\"'")
        if node.type.endswith("signature") and any(
            s.parent == parent and s.name == text for s in self.facts.symbols[-3:]
        ):
            return
        kind = NodeType.METHOD if self.in_type(parent) else NodeType.FUNCTION
        if self.define(node, kind, name=text) is None:
            return
        self.taken.add(name.start_byte)
        index = self.newest
        self._function_parts(node, index)
        if any(child.type == "get" for child in node.children[:3]):
            self.facts.symbols[index].flags += "p"

    def on_field(self, node: Node) -> None:
        parent = self.scopes.at(node.start_byte)
        name = node.child_by_field_name("name") or node.child_by_field_name("property")
        if name is None or not self.in_type(parent) or name.type == "computed_property_name":
            return
        value, annotation = node.child_by_field_name("value"), node.child_by_field_name("type")
        if value is not None and value.type in ("arrow_function", "function_expression"):
            if self.define(node, NodeType.METHOD, name=self.text(name)) is not None:
                self._named_functions.add(value.start_byte)
                self._function_parts(value, self.newest)
            return
        symbol = self.define(node, NodeType.VARIABLE, name=self.text(name).strip("\"'"), opens=False)
        self.taken.add(name.start_byte)
        kind, text = self._value(value, annotation)
        if symbol is not None:
            symbol.returns = text if kind == "t" else f"={text}" if text else ""

    def on_pair(self, node: Node) -> None:
        """A function in an object literal of the file's top level: `{ login: () => … }`."""
        key, value = node.child_by_field_name("key"), node.child_by_field_name("value")
        scope = self.scopes.at(node.start_byte)
        if key is None or value is None or scope == NO_SCOPE:
            return
        if self.facts.symbols[scope].type in (NodeType.VARIABLE, NodeType.CONSTANT):
            self._define_function(node, key, value)

    def on_arrow(self, node: Node) -> None:
        """Parameters of a function without a name are names of the scope around it."""
        if node.start_byte in self._named_functions:
            return
        scope = self.scopes.at(node.start_byte)
        parameters = node.child_by_field_name("parameters") or node.child_by_field_name("parameter")
        for each in (
            parameters.named_children if parameters is not None and parameters.type != "identifier" else [parameters]
        ):
            if each is None:
                continue
            pattern = each.child_by_field_name("pattern") or each.child_by_field_name("left") or each
            annotation = each.child_by_field_name("type")
            text = type_of(self.text(annotation)) if annotation is not None else ""
            for name in _names(pattern):
                self.taken.add(name.start_byte)
                whole = pattern.type == "identifier"
                self.bind(
                    scope, self.text(name), "t" if text and whole else "?", text if whole else "", self.line(each)
                )

    def on_parameter(self, node: Node) -> None:
        """`constructor(private store: Store)` declares a field."""
        scope = self.scopes.at(node.start_byte)
        if scope == NO_SCOPE or self.facts.symbols[scope].name != "constructor":
            return
        if any(child.type in ("accessibility_modifier", "override_modifier", "readonly") for child in node.children):
            owner = self.facts.symbols[scope].parent
            pattern, annotation = node.child_by_field_name("pattern"), node.child_by_field_name("type")
            if pattern is not None and annotation is not None:
                self.bind(owner, self.text(pattern), "At", type_of(self.text(annotation)), self.line(node))

    # Bindings

    def on_variable(self, node: Node) -> None:
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        annotation = node.child_by_field_name("type")
        if name is None:
            return
        scope, line = self.scopes.at(node.start_byte), self.line(node)
        module = self._required(value)
        if module:
            self._require(node, name, module)
            return
        if name.type != "identifier":
            for each in _names(name):
                self.taken.add(each.start_byte)
                self.bind(scope, self.text(each), "?", "", line)
            return
        function = _function_in(value)
        if function is not None:
            self._define_function(node, name, function)
            return
        kind, text = self._value(value, annotation)
        self.taken.add(name.start_byte)
        self.bind(scope, self.text(name), kind, text, line)
        at_top = scope == NO_SCOPE or self.facts.symbols[scope].type == NodeType.PACKAGE
        if at_top and value is not None and value.type == "class":
            if self.define(node, NodeType.CLASS, name=name) is not None:
                self._heritage(value, self.newest)
        elif at_top:
            constant = CONSTANT.match(self.text(name)) is not None
            holds_functions = value is not None and value.type == "object"
            symbol = self.define(
                node, NodeType.CONSTANT if constant else NodeType.VARIABLE, name=name, opens=holds_functions
            )
            if symbol is not None:
                symbol.returns = text if kind == "t" else ""

    def _value(self, value: Node | None, annotation: Node | None) -> tuple[str, str]:
        if annotation is not None:
            return "t", type_of(self.text(annotation))
        if value is None:
            return "?", ""
        if value.type in ("as_expression", "satisfies_expression") and len(value.named_children) > 1:
            if value.type == "as_expression":
                return "t", type_of(self.text(value.named_children[1]))
            return self._value(value.named_children[0], None)
        if value.type in ("identifier", "member_expression", "call_expression", "new_expression", "await_expression"):
            return "v", chain(self.text(value)) or ""
        return "?", ""

    def _required(self, value: Node | None) -> str:
        if value is None or value.type != "call_expression":
            return ""
        found = re.fullmatch(r"require\(\s*[\"']([^\"']+)[\"']\s*\)", self.text(value))
        return found.group(1) if found else ""

    def _require(self, node: Node, name: Node, module: str) -> None:
        if name.type == "identifier":
            self.imported(node, self.text(name), module, "")
            return
        for each in name.named_children:
            local = each.child_by_field_name("value") or each
            key = each.child_by_field_name("key") or each
            self.imported(node, self.text(local), module, self.text(key))

    def on_assign(self, node: Node) -> None:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        text = self.text(left)
        scope = self.scopes.at(node.start_byte)
        if text.startswith("this.") and text.count(".") == 1 and scope != NO_SCOPE:
            owner = scope
            while owner != NO_SCOPE and not self.in_type(owner):
                owner = self.facts.symbols[owner].parent
            if owner != NO_SCOPE:
                kind, value = self._value(right, None)
                self.bind(owner, text[5:], f"A{kind}", value, self.line(node))
        elif scope == NO_SCOPE and re.fullmatch(r"(?:module\.)?exports\.[\w$]+", text) and right is not None:
            value = chain(self.text(right)) if right.type in ("identifier", "member_expression") else ""
            name = text.rpartition(".")[2]
            if value:
                self._exports[name] = [value]
            elif (function := _function_in(right)) is not None:
                self._define_function(node, name, function)

    def on_target(self, node: Node) -> None:
        return

    def on_for(self, node: Node) -> None:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if left is not None and right is not None:
            value = chain(self.text(right))
            for name in _names(left):
                self.taken.add(name.start_byte)
                whole = left.type == "identifier" and value
                self.bind(
                    self.scopes.at(node.start_byte),
                    self.text(name),
                    "e" if whole else "?",
                    value if whole else "",
                    self.line(node),
                )

    def on_catch(self, node: Node) -> None:
        parameter = node.child_by_field_name("parameter")
        for name in _names(parameter) if parameter is not None else []:
            self.taken.add(name.start_byte)
            self.bind(self.scopes.at(node.start_byte), self.text(name), "?", "", self.line(node))

    # Imports and exports

    def on_import(self, node: Node) -> None:
        source = node.child_by_field_name("source")
        if source is None:
            return
        module = self.text(source).strip("\"'")
        clause = next((child for child in node.children if child.type == "import_clause"), None)
        if clause is None:
            self.imported(node, "", module, "*")
            return
        for each in clause.named_children:
            if each.type == "identifier":
                self.imported(node, self.text(each), module, "default")
            elif each.type == "namespace_import":
                self.imported(node, self.text(each.named_children[-1]), module, "")
            else:
                for local, name in self._named(each):
                    self.imported(node, local, module, name)

    def _named(self, node: Node) -> list[tuple[str, str]]:
        found = [_NAMED.match(self.text(each)) for each in node.named_children]
        return [(match.group(2) or match.group(1), match.group(1)) for match in found if match]

    def on_export(self, node: Node) -> None:
        source = node.child_by_field_name("source")
        module = self.text(source).strip("\"'") if source is not None else ""
        clause = next((child for child in node.children if child.type in ("export_clause", "namespace_export")), None)
        if module:
            self.facts.imports.append((NO_SCOPE, "", module, "*", self.line(node)))
        if clause is not None and clause.type == "export_clause":
            for exported, local in self._named(clause):
                self._exports[exported] = [module, local] if module else [local]
        elif clause is not None:
            self._exports[self.text(clause.named_children[-1])] = [module, ""]
        elif module:
            self._stars.append(module)
        elif any(child.type == "default" for child in node.children):
            self._default(node)

    def _default(self, node: Node) -> None:
        declared = node.child_by_field_name("declaration")
        name = declared.child_by_field_name("name") if declared is not None else None
        value = node.child_by_field_name("value")
        if name is not None:
            self._exports["default"] = [self.text(name)]
        elif value is not None:
            text = (
                chain(self.text(value)) if value.type in ("identifier", "member_expression", "call_expression") else ""
            )
            if text:
                self._exports["default"] = [text]
            elif (function := _function_in(value)) is not None:
                self._define_function(node, "default", function)

    # Uses

    def on_call(self, node: Node) -> None:
        if node.type != "parenthesized_expression" and self.text(node) != "require":
            self.call(node)

    def on_element(self, node: Node) -> None:
        if self.text(node)[:1].isupper() or "." in self.text(node):
            self.call(node)

    def on_return(self, node: Node) -> None:
        scope = self.scopes.at(node.start_byte)
        if scope != NO_SCOPE:
            value = ""
            if node.type in ("identifier", "member_expression", "call_expression", "new_expression", "this"):
                value = chain(self.text(node))
                head = value.split(".")[0].split("(")[0]
                local = next((b for b in reversed(self.facts.binds[-80:]) if b[0] == scope and b[1] == head), None)
                if local is not None:
                    value = local[3] + value[len(head) :] if local[2] == "v" and local[3] else ""
            self._returned.setdefault(scope, set()).add(value)


def _names(pattern: Node) -> list[Node]:
    """The names that a pattern binds."""
    if pattern.type in ("identifier", "shorthand_property_identifier_pattern"):
        return [pattern]
    if pattern.type == "pair_pattern":
        value = pattern.child_by_field_name("value")
        return _names(value) if value is not None else []
    if pattern.type in (
        "object_pattern",
        "array_pattern",
        "rest_pattern",
        "assignment_pattern",
        "object_assignment_pattern",
    ):
        children = [pattern.child_by_field_name("left")] if "assignment" in pattern.type else pattern.named_children
        return [name for child in children if child is not None for name in _names(child)]
    return []


def _function_in(value: Node | None) -> Node | None:
    """The function that a value is, or that a wrapper such as `memo(() => …)` takes as its first argument."""
    if value is None:
        return None
    if value.type in ("arrow_function", "function_expression"):
        return value
    if value.type == "call_expression":
        arguments = value.child_by_field_name("arguments")
        first = arguments.named_children[0] if arguments is not None and arguments.named_children else None
        function = value.child_by_field_name("function")
        wraps = function is not None and function.type in ("identifier", "member_expression")
        if first is not None and wraps and first.type in ("arrow_function", "function_expression"):
            name = (function.text or b"").decode("utf-8", "replace").rpartition(".")[2] if function is not None else ""
            return (
                first
                if name in ("memo", "forwardRef", "useCallback", "cache", "observer", "debounce", "throttle")
                else None
            )
    return None


def extract(source: bytes, captures: dict[str, list[Node]], lines: Lines) -> Facts:
    return TypeScriptFile(source, lines).read(captures)
