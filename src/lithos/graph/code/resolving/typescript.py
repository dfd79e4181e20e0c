"""TypeScript and JavaScript: module paths (relative, tsconfig paths, workspace packages), re-exports, `this`."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import Any

from lithos.graph.code.resolving.engine import (
    OUTSIDE,
    TYPED_CONFIDENCE,
    TYPESCRIPT_UNIQUE_NAME,
    Engine,
    Entity,
    Found,
)
from lithos.graph.code.resolving.records import class_records, entry
from lithos.graph.code.values import NO_SCOPE, TYPES, UNIQUE_NAME, Facts, NodeType

# What a class or an object literal holds is reached through it, never by its bare name.
_WITHOUT_NAMES = (*TYPES, NodeType.VARIABLE, NodeType.CONSTANT)
_ENDINGS = (".ts", ".tsx", ".d.ts", ".js", ".jsx", ".mjs", ".cjs", ".mts", ".cts")
_COMMON = """
map filter forEach reduce push pop shift unshift slice splice concat join split replace match test exec toString then
catch finally find findIndex some every includes indexOf sort reverse keys values entries get set has delete add clear
apply call bind trim startsWith endsWith toLowerCase toUpperCase log error warn info stringify parse assign create
addEventListener removeEventListener querySelector appendChild setAttribute getAttribute focus blur click resolve
reject on off emit once next return close open send write read end start stop init toFixed charAt padStart flat
flatMap fill substring substr at all race from of isArray render update use json text
"""
_LIBRARY = frozenset(_COMMON.split())


class TypeScriptEngine(Engine):
    builtin_names = _LIBRARY
    confidence = {**TYPED_CONFIDENCE, UNIQUE_NAME: TYPESCRIPT_UNIQUE_NAME}

    def scopes_above(self, scope: int) -> Iterator[int]:
        symbols = self.facts.symbols
        while scope != NO_SCOPE:
            if symbols[scope].type not in _WITHOUT_NAMES:
                yield scope
            scope = symbols[scope].parent

    def name(self, scope: int, name: str, line: int) -> Found | None:
        if name in ("this", "super"):
            owner = self.class_around(scope)
            if owner is None:
                return None
            return Found(("I" if name == "this" else "S", *owner), "self" if name == "this" else "super")
        return super().name(scope, name, line)

    def called(self, entity: Entity) -> Entity | None:
        if entity[0] == "S":  # super(…): the constructor of the base
            return None
        return super().called(entity)

    # Modules

    def module(self, path: str, name: str) -> Entity | None:
        folder = posixpath.dirname(path)
        return self.world.remembered(("tsmod", folder, name), lambda: self._module(folder, name))

    def _module(self, folder: str, name: str) -> Entity:
        if name.startswith("."):
            return self._file(posixpath.normpath(posixpath.join(folder, name))) or OUTSIDE
        return self._by_paths(folder, name) or self._workspace(name) or OUTSIDE

    def _file(self, stem: str) -> Entity | None:
        if stem.startswith(".."):
            return None
        stem = "" if stem == "." else stem
        if self.world.has(f"f:{stem}"):
            return ("M", stem)
        for ending in _ENDINGS:
            if self.world.has(f"f:{stem}{ending}"):
                return ("M", stem + ending)
        base, dot, ending = stem.rpartition(".")
        if dot and ending in ("js", "jsx", "mjs", "cjs"):  # what TypeScript writes for a .ts file
            for other in (".ts", ".tsx", ".mts", ".cts", ".d.ts"):
                if self.world.has(f"f:{base}{other}"):
                    return ("M", base + other)
        for ending in _ENDINGS:
            if self.world.has(f"f:{stem}/index{ending}".lstrip("/")):
                return ("M", f"{stem}/index{ending}".lstrip("/"))
        return None

    def _by_paths(self, folder: str, name: str) -> Entity | None:
        """`compilerOptions.paths` and `baseUrl` of the nearest tsconfig."""
        while True:
            for settings in self._tsconfig(folder):
                found = self._mapped(settings, name)
                if found is not None:
                    return found
            if not folder:
                return None
            folder = posixpath.dirname(folder)

    def _tsconfig(self, folder: str) -> Iterator[dict[str, Any]]:
        for settings in self.world.get(f"ts:{folder}"):
            yield settings
            extended = settings.get("extends", "")
            if extended.startswith("."):
                base = posixpath.normpath(posixpath.join(folder, extended))
                yield from self.world.get(f"ts:{posixpath.dirname(base)}")

    def _mapped(self, settings: dict[str, Any], name: str) -> Entity | None:
        base = posixpath.normpath(posixpath.join(settings["dir"], settings.get("baseUrl") or "."))
        for pattern, targets in settings.get("paths", {}).items():
            head, star, tail = pattern.partition("*")
            if not name.startswith(head) or not name.endswith(tail) or (not star and name != pattern):
                continue
            middle = name[len(head) : len(name) - len(tail) if tail else None]
            for target in targets:
                found = self._file(posixpath.normpath(posixpath.join(base, target.replace("*", middle))))
                if found is not None:
                    return found
        return self._file(posixpath.normpath(posixpath.join(base, name))) if settings.get("baseUrl") else None

    def _workspace(self, name: str) -> Entity | None:
        """A package of the same repository, by the name in its package.json."""
        parts = name.split("/")
        count = 2 if name.startswith("@") else 1
        package, rest = "/".join(parts[:count]), "/".join(parts[count:])
        for settings in self.world.get(f"npm:{package}"):
            folder = settings["dir"]
            for pattern, target in settings.get("exports", {}).items():
                head, star, tail = pattern.removeprefix("./").partition("*")
                if star and rest.startswith(head) and rest.endswith(tail) and rest:
                    found = self._file(
                        posixpath.normpath(
                            posixpath.join(folder, target.replace("*", rest[len(head) : len(rest) - len(tail) or None]))
                        )
                    )
                elif pattern.removeprefix("./").removeprefix(".") == rest:
                    found = self._file(posixpath.normpath(posixpath.join(folder, target)))
                else:
                    continue
                if found is not None:
                    return found
            for candidate in (rest, f"src/{rest}") if rest else (settings.get("main", ""), "src/index", "index", "src"):
                found = self._file(posixpath.normpath(posixpath.join(folder, candidate))) if candidate else None
                if found is not None:
                    return found
        return None

    def imported(self, path: str, module: str, name: str) -> Entity | None:
        holder = self.module(path, module)
        if holder is None or holder == OUTSIDE or name in ("", "*"):
            return holder
        return self.exported(holder[1], name) or (holder if name == "default" else None)

    def exported(self, path: str, name: str) -> Entity | None:
        return self.world.remembered(("x", path, name), lambda: self._exported(path, name))

    def _exported(self, path: str, name: str) -> Entity | None:
        for found in self.world.get(f"x:{path}:{name}"):
            entity = (
                self.at(path).evaluate_for(None, "v", found[1]) if found[0] == "e" else self.entry_entity(path, found)
            )
            if entity is not None:
                return entity
        if name != "default":
            for stars in self.world.get(f"x*:{path}"):
                for module in stars:
                    holder = self.module(path, module)
                    entity = (
                        self.exported(holder[1], name) if holder and holder[0] == "M" and holder[1] != path else None
                    )
                    if entity is not None and entity != OUTSIDE:
                        return entity
        return None


def publish(path: str, facts: Facts) -> Iterator[tuple[str, Any]]:
    yield f"f:{path}", 1
    found: dict[str, list[Any]] = {}
    for scope, name, kind, value, _ in facts.binds:
        if scope == NO_SCOPE and (name not in found or kind != "?"):
            found[name] = ["v", name, kind, value]
    for scope, local, module, name, _ in facts.imports:
        if scope == NO_SCOPE and local:
            found[local] = ["i", module, name]
    for symbol in facts.symbols:
        if symbol.parent == NO_SCOPE and symbol.type not in (NodeType.VARIABLE, NodeType.CONSTANT):
            found[symbol.name] = entry(symbol)
    for name, export in facts.extra.get("exports", {}).items():
        if len(export) == 2:
            found[name] = ["i", *export]
        elif export[0] != name:
            found[name] = ["e", export[0]]
    yield from ((f"x:{path}:{name}", value) for name, value in found.items())
    if facts.extra.get("stars"):
        yield f"x*:{path}", facts.extra["stars"]
    for symbol, record in class_records(facts, (*TYPES, NodeType.PACKAGE)):
        yield f"c:{path}#{symbol.local}", record
