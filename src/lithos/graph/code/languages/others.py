"""Languages that are read with queries alone: definitions, imports, calls; none is resolved across files."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from lithos.graph.code.languages.file_reader import CONSTANT, FileReader
from lithos.graph.code.languages.scan import Lines
from lithos.graph.code.values import NO_SCOPE, EdgeType, Facts, NodeType

if TYPE_CHECKING:
    from tree_sitter import Node

_QUERIES = {
    "java": """
(class_declaration) @class (record_declaration) @class (interface_declaration) @interface
(annotation_type_declaration) @interface (enum_declaration) @enum (method_declaration) @method
(constructor_declaration) @method (enum_constant) @constant
(field_declaration declarator: (variable_declarator) @field) (import_declaration) @import
(annotation_type_element_declaration) @method
(method_invocation) @call (object_creation_expression type: (_) @type_call)
(superclass (_) @extends) (super_interfaces (type_list (_) @implements)) (extends_interfaces (type_list (_) @extends))
(line_comment) @comment (block_comment) @comment (string_literal) @masked
""",
    "c": """
(function_definition) @function (struct_specifier name: (_) body: (_)) @class
(union_specifier name: (_) body: (_)) @class
(enum_specifier name: (_) body: (_)) @enum (enumerator) @constant (type_definition) @typedef
(preproc_def) @constant (preproc_function_def) @macro (preproc_include) @include
(translation_unit (declaration) @declaration) (field_declaration) @c_field
(call_expression function: (_) @call_target) (comment) @comment (string_literal) @masked
""",
    "cpp": """
(function_definition) @function (struct_specifier name: (_) body: (_)) @class
(union_specifier name: (_) body: (_)) @class
(class_specifier name: (_) body: (_)) @class (enum_specifier name: (_) body: (_)) @enum (enumerator) @constant
(type_definition) @typedef (alias_declaration) @type (namespace_definition name: (_)) @namespace
(preproc_def) @constant (preproc_function_def) @macro (preproc_include) @include
(translation_unit (declaration) @declaration) (declaration_list (declaration) @declaration)
(field_declaration) @c_field
(call_expression function: (_) @call_target)
(base_class_clause [(type_identifier) (qualified_identifier) (template_type)] @extends)
(comment) @comment (string_literal) @masked
""",
    "c_sharp": """
(class_declaration) @class (struct_declaration) @class (record_declaration) @class (interface_declaration) @interface
(enum_declaration) @enum (method_declaration) @method (constructor_declaration) @method (property_declaration) @property
(local_function_statement) @function (enum_member_declaration) @constant (delegate_declaration) @type
(field_declaration (variable_declaration (variable_declarator) @field)) (using_directive) @import
(event_field_declaration (variable_declaration (variable_declarator) @field)) (namespace_declaration) @namespace
(invocation_expression function: (_) @call_target) (object_creation_expression type: (_) @type_call)
(base_list [(identifier) (qualified_name) (generic_name)] @extends)
(comment) @comment (string_literal) @masked
""",
    "ruby": """
(class name: (_)) @class (module name: (_)) @module (method) @method (singleton_method) @method
(assignment left: (constant)) @ruby_constant (superclass (_) @extends)
(call method: (_) @ruby_call) (alias) @ruby_alias (comment) @comment (string) @masked
""",
    "php": """
(class_declaration) @class (interface_declaration) @interface (trait_declaration) @class (enum_declaration) @enum
(function_definition) @function (method_declaration) @method (const_element) @php_constant (enum_case) @constant
(property_declaration (property_element) @php_field) (namespace_use_declaration) @import
(namespace_definition name: (_)) @php_namespace
(function_call_expression function: (_) @call_target) (member_call_expression name: (_) @php_member)
(scoped_call_expression) @php_static (object_creation_expression [(name) (qualified_name)] @type_call)
(base_clause (_) @extends) (class_interface_clause (_) @implements)
(comment) @comment (string) @masked
""",
    "kotlin": """
(class_declaration) @class (object_declaration) @class (function_declaration) @function (enum_entry) @kt_entry
(property_declaration) @kt_property (type_alias) @type (import) @kt_import (companion_object) @kt_companion
(call_expression . (_) @call_target) (delegation_specifier (_) @kt_extends)
(line_comment) @comment (block_comment) @comment (string_literal) @masked
""",
    "swift": """
