"""Dependencies: whether a need is met already, by the standard library or by a package of the project."""

from __future__ import annotations

import re
import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NotRequired

import orjson
from typing_extensions import TypedDict

from lithos.core.call import Call
from lithos.errors import Forbidden, InvalidInput, NotFound, Unavailable
from lithos.graph.code import Code, OpenRoot, imports_of
from lithos.habits.lenient_json import Unreadable, read_json
from lithos.habits.manifests import Manifests, PackageUse, is_manifest, read_manifests
from lithos.habits.matching import Matcher, key_words, overlap, split_words

LONGEST_NEED = 500
SHOWN, SUGGESTED = 5, 4
LARGEST_TEXT = 64 * 1024  # of a README or of metadata
BY_MEANING, BY_BOTH, WORDS = 0.66, 0.5, 0.5
LANGUAGE_OF = {"npm": "node", "pypi": "python", "go": "go", "cargo": "rust", "gem": "ruby", "maven": "java"}
_INSTALLED = ("node_modules", ".venv", "venv", "env")


class PackageShown(TypedDict):
    name: str
    version: str
    type: str
    capabilities: list[str]
    usage_examples: dict[str, str]
    ecosystem: NotRequired[str]
    manifest: NotRequired[str]
    used_in: NotRequired[int]
    deprecated: NotRequired[str]
    rests_on: NotRequired[str]


class DependencyChecked(TypedDict):
    already_available: bool
    packages: list[PackageShown]
    standard_library: NotRequired[list[str]]
    suggestions: list[str]
    root: str
    table: str
    problems: NotRequired[dict[str, str]]


@dataclass(frozen=True, slots=True)
class Capability:
    name: str
    words: tuple[str, ...]
    packages: Mapping[str, tuple[str, ...]]  # by ecosystem
    std: Mapping[str, tuple[str, ...]]  # by language

    @property
    def texts(self) -> tuple[str, ...]:
        return self.name, *self.words


@dataclass(frozen=True, slots=True)
class Table:
    made: str
    capabilities: tuple[Capability, ...]

    @staticmethod
    def ecosystems() -> tuple[str, ...]:
        return ("npm", "pypi", "go", "cargo", "gem", "composer", "maven", "nuget")


@cache
def table() -> Table:
    """The shipped table, read when it is first asked."""
    whole = orjson.loads(files("lithos.habits").joinpath("data/packages.json").read_bytes())
    rows = tuple(
        Capability(
            row["name"],
            tuple(row["words"]),
            {each: tuple(row[each]) for each in Table.ecosystems() if each in row},
            {language: tuple(names) for language, names in row.get("std", {}).items()},
        )
        for row in whole["capabilities"]
    )
    return Table(whole["made"], rows)


def background() -> list[str]:
    """Short texts about programming in general; a third of the table is enough for a mean."""
    return [each.name for each in table().capabilities[::3]]


@dataclass(slots=True)
class _Held:
    changes: int
    manifests: Manifests
    described: dict[str, tuple[str, str, str]] = field(default_factory=dict)  # name → text, deprecated, where


