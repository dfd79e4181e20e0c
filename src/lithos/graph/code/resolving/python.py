"""Python: packages and modules, star imports, `self` and `super()`, the names a file publishes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from lithos.graph.code.resolving.engine import OUTSIDE, Engine, Entity, Found
from lithos.graph.code.resolving.records import class_records, entry
from lithos.graph.code.values import NO_SCOPE, Facts, NodeType

_CLASSES = (NodeType.CLASS, NodeType.INTERFACE, NodeType.ENUM)
_BUILT_IN = (str, bytes, list, dict, set, int, float, tuple, frozenset, object, type, Exception)
_COMMON = """
read write close open seek flush readline readlines group match search sub start end send cursor execute fetchone
fetchall assertEqual assertTrue assertFalse strftime isoformat total_seconds date time now info debug warning error
exception put acquire release wait submit result findall finditer
"""
_LIBRARY = frozenset(name for kind in _BUILT_IN for name in dir(kind)) | frozenset(_COMMON.split())


class PythonEngine(Engine):
    builtin_names = _LIBRARY

    def scopes_above(self, scope: int) -> Iterator[int]:
        symbols = self.facts.symbols
        first = True
        while scope != NO_SCOPE:
            if first or symbols[scope].type not in _CLASSES:  # a class body's names are not seen by its methods
                yield scope
            first = False
            scope = symbols[scope].parent

    def _walk(self, scope: int, parts: Sequence[str], line: int) -> Found | None:
        if len(parts) > 2 and parts[0] == "super" and parts[1] == "()":
            owner = self.class_around(scope)
            if owner is None:
                return None
            entity = self.member(("S", *owner), parts[2])
            for part in parts[3:]:
                if entity is None:
                    return None
                entity = self.called(entity) if part == "()" else self.member(self.plain(entity) or OUTSIDE, part)
            return Found(entity, "super") if entity else None
        return super()._walk(scope, parts, line)

    # Modules

    def module(self, path: str, name: str) -> Entity | None:
        return self.world.remembered(("mod", path.rpartition("/")[0], name), lambda: self._module(path, name))

    def _module(self, path: str, name: str) -> Entity | None:
        folder = path.rpartition("/")[0]
        if name.startswith("."):
            dots = len(name) - len(name.lstrip("."))
            names = folder.split("/") if folder else []
            if dots - 1 > len(names):
                return OUTSIDE
            base = "/".join(names[: len(names) - dots + 1])
            rest = name.lstrip(".").replace(".", "/")
            return self._file(f"{base}/{rest}".strip("/") if rest else base) or OUTSIDE
        wanted = name.replace(".", "/")
        top = name.partition(".")[0]
        for base in self._bases_for(folder):
            if base and self.world.has(f"f:{base}/__init__.py"):
                continue  # inside a package: never on sys.path
            if self._is_top(base, top):
                return self._file(f"{base}/{wanted}".lstrip("/")) or OUTSIDE
        return OUTSIDE

    @staticmethod
    def _bases_for(folder: str) -> Iterator[str]:
        """Folders that may be on sys.path, the likely first."""
        yield ""
        yield "src"
        names = folder.split("/") if folder else []
        for end in range(1, len(names) + 1):
            yield "/".join(names[:end])

    def _is_top(self, base: str, top: str) -> bool:
        there = f"{base}/{top}".lstrip("/")
        return self.world.has(f"f:{there}.py") or self.world.has(f"d:{there}") or self.world.has(f"f:{there}.pyi")

    def _file(self, stem: str) -> Entity | None:
        for candidate in (f"{stem}/__init__.py".lstrip("/"), f"{stem}.py", f"{stem}.pyi"):
            if self.world.has(f"f:{candidate}"):
                return ("M", candidate)
        return ("P", stem) if self.world.has(f"d:{stem}") else None

    def submodule(self, folder: str, name: str) -> Entity | None:
        return self._file(f"{folder}/{name}".lstrip("/"))

    def imported(self, path: str, module: str, name: str) -> Entity | None:
        if name == ".":  # import a.b binds a
            return self.module(path, module.partition(".")[0])
        holder = self.module(path, module)
        if holder is None or holder == OUTSIDE or name == "":
            return holder
        return self.member(holder, name)

    def exported(self, path: str, name: str) -> Entity | None:
        return self.world.remembered(("x", path, name), lambda: self._exported(path, name))

    def _exported(self, path: str, name: str) -> Entity | None:
        for published in self.world.get(f"x:{path}:{name}"):
            entity = self.entry_entity(path, published)
            if entity is not None:
                return entity
        for stars in self.world.get(f"x*:{path}"):
            for module in stars:
                holder = self.module(path, module)
                entity = self.member(holder, name) if holder and holder[0] == "M" and holder[1] != path else None
                if entity is not None and entity != OUTSIDE:
                    return entity
        if path.endswith("__init__.py"):
            return self.submodule(path.rpartition("/")[0], name)
        return None


def publish(path: str, facts: Facts) -> Iterator[tuple[str, Any]]:
    """Keys that other files may look up: that the file exists, its top-level names, its classes."""
    yield f"f:{path}", 1
    folder = path.rpartition("/")[0]
    while folder:
        yield f"d:{folder}", 1
        folder = folder.rpartition("/")[0]
    stars = [module for scope, _, module, name, _ in facts.imports if name == "*" and scope == NO_SCOPE]
    if stars:
        yield f"x*:{path}", stars
    yield from ((f"x:{path}:{name}", entry) for name, entry in _exports(facts).items())
    for symbol, record in class_records(facts, _CLASSES):
        yield f"c:{path}#{symbol.local}", record


def _exports(facts: Facts) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for scope, name, kind, value, _ in facts.binds:
        if scope == NO_SCOPE and (name not in found or kind != "?"):
            found[name] = ["v", name, kind, value]
    for scope, local, module, name, _ in facts.imports:
        if scope == NO_SCOPE and name != "*":
            found[local] = ["i", module, name]
    for symbol in facts.symbols:
        if symbol.parent == NO_SCOPE and symbol.type not in (NodeType.VARIABLE, NodeType.CONSTANT):
            found[symbol.name] = entry(symbol)
    return found