(class_declaration) @swift_class (protocol_declaration) @interface (function_declaration) @function
(protocol_function_declaration) @function (property_declaration) @swift_property (typealias_declaration) @type
(protocol_property_declaration) @swift_property (init_declaration) @swift_init (enum_entry) @swift_entry
(import_declaration) @swift_import (call_expression . (_) @call_target)
(inheritance_specifier inherits_from: (_) @extends) (comment) @comment (multiline_comment) @comment
(line_string_literal) @masked
""",
    "bash": """
(function_definition) @function (program (variable_assignment) @bash_variable)
(program (declaration_command (variable_assignment) @bash_variable))
(command name: (command_name) @call_target) (comment) @comment (raw_string) @masked
""",
}
_IMPORTED = re.compile(r"[\w.:\\*]+")


def query(language: str) -> str:
    return _QUERIES[language]


class PlainFile(FileReader):
    """Handlers by capture name; a language uses those that its query names."""

    def on_class(self, node: Node) -> None:
        kind = NodeType.CLASS
        if node.type == "class_declaration" and any(child.type == "enum" for child in node.children[:4]):
            kind = NodeType.ENUM  # Kotlin
        elif node.type == "class_declaration" and any(child.type == "interface" for child in node.children[:4]):
            kind = NodeType.INTERFACE
        self.define(node, kind)

    def on_module(self, node: Node) -> None:
        self.define(node, NodeType.CLASS)

    def on_interface(self, node: Node) -> None:
        self.define(node, NodeType.INTERFACE)

    def on_enum(self, node: Node) -> None:
        self.define(node, NodeType.ENUM)

    def on_type(self, node: Node) -> None:
        self.define(
            node,
            NodeType.TYPE_ALIAS,
            name=node.child_by_field_name("name") or node.child_by_field_name("type"),
            opens=False,
        )

    def on_namespace(self, node: Node) -> None:
        self.define(node, NodeType.PACKAGE)

    def on_method(self, node: Node) -> None:
        scope = self.scopes.at(node.start_byte)
        kind = NodeType.METHOD if self.in_type(scope) else NodeType.FUNCTION
        self.define(node, kind)

    def on_function(self, node: Node) -> None:
        name = node.child_by_field_name("name") or _declared_name(node.child_by_field_name("declarator"))
        scope = self.scopes.at(node.start_byte)
        kind = NodeType.METHOD if self.in_type(scope) else NodeType.FUNCTION
        text = self.text(name) if name is not None else ""
        if "::" in text:  # C++: Class::method outside its class
            owner, _, last = text.rpartition("::")
            if name is not None:
                self.taken.add(name.start_byte)
            self.define(node, NodeType.METHOD, name=last, prefix=owner.replace("::", "."))
        elif name is not None:
            self.define(node, kind, name=name)

    def on_macro(self, node: Node) -> None:
        self.define(node, NodeType.FUNCTION, opens=False)

    def on_constant(self, node: Node) -> None:
        self.define(node, NodeType.CONSTANT, opens=False)

    def on_field(self, node: Node) -> None:
        name = node.child_by_field_name("name") or (node.named_children[0] if node.named_children else None)
        if name is not None:
            kind = NodeType.CONSTANT if CONSTANT.match(self.text(name)) else NodeType.VARIABLE
            self.define(node, kind, name=name, opens=False)

    def on_property(self, node: Node) -> None:
        self.define(node, NodeType.VARIABLE, opens=False)

    # C and C++

    def on_typedef(self, node: Node) -> None:
        name = _declared_name(node.child_by_field_name("declarator"))
        if name is not None:
            self.define(node, NodeType.TYPE_ALIAS, name=name, opens=False)

    def on_declaration(self, node: Node) -> None:
        for declarator in node.children_by_field_name("declarator"):
            inner: Node | None = declarator
            while inner is not None and inner.type in ("init_declarator", "pointer_declarator", "array_declarator"):
                inner = inner.child_by_field_name("declarator")
            if inner is not None and inner.type == "identifier":
                kind = NodeType.CONSTANT if CONSTANT.match(self.text(inner)) else NodeType.VARIABLE
                self.define(node, kind, name=inner, opens=False)

    def on_c_field(self, node: Node) -> None:
        for declarator in node.children_by_field_name("declarator"):
            name = _declared_name(declarator)
            if name is None:
                continue
            is_function = declarator.type == "function_declarator"
            self.define(node, NodeType.METHOD if is_function else NodeType.VARIABLE, name=name, opens=False)

    def on_include(self, node: Node) -> None:
        path = self.text(node.child_by_field_name("path")).strip('"<>')
        if path:
            self.imported(node, "", path, "*")

    # Imports

    def on_import(self, node: Node) -> None:
        text = re.sub(
            r"^\s*(?:global\s+)?(?:import|using|use)\s+(?:static\s+|function\s+|const\s+)?", "", self.text(node)
        ).rstrip("; \n")
        text = text.rpartition("=")[2].strip()
        found = _IMPORTED.match(text)
        if found:
            module = found.group().rstrip(".*\\")
            local = re.split(r"[.\\:]", module)[-1]
            self.imported(node, local, module, "*" if text.endswith("*") else "")

    def on_kt_import(self, node: Node) -> None:
        self.on_import(node)

    def on_swift_import(self, node: Node) -> None:
        self.on_import(node)

    # Uses

    def on_call_target(self, node: Node) -> None:
        if node.type not in ("lambda_literal", "parenthesized_expression"):
            self.call(node)

    def on_call(self, node: Node) -> None:  # Java: the object and the name are two fields
        name, receiver = node.child_by_field_name("name"), node.child_by_field_name("object")
        if name is None:
            return
        self.taken.add(name.start_byte)
        row, column = name.start_point
        head = "this." if receiver is None else ""
        if receiver is not None:
            from lithos.graph.code.chains import chain

            head = f"{chain(self.text(receiver)) or '?'}."
        self.facts.calls.append((self.scopes.at(node.start_byte), head + self.text(name), row + 1, column))

    def on_type_call(self, node: Node) -> None:
        self.call(node)

    def on_ruby_call(self, node: Node) -> None:
        call = node.parent
        receiver = call.child_by_field_name("receiver") if call is not None else None
        name = self.text(node)
        if receiver is None and name in ("require", "require_relative", "load", "include", "extend", "prepend"):
            arguments = call.child_by_field_name("arguments") if call is not None else None
            if arguments is not None and arguments.named_children:
                text = self.text(arguments.named_children[0]).strip("\"'")
                if name.startswith("require") or name == "load":
                    self.imported(node, "", text, "*")
            return
        self.taken.add(node.start_byte)
        from lithos.graph.code.chains import chain

        head = f"{chain(self.text(receiver)) or '?'}." if receiver is not None else ""
        row, column = node.start_point
        self.facts.calls.append((self.scopes.at(node.start_byte), head + name.rstrip("?!"), row + 1, column))

    def on_ruby_constant(self, node: Node) -> None:
        left = node.child_by_field_name("left")
        if left is not None:
            self.define(node, NodeType.CONSTANT, name=left, opens=False)

    def on_ruby_alias(self, node: Node) -> None:
        return

    def on_php_constant(self, node: Node) -> None:
        if node.named_children:
            self.define(node, NodeType.CONSTANT, name=node.named_children[0], opens=False)

    def on_php_field(self, node: Node) -> None:
        name = node.child_by_field_name("name") or (node.named_children[0] if node.named_children else None)
        if name is not None:
            self.define(node, NodeType.VARIABLE, name=self.text(name).lstrip("$"), opens=False)

    def on_php_namespace(self, node: Node) -> None:
        return

    def on_php_member(self, node: Node) -> None:
        call = node.parent
        receiver = call.child_by_field_name("object") if call is not None else None
        head = self.text(receiver).lstrip("$") if receiver is not None else ""
        self.taken.add(node.start_byte)
        row, column = node.start_point
        head = head if re.fullmatch(r"\w+", head) else "?"
        self.facts.calls.append((self.scopes.at(node.start_byte), f"{head}.{self.text(node)}", row + 1, column))

    def on_php_static(self, node: Node) -> None:
        scope, name = node.child_by_field_name("scope"), node.child_by_field_name("name")
        if scope is not None and name is not None:
            row, column = name.start_point
            head = {"self": "this", "static": "this", "parent": "super"}.get(self.text(scope), self.text(scope))
            head = head if re.fullmatch(r"\w+", head) else "?"
            self.facts.calls.append((self.scopes.at(node.start_byte), f"{head}.{self.text(name)}", row + 1, column))

    # Kotlin and Swift

    def on_kt_entry(self, node: Node) -> None:
        if node.named_children:
            self.define(node, NodeType.CONSTANT, name=node.named_children[0], opens=False)

    def on_kt_property(self, node: Node) -> None:
        declared = next((child for child in node.named_children if child.type == "variable_declaration"), None)
        scope = self.scopes.at(node.start_byte)
        if declared is not None and declared.named_children and (scope == NO_SCOPE or self.in_type(scope)):
            name = declared.named_children[0]
            kind = NodeType.CONSTANT if CONSTANT.match(self.text(name)) else NodeType.VARIABLE
            self.define(node, kind, name=name, opens=False)

    def on_kt_companion(self, node: Node) -> None:
        self.define(node, NodeType.CLASS, name=node.child_by_field_name("name") or "Companion")

    def on_kt_extends(self, node: Node) -> None:
        text_node = node.named_children[0] if node.type == "constructor_invocation" and node.named_children else node
        self._base_of(text_node, EdgeType.EXTENDS)

    def on_swift_class(self, node: Node) -> None:
        kinds = {"enum": NodeType.ENUM}
        word = next(
            (child.type for child in node.children if child.type in ("class", "struct", "enum", "extension", "actor")),
            "class",
        )
        if word == "extension":
            name = node.child_by_field_name("name")
            if name is not None:
                self.define(node, NodeType.CLASS, name=name)
            return
        self.define(node, kinds.get(word, NodeType.CLASS))

    def on_swift_property(self, node: Node) -> None:
        pattern = node.child_by_field_name("name")
        scope = self.scopes.at(node.start_byte)
        text = self.text(pattern) if pattern is not None else ""
        if re.fullmatch(r"\w+", text) and (scope == NO_SCOPE or self.in_type(scope)):
            kind = NodeType.CONSTANT if CONSTANT.match(text) else NodeType.VARIABLE
            self.define(node, kind, name=pattern, opens=False)

    def on_swift_init(self, node: Node) -> None:
        self.define(node, NodeType.METHOD, name="init")

    def on_swift_entry(self, node: Node) -> None:
        for name in node.children_by_field_name("name"):
            self.define(node, NodeType.CONSTANT, name=name, opens=False)

    def on_bash_variable(self, node: Node) -> None:
        name = node.child_by_field_name("name")
        if name is not None and name.type == "variable_name":
            kind = NodeType.CONSTANT if CONSTANT.match(self.text(name)) else NodeType.VARIABLE
            if not any(s.name == self.text(name) and s.parent == NO_SCOPE for s in self.facts.symbols):
                self.define(node, kind, name=name, opens=False, parent=NO_SCOPE)

    # Bases

    def on_extends(self, node: Node) -> None:
        self._base_of(node, EdgeType.EXTENDS)

    def on_implements(self, node: Node) -> None:
        self._base_of(node, EdgeType.IMPLEMENTS)

    def _base_of(self, node: Node, kind: int) -> None:
        scope = self.scopes.at(node.start_byte)
        if self.in_type(scope):
            self.base(scope, node, kind)


def _declared_name(declarator: Node | None) -> Node | None:
    """The name inside C's declarators: `*(*name)(int)`."""
    while declarator is not None:
        if declarator.type in (
            "identifier",
            "field_identifier",
            "type_identifier",
            "qualified_identifier",
            "destructor_name",
        ):
            return declarator
        if declarator.type in ("operator_name", "template_function", "operator_cast"):
            return declarator
        inner = declarator.child_by_field_name("declarator")
        if inner is None:
            inner = next(
                (
                    child
                    for child in declarator.named_children
                    if "declarator" in child.type or child.type == "identifier"
                ),
                None,
            )
        declarator = inner
    return None


def reader(language: str) -> Callable[[bytes, dict[str, list[Node]], Lines], Facts]:
    return lambda source, captures, lines: PlainFile(source, lines).read(captures)
