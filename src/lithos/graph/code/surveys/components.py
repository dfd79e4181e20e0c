"""Components, hooks and utilities that a script file exports, their props, and the elements that it uses."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from lithos.graph.code.surveys.literals import _Reader
from lithos.graph.code.surveys.reading import text_of

if TYPE_CHECKING:
    from tree_sitter import Node

LONGEST_USE = 240
MOST_PROPS = 40
# Calls that make a component, of a function, of an element's name or of options: `forwardRef(…)`, `withContext("div")`,
# `genericComponent()({…})`, `polymorphicFactory<…>(…)`.
_WRAPPER = re.compile(
    r"(?:^|\.)(?:forwardRef|memo|observer|styled|chakra|polymorphic|component\$|withRef|withContext|with(?:Root)?Provider"
    r"|withInstall|\w*[cC]omponent|\w*[fF]actory|createSimpleFunctional|create(?:Icon|CssTransition|JavascriptTransition)"
    r"|Object\.assign)\Z"
)
_OF_NAMES = ("withInstall", "Object.assign")  # another name of a component of this file
_HOOK = re.compile(r"use[A-Z]\w*\Z")
_COMPONENT = re.compile(r"[A-Z]\w*\Z")
# Marks of a file that recurring compositions are made of.
_FLAGS = {
    "form": re.compile(rb"<form\b|useForm\(|<Form\b|useFormik\("),
    "validation": re.compile(rb"zodResolver|yupResolver|zod|yup|validationSchema|\brequired\b"),
    "loading": re.compile(rb"\bisLoading\b|\bisPending\b|\bloading\b|<Skeleton|<Spinner|<Suspense"),
    "list": re.compile(rb"\.map\(\s*\(?\w|v-for=|\{#each"),
    "error state": re.compile(rb"\bisError\b|\berror &&|\berror \?|ErrorBoundary"),
    "fetching": re.compile(rb"useQuery\(|useSWR\(|\bfetch\(|axios\."),
    "table": re.compile(rb"<Table\b|<table\b|useReactTable\("),
    "pagination": re.compile(rb"[Pp]agination|nextPage|pageSize"),
    "dialog": re.compile(rb"<(Alert)?Dialog\b|<Modal\b|<Drawer\b|<Sheet\b"),
    "empty state": re.compile(rb"<Empty|No results|length === 0"),
}
_FUNCTIONS = (
    "function_declaration",
    "function_expression",
    "arrow_function",
    "generator_function_declaration",
    "function",
)


def query(language: str) -> str:
    elements = "(jsx_opening_element name: (_) @element) (jsx_self_closing_element name: (_) @element)"
    hooks = '((call_expression function: (identifier) @hook) (#match? @hook "^use[A-Z]"))'
    return f"{elements} {hooks}" if language in ("tsx", "javascript") else hooks


def survey(language: str, source: bytes, root: Node, captures: dict[str, list[Node]]) -> dict[str, Any]:
    """`made`: what the file defines; `exported`: names; `uses`: element or called hook → [count, line, text]."""
    reader = _File(source)
    for node in root.named_children:
        reader.type_of(node)
    for node in root.named_children:
        reader.statement(node, exported=False)
    return {
        "made": [each for each in reader.made if each["name"]],
        "exported": sorted(reader.exported),
        "uses": _uses(source, captures.get("element", [])) | _calls(source, captures.get("hook", [])),
        "flags": [name for name, pattern in _FLAGS.items() if pattern.search(source)],
    }


def _uses(source: bytes, nodes: list[Node]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for node in nodes:
        name = text_of(source, node)
        if not name[:1].isupper():
            continue
        entry = found.get(name)
        if entry is not None:
            entry[0] += 1
            continue
        opening = node.parent
        whole = opening.parent if opening is not None and opening.type == "jsx_opening_element" else opening
        text = text_of(source, whole)
        if len(text) > LONGEST_USE:
            text = text_of(source, opening)
        found[name] = [1, node.start_point[0] + 1, text[:LONGEST_USE]]
    return found


def _calls(source: bytes, nodes: list[Node]) -> dict[str, list[Any]]:
    """Calls of hooks, each with its whole statement."""
    found: dict[str, list[Any]] = {}
    for node in nodes:
        entry = found.setdefault(text_of(source, node), [0, node.start_point[0] + 1, ""])
        entry[0] += 1
        if not entry[2]:
            statement = node
            while statement.parent is not None and not statement.type.endswith(("_statement", "_declaration")):
                statement = statement.parent
            text = text_of(source, statement)
            entry[2] = text if len(text) <= LONGEST_USE else text_of(source, node.parent)[:LONGEST_USE]
    return found


class _File:
    def __init__(self, source: bytes) -> None:
        self._source = source
        self._values = _Reader(source)
        self._types: dict[str, Node] = {}
        self._variants: dict[str, dict[str, Any]] = {}
        self._constants: dict[str, Node] = {}
        self.made: list[dict[str, Any]] = []
        self.exported: set[str] = set()

    def text(self, node: Node | None) -> str:
        return text_of(self._source, node)

    def type_of(self, node: Node) -> None:
        """Types first: a component may come before the type of its props."""
        for each in (node, *(node.named_children if node.type == "export_statement" else ())):
            if each.type in ("interface_declaration", "type_alias_declaration"):
                self._types[self.text(each.child_by_field_name("name"))] = each

    def statement(self, node: Node, *, exported: bool) -> None:
        kind = node.type
        if kind == "export_statement":
            self._export(node)
        elif kind in ("function_declaration", "generator_function_declaration"):
            self._function(self.text(node.child_by_field_name("name")), node, node, exported)
        elif kind == "class_declaration":
            self._class(node, exported)
        elif kind in ("lexical_declaration", "variable_declaration"):
            for child in node.named_children:
                self._declared(child, node, exported)

    def _export(self, node: Node) -> None:
        default = self.text(node)[:15].startswith("export default")
        for child in node.named_children:
            if child.type == "export_clause" and node.child_by_field_name("source") is None:
                for each in child.named_children:
                    name = each.child_by_field_name("name")
                    if name is not None:
                        self.exported.add(self.text(name))
            elif child.type == "identifier" and default:
                self.exported.add(self.text(child))
            elif child.type == "call_expression" and default:
                self._default_component(child)
            else:
                before = len(self.made)
                self.statement(child, exported=True)
                self.exported |= {each["name"] for each in self.made[before:]}

    def _default_component(self, call: Node) -> None:
        """`export default defineComponent({ name: "Tag", … })`."""
        callee = _callee(self.text(call.child_by_field_name("function")))
        arguments = call.child_by_field_name("arguments")
        options = (
            next((each for each in arguments.named_children if each.type == "object"), None) if arguments else None
        )
        named = _member(self, options, "name") if options is not None and _WRAPPER.search(callee) else None
        if named is not None and named.type == "string":
            self._wrapped(self.text(named).strip("\"'"), callee, options, call, exported=True)

    def _class(self, node: Node, exported: bool) -> None:
        head = self.text(node).partition("{")[0]
        name = self.text(node.child_by_field_name("name"))
        if "Component" in head and "extends" in head and _COMPONENT.match(name):
            generic = re.search(r"Component<\s*(\w+)", head)
            props = self._type_props(self._types.get(generic[1])) if generic else {}
            self._add(name, "ui", node, list(props.values()), head)
            if exported:
                self.exported.add(name)

    def _declared(self, node: Node, statement: Node, exported: bool) -> None:
        name_node, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if name_node is None or value is None or name_node.type != "identifier":
            return
        name = self.text(name_node)
        self._constants[name] = value
        function = value
        for _ in range(4):
            if function.type in _FUNCTIONS or function.type != "call_expression":
                break
            callee = _callee(self.text(function.child_by_field_name("function")))
            if callee.endswith(("cva", "tv")):
                self._variants[name] = self._cva(function)
                return
            arguments = function.child_by_field_name("arguments")
            if not _WRAPPER.search(callee) or arguments is None:
                return
            first = arguments.named_children[0] if arguments.named_children else None
            if first is None or first.type not in (*_FUNCTIONS, "call_expression"):
                self._wrapped(name, callee, first, statement, exported)
                return
            function = first
        if function.type in _FUNCTIONS:
            self._function(name, function, statement, exported, generics=self.text(value)[:300])

    def _wrapped(self, name: str, callee: str, argument: Node | None, statement: Node, exported: bool) -> None:
        """A component made of options, of an element's name, or of another component of this file."""
        if not _COMPONENT.match(name):
            return
        props: dict[str, dict[str, Any]] = {}
        if callee in _OF_NAMES:
            known = next(
                (each for each in self.made if argument is not None and each["name"] == self.text(argument)), None
            )
            if known is None or known["kind"] != "ui":
                return
            props = {each["name"]: each for each in known["props"]}
        elif argument is not None and argument.type == "object":
            props = self._option_props(argument)
        props = props or self._type_props(self._types.get(f"{name}Props"))
        self._add(name, "ui", statement, list(props.values()), "", self.text(statement))
        if exported:
            self.exported.add(name)

    def _option_props(self, options: Node) -> dict[str, dict[str, Any]]:
        """`props` of Vue's options: an object, or what a constant or a function of this file makes."""
        value = _member(self, options, "props")
        for _ in range(3):
            if value is None or value.type == "object":
                break
            called = value.child_by_field_name("function") if value.type == "call_expression" else value
            name = _callee(self.text(called))
            arguments = value.child_by_field_name("arguments") if value.type == "call_expression" else None
            inner = [*arguments.named_children] if arguments is not None else []
            value = next((each for each in inner if each.type == "object"), None) or self._constants.get(name)
        found: dict[str, dict[str, Any]] = {}
        for child in value.named_children if value is not None else ():
            key, kind = child.child_by_field_name("key"), child.child_by_field_name("value")
            if child.type == "pair" and key is not None and kind is not None:
                entry = self._option_prop(self.text(key).strip("\"'"), kind)
                found[entry["name"]] = entry
        return found

    def _option_prop(self, name: str, value: Node) -> dict[str, Any]:
        entry: dict[str, Any] = {"name": name, "type": self.text(value)[:60], "required": False}
        if value.type == "object":
            said = {part: _member(self, value, part) for part in ("type", "default", "required")}
            entry["type"] = " ".join(self.text(said["type"]).split())[:120]
            entry["required"] = self.text(said["required"]) == "true"
            if said["default"] is not None and said["default"].type not in _FUNCTIONS:
                entry["default"] = self.text(said["default"]).strip("\"'")[:80]
        return entry

    def _cva(self, node: Node) -> dict[str, Any]:
        arguments = node.child_by_field_name("arguments")
        values = [self._values.value(each) for each in arguments.named_children] if arguments is not None else []
        options = next((each for each in values if isinstance(each, dict) and "variants" in each), {})
        variants = options.get("variants")
        defaults = options.get("defaultVariants")
        return {
            "variants": {k: list(v) for k, v in variants.items() if isinstance(v, dict)}
            if isinstance(variants, dict)
            else {},
            "defaults": defaults if isinstance(defaults, dict) else {},
        }

    def _function(self, name: str, node: Node, statement: Node, exported: bool, generics: str = "") -> None:
        if _HOOK.match(name):
            kind = "hook"
        elif _COMPONENT.match(name) and ("<" in self.text(node) or "h(" in self.text(node)):
            kind = "ui"
        else:
            kind = "utility"
        props = self._props(node, generics) if kind == "ui" else []
        body = node.child_by_field_name("body")
        end = body.start_byte if body is not None else node.end_byte
        signature = " ".join(
            self._source[node.start_byte : min(end, node.start_byte + 400)].decode("utf-8", "replace").split()
        )
        if kind == "ui":
            signature = ""
        self._add(name, kind, statement, props, signature.rstrip("{=> "), self.text(node) if kind == "ui" else "")
        if exported:
            self.exported.add(name)

    def _add(
        self, name: str, kind: str, node: Node, props: list[dict[str, Any]], signature: str, body: str = ""
    ) -> None:
        variants: dict[str, list[str]] = {}
        for variable, each in self._variants.items():
            if body and re.search(rf"\b{re.escape(variable)}\b", body):
                variants |= each["variants"]
                known = {prop["name"]: prop for prop in props}
                for prop, values in each["variants"].items():
                    entry = known.get(prop) or {
                        "name": prop,
                        "type": " | ".join(repr(v) for v in values),
                        "required": False,
                    }
                    if prop in each["defaults"]:
                        entry["default"] = str(each["defaults"][prop])
                    entry["type"] = " | ".join(f"'{value}'" for value in values[:12])
                    if prop not in known:
                        props.append(entry)
        entry = {"name": name, "kind": kind, "line": node.start_point[0] + 1, "props": props[:MOST_PROPS]}
        entry |= {"variants": variants} if variants else {}
        entry |= {"signature": signature[:300]} if signature else {}
        doc = self._doc(node)
        self.made.append({**entry, "doc": doc} if doc else entry)

    def _doc(self, node: Node) -> str:
        outer = node.parent if node.parent is not None and node.parent.type == "export_statement" else node
        before = outer.prev_named_sibling
        if before is None or before.type != "comment" or before.end_point[0] < outer.start_point[0] - 1:
            return ""
        text = re.sub(r"^\s*(/\*\*?|\*/|\*|//)\s?|\s*\*/\s*$", "", self.text(before), flags=re.MULTILINE)
        return " ".join(text.split())[:300]

    def _props(self, node: Node, generics: str) -> list[dict[str, Any]]:
        parameters = node.child_by_field_name("parameters") or node.child_by_field_name("parameter")
        first = parameters
        if parameters is not None and parameters.type == "formal_parameters":
            first = parameters.named_children[0] if parameters.named_children else None
        props: dict[str, dict[str, Any]] = {}
        annotation = first.child_by_field_name("type") if first is not None else None
        if annotation is not None:
            props |= self._type_props(annotation)
        else:
            for name in re.findall(r"[<,]\s*(\w+(?:Props|Factory))\s*[,>]", generics):
                name = re.sub(r"Factory\Z", "Props", name)
                if name in self._types:
                    props |= self._type_props(self._types[name])
        pattern = (
            first.child_by_field_name("pattern") if first is not None and first.type != "object_pattern" else first
        )
        if pattern is not None and pattern.type == "object_pattern":
            for child in pattern.named_children:
                self._pattern_prop(child, props)
        return list(props.values())

    def _pattern_prop(self, child: Node, props: dict[str, dict[str, Any]]) -> None:
        if child.type in ("shorthand_property_identifier_pattern", "pair_pattern"):
            key = child.child_by_field_name("key") or child
            name = self.text(key)
            props.setdefault(name, {"name": name, "type": "", "required": False})
        elif child.type == "object_assignment_pattern":
            name, value = self.text(child.child_by_field_name("left")), self.text(child.child_by_field_name("right"))
            entry = props.setdefault(name, {"name": name, "type": "", "required": False})
            entry |= {"default": value.strip("\"'")[:80], "required": False}

    def _type_props(self, node: Node | None, depth: int = 0) -> dict[str, dict[str, Any]]:
        """Members of an object type; references within the file and intersections are followed."""
        props: dict[str, dict[str, Any]] = {}
        if node is None or depth > 4:
            return props
        if node.type in ("object_type", "interface_body"):
            for child in node.named_children:
                if child.type in ("property_signature", "method_signature"):
                    name = self.text(child.child_by_field_name("name")).strip("\"'")
                    kind = self.text(child.child_by_field_name("type")).lstrip(": ")
                    optional = "?" in self.text(child)[: len(name) + 3]
                    props[name] = {"name": name, "type": " ".join(kind.split())[:120], "required": not optional}
            return props
        if node.type == "type_identifier" and self.text(node) in self._types:
            found = self._types[self.text(node)]
            inner = found.child_by_field_name("body") or found.child_by_field_name("value")
            return self._type_props(inner, depth + 1)
        if node.type in ("interface_declaration", "type_alias_declaration"):
            return self._type_props(node.child_by_field_name("body") or node.child_by_field_name("value"), depth + 1)
        if node.type in (
            "type_annotation",
            "intersection_type",
            "parenthesized_type",
            "generic_type",
            "type_arguments",
        ):
            if node.type == "generic_type" and not self.text(node).startswith(
                ("PropsWithChildren", "React.PropsWithChildren", "Readonly", "Partial")
            ):
                return props
            for child in node.named_children:
                props |= self._type_props(child, depth + 1)
        return props


def _callee(text: str) -> str:
    """`genericComponent<Slots>()` → `genericComponent`."""
    return re.split(r"[<(]", text, maxsplit=1)[0].strip()


def _member(reader: _File, options: Node, name: str) -> Node | None:
    for child in options.named_children:
        key = child.child_by_field_name("key")
        if child.type == "pair" and key is not None and reader.text(key).strip("\"'") == name:
            return child.child_by_field_name("value")
    return None
