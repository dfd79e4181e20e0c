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
from typing import NotRequired

import orjson
from typing_extensions import TypedDict

from lithos.core.call import Call
from lithos.errors import Forbidden, InvalidInput, NotFound, Unavailable
from lithos.graph.code import Code, ImportUse, OpenRoot, imports_of
from lithos.habits.brevity import is_short
from lithos.habits.installed import Installed, installed, uses_of
from lithos.habits.manifests import Manifests, PackageUse, is_manifest, read_manifests
from lithos.habits.matching import Matcher, key_words, overlap, split_words

LONGEST_NEED = 500
SHOWN, SUGGESTED = 5, 4
BY_MEANING, BY_BOTH, WORDS = 0.66, 0.5, 0.5
# A need of one or two words is met by a description with all of them, or a nearer one. One word alone, within a
# longer description, must be of the name: "table" means "data tables", not the "terminal table" of another purpose.
FEW_WORDS, FEW_BY_MEANING = 2, 0.72
LANGUAGE_OF = {"npm": "node", "pypi": "python", "go": "go", "cargo": "rust", "gem": "ruby", "maven": "java"}
DEPRECATED_SHOWN, FILES_SEARCHED = 3, 20


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
    deprecated_in_use: NotRequired[dict[str, str]]  # name → where it is used, and what its mark says
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
    installed: dict[str, Installed] = field(default_factory=dict)  # by ecosystem and name


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
        found = [*self._packages(root, wanted, held, fitting)]
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
        while len(shown) > 1 and not is_short(answer):
            shown.pop()
        return answer

    def manifests(self, call: Call, root_name: str | None = None) -> Manifests:
        """The packages that the manifests of a root name; tool discovery asks this too."""
        return self._manifests(self._code.one(call, root_name)).manifests

    def capabilities(self, need: str) -> list[tuple[Capability, float]]:
        """Capabilities of the table that a need means, the best first."""
        scored = [(best, each) for each in table().capabilities if (best := self._fit(need, each.texts)) > 0]
        scored.sort(key=lambda pair: (-pair[0], pair[1].name))
        top = scored[0][0] if scored else 0.0
        return [(each, score) for score, each in scored if score >= top - 0.12][:4]

    def _fit(self, need: str, texts: Iterable[str]) -> float:
        """How well the best of some descriptions meets a need; 0: none does."""
        wanted, best = key_words(need), 0.0
        for place, text in enumerate(texts):
            known = key_words(text)
            words = overlap(wanted, known)
            full = len(wanted & known) / len(wanted) if wanted else 0.0
            meaning = self._matcher.meaning(need, text)
            if meaning is None:
                best = max(best, full if words >= WORDS else 0.0)
            elif _meets(meaning, words, full, len(wanted), place == 0 or len(known) == 1):
                best = max(best, 0.7 * meaning + 0.3 * full)
        return best

    def _fit_described(self, need: str, package: Installed) -> float:
        """As `_fit`, by a package's own words. Texts without a key word of the need are not embedded."""
        wanted = key_words(need)
        return self._fit(need, [text for text in package.texts if wanted & key_words(text)])

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
        self, root: OpenRoot, need: str, held: _Held, fitting: list[tuple[Capability, float]]
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
            described = self._fit_described(need, self._installed(root, held, each))
            if described > score:
                score, how = described, self._installed(root, held, each).where
            if score and (key not in rows or rows[key][3] < score or rows[key][0].kind != "runtime" == each.kind):
                rows[key] = (each, labels, how, score)
        yield from sorted(rows.values(), key=lambda row: (-row[3], row[0].kind != "runtime", row[0].name))

    def _standard(self, fitting: list[tuple[Capability, float]], here: Iterable[str]) -> Iterator[str]:
        languages = {LANGUAGE_OF[each] for each in here if each in LANGUAGE_OF}
        for capability, _ in fitting[:2]:
            for language in sorted(languages & set(capability.std)):
                yield from (f"{language}: {name}" for name in capability.std[language])

    def _shown(self, root: OpenRoot, held: _Held, each: PackageUse, names: list[str], how: str) -> PackageShown:
        found = self._installed(root, held, each)
        uses = imports_of(root, each.ecosystem, each.name)
        shown: PackageShown = {
            "name": each.name,
            "version": each.version or each.wanted,
            "type": each.kind,
            "capabilities": [*names, *found.texts_shown][:4],
            "usage_examples": dict(usage(root, uses, 2)),
            "used_in": len({use.path for use in uses}),
            "manifest": each.manifest,
            "rests_on": found.where or how,
        }
        if said := each.deprecated or found.deprecated:
            shown["deprecated"] = said
        if marked := dict(_deprecated_in_use(root, found, uses)):
            shown["deprecated_in_use"] = marked
        return shown

    def _installed(self, root: OpenRoot, held: _Held, each: PackageUse) -> Installed:
        key = f"{each.ecosystem}:{each.name}"
        if key not in held.installed:
            held.installed[key] = installed(Path(root.spec.path), each)
        return held.installed[key]


