"""Claims, their verdicts, and the facts of the code graph that they are held against."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from lithos.graph.code import Bases, CodeNode


class ClaimKind(StrEnum):
    LOCATION = "location"
    EXISTENCE = "existence"
    CALLS = "calls"
    INHERITANCE = "inheritance"
    USES = "uses"
    MEMBER = "member"
    SIGNATURE = "signature"
    RETURNS = "returns"
    COUNT = "count"
    DEFAULT = "default"


class Verdict(StrEnum):
    CONFIRMED = "confirmed"
    CONTRADICTED = "contradicted"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Mention:
    """A name of code in a sentence. `strong`: quoted or shaped like code, not just a capital letter."""

    text: str
    kind: str = ""  # class, function, parameter, …: the noun beside it
    strong: bool = True
    within: str = ""  # the file that the sentence puts it in

    @property
    def name(self) -> str:
        """The dotted name without its call."""
        return self.text.partition("(")[0].replace("::", ".").strip(".#@")

    @property
    def is_path(self) -> bool:
        if _NO_PATH.search(self.text):
            return False
        return "/" in self.text or self.text.rpartition(".")[2].partition(":")[0] in CODE_ENDINGS


_NO_PATH = re.compile(r"[\s'\"<>]")  # a phrase or a literal
CODE_ENDINGS = frozenset(
    re.findall(
        r"\w+",
        "py pyi go ts tsx js jsx mjs rs java kt rb php c h cc cpp hpp cs swift scala sh sql md rst txt toml yaml yml "
        "json cfg ini",
    )
)


@dataclass(frozen=True, slots=True)
class Claim:
    """One checkable statement. `value` is the other side of the relation: a place, a callee, a number, a default."""

    kind: ClaimKind
    text: str
    subject: Mention
    value: str = ""
    of: Mention | None = None  # the second name, where the relation has one
    negated: bool = False
    # What is counted; the purpose of a use; of a place: "soft" if it may re-export, "loose" if it may only mention it;
    # of a member: "own" if an inherited one does not count, "any" if it may be a parameter;
    # of a signature: "required", or "written" where `value` is the text between its brackets.
    detail: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        """Two claims with equal keys are about the same thing."""
        of = self.of.name.lower() if self.of and self.kind in (ClaimKind.DEFAULT,) else ""
        return (self.kind, self.subject.name.lower(), self.detail if self.kind is ClaimKind.COUNT else of)


@dataclass(frozen=True, slots=True)
class Checked:
    claim: Claim
    verdict: Verdict
    proof: tuple[str, ...] = ()  # ids of the nodes that decide
    reason: str = ""


class CodeFacts(Protocol):
    """The questions of the verifier. A pure function of the state of the graph."""

    def complete(self) -> bool:
        """Whether absence means something: all roots are indexed."""

    def named(self, name: str) -> Sequence[CodeNode]:
        """Symbols whose qualified name ends with `name`."""

    def places(self, text: str) -> Sequence[str]:
        """Files and folders (with a slash at the end) whose path ends with `text`, also as a dotted module."""

    def at(self, path: str) -> Sequence[CodeNode]:
        """All symbols of a file."""

    def imports(self, path: str) -> frozenset[str]:
        """Modules that a file imports, and the names it imports from them."""

    def used(self, node: CodeNode) -> frozenset[str]:
        """Last parts of all names that the body uses, nested definitions included."""

    def callees(self, node: CodeNode, depth: int) -> frozenset[str]:
        """Ids of what it calls, guesses included, up to `depth` edges away."""

    def bases(self, node: CodeNode) -> Bases: ...

    def members(self, node: CodeNode) -> Sequence[CodeNode]: ...

    def text(self, node: CodeNode) -> str:
        """The source of a definition; empty where it cannot be read."""

    def mentions(self, word: str, path: str | None = None) -> bool:
        """Whether an identifier or a word occurs in the files, or in one of them."""
