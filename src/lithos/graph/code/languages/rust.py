"""Rust: definitions, `use` trees, impl blocks, bindings, calls of one file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from lithos.graph.code.chains import chain
from lithos.graph.code.languages.file_reader import FileReader
from lithos.graph.code.languages.scan import Lines
from lithos.graph.code.values import NO_SCOPE, Facts, NodeType

if TYPE_CHECKING:
    from tree_sitter import Node

QUERY = """
(function_item) @function (function_signature_item) @function (struct_item) @struct (union_item) @struct
(enum_item) @enum (enum_variant) @variant (trait_item) @trait (impl_item) @impl (mod_item) @module
(const_item) @constant (static_item) @constant (type_item) @type (associated_type) @type (macro_definition) @macro
(field_declaration) @field (use_declaration) @use (let_declaration) @let (for_expression) @for
(closure_parameters) @closure (parameter) @parameter
(call_expression function: [(identifier) (field_expression) (scoped_identifier) (generic_function)] @call)
(let_condition) @if_let (match_arm pattern: (match_pattern) @pattern)
(line_comment) @comment (block_comment) @comment (string_literal) @masked (raw_string_literal) @masked
"""
_TRANSPARENT = re.compile(
    r"(?:\w+::)*(?:Box|Arc|Rc|Option|Result|Pin|RefCell|Cell|Mutex|RwLock|Cow|MutexGuard|Ref|RefMut|ManuallyDrop|MaybeUninit|"
    r"UnsafeCell|NonNull|Poll|CachePadded|Weak|OnceCell|AtomicPtr)<(.*)>\Z",
    re.DOTALL,
)
_LIST = re.compile(r"(?:\w+::)*(?:Vec|VecDeque|HashSet|BTreeSet|Iter|IntoIter|Slab|LinkedList)<(.*)>\Z", re.DOTALL)
_MAP = re.compile(r"(?:\w+::)*(?:HashMap|BTreeMap|IndexMap)<[^,]+,(.*)>\Z", re.DOTALL)
_LEADING = re.compile(r"(?:&|\*const\b|\*mut\b|mut\b|dyn\b|impl\b|ref\b|'\w+|\s)+")
_GENERIC = re.compile(r"<.*", re.DOTALL)
_PARAMETER = re.compile(r"(?:const\s+)?(\w+)")  # of a type, not of a lifetime


def type_of(text: str) -> str:
    text = _LEADING.sub("", text.strip().lstrip("->").strip(), count=1)
    text = text.split(" + ")[0].strip()
    if text.startswith("["):
        inner = type_of(text[1:].split(";")[0].rstrip("]"))
        return f"[]{inner}" if inner and not inner.startswith("[]") else ""
    for pattern in (_TRANSPARENT, _LIST, _MAP):
        if found := pattern.match(text):
            inner = type_of(_first(found.group(1)))
            if pattern is _TRANSPARENT:
                return inner
            return f"[]{inner}" if inner and not inner.startswith("[]") else ""
    if text.startswith(("(", "fn", "<")):
        return ""
    return chain(_GENERIC.sub("", text).strip())


def _first(text: str) -> str:
    """The first argument that is not a lifetime."""
    depth, start = 0, 0
    for index, char in enumerate(text + ","):
        depth += {"<": 1, ">": -1, "(": 1, ")": -1, "[": 1, "]": -1}.get(char, 0)
        if char == "," and depth <= 0:
            part = text[start:index].strip()
            if part and not part.startswith("'"):
                return part
            start = index + 1
    return text


class RustFile(FileReader):
    def __init__(self, source: bytes, lines: Lines) -> None:
        super().__init__(source, lines)
        self._impls: list[tuple[str, str]] = []  # type, trait
        self._modules: list[str] = []

    def finish(self) -> None:
        self.facts.extra["impls"] = self._impls
        self.facts.extra["modules"] = self._modules

    # Definitions

    def on_function(self, node: Node) -> None:
        owner = self._impl_around(node)
        parent = self.scopes.at(node.start_byte)
        in_type = self.in_type(parent)
        kind = NodeType.METHOD if owner or in_type else NodeType.FUNCTION
        symbol = self.define(node, kind, prefix=self._prefixed(parent, owner))
        if symbol is None:
            return
        index = self.newest
        symbol.flags = f"@{owner}" if owner else ""
        returns = node.child_by_field_name("return_type")
        symbol.returns = type_of(self.text(returns)) if returns is not None else ""
        parameters = node.child_by_field_name("parameters")
        for each in parameters.named_children if parameters is not None else []:
            if each.type == "self_parameter":
                self.bind(index, "self", "R", owner, self.line(each))
            elif each.type == "parameter":
                self._parameter(each, index, symbol.receives)

    def _prefixed(self, parent: int, owner: str) -> str:
        if not owner:
            return ""
        outer = self.facts.symbols[parent].local if parent != NO_SCOPE else ""
        return f"{outer}.{owner}" if outer else owner

    def _impl_around(self, node: Node) -> str:
        block = node.parent
        impl = block.parent if block is not None and block.type == "declaration_list" else None
        if impl is None or impl.type != "impl_item":
            return ""
        return self._implemented(impl).rpartition(".")[2]

    def _implemented(self, impl: Node) -> str:
        """The type of an impl block; `impl<T> Mutex<T>` is about Mutex, which elsewhere counts as what it holds."""
        text = _LEADING.sub("", self.text(impl.child_by_field_name("type")).strip(), count=1)
        held, parameters = type_of(text), impl.child_by_field_name("type_parameters")
        named = (_PARAMETER.match(self.text(each)) for each in (parameters.named_children if parameters else ()))
        is_parameter = held.lstrip("[]") in {found[1] for found in named if found}
        if (held and not is_parameter) or text.startswith(("(", "fn", "<", "[")):
            return held
        return chain(_GENERIC.sub("", text).strip())

    def _parameter(self, node: Node, scope: int, receives: list[str] | None) -> None:
        pattern, kind = node.child_by_field_name("pattern"), node.child_by_field_name("type")
        text = type_of(self.text(kind)) if kind is not None else ""
        if text and receives is not None:
            receives.append(text)
        for name in _names(pattern):
            self.taken.add(name.start_byte)
            self.bind(scope, self.text(name), "t" if text else "?", text, self.line(node))

    def on_parameter(self, node: Node) -> None:
        return

    def on_struct(self, node: Node) -> None:
        self.define(node, NodeType.CLASS)

    def on_enum(self, node: Node) -> None:
        self.define(node, NodeType.ENUM)

    def on_variant(self, node: Node) -> None:
        self.define(node, NodeType.CONSTANT, opens=False)

    def on_field(self, node: Node) -> None:
        scope = self.scopes.at(node.start_byte)
        if scope == NO_SCOPE or self.facts.symbols[scope].type != NodeType.CLASS:
            return  # a variant's field
        symbol = self.define(node, NodeType.VARIABLE, opens=False)
        if symbol is not None:
            symbol.returns = type_of(self.text(node.child_by_field_name("type")))

    def on_trait(self, node: Node) -> None:
        if self.define(node, NodeType.INTERFACE) is None:
            return
        bounds = node.child_by_field_name("bounds")
        for each in bounds.named_children if bounds is not None else []:
            if each.type in ("type_identifier", "scoped_type_identifier", "generic_type"):
                self.base(self.newest, each)

    def on_impl(self, node: Node) -> None:
        trait = node.child_by_field_name("trait")
        name = self._implemented(node)
        if name:
            self._impls.append((name, chain(_GENERIC.sub("", self.text(trait))) if trait is not None else ""))

    def on_module(self, node: Node) -> None:
        if node.child_by_field_name("body") is None:
            self._modules.append(self.text(node.child_by_field_name("name")))
            return
        self.define(node, NodeType.PACKAGE)

    def on_constant(self, node: Node) -> None:
        scope = self.scopes.at(node.start_byte)
        if scope != NO_SCOPE and self.facts.symbols[scope].type in (NodeType.FUNCTION, NodeType.METHOD):
            return
        symbol = self.define(
            node, NodeType.CONSTANT, opens=False, prefix=self._prefixed(scope, self._impl_around(node))
        )
        if symbol is not None:
            symbol.returns = type_of(self.text(node.child_by_field_name("type")))

    def on_type(self, node: Node) -> None:
        scope = self.scopes.at(node.start_byte)
        symbol = self.define(
            node, NodeType.TYPE_ALIAS, opens=False, prefix=self._prefixed(scope, self._impl_around(node))
        )
        kind = node.child_by_field_name("type")
        if symbol is not None and kind is not None:
            symbol.returns = type_of(self.text(kind))

    def on_macro(self, node: Node) -> None:
        self.define(node, NodeType.FUNCTION, opens=False)

    # Imports

    def on_use(self, node: Node) -> None:
        for module, name, local in _use_tree(self.text(node.child_by_field_name("argument"))):
            self.imported(node, local, module, name)

    # Bindings

    def on_let(self, node: Node) -> None:
        pattern, kind = node.child_by_field_name("pattern"), node.child_by_field_name("type")
        value = node.child_by_field_name("value")
        scope, line = self.scopes.at(node.start_byte), self.line(node)
        bound, text = ("t", type_of(self.text(kind))) if kind is not None else self._value(value)
        names = list(_names(pattern))
        for name in names:
            self.taken.add(name.start_byte)
            whole = len(names) == 1 and text
            self.bind(scope, self.text(name), bound if whole else "?", text if whole else "", line)

    def _value(self, value: Node | None) -> tuple[str, str]:
        if value is None:
            return "?", ""
        if value.type == "struct_expression":
            return "t", type_of(self.text(value.child_by_field_name("name")))
        if value.type in ("reference_expression", "try_expression", "await_expression", "parenthesized_expression"):
            inner = value.child_by_field_name("value") or (value.named_children[-1] if value.named_children else None)
            return self._value(inner)
        if value.type in ("identifier", "call_expression", "field_expression", "scoped_identifier", "self"):
            return "v", chain(self.text(value))
        return "?", ""

    def on_for(self, node: Node) -> None:
        pattern, value = node.child_by_field_name("pattern"), node.child_by_field_name("value")
        text = chain(
            re.sub(r"\.(iter|iter_mut|into_iter|drain)\(.*\)\Z", "", self.text(value)).lstrip("&").removeprefix("mut ")
        )
        names = list(_names(pattern))
        for name in names:
            self.taken.add(name.start_byte)
            whole = len(names) == 1 and text
            self.bind(
                self.scopes.at(node.start_byte),
                self.text(name),
                "e" if whole else "?",
                text if whole else "",
                self.line(node),
            )

    def on_closure(self, node: Node) -> None:
        scope = self.scopes.at(node.start_byte)
        for each in node.named_children:
            if each.type == "parameter":
                self._parameter(each, scope, None)
            else:
                for name in _names(each):
                    self.taken.add(name.start_byte)
                    self.bind(scope, self.text(name), "?", "", self.line(node))

    def on_if_let(self, node: Node) -> None:
        pattern, value = node.child_by_field_name("pattern"), node.child_by_field_name("value")
        names = [name for name in _names(pattern) if not self.text(name)[:1].isupper()]
        bound, text = self._value(value)
        some = pattern is not None and re.match(r"(?:Some|Ok|Ready|Poll::Ready)\b", self.text(pattern))
        for name in names:
            self.taken.add(name.start_byte)
            whole = len(names) == 1 and some and text
            self.bind(
                self.scopes.at(node.start_byte),
                self.text(name),
                bound if whole else "?",
                text if whole else "",
                self.line(node),
            )

    def on_pattern(self, node: Node) -> None:
        for name in _names(node):
            if not self.text(name)[:1].isupper():
                self.taken.add(name.start_byte)
                self.bind(self.scopes.at(node.start_byte), self.text(name), "?", "", self.line(node))

    # Uses

    def on_call(self, node: Node) -> None:
        if node.type == "generic_function":
            function = node.child_by_field_name("function")
            if function is not None:
                self.call(function)
        else:
            self.call(node)


def _names(pattern: Node | None) -> Iterator[Node]:
    if pattern is None:
        return
    if pattern.type == "identifier":
        yield pattern
        return
    if pattern.type in ("field_pattern",):
        inner = pattern.child_by_field_name("pattern") or pattern.child_by_field_name("name")
        if inner is not None and inner.type == "shorthand_field_identifier":
            yield inner
        else:
            yield from _names(inner)
        return
    if pattern.type in ("scoped_identifier", "type_identifier"):
        return
    for child in pattern.named_children:
        if child != pattern.child_by_field_name("type"):
            yield from _names(child)


def _use_tree(text: str, prefix: str = "") -> Iterator[tuple[str, str, str]]:
    """(module, name, local) of each name that a `use` brings; name `*` for a glob."""
    text = text.strip()
    brace = text.find("{")
    if brace >= 0 and text.endswith("}"):
        head = text[:brace].rstrip(":").strip()
        for part in _split(text[brace + 1 : -1]):
            yield from _use_tree(part, f"{prefix}::{head}".strip(":") if head else prefix)
        return
    path, _, alias = text.partition(" as ")
    path = f"{prefix}::{path.strip()}".strip(":") if prefix else path.strip().lstrip(":")
    module, _, name = path.rpartition("::")
    if name == "self":
        module, _, name = module.rpartition("::")
    yield module, name, "*" if name == "*" else alias.strip() or name


def _split(text: str) -> Iterator[str]:
    depth, start = 0, 0
    for index, char in enumerate(text + ","):
        depth += {"{": 1, "}": -1}.get(char, 0)
        if char == "," and depth == 0:
            if text[start:index].strip():
                yield text[start:index]
            start = index + 1


def extract(source: bytes, captures: dict[str, list[Node]], lines: Lines) -> Facts:
    return RustFile(source, lines).read(captures)