def _meets(meaning: float, words: float, full: float, asked: int, named: bool) -> bool:
    """`words`: shared key words of the shorter text; `full`: of the need; `named`: by the name, or by one word."""
    if asked > FEW_WORDS:
        return meaning >= BY_MEANING or (meaning >= BY_BOTH and words >= WORDS and full >= 0.5)
    whole = full == 1.0 and (asked > 1 or named)
    return meaning >= FEW_BY_MEANING or (meaning >= BY_BOTH and whole)


def _bytes(root: OpenRoot, path: str, most: int) -> bytes | None:
    """Locks are not indexed, and larger than what is: read beside the tree, never through a link."""
    if root.index.tree.stamp(path) is None:
        return None
    try:
        with (Path(root.spec.path) / path).open("rb") as file:
            return file.read(most)
    except (OSError, NotFound, Forbidden, InvalidInput, Unavailable):
        return None


def usage(root: OpenRoot, uses: list[ImportUse], most: int) -> Iterator[tuple[str, str]]:
    """Import lines of this repository and, where there is one, the first line that uses the name."""
    seen: set[str] = set()
    for use in uses:
        name = use.local or use.module
        if name in seen or len(seen) == most:
            continue
        lines = _text_of(root, use.path).splitlines()
        if not 0 < use.line <= len(lines):
            continue
        seen.add(name)
        text = lines[use.line - 1].strip()
        word = re.compile(rf"\b{re.escape(use.local)}\b\s*[.(<]") if use.local else None
        call = next((line.strip() for line in lines[use.line :] if word is not None and word.search(line)), "")
        yield f"{use.path}:{use.line}", "\n".join(each[:120] for each in (text, call) if each)


def _deprecated_in_use(root: OpenRoot, package: Installed, uses: list[ImportUse]) -> Iterator[tuple[str, str]]:
    """Names that the package marks as deprecated and this repository imports, or uses as `module.name`."""
    marks = package.deprecated_names if uses else {}
    seen: set[str] = set()
    for use in uses[:FILES_SEARCHED] if marks else ():
        places = {use.name: use.line} if use.name in marks else uses_of(marks, use.local, _text_of(root, use.path))
        for name, line in places.items():
            if name not in seen and len(seen) < DEPRECATED_SHOWN:
                seen.add(name)
                yield name, f"{use.path}:{line}: {marks[name]}"


def _text_of(root: OpenRoot, path: str) -> str:
    try:
        return root.index.tree.read(path)[0].decode("utf-8", "replace")
    except (NotFound, Forbidden, InvalidInput, Unavailable):
        return ""


def _suggestions(fitting: list[tuple[Capability, float]], here: Iterable[str]) -> Iterator[str]:
    for capability, _ in fitting[:2]:
        for ecosystem in here:
            yield from (
                f"{name} ({ecosystem}, {capability.name})" for name in capability.packages.get(ecosystem, ())[:2]
            )
