"""Python: definitions, imports, bindings, calls and references of one file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lithos.graph.code.chains import chain
from lithos.graph.code.languages.scan import (
    MOST_DOC,
    Lines,
    Masked,
    Names,
    ScopeAt,
    Scopes,
    add_references,
    fill_words,
    in_order,
    one_line,
)
from lithos.graph.code.remembered import Remembered
from lithos.graph.code.values import NO_SCOPE, EdgeType, Facts, NodeType, Symbol

if TYPE_CHECKING:
    from tree_sitter import Node

QUERY = """
(class_definition) @class
(function_definition) @function
(call function: [(identifier) (attribute) (call)] @call)
(decorator [(identifier) (attribute)] @call)
(import_statement) @import
(import_from_statement) @from
(assignment) @assign
(named_expression) @walrus
(return_statement (_) @return)
(for_statement left: (_) right: (_)) @for
(for_in_clause left: (_) right: (_)) @comprehension
(as_pattern) @as
(except_clause (identifier)) @except
(lambda parameters: (_) @lambda)
(string) @masked
(comment) @masked
"""
_CONSTANT = re.compile(r"_*[A-Z][A-Z0-9_]*\Z")
_IMPORTED = re.compile(r"([\w.]+)(?:\s+as\s+(\w+))?")
_FROM = re.compile(r"from\s+([.\w]+)\s+import\s+(.*)", re.DOTALL)
_TYPE_SPLIT = re.compile(r"\s*\|\s*")
_WRAPPER = re.compile(
    r"(?:typing\.|t\.)?(Optional|Final|ClassVar|Annotated|Type|type|Awaitable|Coroutine|Required|Union)\[(.*)\]\Z",
    re.DOTALL,
)
_CONTAINER = re.compile(
    r"(?:[\w.]*\.)?(list|List|set|Set|frozenset|tuple|Tuple|Iterable|Iterator|Sequence|Collection|Generator|"
    r"AsyncIterator|AsyncIterable|deque|QuerySet)\[(.*)\]\Z",
    re.DOTALL,
)
_MAPPING = re.compile(
    r"(?:[\w.]*\.)?(dict|Dict|Mapping|MutableMapping|defaultdict|OrderedDict)\[[^,]+,(.*)\]\Z", re.DOTALL
)
_READ_LIKE_ATTRIBUTE = ("property", "cached_property", "classproperty", "lazyproperty", "hybrid_property")
_WITHOUT_COMMENTS = re.compile(r"#[^\n]*|\\\n|[()]")


_LAST_NAME = re.compile(r"[^\W\d]\w*\Z")
_VALUES = (NodeType.VARIABLE, NodeType.CONSTANT)


def _call_of(function: bytes) -> tuple[str, int]:
    """The chain of a call, and how many bytes are before its last name; an empty chain where it is left out."""
    text = function.decode("utf-8", "replace")
    value = "cls" + text[10:] if text.startswith("type(self)") else chain(text)
    if function.endswith(b")"):  # the result of a call is called
        return (value, 0) if value.endswith("()") else ("", 0)
    last = _LAST_NAME.search(text)
    if last is None:
        return "", 0
    # Of an attribute of some expression only the name is known.
    return value or (f"?.{last.group()}" if last.start() else ""), len(function) - len(last.group().encode())


_called = Remembered(_call_of, 8_000)


def type_of(text: str) -> str:
    """The class that an annotation names, as a chain; `[]T` for a container of T."""
    text = text.strip().strip("\"'").strip()
    parts = [part for part in _TYPE_SPLIT.split(text) if part and part != "None"] if "[" not in text else [text]
    if len(parts) > 1 and "[" not in text:
        return chain(parts[0])
    text = parts[0] if parts else ""
    if wrapped := _WRAPPER.match(text):
        inner = _first(wrapped.group(2))
        return type_of(inner)
    if held := _MAPPING.match(text):
        inner = type_of(held.group(2))
        return f"[]{inner}" if inner and not inner.startswith("[]") else ""
    if held := _CONTAINER.match(text):
        inner = type_of(_first(held.group(2)))
        return f"[]{inner}" if inner and not inner.startswith("[]") else ""
    if "[" in text:
        head, _, tail = text.partition("[")
        if "|" in head:
            return type_of(head.split("|")[0])
        if "]" in tail and "|" in tail.rpartition("]")[2]:
            return type_of(text[: text.rindex("]") + 1])
        return chain(head)
    return chain(text)


def _first(inner: str) -> str:
    """The first of several arguments, at the outermost level; None is passed over."""
    depth, start = 0, 0
    for index, char in enumerate(inner + ","):
        if char in "[(":
            depth += 1
        elif char in ")]":
            depth -= 1
        elif char == "," and depth == 0:
            part = inner[start:index].strip()
            if part and part != "None":
                return part
            start = index + 1
    return inner


class PythonFile:
    def __init__(self, source: bytes, lines: Lines) -> None:
        self.source = source
        self.facts = Facts()
        self.scopes = Scopes(source, self.facts, lines)
        self.lines = lines
        self._taken: set[int] = set()
        self._returns: dict[int, list[str]] = {}
        self._assigned: dict[tuple[int, str], int] = {}  # a variable of a scope → its symbol
        self._masked: list[Node] = []
        self._bound: dict[tuple[int, str], tuple[str, str]] = {}  # the newest binding of a name in a scope

    def read(self, captures: dict[str, list[Node]]) -> Facts:
        self._masked, calls = captures.pop("masked", []), captures.pop("call", [])
        handlers = {name: getattr(self, f"_{name}") for name in captures}
        for _, _, name, node in in_order(captures):
            handlers[name](node)
        self._infer_returns()
        self._calls(calls)
        names = Names(self.source)
        add_references(self.facts, self.source, names, self.lines, Masked(self._masked), self._taken)
        fill_words(names, self.facts.symbols)
        return self.facts

    # Definitions

    def _class(self, node: Node) -> None:
        scopes = self.scopes
        parent = scopes.at(node.start_byte)
        name = node.child_by_field_name("name")
        body = node.child_by_field_name("body")
        if name is None:
            return
        text = scopes.text(name)
        bases = node.child_by_field_name("superclasses")
        names = [scopes.text(each) for each in bases.named_children] if bases else []
        kind = NodeType.INTERFACE if any(n.split("[")[0].endswith("Protocol") for n in names) else NodeType.CLASS
        if any(re.search(r"(?:^|\.)(?:Int|Str|Int)?(?:Enum|Flag|Choices)\Z", n) for n in names):
            kind = NodeType.ENUM
        self._taken.add(name.start_byte)
        symbol = scopes.add(node, text, kind, parent)
        index = len(self.facts.symbols) - 1
        symbol.signature = self._signature(node, body)
        symbol.doc = self._docstring(body)
        for each in bases.named_children if bases else []:
            if each.type in ("identifier", "attribute", "subscript", "call"):
                base = chain(scopes.text(each).split("[")[0])
                if base:
                    self._taken.add(each.start_byte)
                    self.facts.bases.append((index, base, EdgeType.EXTENDS, self._line(each)))

    def _function(self, node: Node) -> None:
        scopes = self.scopes
        parent = scopes.at(node.start_byte)
        name = node.child_by_field_name("name")
        body = node.child_by_field_name("body")
        if name is None:
            return
        in_class = parent != NO_SCOPE and self._is_class(parent)
        self._taken.add(name.start_byte)
        symbol = scopes.add(node, scopes.text(name), NodeType.METHOD if in_class else NodeType.FUNCTION, parent)
        index = len(self.facts.symbols) - 1
        symbol.signature = self._signature(node, body)
        symbol.doc = self._docstring(body)
        returns = node.child_by_field_name("return_type")
        symbol.returns = type_of(scopes.text(returns)) if returns else ""
        symbol.flags = self._decorations(node)
        self._parameters(node.child_by_field_name("parameters"), index, symbol, in_class)

    def _line(self, node: Node) -> int:
        return self.lines.line(node.start_byte)

    def _is_class(self, index: int) -> bool:
        return self.facts.symbols[index].type in (NodeType.CLASS, NodeType.INTERFACE, NodeType.ENUM)

    def _decorations(self, node: Node) -> str:
        flags = "a" if self.source.startswith(b"async", node.start_byte) else ""
        outer = node.parent
        if outer is None or outer.type != "decorated_definition":
            return flags
        for each in outer.children:
            if each.type != "decorator":
                continue
            last = self.scopes.text(each)[1:].split("(")[0].strip().rpartition(".")[2]
            if last in _READ_LIKE_ATTRIBUTE or last in ("setter", "getter"):
                flags += "p"
            elif last == "staticmethod":
                flags += "s"
            elif last == "classmethod":
                flags += "k"
            elif last == "contextmanager":
                flags += "w"
            elif last == "overload":
                flags += "o"
            else:
                flags += "d"
        return flags

    def _parameters(self, node: Node | None, index: int, symbol: Symbol, in_class: bool) -> None:
        if node is None:
            return
        scopes = self.scopes
        first = True
        for each in node.named_children:
            kind = each.type
            if kind == "identifier":
                name_node, annotation = each, None
            elif kind in ("typed_parameter", "typed_default_parameter", "default_parameter"):
                name_node = each.child_by_field_name("name") or each.named_children[0]
                annotation = each.child_by_field_name("type")
            elif kind in ("list_splat_pattern", "dictionary_splat_pattern"):
                name_node, annotation = each.named_children[0] if each.named_children else each, None
            else:
                continue
            name, line = scopes.text(name_node).lstrip("*"), self._line(each)
            self._taken.add(name_node.start_byte)
            if first and in_class and "s" not in symbol.flags:
                is_class = "k" in symbol.flags or symbol.name in ("__new__", "__init_subclass__", "__class_getitem__")
                self._bind(index, name, "K" if is_class else "S", "", line)
            elif annotation is not None:
                text = type_of(scopes.text(annotation))
                self._bind(index, name, "t", text, line)
                if text:
                    symbol.receives.append(text)
            else:
                self._bind(index, name, "?", "", line)
            first = False

    def _signature(self, node: Node, body: Node | None) -> str:
        end = body.start_byte if body is not None else node.end_byte
        return one_line(
            self.source[node.start_byte : min(end, node.start_byte + 1_000)].decode("utf-8", "replace")
        ).rstrip(":")

    def _docstring(self, body: Node | None) -> str:
        first = body.named_children[0] if body is not None and body.named_child_count else None
        if first is None or first.type != "expression_statement":
            return ""
        text = self.scopes.text(first)
        if text[:1] not in "\"'rRuU":
            return ""
        return one_line(text.lstrip("rRuU").strip("\"'"), MOST_DOC)

    # Imports

    def _import(self, node: Node) -> None:
        scope, line = self.scopes.at(node.start_byte), self._line(node)
        for each in node.named_children:
            found = _IMPORTED.match(self.scopes.text(each))
            if not found:
                continue
            module, alias = found.groups()
            self.facts.imports.append((scope, alias or module.partition(".")[0], module, "" if alias else ".", line))

    def _from(self, node: Node) -> None:
        scope, line = self.scopes.at(node.start_byte), self._line(node)
        found = _FROM.match(self.scopes.text(node))
        if not found:
            return
        module = found.group(1)
        for each in _WITHOUT_COMMENTS.sub(" ", found.group(2)).split(","):
            part = each.strip()
            if part == "*":
                self.facts.imports.append((scope, "*", module, "*", line))
            elif named := _IMPORTED.match(part):
                self.facts.imports.append((scope, named.group(2) or named.group(1), module, named.group(1), line))

    # Bindings

    def _bind(self, scope: int, name: str, kind: str, value: str, line: int) -> None:
        self.facts.binds.append((scope, name, kind, value, line))
        self._bound[scope, name] = (kind, value)

    def _assign(self, node: Node) -> None:
        left = node.child_by_field_name("left")
        if left is None:
            return
        scope, line = self.scopes.at(node.start_byte), self._line(node)
        right, annotation = node.child_by_field_name("right"), node.child_by_field_name("type")
        kind, value = self._value(right, annotation)
        if left.type == "identifier":
            self._name_assigned(node, left, scope, kind, value, line, right)
        elif left.type == "attribute":
            self._attribute_assigned(left, scope, kind, value, line)
        elif left.type in ("pattern_list", "tuple_pattern"):
            for each in left.named_children:
                if each.type == "identifier":
                    self._taken.add(each.start_byte)
                    self._bind(scope, self.scopes.text(each), "?", "", line)

    def _value(self, right: Node | None, annotation: Node | None) -> tuple[str, str]:
        if annotation is not None:
            return "t", type_of(self.scopes.text(annotation))
        if right is None:
            return "?", ""
        if right.type in ("identifier", "attribute", "call", "subscript", "await"):
            return "v", chain(self.scopes.text(right))
        if right.type == "boolean_operator":  # a or B(): the last one is what a default gives
            last = right.named_children[-1]
            return "v", chain(self.scopes.text(last)) if last.type in ("identifier", "attribute", "call") else ""
        if right.type == "conditional_expression":
            first = right.named_children[0]
            return "v", chain(self.scopes.text(first)) if first.type in ("identifier", "attribute", "call") else ""
        if right.type == "assignment":
            return self._value(right.child_by_field_name("right"), None)
        return "?", ""

    def _name_assigned(
        self, node: Node, left: Node, scope: int, kind: str, value: str, line: int, right: Node | None
    ) -> None:
        name = self.scopes.text(left)
        self._taken.add(left.start_byte)
        self._bind(scope, name, kind, value, line)
        if scope == NO_SCOPE or self._is_class(scope):
            node_type = NodeType.CONSTANT if _CONSTANT.match(name) else NodeType.VARIABLE
            place, last = len(self.facts.symbols), self._assigned.get((scope, name))
            if last is not None and place - last <= 40:
                return  # a second assignment is no second definition
            self._assigned[scope, name] = place
            symbol = self.scopes.add(node, name, node_type, scope, opens=False)
            symbol.signature = one_line(self.scopes.text(node), 200)
            symbol.returns = value if kind == "t" else ""

    def _attribute_assigned(self, left: Node, scope: int, kind: str, value: str, line: int) -> None:
        """`self.name = value` in a method tells the attribute's type."""
        receiver = left.child_by_field_name("object")
        attribute = left.child_by_field_name("attribute")
        if receiver is None or attribute is None or receiver.type != "identifier" or scope == NO_SCOPE:
            return
        text = self.scopes.text(receiver)
        owner = self.facts.symbols[scope].parent
        if text in ("self", "cls") and owner != NO_SCOPE and self._is_class(owner):
            # The value is read in the method's scope: a parameter's type is known only there.
            value = self._substituted(scope, value) if kind == "v" else value
            kind, value = self._typed_parameter(scope, kind, value)
            self._bind(owner, self.scopes.text(attribute), "A" + kind, value, line)

    def _typed_parameter(self, scope: int, kind: str, value: str) -> tuple[str, str]:
        if kind == "v" and value and "." not in value and "(" not in value and (scope, value) in self._bound:
            bound, type_name = self._bound[scope, value]
            return (bound, type_name) if bound == "t" else ("?", "")
        return kind, value

    def _walrus(self, node: Node) -> None:
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if name is not None:
            kind, text = self._value(value, None)
            self._taken.add(name.start_byte)
            self._bind(self.scopes.at(node.start_byte), self.scopes.text(name), kind, text, self._line(node))

    def _for(self, node: Node) -> None:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        scope, line = self.scopes.at(node.start_byte), self._line(node)
        if left is None or right is None:
            return
        if left.type == "identifier":
            self._taken.add(left.start_byte)
            value = chain(self.scopes.text(right)) if right.type in ("identifier", "attribute", "call") else ""
            self._bind(scope, self.scopes.text(left), "e" if value else "?", value, line)
        else:
            for each in left.named_children:
                if each.type == "identifier":
                    self._taken.add(each.start_byte)
                    self._bind(scope, self.scopes.text(each), "?", "", line)

    _comprehension = _for

    def _as(self, node: Node) -> None:
        """`with x() as y`, `except E as e`, `case C() as c`."""
        alias = node.child_by_field_name("alias")
        if alias is None or not node.named_children:
            return
        value, scope, line = node.named_children[0], self.scopes.at(node.start_byte), self._line(node)
        name = self.scopes.text(alias)
        if not name.isidentifier():
            return
        self._taken.add(alias.start_byte)
        above = node.parent.type if node.parent is not None else ""
        if above == "except_clause":
            text = self.scopes.text(value)
            self._bind(scope, name, "t", type_of(text) if value.type in ("identifier", "attribute") else "", line)
        elif above in ("with_item", "as_pattern", "with_clause"):
            self._bind(scope, name, "w", chain(self.scopes.text(value)), line)
        else:
            self._bind(scope, name, "?", "", line)

    def _except(self, node: Node) -> None:
        return

    def _lambda(self, node: Node) -> None:
        scope = self.scopes.at(node.start_byte)
        for each in node.named_children:
            if each.type == "identifier":
                self._taken.add(each.start_byte)
                self._bind(scope, self.scopes.text(each), "?", "", self._line(each))

    # Uses

    def _calls(self, functions: list[Node]) -> None:
        """All of them at once: a third of what is captured."""
        found = self.facts.calls
        opened = [(s.start_byte, s.end_byte, i) for i, s in enumerate(self.facts.symbols) if s.type not in _VALUES]
        scope_at = ScopeAt(opened)
        for start, minus_end in sorted([(start, -end) for start, end in (node.byte_range for node in functions)]):
            self._taken.add(start)
            value, before_name = _called[self.source[start:-minus_end]]
            if value:
                line, column = self.lines.at(start + before_name)
                found.append((scope_at(start), value, line, column))

    def _return(self, node: Node) -> None:
        scope = self.scopes.at(node.start_byte)
        if scope != NO_SCOPE:
            self._returns.setdefault(scope, []).append(self._value(node, None)[1] if node.type != "none" else "-")

    def _infer_returns(self) -> None:
        """Where no annotation says it: the chain that every `return` agrees on, local names replaced by values."""
        for scope, values in self._returns.items():
            symbol = self.facts.symbols[scope]
            if symbol.returns:
                continue
            returned = {self._substituted(scope, value) for value in values if value != "-"}
            returned.discard("")
            if len(returned) == 1:
                value = returned.pop()
                symbol.returns = "=" + value  # a value, not a type

    def _substituted(self, scope: int, value: str, depth: int = 3) -> str:
        name = value.partition(".")[0].partition("(")[0].partition("[")[0]
        kind, text = self._bound.get((scope, name), ("", ""))
        if not kind:
            return value
        if kind in ("S", "K"):
            return ("self" if kind == "S" else "cls") + value[len(name) :]
        if kind == "v" and text and depth and text.partition(".")[0].partition("(")[0] != name:
            return self._substituted(scope, text + value[len(name) :], depth - 1)
        if kind == "t" and text and not text.startswith("[]") and value == name:
            return f"{text}()"
        return ""


def extract(source: bytes, captures: dict[str, list[Node]], lines: Lines) -> Facts:
    return PythonFile(source, lines).read(captures)
