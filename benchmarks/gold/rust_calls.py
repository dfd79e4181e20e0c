"""Calls of a Rust crate as rustc resolves them, read from its MIR: path -> [line, column, path, line].

    RUSTC_BOOTSTRAP=1 rustc --edition 2021 --crate-type lib src/lib.rs --emit=mir -Zmir-include-spans=on -o crate.mir
    python rust_calls.py CRATE_FOLDER crate.mir PREFIX > NAME.json

PREFIX is the crate's folder within the repository, with a slash at its end. A call is judged where its span ends with
its arguments, so operators, derives and macros are left out.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

HEADER = re.compile(r"^fn (.+?)\(_1|^fn (.+?)\(\) ->")
RETURN_PLACE = re.compile(r"// return place in scope 0 at ([^:]+):(\d+):")
CALL = re.compile(r"^\s+_\d+ = (.+) -> \[return.*// scope \d+ at ([^:]+):(\d+):(\d+): (\d+):(\d+)")
IMPL = re.compile(r"<impl at ([^:]+):(\d+):(\d+): (\d+):(\d+)>::(.+)$")
Place = tuple[str, int]


class Crate:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lines: dict[str, list[str]] = {}
        self.members: dict[tuple[str, str], set[Place]] = {}  # type, method
        self.functions: dict[str, set[tuple[str, str, int]]] = {}  # name: its path in the crate, file, line
        self.traits: dict[tuple[str, str], set[Place]] = {}

    def lines(self, path: str) -> list[str]:
        if path not in self._lines:
            file = self._folder / path
            self._lines[path] = file.read_text().split("\n") if file.is_file() else []
        return self._lines[path]

    def text(self, path: str, first: int, column: int, last: int, end: int) -> str:
        """Columns of rustc count characters from 1."""
        part = self.lines(path)[first - 1 : last]
        if not part:
            return ""
        part[-1] = part[-1][: end - 1]
        part[0] = part[0][column - 1 :]
        return "\n".join(part)

    def define(self, header: str, path: str, near: int) -> None:
        impl = IMPL.search(header)
        name = plain(impl[6] if impl else header).split("::")[-1]
        found = (n for n in range(near, max(0, near - 40), -1) if re.search(rf"\bfn\s+{name}\b", self.line(path, n)))
        line = next(found, 0)
        if not line or "closure#" in header:
            return
        if impl is None:
            self.functions.setdefault(name, set()).add((plain(header), path, line))
            return
        head = self.text(impl[1], int(impl[2]), int(impl[3]), int(impl[4]), int(impl[5]))
        self.members.setdefault((impl_type(head), name), set()).add((path, line))

    def line(self, path: str, number: int) -> str:
        lines = self.lines(path)
        return lines[number - 1] if 0 < number <= len(lines) else ""

    def read_traits(self) -> None:
        for file in sorted(self._folder.rglob("*.rs")):
            trait, path = "", file.relative_to(self._folder).as_posix()
            for number, text in enumerate(self.lines(path), 1):
                if opened := re.match(r"\s*(?:pub(?:\([^)]*\))? )?(?:unsafe )?trait (\w+)", text):
                    trait = opened[1]
                elif text.startswith("}"):
                    trait = ""
                elif trait and (found := re.match(r"\s+(?:unsafe )?fn (\w+)", text)):
                    self.traits.setdefault((trait, found[1]), set()).add((path, number))

    def targets(self, callee: str) -> set[Place] | None:
        """Where rustc's callee is defined; empty: not in this crate; None: its name does not say."""
        if callee.startswith("<") and (cast := re.match(r"<(.+) as (.+)>::([\w]+)", callee)):
            kind, trait, name = last(cast[1]), last(cast[2]), cast[3]
            return self.members.get((kind, name), set()) & self._of_trait(name) | self.traits.get((trait, name), set())
        parts = plain(re.sub(r"<impl (?:\w+::)*(\w+)[^>]*>", r"\1", callee)).split("::")  # of a type of another module
        if len(parts) > 1 and (parts[-2], parts[-1]) in self.members:
            return self.members[parts[-2], parts[-1]]
        if len(parts) > 1 and (parts[-2], parts[-1]) in self.traits:
            return self.traits[parts[-2], parts[-1]]
        whole = "::".join(parts)
        same = self.functions.get(parts[-1], set())
        return {(path, line) for full, path, line in same if f"::{full}".endswith(f"::{whole}")}

    def _of_trait(self, name: str) -> set[Place]:
        return {place for (_, each), places in self.members.items() if each == name for place in places}


def plain(path: str) -> str:
    """Without generics."""
    kept, depth = [], 0
    for at, char in enumerate(path):
        if char == "<":
            depth += 1
        elif char == ">" and path[at - 1] != "-":
            depth -= 1
        elif not depth:
            kept.append(char)
    return re.sub(r"(::)+", "::", "".join(kept)).strip(":& ")


def last(kind: str) -> str:
    return plain(re.sub(r"^&(?:'\w+ )?(?:mut )?", "", kind)).split("::")[-1]


def impl_type(head: str) -> str:
    text = plain(head.removeprefix("unsafe ").removeprefix("impl")).split(" where ")[0].split("{")[0]
    return last(text.split(" for ")[-1].strip())


def name_before_arguments(text: str) -> tuple[str, int] | None:
    """The name in front of the last argument list, and where it is; None: the text is no call as people write it."""
    if not text.endswith(")"):
        return None
    depth = 0
    for at in range(len(text) - 1, -1, -1):
        depth += (text[at] == ")") - (text[at] == "(")
        if not depth:
            found = re.search(r"([A-Za-z_]\w*)(?:::<[^()]*>)?\s*$", text[:at])
            return (found[1], found.start(1)) if found else None
    return None


def main() -> None:
    crate, mir, prefix = Crate(Path(sys.argv[1])), Path(sys.argv[2]).read_text().split("\n"), sys.argv[3]
    header = ""
    for text in mir:
        if opened := HEADER.match(text):
            header = opened[1] or opened[2]
        elif header and (place := RETURN_PLACE.search(text)):
            crate.define(header, place[1], int(place[2]))
            header = ""
    crate.read_traits()
    gold: dict[str, dict[tuple[int, int], tuple[str, int]]] = {}
    for text in mir:
        if found := CALL.match(text):
            callee, path = callee_of(found[1]), found[2]
            first, column, end_line, end = map(int, found.groups()[2:])
            written = crate.text(path, first, column, end_line, end)
            named = name_before_arguments(written)
            targets = crate.targets(callee)
            if named is None or targets is None or len(targets) > 1 or plain(callee).split("::")[-1] != named[0]:
                continue
            before = written[: named[1]]
            line = first + before.count("\n")
            offset = len(before.rpartition("\n")[2]) + (column - 1 if line == first else 0)
            bytes_before = len(crate.line(path, line)[:offset].encode())
            where, at = next(iter(targets), ("", 0))
            gold.setdefault(prefix + path, {})[line, bytes_before] = (prefix + where if where else "", at)
    print(json.dumps({path: [[*at, *target] for at, target in rows.items()] for path, rows in gold.items()}))


def callee_of(text: str) -> str:
    """`a::b::<T>(move _1)` → `a::b::<T>`."""
    depth = 0
    for at in range(len(text) - 1, -1, -1):
        depth += (text[at] == ")") - (text[at] == "(")
        if not depth:
            return text[:at]
    return text


if __name__ == "__main__":
    main()
