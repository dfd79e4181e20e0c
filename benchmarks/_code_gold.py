"""Gold from other programs: definitions of Universal Ctags, calls of SCIP indexes and of Go's type checker."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from benchmarks import scipread
from lithos.graph.code.published import HeldKeys
from lithos.graph.code.resolving.languages import engine_of
from lithos.graph.code.resolving.world import World
from lithos.graph.code.store import Store
from lithos.graph.code.values import UNIQUE_NAME, Facts

CTAGS = {
    "Python": {"class", "function", "member"},
    "Go": {"func", "struct", "interface", "const", "var", "type", "methodSpec", "talias"},
    "TypeScript": {"class", "function", "method", "interface", "enum", "alias", "generator"},
    "Rust": {"function", "method", "struct", "enum", "interface", "module", "typedef", "macro"},
}
ENDINGS = {"py": "Python", "go": "Go", "ts": "TypeScript", "tsx": "TypeScript", "rs": "Rust", "js": "JavaScript"}
# ctags 5.9 takes `import { type X }` for an alias, and `mod x;` (a file's name) for a definition.
NO_DEFINITION = re.compile(r"/\^\s*(?:import\b.*|type \w+(?: as \w+)?,?\$/|(?:pub(?:\(\w+\))? )?mod \w+;)")
OVERLOADS = 40  # lines that the overloads of a method take
Place = tuple[str, int]  # path, line


@dataclass
class Score:
    """Calls judged by how they were resolved."""

    judged: Counter[str] = field(default_factory=Counter)
    right: Counter[str] = field(default_factory=Counter)
    relevant: int = 0
    found: int = 0
    stated: dict[str, float] = field(default_factory=dict)
    wrong: list[tuple[str, ...]] = field(default_factory=list)
    missed: list[tuple[str, ...]] = field(default_factory=list)

    @property
    def precision(self) -> float:
        sure = [how for how in self.judged if how != UNIQUE_NAME]
        return sum(self.right[how] for how in sure) / max(1, sum(self.judged[how] for how in sure))

    @property
    def recall(self) -> float:
        return self.found / max(1, self.relevant)

    def worst_calibration(self) -> tuple[str, float]:
        """The way whose share of right answers is furthest from the confidence that we state, of those seen often."""
        often = {how: count for how, count in self.judged.items() if count >= 100}
        gaps = [(abs(self.right[how] / count - self.stated[how]), how) for how, count in often.items()]
        gap, how = max(gaps, default=(0.0, ""))
        return how, gap


def definitions(folder: Path, store: Store) -> dict[str, tuple[int, int]]:
    """Language → (found by ctags in files that we index, found by us too)."""
    if shutil.which("ctags") is None:
        return {}
    languages = ",".join(CTAGS)
    command = ["ctags", "-R", "--output-format=json", "--fields=+nK", f"--languages={languages}", "-f", "-", "."]
    output = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout
    sql = "SELECT f.path, n.name, n.line, n.end_line FROM nodes n JOIN files f ON f.number = n.file "
    ours: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for row in store.read(lambda tx: tx.all(f"{sql} WHERE n.type NOT IN (0, 8)")):
        ours.setdefault((row["path"], row["name"]), []).append((row["line"], row["end_line"]))
    served = {row["path"] for row in store.read(lambda tx: tx.all("SELECT path FROM files WHERE parsed = 1"))}
    counts: dict[str, tuple[int, int]] = {}
    for raw in output.splitlines():
        tag = json.loads(raw)
        language, path = _language(tag), tag.get("path", "").removeprefix("./")
        if NO_DEFINITION.match(tag.get("pattern", "")):
            continue
        if path not in served or tag.get("kind") not in CTAGS.get(language, ()) or not tag["name"].isidentifier():
            continue
        # Ours begins with its decorators, ctags' at its name.
        places = ours.get((path, tag["name"]), ())
        near = any(first - 3 <= tag["line"] <= last for first, last in places)
        if tag["kind"] == "method" and tag.get("pattern", "").endswith(
            (";$/", "($/")
        ):  # overloads are one symbol to us
            near = near or any(0 < tag["line"] - last <= OVERLOADS for _, last in places)
        expected, found = counts.get(language, (0, 0))
        counts[language] = (expected + 1, found + near)
    return counts


def _language(tag: dict[str, Any]) -> str:
    if tag.get("language"):
        return str(tag["language"])
    return ENDINGS.get(tag.get("path", "").rpartition(".")[2], "")


def scip_gold(index: Path, prefix: str) -> tuple[dict[str, dict[tuple[int, int], set[Place]]], set[str]]:
    """Path → (line, column) → places of the definition; and the paths that the index covers."""
    documents = {prefix + path: occurrences for path, occurrences in scipread.read(index).items()}
    defined: dict[str, Place] = {}
    for path, occurrences in documents.items():
        for place, symbol, roles in occurrences:
            if roles & 1 and not symbol.startswith("local"):
                defined.setdefault(symbol, (path, place[0] + 1))
    gold: dict[str, dict[tuple[int, int], set[Place]]] = {}
    for path, occurrences in documents.items():
        at = gold.setdefault(path, {})
        for place, symbol, _ in occurrences:
            if symbol.startswith("local") or symbol.endswith(")"):  # a local name, a parameter
                continue
            spots = at.setdefault((place[0] + 1, place[1]), set())
            spots.add(defined.get(symbol, ("", 0)))
    return gold, set(documents)


def json_gold(file: Path) -> tuple[dict[str, dict[tuple[int, int], set[Place]]], set[str]]:
    """Path → rows of (line, column, path, line of the definition), as a type checker's dump has them."""
    raw = json.loads(file.read_text())
    gold = {
        path: {(line, column): {(where, at) if where else ("", 0)} for line, column, where, at in rows}
        for path, rows in raw.items()
    }
    return gold, set(gold)