class Dependencies:
    def __init__(self, code: Code, matcher: Matcher) -> None:
        self._code = code
        self._matcher = matcher
        self._lock = threading.Lock()
        self._held: dict[str, _Held] = {}

    def check(self, call: Call, need: str, root_name: str | None = None) -> DependencyChecked:
        wanted = " ".join(need.split())
        if not wanted:
            raise InvalidInput("need is empty", hint='For example "date formatting".')
        wanted = wanted[:LONGEST_NEED]
        root = self._code.one(call, root_name)
        held = self._manifests(root)
        here = sorted({each.ecosystem for each in held.manifests.packages}) or self._ecosystems(root)
        fitting = self.capabilities(wanted)
        found = [*self._packages(wanted, held, fitting)]
        std = [*self._standard(fitting, here)]
        shown = [self._shown(root, held, each, names, how) for each, names, how, _ in found[:SHOWN]]
        answer: DependencyChecked = {
            "already_available": bool(shown or std),
            "packages": shown,
            "suggestions": [] if shown or std else [*_suggestions(fitting, here)][:SUGGESTED],
            "root": root.spec.name,
            "table": table().made,
        }
        if std:
            answer["standard_library"] = std[:SHOWN]
        if held.manifests.problems:
            answer["problems"] = dict([*held.manifests.problems.items()][:3])
        return answer

    def manifests(self, call: Call, root_name: str | None = None) -> Manifests:
        """The packages that the manifests of a root name; tool discovery asks this too."""
        return self._manifests(self._code.one(call, root_name)).manifests

    def capabilities(self, need: str) -> list[tuple[Capability, float]]:
        """Capabilities of the table that a need means, the best first."""
        wanted = key_words(need)
        scored: list[tuple[float, Capability]] = []
        for each in table().capabilities:
            best = 0.0
            for text in each.texts:
                known = key_words(text)
                words = overlap(wanted, known)
                full = len(wanted & known) / len(wanted) if wanted else 0.0
                meaning = self._matcher.meaning(need, text)
                if meaning is None:
                    best = max(best, full if words >= WORDS else 0.0)
                elif meaning >= BY_MEANING or (meaning >= BY_BOTH and words >= WORDS and full >= 0.5):
                    best = max(best, 0.7 * meaning + 0.3 * full)
            if best > 0:
                scored.append((best, each))
        scored.sort(key=lambda pair: (-pair[0], pair[1].name))
        top = scored[0][0] if scored else 0.0
        return [(each, score) for score, each in scored if score >= top - 0.12][:4]

    # -- steps

    def _manifests(self, root: OpenRoot) -> _Held:
        with self._lock:
            held = self._held.get(root.spec.name)
            if held is not None and held.changes == root.store.changes:
                return held
        rows = root.store.read(lambda tx: tx.all("SELECT path FROM files WHERE reason = ''"))
        paths = [row["path"] for row in rows if is_manifest(row["path"])]
        changes = root.store.changes
        made = _Held(changes, read_manifests(paths, lambda path, most: _bytes(root, path, most)))
        with self._lock:
            self._held[root.spec.name] = made
        return made

    def _ecosystems(self, root: OpenRoot) -> list[str]:
        sql = "SELECT DISTINCT language FROM files WHERE reason = ''"
        languages = {row["language"] for row in root.store.read(lambda tx: tx.all(sql))}
        words = {"python": "pypi", "javascript": "npm", "typescript": "npm", "tsx": "npm", "go": "go", "rust": "cargo"}
        return sorted({words[each] for each in languages if each in words})

    def _packages(
        self, need: str, held: _Held, fitting: list[tuple[Capability, float]]
    ) -> Iterator[tuple[PackageUse, list[str], str, float]]:
        """Packages of the project that provide it: by the table, or by their own description."""
        provides: dict[tuple[str, str], list[tuple[float, str]]] = defaultdict(list)
        for capability, score in fitting:
            for ecosystem, names in capability.packages.items():
                for place, name in enumerate(names):
                    provides[ecosystem, name.lower()].append((score - 0.004 * place, capability.name))
        wanted = set(split_words(need))
        rows: dict[tuple[str, str], tuple[PackageUse, list[str], str, float]] = {}
        for each in held.manifests.packages:
            if each.kind == "indirect":
                continue
            key = (each.ecosystem, each.name.lower())
            listed = provides.get(key, [])
            score = max((value for value, _ in listed), default=0.0)
            labels = [name for _, name in sorted(listed, reverse=True)]
            how = f"table of {table().made}"
            own = set(split_words(each.name))
            if own and own <= wanted:
                score, how = max(score, 0.9), how if listed else "its name"
            if score and (key not in rows or rows[key][3] < score or rows[key][0].kind != "runtime" == each.kind):
                rows[key] = (each, labels, how, score)
        yield from sorted(rows.values(), key=lambda row: (-row[3], row[0].kind != "runtime", row[0].name))

    def _standard(self, fitting: list[tuple[Capability, float]], here: Iterable[str]) -> Iterator[str]:
        languages = {LANGUAGE_OF[each] for each in here if each in LANGUAGE_OF}
        for capability, _ in fitting[:2]:
            for language in sorted(languages & set(capability.std)):
                yield from (f"{language}: {name}" for name in capability.std[language])

    def _shown(self, root: OpenRoot, held: _Held, each: PackageUse, names: list[str], how: str) -> PackageShown:
        text, deprecated, where = self._described(root, held, each)
        uses = imports_of(root, each.ecosystem, each.name)
        shown: PackageShown = {
            "name": each.name,
            "version": each.version or each.wanted,
            "type": each.kind,
            "capabilities": [*names, *([text] if text else [])][:4],
            "usage_examples": dict(usage(root, uses, 2)),
            "used_in": len({use.path for use in uses}),
            "manifest": each.manifest,
            "rests_on": where or how,
        }
        said = each.deprecated or deprecated
        return {**shown, "deprecated": said} if said else shown

    def _described(self, root: OpenRoot, held: _Held, each: PackageUse) -> tuple[str, str, str]:
        key = f"{each.ecosystem}:{each.name}"
        if key not in held.described:
            held.described[key] = described(Path(root.spec.path), each)
        return held.described[key]


