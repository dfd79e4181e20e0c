"""Rust: crates and modules, `use`, impl blocks, traits."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import Any

from lithos.graph.code.resolving.engine import OUTSIDE, ClassId, Edge, Engine, Entity, Found
from lithos.graph.code.resolving.records import class_records, entry
from lithos.graph.code.values import NO_SCOPE, TYPES, EdgeType, Facts, NodeType

_ROOT_FILES = ("lib.rs", "main.rs", "mod.rs")
# Methods of wrappers (Option, Result, Arc, Mutex …) that give what they hold: types are kept without their wrappers.
_WRAPPED = """
unwrap expect clone as_ref as_mut borrow borrow_mut lock await to_owned unwrap_or_default unwrap_or_else unwrap_or
take get_mut as_deref as_deref_mut cloned copied read write into_inner ok upgrade downgrade by_ref into
unwrap_unchecked as_ptr get
"""
_SAME = frozenset(_WRAPPED.split())
_COMMON = """
new push pop len is_empty insert remove iter iter_mut into_iter map and_then filter collect next to_string fmt eq cmp
drop from default send recv join spawn poll wake wake_by_ref load store swap fetch_add fetch_sub is_some is_none is_ok
is_err err extend contains contains_key entry or_insert with as_str as_bytes as_slice to_vec ok_or ok_or_else map_err
flush close shutdown set reset clear split find position min max sum count last first chain zip rev enumerate is_ready
build hash
"""
_LIBRARY = _SAME | frozenset(_COMMON.split())


class RustEngine(Engine):
    builtin_names = _LIBRARY

    def scopes_above(self, scope: int) -> Iterator[int]:
        while scope != NO_SCOPE:
            if self.facts.symbols[scope].type not in TYPES:
                yield scope
            scope = self.facts.symbols[scope].parent

    def name(self, scope: int, name: str, line: int) -> Found | None:
        if name == "Self":
            owner = self._owner(scope)
            return Found(("C", *owner), "self") if owner else Found(OUTSIDE, "self")
        if name in ("crate", "super", "self") and not (name == "self" and self._owner(scope)):
            entity = self._from_path(self.path, name)
            return Found(entity, "import") if entity else None
        if name == "self":
            owner = self._owner(scope)
            return Found(("I", *owner), "self") if owner else Found(OUTSIDE, "self")
        found = super().name(scope, name, line)
        if found is None:
            entity = self._from_path(self.path, name)
            return Found(entity, "import") if entity else None
        return found

    def _owner(self, scope: int) -> ClassId | None:
        """The type whose impl, or the trait whose body, encloses this scope."""
        symbols = self.facts.symbols
        while scope != NO_SCOPE:
            symbol = symbols[scope]
            if symbol.flags.startswith("@"):
                entity = self._type_named(symbol.parent, symbol.flags[1:])
                return (entity[1], entity[2]) if entity and entity[0] == "C" else None
            if symbol.type in TYPES:
                return self.path, symbol.local
            scope = symbol.parent
        return None

    def _type_named(self, scope: int, name: str) -> Entity | None:
        for each in [*self.scopes_above(scope), NO_SCOPE]:
            index = self._children.get((each, name))
            if index is not None and self.facts.symbols[index].type in TYPES:
                return ("C", self.path, self.facts.symbols[index].local)
        return self.exported(self.path, name)

    # Modules

    def module(self, path: str, name: str) -> Entity | None:
        return self.world.remembered(("rsmod", path, name), lambda: self._module(path, name))

    def _module(self, path: str, name: str) -> Entity | None:
        entity: Entity | None = None
        for at, part in enumerate(name.split("::") if name else []):
            entity = self._from_path(path, part) if at == 0 else self._step_into(entity, part)
            if entity is None or entity == OUTSIDE:
                return OUTSIDE
        return entity or OUTSIDE

    def _from_path(self, path: str, name: str) -> Entity | None:
        """The meaning of the first part of a path."""
        if name == "crate":
            return self._crate_root(path)
        if name == "self":
            return ("M", path)
        if name == "super":
            return self._parent(path)
        below = self._file_below(path, name)
        if below is not None:
            return below
        for record in self.world.get(f"crate:{name}"):
            where = posixpath.join(record["dir"], record.get("path") or "src/lib.rs")
            if self.world.has(f"f:{where}"):
                return ("M", where)
        return None

    def _step_into(self, entity: Entity | None, name: str) -> Entity | None:
        if entity is None:
            return None
        if entity[0] == "M" and name == "super":
            return self._parent(entity[1])
        if entity[0] == "M" and name == "self":
            return entity
        return self.member(entity, name)

    def _crate_root(self, path: str) -> Entity | None:
        folder = posixpath.dirname(path)
        while True:
            for record in self.world.get(f"cargo:{folder}"):
                inside = path[len(folder) :].lstrip("/")
                if not inside.startswith("src/"):
                    return ("M", path)  # a test, an example, a benchmark: a separate crate
                for root in (record.get("path") or "src/lib.rs", "src/main.rs"):
                    where = posixpath.join(folder, root)
                    if self.world.has(f"f:{where}"):
                        return ("M", where)
            if not folder:
                return None
            folder = posixpath.dirname(folder)

    def _parent(self, path: str) -> Entity | None:
        folder, name = posixpath.split(path)
        if name in _ROOT_FILES:
            folder, name = posixpath.split(folder)
        for candidate in (f"{folder}/mod.rs", f"{folder}.rs", f"{folder}/lib.rs", f"{folder}/main.rs"):
            if candidate != path and self.world.has(f"f:{candidate}"):
                return ("M", candidate)
        return None

    def _file_below(self, path: str, name: str) -> Entity | None:
        folder = posixpath.dirname(path) if posixpath.basename(path) in _ROOT_FILES else path.removesuffix(".rs")
        for candidate in (f"{folder}/{name}.rs", f"{folder}/{name}/mod.rs"):
            if self.world.has(f"f:{candidate.lstrip('/')}"):
                return ("M", candidate.lstrip("/"))
        return None

    def imported(self, path: str, module: str, name: str) -> Entity | None:
        if not module:
            return self._from_path(path, name) or OUTSIDE
        holder = self.module(path, module)
        if holder is None or holder == OUTSIDE or name == "*":
            return holder
        return self._step_into(holder, name)

    def exported(self, path: str, name: str) -> Entity | None:
        return self.world.remembered(("x", path, name), lambda: self._exported(path, name))

    def _exported(self, path: str, name: str) -> Entity | None:
        for found in self.world.get(f"x:{path}:{name}"):
            if found[0] == "i" and found[1] == "" and found[2] == name:
                entity = self._file_below(path, name) or OUTSIDE
            else:
                entity = self.entry_entity(path, found) or OUTSIDE
            if entity != OUTSIDE:
                return entity
        below = self._file_below(path, name)
        if below is not None:
            return below
        for stars in self.world.get(f"x*:{path}"):
            for module in stars:
                holder = self.module(path, module)
                if holder and holder[0] in "MC" and holder != ("M", path):
                    starred = self.member(holder, name)
                    if starred is not None and starred != OUTSIDE:
                        return starred
        return None

    # Types

    def member(self, holder: Entity, name: str) -> Entity | None:
        found = super().member(holder, name)
        if (found is None or found == OUTSIDE) and holder[0] == "I" and name in _SAME:
            return holder
        return found

    def called(self, entity: Entity) -> Entity | None:
        return entity if entity[0] == "I" else super().called(entity)

    def own_member(self, path: str, local: str, name: str, receiver: ClassId) -> Entity | None:
        found = super().own_member(path, local, name, receiver)
        if found is not None:
            return found
        for record in self._impls(path, local):
            if name in record["m"]:
                entry_row = record["m"][name]
                return ("F", record["p"], entry_row[0], entry_row[1], entry_row[2], receiver)
        return None

    def _impls(self, path: str, local: str) -> list[dict[str, Any]]:
        """Impl blocks of a type of this name; those of the same file first, then of its crate's, then any."""
        name = local.rpartition(".")[2]
        top = path.partition("/")[0]
        found = self.world.get(f"ri:{name}")
        own = [record for record in found if record["p"] == path]
        defined_elsewhere = {record["p"] for record in found if record["d"]} - {path}
        near = [
            record
            for record in found
            if record["p"] != path and record["p"] not in defined_elsewhere and record["p"].partition("/")[0] == top
        ]
        return own + near

    def bases(self, owner: ClassId) -> list[ClassId]:
        found = [each for each in super().bases(owner) if each[0]]
        for record in self._impls(*owner):
            for trait in record["t"]:
                entity = self.at(record["p"]).evaluate_for(None, "v", trait)
                if entity and entity[0] == "C" and (entity[1], entity[2]) not in found:
                    found.append((entity[1], entity[2]))
        return found

    def _returned(self, entity: Entity) -> Entity | None:
        _, path, local, returns, _, receiver = entity
        owner = receiver or ((path, local.rpartition(".")[0]) if "." in local else None)
        return self.at(path).evaluate_for(owner, "t", returns) if returns else None

    def _from_top(self, receiver: ClassId | None, value: str) -> Entity | None:
        head = value.partition(".")[0]
        if head in ("crate", "super"):
            entity = self._from_path(self.path, head)
            for part in value.split(".")[1:]:
                entity = self._step_into(entity, part) if entity else None
            return self.plain(entity) if entity else None
        return super()._from_top(receiver, value) or (self._from_path(self.path, value) if "." not in value else None)

    # Edges

    def edges(self) -> list[Edge]:
        return [*super().edges(), *self._impl_edges()]

    def _structure(self) -> Iterator[Edge]:
        methods = {f"{self.path}#{s.local}" for s in self.facts.symbols if s.flags.startswith("@")}
        yield from (edge for edge in super()._structure() if edge.target not in methods)

    def _impl_edges(self) -> Iterator[Edge]:
        """From each type of this file to its methods and traits, wherever the impl is."""
        for symbol in self.facts.symbols:
            if symbol.type not in (NodeType.CLASS, NodeType.ENUM, NodeType.INTERFACE):
                continue
            for record in self._impls(self.path, symbol.local):
                for local, _, _ in record["m"].values():
                    yield Edge(symbol.local, EdgeType.HAS_METHOD, f"{record['p']}#{local}", "syntax", symbol.line)
                for trait in record["t"]:
                    entity = self.at(record["p"]).evaluate_for(None, "v", trait)
                    if entity and entity[0] == "C":
                        yield Edge(symbol.local, EdgeType.IMPLEMENTS, f"{entity[1]}#{entity[2]}", "import", symbol.line)