def judged(store: Store, gold: dict[str, dict[tuple[int, int], set[Place]]], covered: set[str]) -> Score:
    """Every call of the covered files, resolved by us, held against the gold."""
    score = Score()

    def work(tx: Any) -> None:
        world = World(HeldKeys(tx))
        lines: dict[str, set[Place]] = {}
        for row in tx.all("SELECT f.path, n.local, n.line FROM nodes n JOIN files f ON f.number = n.file"):
            # The overloads of a function are one; `new X()` is a call of X to us, of its constructor to SCIP.
            name = _one_name(f"{row['path']}#{row['local']}")
            lines.setdefault(name.removesuffix(".constructor"), set()).add((row["path"], row["line"]))
        for row in tx.all("SELECT path, language, facts FROM files JOIN facts ON file = number"):
            if row["path"] in covered:
                _judge_file(score, world, row, gold.get(row["path"], {}), lines, covered)

    store.read(work)
    return score


def _judge_file(
    score: Score,
    world: World,
    row: dict[str, Any],
    gold: dict[tuple[int, int], set[Place]],
    lines: dict[str, set[Place]],
    covered: set[str],
) -> None:
    facts = Facts.from_json(orjson.loads(row["facts"]))
    engine = engine_of(row["language"])(world, row["path"], facts)
    for scope, text, line, column in facts.calls:
        expected = gold.get((line, column))
        if expected is None:
            continue
        found, _ = world.record(lambda scope=scope, text=text, line=line: engine.use(scope, text, line))  # type: ignore[misc]
        target = engine.target(found.entity) if found else None
        places = {place for place in expected if place[0]}
        right = target is not None and _same(lines.get(_one_name(target), set()), places)
        if places and all(place[0] in covered for place in places):
            score.relevant += 1
            if right and found and found.how != UNIQUE_NAME:
                score.found += 1
            elif target is None:
                score.missed.append((row["path"], str(line), text, str(sorted(places)[0])))
        if target is not None and found:
            score.judged[found.how] += 1
            score.stated[found.how] = engine.confidence[found.how]
            score.right[found.how] += right
            if not right:
                score.wrong.append((found.how, row["path"], str(line), text, target, str(sorted(expected)[0])))
    world.forget_local()


def _one_name(id: str) -> str:
    return re.sub(r"~\d+(?=\.|\Z)", "", id)


def _same(ours: set[Place], gold: set[Place]) -> bool:
    return any(mine == path and abs(at - line) <= 2 for mine, at in ours for path, line in gold)


def samples(rows: list[tuple[str, ...]], count: int) -> Iterator[str]:
    step = max(1, len(rows) // count)
    yield from (" ".join(row)[:200] for row in rows[::step][:count])
