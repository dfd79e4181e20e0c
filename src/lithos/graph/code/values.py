"""Node and edge numbers, and the facts that one file contributes to the graph."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from operator import attrgetter
from typing import Any, Final


class NodeType(IntEnum):
    """Numbers of the Sylk specification; 9 and 10 are ours."""

    FILE = 0
    PACKAGE = 1
    FUNCTION = 2
    METHOD = 3
    CLASS = 4  # a struct, too
    INTERFACE = 5
    VARIABLE = 6
    CONSTANT = 7
    IMPORT = 8
    TYPE_ALIAS = 9
    ENUM = 10


class EdgeType(IntEnum):
    """Numbers of the Sylk specification; 13 and 14 are ours. 1, 3, 5 and 10 name an edge read backwards: no rows."""

    CALLS = 0
    IMPORTS = 2
    IMPLEMENTS = 4
    EMBEDS = 6
    HAS_FIELD = 7
    HAS_METHOD = 8
    DEFINES = 9
    RETURNS = 11
    RECEIVES = 12
    EXTENDS = 13
    REFERENCES = 14


NODE_NAMES: Final = {
    NodeType.FILE: "file",
    NodeType.PACKAGE: "package",
    NodeType.FUNCTION: "function",
    NodeType.METHOD: "method",
    NodeType.CLASS: "class",
    NodeType.INTERFACE: "interface",
    NodeType.VARIABLE: "variable",
    NodeType.CONSTANT: "constant",
    NodeType.IMPORT: "import",
    NodeType.TYPE_ALIAS: "type",
    NodeType.ENUM: "enum",
}
BACKWARDS: Final = {
    EdgeType.CALLS: "called_by",
    EdgeType.IMPORTS: "imported_by",
    EdgeType.IMPLEMENTS: "implemented_by",
    EdgeType.DEFINES: "defined_in",
    EdgeType.EMBEDS: "embedded_by",
    EdgeType.HAS_FIELD: "field_of",
    EdgeType.HAS_METHOD: "method_of",
    EdgeType.RETURNS: "returned_by",
    EdgeType.RECEIVES: "received_by",
    EdgeType.EXTENDS: "extended_by",
    EdgeType.REFERENCES: "referenced_by",
}
TYPES: Final = (NodeType.CLASS, NodeType.INTERFACE, NodeType.TYPE_ALIAS, NodeType.ENUM)
CALLABLE: Final = (NodeType.FUNCTION, NodeType.METHOD, NodeType.CLASS)
UNIQUE_NAME: Final = "unique name"  # a guess; shown only with include_uncertain

NO_SCOPE: Final = -1  # the file itself


@dataclass(slots=True)
class Symbol:
    """One definition. `local` is its qualified name within the file, `~2` appended for a second one."""

    name: str
    type: int
    parent: int  # index of the enclosing symbol, or NO_SCOPE
    line: int
    end: int
    start_byte: int
    end_byte: int
    local: str = ""
    signature: str = ""
    doc: str = ""
    words: str = ""  # distinct identifier words of the body, for its card
    returns: str = ""  # type expression; see `chains`
    flags: str = ""  # p: read like an attribute; s: static; k: class method; d: decorated; x: exported
    receives: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Facts:
    """The result of parsing one file: a pure function of its bytes and its path."""

    symbols: list[Symbol] = field(default_factory=list)
    imports: list[tuple[int, str, str, str, int]] = field(default_factory=list)  # scope, local, module, name, line
    binds: list[tuple[int, str, str, str, int]] = field(default_factory=list)  # scope, name, kind, value, line
    calls: list[tuple[int, str, int, int]] = field(default_factory=list)  # scope, chain, line, column
    refs: list[tuple[int, str, int, int]] = field(default_factory=list)
    bases: list[tuple[int, str, int, int]] = field(default_factory=list)  # symbol, chain, edge type, line
    extra: dict[str, Any] = field(default_factory=dict)  # what one language needs besides: package, impls, exports
    parse_errors: int = 0
    lines: int = 0

    def as_json(self) -> dict[str, Any]:
        return {
            "symbols": list(map(_ROW, self.symbols)),
            "imports": self.imports,
            "binds": self.binds,
            "calls": self.calls,
            "refs": self.refs,
            "bases": self.bases,
            "extra": self.extra,
            "parse_errors": self.parse_errors,
            "lines": self.lines,
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Facts:
        rest = {key: value for key, value in data.items() if key != "symbols"}
        return cls(symbols=[Symbol(*row) for row in data["symbols"]], **rest)


_ROW = attrgetter(*Symbol.__slots__)