def _bytes(root: OpenRoot, path: str, most: int) -> bytes | None:
    """Locks are not indexed, and larger than what is: read beside the tree, never through a link."""
    if root.index.tree.stamp(path) is None:
        return None
    try:
        with (Path(root.spec.path) / path).open("rb") as file:
            return file.read(most)
    except (OSError, NotFound, Forbidden, InvalidInput, Unavailable):
        return None


def described(top: Path, package: PackageUse) -> tuple[str, str, str]:
    """The description of an installed package, a note of deprecation, and where both were read. Nothing is imported."""
    if package.ecosystem == "npm":
        for folder in _above(top, package.manifest):
            file = folder / "node_modules" / package.name / "package.json"
            facts = _json(file) if _inside(top, file) else None
            if facts is not None:
                text = str(facts.get("description") or "")[:160]
                return text, str(facts.get("deprecated") or "")[:200], "installed package.json"
    if package.ecosystem == "pypi":
        wanted = re.sub(r"[-_.]+", "_", package.name).lower()
        for folder in _above(top, package.manifest):
            for name in _INSTALLED[1:]:
                for found in (folder / name).glob(f"lib/python*/site-packages/{wanted}-*.dist-info/METADATA"):
                    if _inside(top, found):
                        return _metadata(found)
    return "", "", ""


def _inside(top: Path, file: Path) -> bool:
    """Whether a file is in the root when its links are followed; package managers link within it."""
    try:
        return file.resolve(strict=True).is_relative_to(top.resolve())
    except (OSError, RuntimeError):
        return False


def _metadata(file: Path) -> tuple[str, str, str]:
    try:
        text = file.read_bytes()[:LARGEST_TEXT].decode("utf-8", "replace").split("\n\n")[0]
    except OSError:
        return "", "", ""
    summary = re.search(r"^Summary: (.+)$", text, re.MULTILINE)
    inactive = "Development Status :: 7 - Inactive" in text
    return (summary[1][:160] if summary else ""), ("marked inactive" if inactive else ""), "installed metadata"


def _above(top: Path, manifest: str) -> Iterator[Path]:
    folder = manifest.rpartition("/")[0]
    while folder:
        yield top / folder
        folder = folder.rpartition("/")[0]
    yield top


def _json(file: Path) -> dict[str, Any] | None:
    try:
        facts = read_json(file.read_bytes()[:LARGEST_TEXT])
    except (OSError, Unreadable):
        return None
    return facts if isinstance(facts, dict) else None


def usage(root: OpenRoot, uses: list[Any], most: int) -> Iterator[tuple[str, str]]:
    """Import lines of this repository and, where there is one, the first line that uses the name."""
    seen: set[str] = set()
    for use in uses:
        name = use.local or use.module
        if name in seen or len(seen) == most:
            continue
        try:
            lines = root.index.tree.read(use.path)[0].decode("utf-8", "replace").splitlines()
        except (NotFound, Forbidden, InvalidInput, Unavailable):
            continue
        if not 0 < use.line <= len(lines):
            continue
        seen.add(name)
        text = lines[use.line - 1].strip()
        word = re.compile(rf"\b{re.escape(use.local)}\b\s*[.(<]") if use.local else None
        call = next((line.strip() for line in lines[use.line :] if word is not None and word.search(line)), "")
        yield f"{use.path}:{use.line}", "\n".join(each[:120] for each in (text, call) if each)


def _suggestions(fitting: list[tuple[Capability, float]], here: Iterable[str]) -> Iterator[str]:
    for capability, _ in fitting[:2]:
        for ecosystem in here:
            yield from (
                f"{name} ({ecosystem}, {capability.name})" for name in capability.packages.get(ecosystem, ())[:2]
            )
