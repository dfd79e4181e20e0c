"""Engine: evaluates chains. Languages add how modules are found and which names a file sees.

Entities are tuples, so that they can be compared and remembered:
("M", path) a file; ("P", folder) a package without a file; ("C", path, local) a class or type;
("I", path, local) an instance of it; ("F", path, local, returns, flags, receiver) a function, receiver being the
class it was reached through; ("V", path, local, kind, value) a variable (kind A…: an attribute without a node);
("L", entity) a container; ("E",) outside.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from lithos.graph.code.chains import tokens
from lithos.graph.code.resolving.world import World
from lithos.graph.code.values import NO_SCOPE, UNIQUE_NAME, EdgeType, Facts, NodeType

Entity = tuple[Any, ...]
OUTSIDE: Entity = ("E",)
ClassId = tuple[str, str]  # path, local
LONGEST_MRO = 64
_HEAD_END = re.compile(r"[.(\[]")

# Share of right answers by how a target was found, measured by `benchmarks code` against scip and go/types.
CONFIDENCE = {
    "syntax": 1.0,
    "self": 0.99,
    "super": 0.99,
    "scope": 0.99,
    "import": 0.97,
    "local type": 0.97,
    "attribute type": 0.9,
    UNIQUE_NAME: 0.69,
    "method set": 0.95,
}
# Where types are written down, every way but guessing is as good: consul and shadcn/ui, 0.997 to 1.0.
GO_UNIQUE_NAME = 0.95  # hugo: 113 of 118; a Go program has few names that two packages share
TYPESCRIPT_UNIQUE_NAME = 0.49  # bits-ui: 33 of 67; too few to say more (chakra-ui: 0 of 3)
TYPED_CONFIDENCE = {**CONFIDENCE, **dict.fromkeys(("import", "local type", "attribute type"), 0.99)}


@dataclass(slots=True)
class Found:
    """The meaning of a chain, and how it was found out."""

    entity: Entity
    how: str


class Edge(NamedTuple):  # made in a third of the time of a dataclass: 180,000 of Django
    source: str  # local id, "" for the file
    type: int
    target: str  # path#local, or a path
    how: str
    line: int


class Engine:
    """Resolves one file. Subclasses know a language."""

    confidence: Mapping[str, float] = CONFIDENCE
    builtin_names: frozenset[str] = frozenset()  # names too common among library types to guess by

    def __init__(self, world: World, path: str, facts: Facts) -> None:
        self.world = world
        self.path = path
        self.facts = facts
        self._binds: dict[tuple[int, str], list[tuple[int, str, str]]] = {}
        for scope, name, kind, value, line in facts.binds:
            self._binds.setdefault((scope, name), []).append((line, kind, value))
        self._rebound = {name for (_, name), binds in self._binds.items() if len(binds) > 1}
        self._imports: dict[tuple[int, str], tuple[str, str]] = {}
        for scope, local, module, name, _ in facts.imports:
            self._imports.setdefault((scope, local), (module, name))
        self._top: dict[str, Found | None] = {}  # by name, where no scope inside the file binds it
        self._walked: dict[Entity, Found | None] = {}  # by an entity, how it was found, and the chain after it
        self._children: dict[tuple[int, str], int] = {}
        for index, symbol in enumerate(facts.symbols):
            self._children[symbol.parent, symbol.name] = index
        keys = itertools.chain(self._binds, self._imports, self._children)
        self._bound_inside = {name for scope, name in keys if scope != NO_SCOPE}

    # What a language defines

    def module(self, path: str, name: str) -> Entity | None:
        """The file or package that `name` means in an import of `path`; OUTSIDE where it is not in the root."""
        raise NotImplementedError

    def exported(self, path: str, name: str) -> Entity | None:
        """The entity that a file offers under a name."""
        raise NotImplementedError

    def scopes_above(self, scope: int) -> Iterator[int]:
        """The scopes whose names are seen from `scope`, the innermost first, the file not included."""
        raise NotImplementedError

    def outer(self, name: str) -> Entity | None:
        """A name that no scope of this file binds."""
        return None

    # Names

    def name(self, scope: int, name: str, line: int) -> Found | None:
        if name in self._bound_inside:
            for each in self.scopes_above(scope):
                found = self._bound(each, name, line)
                if found is not None:
                    return found
        if not self.world.is_outermost:
            return self._at_top(name)
        if name not in self._top:
            self._top[name] = self._at_top(name)
        return self._top[name]

    def _at_top(self, name: str) -> Found | None:
        """A name that no scope inside the file binds."""
        entity = self.exported(self.path, name)
        if entity is not None:
            return Found(entity, "import" if self._is_imported(NO_SCOPE, name) or entity[0] in "ME" else "scope")
        entity = self.outer(name)
        return Found(entity, "scope") if entity is not None else None

    def _is_imported(self, scope: int, name: str) -> bool:
        return (scope, name) in self._imports or (scope, "*") in self._imports

    def _bound(self, scope: int, name: str, line: int) -> Found | None:
        if (scope, name) in self._imports:
            module, imported = self._imports[scope, name]
            return Found(self.imported(self.path, module, imported) or OUTSIDE, "import")
        index = self._children.get((scope, name))
        if index is not None and self.facts.symbols[index].type not in (NodeType.VARIABLE, NodeType.CONSTANT):
            return Found(self.local_entity(index), "scope")
        binds = self._binds.get((scope, name))
        if not binds:
            return None
        before = [each for each in binds if each[0] <= line] or binds[:1]
        at, kind, value = self._best(before)
        if kind == "S":
            owner = self.class_around(scope)
            return Found(("I", *owner), "self") if owner else Found(OUTSIDE, "self")
        if kind == "K":
            owner = self.class_around(scope)
            return Found(("C", *owner), "self") if owner else Found(OUTSIDE, "self")
        entity = self.bound_value(scope, kind, value, at)
        return Found(entity or ("?",), "local type")

    @staticmethod
    def _best(binds: list[tuple[int, str, str]]) -> tuple[int, str, str]:
        """The newest binding that says something; an annotation rules the plain assignments after it."""
        for each in binds:
            if each[1] == "t" and each[2]:
                return each
        for each in reversed(binds):
            if (each[1] != "?" and each[2]) or each[1] in ("S", "K"):
                return each
        return binds[-1]

    def bound_value(self, scope: int, kind: str, value: str, line: int) -> Entity | None:
        if not value:
            return None
        return self.world.remembered(
            ("b", self.path, scope, kind, value, line), lambda: self._bound_value(scope, kind, value, line), local=True
        )

    def _bound_value(self, scope: int, kind: str, value: str, line: int) -> Entity | None:
        if kind == "t":
            return self.typed(scope, value, line)
        found = self.evaluate(scope, value, line)
        if found is None:
            return None
        if kind == "e":
            return self.element(found.entity)
        if kind == "w":
            return self.entered(found.entity)
        return found.entity

    def typed(self, scope: int, value: str, line: int) -> Entity | None:
        """An instance of the type that `value` names."""
        if value.startswith("[]"):
            inner = self.typed(scope, value[2:], line)
            return ("L", inner) if inner else None
        found = self.evaluate(scope, value, line)
        return self.instance(found.entity) if found else None

    def instance(self, entity: Entity) -> Entity | None:
        if entity[0] == "C":
            return ("I", entity[1], entity[2])
        if entity[0] == "V":
            aliased = self.value_of(entity)
            return self.instance(aliased) if aliased and aliased[0] != "V" else None
        return OUTSIDE if entity == OUTSIDE else None

    def class_around(self, scope: int) -> ClassId | None:
        """The class whose method encloses `scope`."""
        symbols = self.facts.symbols
        while scope != NO_SCOPE:
            if symbols[scope].type in (NodeType.CLASS, NodeType.INTERFACE, NodeType.ENUM):
                return self.path, symbols[scope].local
            scope = symbols[scope].parent
        return None

    def local_entity(self, index: int) -> Entity:
        symbol = self.facts.symbols[index]
        if symbol.type in (NodeType.CLASS, NodeType.INTERFACE, NodeType.ENUM, NodeType.TYPE_ALIAS):
            return ("C", self.path, symbol.local)
        if symbol.type in (NodeType.FUNCTION, NodeType.METHOD):
            return ("F", self.path, symbol.local, symbol.returns, symbol.flags, None)
        return ("V", self.path, symbol.local, "t" if symbol.returns else "?", symbol.returns)

    # Chains

    def evaluate(self, scope: int, text: str, line: int) -> Found | None:
        """None: unknown. `("?",)` never leaves here."""
        found = self._walk(scope, tokens(text), line)
        return found if found is not None and found.entity[0] != "?" else None

    def _walk(self, scope: int, parts: Sequence[str], line: int) -> Found | None:
        if not parts:
            return None
        found = self.name(scope, parts[0], line)
        if found is None or len(parts) == 1:
            return found
        if not self.world.is_outermost:
            return self._followed(found.entity, found.how, parts[1:])
        rest = (found.entity, found.how, *parts[1:])
        if rest not in self._walked:  # `self.assertEqual` in each method of a class
            self._walked[rest] = self._followed(found.entity, found.how, parts[1:])
        return self._walked[rest]

    def _followed(self, entity: Entity | None, how: str, parts: Sequence[str]) -> Found | None:
        for part in parts:
            if entity is None or entity[0] == "?":
                return None
            if part == "()":
                entity = self.called(entity)
                how = "local type" if how in ("self", "import", "scope") else how
            elif part == "[]":
                entity = self.element(self.plain(entity) or OUTSIDE)
            else:
                holder = self.plain(entity)
                if holder is None:
                    return None
                how = self._step(how, entity, holder)
                entity = self.member(holder, part)
        return Found(entity, how) if entity is not None else None

    @staticmethod
    def _step(how: str, entity: Entity, holder: Entity) -> str:
        if entity[0] == "V" or (entity[0] == "F" and holder[0] == "I"):
            return "attribute type"
        return how

    def plain(self, entity: Entity) -> Entity | None:
        """The value of a variable or of a property."""
        if entity[0] == "V":
            return self.value_of(entity)
        if entity[0] == "F" and "p" in entity[4]:
            return self.called(entity)
        return entity

    def value_of(self, entity: Entity) -> Entity | None:
        _, path, local, kind, value = entity
        if not value:
            return None
        kind = kind.removeprefix("A")
        return self.world.remembered(("v", path, local, kind, value), lambda: self._value_in(path, local, kind, value))

    def _value_in(self, path: str, local: str, kind: str, value: str) -> Entity | None:
        there = self.at(path)
        owner = (path, local.rpartition(".")[0]) if "." in local else None
        return there.evaluate_for(owner, kind, value)

    def evaluate_for(self, receiver: ClassId | None, kind: str, value: str) -> Entity | None:
        """A chain of this file, read at its top level; `self` and `cls` mean the receiver."""
        if kind == "t":
            if value.startswith("[]"):
                inner = self.evaluate_for(receiver, "t", value[2:])
                return ("L", inner) if inner else None
            if value in ("Self", "self") and receiver:
                return ("I", *receiver)
            entity = self._from_top(receiver, value)
            return self.instance(entity) if entity else None
        entity = self._from_top(receiver, value)
        if entity is None:
            return None
        return self.element(entity) if kind == "e" else self.entered(entity) if kind == "w" else entity

    def _from_top(self, receiver: ClassId | None, value: str) -> Entity | None:
        parts = tokens(value)
        if not parts:
            return None
        entity: Entity | None
        if parts[0] in ("self", "this") and receiver:
            entity = ("I", *receiver)
        elif parts[0] in ("cls", "Self") and receiver:
            entity = ("C", *receiver)
        elif parts[0] == "super" and receiver:
            entity = ("S", *receiver)
            parts = parts[1:] if parts[1:2] == ("()",) else parts
        else:
            entity = self.exported(self.path, parts[0]) or (
                self.member(("C", *receiver), parts[0]) if receiver else None
            )
            entity = entity or self.outer(parts[0])
        for part in parts[1:]:
            if entity is None:
                return None
            if part == "()":
                entity = self.called(entity)
            elif part == "[]":
                entity = self.element(self.plain(entity) or OUTSIDE)
            else:
                holder = self.plain(entity)
                entity = self.member(holder, part) if holder else None
        return self.plain(entity) if entity else None

    def at(self, path: str) -> Engine:
        """This engine as another file would use it: only what that file publishes is known of it."""
        return self if path == self.path else type(self)(self.world, path, Facts())

    def called(self, entity: Entity) -> Entity | None:
        if entity[0] == "C":
            return ("I", entity[1], entity[2])
        if entity[0] == "F":
            return self.world.remembered(("r", *entity), lambda: self._returned(entity))
        if entity[0] == "V":
            value = self.value_of(entity)
            return self.called(value) if value and value[0] != "V" else None
        if entity[0] == "I":
            method = self.member(entity, "__call__")
            return self.called(method) if method and method[0] == "F" else None
        return OUTSIDE if entity == OUTSIDE else None

    def _returned(self, entity: Entity) -> Entity | None:
        _, path, local, returns, flags, receiver = entity
        if not returns or "d" in flags:  # a decorator may change everything
            return None
        owner = receiver or ((path, local.rpartition(".")[0]) if "." in local else None)
        if returns.startswith("="):
            return self.at(path).evaluate_for(owner, "v", returns[1:])
        return self.at(path).evaluate_for(owner, "t", returns)

    def element(self, entity: Entity) -> Entity | None:
        if entity[0] == "L":
            return entity[1]  # type: ignore[no-any-return]
        if entity[0] == "V":
            value = self.value_of(entity)
            return self.element(value) if value and value[0] != "V" else None
        return None

    def entered(self, entity: Entity) -> Entity | None:
        """`with entity as x`."""
        method = self.member(entity, "__enter__") if entity[0] == "I" else None
        if method and method[0] == "F":
            return self.called(method) or entity
        return None

    # Members

    def member(self, holder: Entity, name: str) -> Entity | None:
        kind = holder[0]
        if kind == "M":
            return self.exported(holder[1], name)
        if kind == "P":
            return self.submodule(holder[1], name)
        if kind in "CIS":
            return self.class_member((holder[1], holder[2]), name, beyond=kind == "S")
        return OUTSIDE if holder == OUTSIDE else None

    def submodule(self, folder: str, name: str) -> Entity | None:
        return None

    def class_member(self, owner: ClassId, name: str, beyond: bool = False) -> Entity | None:
        return self.world.remembered(("m", owner, name, beyond), lambda: self._class_member(owner, name, beyond))

    def _class_member(self, owner: ClassId, name: str, beyond: bool) -> Entity | None:
        line = self.mro(owner)
        for path, local in line[1:] if beyond else line:
            if path == "":
                return OUTSIDE  # a base that is not in the root: the name may be its
            entity = self.own_member(path, local, name, owner)
            if entity is not None:
                return entity
        if name == "__class__":
            return ("C", *owner)
        return None

    def own_member(self, path: str, local: str, name: str, receiver: ClassId) -> Entity | None:
        for record in self.world.get(f"c:{path}#{local}"):
            entry = record["m"].get(name)
            if entry is not None:
                return self.entry_entity(path, entry, receiver)
            attribute = record["a"].get(name)
            if attribute is not None:
                return ("V", path, f"{local}.{name}", f"A{attribute[0]}", attribute[1])
        return None

    def entry_entity(self, path: str, entry: list[Any], receiver: ClassId | None = None) -> Entity | None:
        kind = entry[0]
        if kind == "c":
            return ("C", path, entry[1])
        if kind == "f":
            return ("F", path, entry[1], entry[2], entry[3], receiver)
        if kind == "v":
            return ("V", path, entry[1], entry[2], entry[3])
        return self.imported(path, entry[1], entry[2])

    def imported(self, path: str, module: str, name: str) -> Entity | None:
        raise NotImplementedError

    def mro(self, owner: ClassId) -> list[ClassId]:
        return self.world.remembered(("mro", owner), lambda: self._mro(owner)) or [owner]

    def _mro(self, owner: ClassId) -> list[ClassId]:
        """The class and its bases, depth first, a shared base after its last heir; ("", "") for an outside one."""
        line: list[ClassId] = [owner]
        for base in self.bases(owner):
            for each in self.mro(base) if base[0] else [base]:
                if each in line and each != owner:
                    line.remove(each)
                if each != owner:
                    line.append(each)
        outside = ("", "")
        if outside in line:  # what is known in the root is looked at first
            line = [each for each in line if each != outside] + [outside]
        return line[:LONGEST_MRO]

    def bases(self, owner: ClassId) -> list[ClassId]:
        found: list[ClassId] = []
        for record in self.world.get(f"c:{owner[0]}#{owner[1]}"):
            outer = (owner[0], owner[1].rpartition(".")[0]) if "." in owner[1] else None
            for text in record["b"]:
                entity = self.at(owner[0]).evaluate_for(outer, "v", text)
                if entity and entity[0] == "V":
                    entity = self.value_of(entity)
                found.append((entity[1], entity[2]) if entity and entity[0] in "CI" else ("", ""))
        return found

    # Edges

    def target(self, entity: Entity) -> str | None:
        """The id that an edge to this entity names; None where there is nothing to point at."""
        if entity[0] == "V" and entity[3].startswith("A"):
            return None  # an attribute that only an assignment in a method shows
        if entity[0] in "CFV":
            return f"{entity[1]}#{entity[2]}"
        return entity[1] if entity[0] == "M" else f"{entity[1]}/" if entity[0] == "P" else None

    def edges(self) -> list[Edge]:
        found = [*self._structure(), *self._imported_edges(), *self._base_edges(), *self._type_edges()]
        found += self._use_edges(self.facts.calls, EdgeType.CALLS)
        found += self._use_edges(self.facts.refs, EdgeType.REFERENCES)
        return found

    def _structure(self) -> Iterator[Edge]:
        symbols = self.facts.symbols
        for symbol in symbols:
            parent = symbols[symbol.parent] if symbol.parent != NO_SCOPE else None
            kind = EdgeType.DEFINES
            if parent is not None and parent.type in (NodeType.CLASS, NodeType.INTERFACE, NodeType.ENUM):
                if symbol.type == NodeType.METHOD:
                    kind = EdgeType.HAS_METHOD
                elif symbol.type in (NodeType.VARIABLE, NodeType.CONSTANT):
                    kind = EdgeType.HAS_FIELD
            yield Edge(parent.local if parent else "", kind, f"{self.path}#{symbol.local}", "syntax", symbol.line)

    def _imported_edges(self) -> Iterator[Edge]:
        for _, local, module, name, line in self.facts.imports:
            yield from self.import_edges(local, module, name, line)

    def import_edges(self, local: str, module: str, name: str, line: int) -> Iterator[Edge]:
        """To the file that is imported, and to the symbol if one is named; else to this file's import node."""
        holder = self.module(self.path, module)
        target = self.target(holder) if holder else None
        if target and target != self.path:
            yield Edge("", EdgeType.IMPORTS, target, "import", line)
        if name not in ("", ".", "*"):
            entity = self.imported(self.path, module, name)
            symbol = self.target(entity) if entity else None
            if symbol:
                yield Edge("", EdgeType.IMPORTS, symbol, "import", line)
                return
        if target is None:
            yield Edge("", EdgeType.IMPORTS, f"{self.path}#import {module}", "syntax", line)

    def _base_edges(self) -> Iterator[Edge]:
        for index, text, kind, line in self.facts.bases:
            symbol = self.facts.symbols[index]
            found = self.evaluate(symbol.parent, text, line)
            target = self.target(found.entity) if found else None
            if found and target:
                yield Edge(symbol.local, kind, target, found.how, line)

    def _type_edges(self) -> Iterator[Edge]:
        for symbol in self.facts.symbols:
            if symbol.type not in (NodeType.FUNCTION, NodeType.METHOD):
                continue
            stated = [(EdgeType.RETURNS, symbol.returns)] if symbol.returns and symbol.returns[0] != "=" else []
            for kind, text in [*stated, *((EdgeType.RECEIVES, each) for each in symbol.receives)]:
                found = self.evaluate(symbol.parent, text.removeprefix("[]"), symbol.line)
                if found and found.entity[0] == "C":
                    yield Edge(symbol.local, kind, f"{found.entity[1]}#{found.entity[2]}", found.how, symbol.line)

    def _use_edges(self, uses: list[tuple[int, str, int, int]], kind: int) -> Iterator[Edge]:
        symbols = self.facts.symbols
        seen: set[tuple[int, str]] = set()
        for scope, text, line, _ in uses:
            if (scope, text) in seen:
                continue  # the same edge on a later line: 28% of Django's calls and references
            if not self._is_rebound(text):
                seen.add((scope, text))
            found = self.use(scope, text, line, guess=kind == EdgeType.CALLS)
            target = self.target(found.entity) if found else None
            if found and target and target != self.path:
                yield Edge(symbols[scope].local if scope != NO_SCOPE else "", kind, target, found.how, line)

    def _is_rebound(self, text: str) -> bool:
        """Whether the chain begins with a name that is bound more than once: its meaning depends on the line."""
        return bool(self._rebound) and _HEAD_END.split(text, 1)[0] in self._rebound

    def use(self, scope: int, text: str, line: int, guess: bool = True) -> Found | None:
        """The meaning of a call or reference; a guess by its last name where its receiver is unknown."""
        found = self._use(scope, text, line)
        if found is not None:
            return None if found.entity == OUTSIDE else found
        parts = tokens(text)
        if not guess or ("." not in text and not text.startswith("?")) or parts[-1] in self.builtin_names:
            return None
        if text.startswith("super()."):
            return None
        known = self.world.unique(parts[-1])
        if not known:
            return None
        path, _, local = known.partition("#")
        return Found(("F", path, local, "", "", None), UNIQUE_NAME)

    def _use(self, scope: int, text: str, line: int) -> Found | None:
        if text.startswith("?"):
            return None
        return self.evaluate(scope, text, line)