def publish(path: str, facts: Facts) -> Iterator[tuple[str, Any]]:
    yield f"f:{path}", 1
    found: dict[str, list[Any]] = {}
    stars = []
    for scope, local, module, name, _ in facts.imports:
        if scope == NO_SCOPE and name == "*":
            stars.append(module)
        elif scope == NO_SCOPE and local != "_":
            found[local] = ["i", module, name]
    for symbol in facts.symbols:
        if symbol.parent == NO_SCOPE and not symbol.flags.startswith("@"):
            found[symbol.name] = entry(symbol)
    yield from ((f"x:{path}:{name}", value) for name, value in found.items())
    if stars:
        yield f"x*:{path}", stars
    impls: dict[str, dict[str, Any]] = {}
    for symbol, record in class_records(facts, (*TYPES, NodeType.PACKAGE)):
        yield f"c:{path}#{symbol.local}", record
    for symbol in facts.symbols:
        if symbol.type in (NodeType.CLASS, NodeType.ENUM):
            _impl(impls, path, symbol.name)["d"] = 1
        if symbol.flags.startswith("@"):
            _impl(impls, path, symbol.flags[1:])["m"].setdefault(symbol.name, [symbol.local, symbol.returns, ""])
    for kind, trait in facts.extra.get("impls", []):
        if trait:
            traits = _impl(impls, path, kind.rpartition(".")[2])["t"]
            if trait not in traits:
                traits.append(trait)
    for name, record in impls.items():
        yield f"ri:{name}", record


def _impl(impls: dict[str, dict[str, Any]], path: str, name: str) -> dict[str, Any]:
    return impls.setdefault(name, {"p": path, "m": {}, "t": [], "d": 0})
