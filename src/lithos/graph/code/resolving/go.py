"""Go: packages are folders, modules come from go.mod, methods join their type, embedding, interfaces by method set."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import Any

from lithos.graph.code.resolving.engine import (
    GO_UNIQUE_NAME,
    OUTSIDE,
    TYPED_CONFIDENCE,
    ClassId,
    Edge,
    Engine,
    Entity,
    Found,
)
from lithos.graph.code.values import NO_SCOPE, UNIQUE_NAME, EdgeType, Facts, NodeType

_TYPES = (NodeType.CLASS, NodeType.INTERFACE, NodeType.TYPE_ALIAS)
_COMMON = """
Error String Close Read Write Lock Unlock RLock RUnlock Done Add Wait Len Less Swap Get Set Run Start Stop Name Equal
Fatal Fatalf Errorf Logf Log Printf Println Sprintf Info Warn Debug Trace Err Value Marshal Unmarshal Encode Decode
Context Cancel Now Sub Unix Format Parse Split Join Contains Replace Do New Next Reset Flush Copy Clone Helper Cleanup
Bytes Scan Exec Query Bool Int Int64 Float64 Duration Header Handle Serve
"""
_LIBRARY = frozenset(_COMMON.split())


class GoEngine(Engine):
    builtin_names = _LIBRARY
    confidence = {**TYPED_CONFIDENCE, UNIQUE_NAME: GO_UNIQUE_NAME}

    def scopes_above(self, scope: int) -> Iterator[int]:
        while scope != NO_SCOPE:
            yield scope
            scope = self.facts.symbols[scope].parent

    def _bound(self, scope: int, name: str, line: int) -> Found | None:
        for at, kind, value in self._binds.get((scope, name), ()):
            if kind == "R" and value:
                owner = self.exported(self.path, value)
                return Found(("I", owner[1], owner[2]) if owner and owner[0] == "C" else OUTSIDE, "self")
            del at
        return super()._bound(scope, name, line)

    def _bound_value(self, scope: int, kind: str, value: str, line: int) -> Entity | None:
        if not kind.isdigit():
            return super()._bound_value(scope, kind, value, line)
        if not value.endswith("()"):
            return None
        function = self.evaluate(scope, value[:-2], line)
        return self._result(function.entity, int(kind)) if function else None

    def _result(self, function: Entity, at: int) -> Entity | None:
        """The type of the n-th result of a call."""
        if function[0] != "F":
            return self.called(function) if at == 0 else None
        for results in self.world.get(f"r:{function[1]}#{function[2]}"):
            if at < len(results) and results[at]:
                return self.at(function[1]).evaluate_for(None, "t", results[at])
        return self.called(function) if at == 0 else None

    def called(self, entity: Entity) -> Entity | None:
        if entity[0] == "C":  # a conversion
            return ("I", entity[1], entity[2])
        return super().called(entity)

    def _value_in(self, path: str, local: str, kind: str, value: str) -> Entity | None:
        return self.at(path).evaluate_for(None, kind, value)

    def _returned(self, entity: Entity) -> Entity | None:
        _, path, _, returns, _, _ = entity
        if not returns:
            return None
        if returns.startswith("="):
            return self.at(path).evaluate_for(None, "v", returns[1:])
        return self.at(path).evaluate_for(None, "t", returns)

    # Packages

    def module(self, path: str, name: str) -> Entity | None:
        return self.world.remembered(("gomod", name), lambda: self._module(name))

    def _module(self, name: str) -> Entity:
        best: tuple[int, str] | None = None
        for record in self.world.get("gomods"):
            prefix = record["module"]
            if name == prefix or name.startswith(f"{prefix}/"):
                folder = posixpath.join(record["dir"], name[len(prefix) :].lstrip("/")).strip("/")
                if best is None or len(prefix) > best[0]:
                    best = (len(prefix), folder)
        if best is not None and self.world.has(f"gd:{best[1]}"):
            return ("P", best[1])
        return OUTSIDE

    def imported(self, path: str, module: str, name: str) -> Entity | None:
        return self.module(path, module)

    def submodule(self, folder: str, name: str) -> Entity | None:
        return self.world.remembered(("gp", folder, name), lambda: self._in_package(folder, name))

    def _in_package(self, folder: str, name: str) -> Entity | None:
        for entry in self.world.get(f"p:{folder}:{name}"):
            return self.entry_entity(entry[0], entry[1:])
        return None

    def exported(self, path: str, name: str) -> Entity | None:
        """A name of the file's package, or one that the file imports."""
        for imported in self.world.get(f"x:{path}:{name}"):
            return self.module(path, imported)
        return self.submodule(posixpath.dirname(path), name)

    # Types

    def own_member(self, path: str, local: str, name: str, receiver: ClassId) -> Entity | None:
        for record in self.world.get(f"gm:{posixpath.dirname(path)}:{local}"):
            where = record["p"]
            if name in record["m"]:
                entry = record["m"][name]
                return ("F", where, entry[0], entry[1], "", receiver)
            if name in record["f"]:
                return ("V", where, f"{local}.{name}", "t", record["f"][name])
        for record in self.world.get(f"gm:{posixpath.dirname(path)}:{local}"):
            for embedded in record["e"]:
                if embedded.rpartition(".")[2] == name:
                    return self.at(record["p"]).evaluate_for(None, "t", embedded)
        return None

    def bases(self, owner: ClassId) -> list[ClassId]:
        found: list[ClassId] = []
        for record in self.world.get(f"gm:{posixpath.dirname(owner[0])}:{owner[1]}"):
            for text in record["e"]:
                entity = self.at(record["p"]).evaluate_for(None, "t", text)
                found.append((entity[1], entity[2]) if entity and entity[0] == "I" else ("", ""))
            if record.get("a"):  # type A B: the methods of B are not A's, its fields are; an alias has all
                entity = self.at(record["p"]).evaluate_for(None, "t", record["a"])
                if entity and entity[0] == "I":
                    found.append((entity[1], entity[2]))
        return found

    # Edges

    def edges(self) -> list[Edge]:
        return [*super().edges(), *self._methods(), *self._implements()]

    def _structure(self) -> Iterator[Edge]:
        for edge in super()._structure():
            symbol_is_method = (
                edge.type == EdgeType.DEFINES and edge.source == "" and "." in edge.target.rpartition("#")[2]
            )
            if not symbol_is_method:
                yield edge

    def _methods(self) -> Iterator[Edge]:
        """From each type of this file to its methods, in whichever file of the package they are."""
        folder = posixpath.dirname(self.path)
        for symbol in self.facts.symbols:
            if symbol.type in _TYPES and symbol.parent == NO_SCOPE:
                for record in self.world.get(f"gm:{folder}:{symbol.local}"):
                    for local, _ in record["m"].values():
                        yield Edge(symbol.local, EdgeType.HAS_METHOD, f"{record['p']}#{local}", "syntax", symbol.line)

    def _implements(self) -> Iterator[Edge]:
        """To every interface whose methods this type has. Interfaces are found by their first method's name."""
        for symbol in self.facts.symbols:
            if symbol.type not in (NodeType.CLASS, NodeType.TYPE_ALIAS) or symbol.parent != NO_SCOPE:
                continue
            methods = self._method_set((self.path, symbol.local))
            for name in sorted(methods):
                for record in self.world.get(f"gi:{name}"):
                    for interface, wanted in record["i"]:
                        if methods.issuperset(wanted):
                            yield Edge(
                                symbol.local,
                                EdgeType.IMPLEMENTS,
                                f"{record['p']}#{interface}",
                                "method set",
                                symbol.line,
                            )

    def _method_set(self, owner: ClassId) -> set[str]:
        found: set[str] = set()
        for path, local in self.mro(owner):
            if path:
                for record in self.world.get(f"gm:{posixpath.dirname(path)}:{local}"):
                    found.update(record["m"])
        return found


