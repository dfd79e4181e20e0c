"""Languages without an engine: calls within a file; imports are named, not followed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lithos.graph.code.resolving.engine import OUTSIDE, ClassId, Engine, Entity, Found
from lithos.graph.code.values import NO_SCOPE, TYPES, Facts


class PlainEngine(Engine):
    def module(self, path: str, name: str) -> Entity | None:
        return OUTSIDE

    def imported(self, path: str, module: str, name: str) -> Entity | None:
        return OUTSIDE

    def exported(self, path: str, name: str) -> Entity | None:
        index = self._children.get((NO_SCOPE, name)) if path == self.path else None
        return self.local_entity(index) if index is not None else None

    def name(self, scope: int, name: str, line: int) -> Found | None:
        if name in ("this", "self"):
            owner = self.class_around(scope)
            return Found(("I", *owner), "self") if owner else None
        return super().name(scope, name, line)

    def scopes_above(self, scope: int) -> Iterator[int]:
        while scope != NO_SCOPE:
            yield scope
            scope = self.facts.symbols[scope].parent

    def own_member(self, path: str, local: str, name: str, receiver: ClassId) -> Entity | None:
        for index, symbol in enumerate(self.facts.symbols):
            if symbol.local == local and symbol.type in TYPES and path == self.path:
                child = self._children.get((index, name))
                if child is not None:
                    return self.local_entity(child)
        return None

    def bases(self, owner: ClassId) -> list[ClassId]:
        symbols = self.facts.symbols
        found = [
            self.exported(self.path, text) for index, text, _, _ in self.facts.bases if symbols[index].local == owner[1]
        ]
        return [(each[1], each[2]) if each and each[0] == "C" else ("", "") for each in found]


def publish(path: str, facts: Facts) -> Iterator[tuple[str, Any]]:
    yield f"f:{path}", 1