def publish(path: str, facts: Facts) -> Iterator[tuple[str, Any]]:
    folder = posixpath.dirname(path)
    yield f"f:{path}", 1
    yield f"gd:{folder}", 1
    for scope, local, module, _, _ in facts.imports:
        if local and scope == NO_SCOPE:
            yield f"x:{path}:{local}", module
    declared = facts.extra.get("types", {})
    types: dict[str, dict[str, Any]] = {}
    names = [symbol.name for symbol in facts.symbols if symbol.type in _TYPES and symbol.parent == NO_SCOPE]
    for name in names:
        known = declared.get(name, {})
        types[name] = {"p": path, "m": {}, "f": known.get("fields", {}), "e": known.get("embeds", [])}
    for symbol in facts.symbols:
        parent = facts.symbols[symbol.parent] if symbol.parent != NO_SCOPE else None
        if symbol.type == NodeType.METHOD:
            owner = symbol.flags.removeprefix("@") if parent is None else parent.local
            record = types.setdefault(owner, {"p": path, "m": {}, "f": {}, "e": []})
            record["m"][symbol.name] = [symbol.local, symbol.returns]
        elif parent is None:
            yield f"p:{folder}:{symbol.name}", [path, *_entry(symbol.type, symbol.local, symbol.returns)]
            if symbol.type == NodeType.TYPE_ALIAS and symbol.returns:
                types[symbol.name]["a"] = symbol.returns
    for owner, record in types.items():
        yield f"gm:{folder}:{owner}", record
    yield from _interfaces(path, facts, declared)
    for local, results in facts.extra.get("results", {}).items():
        if len(results) > 1:
            yield f"r:{path}#{local}", results


def _entry(kind: int, local: str, returns: str) -> list[Any]:
    if kind in _TYPES:
        return ["c", local]
    if kind == NodeType.FUNCTION:
        return ["f", local, returns, ""]
    return ["v", local, "v" if returns.startswith("=") else "t", returns.lstrip("=")]


def _interfaces(path: str, facts: Facts, declared: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Each interface under the first of its method names: a type looks only at those it may implement."""
    by_first: dict[str, list[Any]] = {}
    for symbol in facts.symbols:
        methods = sorted(declared.get(symbol.local, {}).get("methods", []))
        if symbol.type == NodeType.INTERFACE and methods and not declared[symbol.local]["embeds"]:
            by_first.setdefault(methods[0], []).append([symbol.local, methods])
    for name, found in by_first.items():
        yield f"gi:{name}", {"p": path, "i": found}
