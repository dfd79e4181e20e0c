"""Scanning: the files of a repository that can name tools, its languages, and the stamps that show a change."""

from __future__ import annotations

import hashlib
import os
import stat
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from lithos.habits import is_manifest, read_manifests
from lithos.workshop.discovery.signals import LARGEST, MANAGERS, reader_of
from lithos.workshop.discovery.tables import by_extension, patterns
from lithos.workshop.discovery.values import Evidence, RepositoryFacts

# Configurations below these are a dependency's or a test's, not the project's.
SKIPPED = frozenset({"node_modules", "vendor", "third_party", "testdata", "fixtures", "__fixtures__", "site-packages"})
MOST_CONFIGS = 400
Read = Callable[[str, int], bytes | None]
Stamps = dict[str, list[int]]


@dataclass(slots=True)
class Scanned:
    configs: list[str] = field(default_factory=list)  # can name tools
    locks: list[str] = field(default_factory=list)
    languages: dict[str, int] = field(default_factory=dict)


def scan(paths: Iterable[str]) -> Scanned:
    """Sort the files of a repository. 50,000 paths take some tens of milliseconds: most need two look-ups."""
    extensions, known = by_extension(), _known_names()
    counts: Counter[str] = Counter()
    found = Scanned()
    for path in paths:
        name = path[path.rfind("/") + 1 :]
        language = extensions.get(name[name.rfind(".") + 1 :]) or extensions.get(name)
        if language is not None:
            counts[language] += 1
        if name in known or path[0] == "." or name.startswith("requirements") or name.endswith(".csproj"):
            if "/" in path and not SKIPPED.isdisjoint(path.split("/")[:-1]):
                continue
            if name in MANAGERS:
                found.locks.append(path)
            if reader_of(path) is not None or is_manifest(path):
                found.configs.append(path)
    found.configs.sort(key=lambda path: (path.count("/"), path))
    del found.configs[MOST_CONFIGS:]
    found.locks.sort(key=lambda path: (path.count("/"), path))
    found.languages = dict(counts.most_common())
    return found


def _known_names() -> frozenset[str]:
    names = {*patterns()["files"], *patterns()["sections"], *MANAGERS, "Taskfile.yml", "Taskfile.yaml", "lefthook.yml"}
    names |= {"lefthook.yaml", "Makefile", "makefile", "GNUmakefile", "justfile", "Justfile", "go.mod", "Cargo.toml"}
    names |= {"azure-pipelines.yml", "bitbucket-pipelines.yml", "Gemfile", "composer.json", "Pipfile", "mix.exs"}
    return frozenset(names | {"pubspec.yaml", "build.gradle.kts", "setup.cfg", "tox.ini"})


def facts_of(scanned: Scanned, read: Read) -> RepositoryFacts:
    """Evidence in the files. One that cannot be read is named in `problems`; the others count."""
    facts = RepositoryFacts(languages=scanned.languages)
    seen: dict[Evidence, None] = {}
    for path in scanned.configs:
        reader = reader_of(path)
        data = read(path, LARGEST + 1) if reader is not None else None
        if reader is None or data is None:
            continue
        if len(data) > LARGEST:
            facts.problems[path] = "it is too large"
            continue
        try:
            seen |= dict.fromkeys(reader(path, data))
        except (ValueError, KeyError, TypeError, AttributeError, yaml.YAMLError, RecursionError) as error:
            kind = "it is no TOML: " if isinstance(error, tomllib.TOMLDecodeError) else ""
            facts.problems[path] = (kind + " ".join(str(error).split()))[:200] or type(error).__name__
    manifests = read_manifests(scanned.configs, read)
    packages = patterns()["packages"]
    for each in manifests.packages:
        for tool, category in packages.get(each.ecosystem, {}).get(each.name, ()):
            seen[Evidence(tool, category, "package_manifest", each.manifest, "medium", each.version)] = None
            if each.version:
                facts.versions.setdefault(tool, each.version)
    for path, problem in manifests.problems.items():
        facts.problems.setdefault(path, problem)
    facts.evidence = [*seen]
    names = [MANAGERS[path.rpartition("/")[2]] for path in scanned.locks]
    facts.managers = [*dict.fromkeys(names)]
    return facts


def stamps_of(root: Path, scanned: Scanned) -> Stamps:
    """Stamps of everything whose change means a new discovery: the files, and the folders where one could appear."""
    watched = {*scanned.configs, *scanned.locks, "", ".github/workflows", ".vscode", ".idea", ".husky", ".circleci"}
    watched |= {path.rpartition("/")[0] for path in scanned.configs}
    watched |= {
        entry.name for entry in os.scandir(root) if entry.is_dir(follow_symlinks=False) and entry.name != ".git"
    }
    return {path: stamp(f"{root}/{path}") for path in sorted(watched)}


def stamp(path: str) -> list[int]:
    try:
        found = os.lstat(path)
    except OSError:
        return []
    if stat.S_ISDIR(found.st_mode):  # a folder's size and change time move with every file below it
        return [found.st_ino, found.st_mtime_ns]
    return [found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns]


def unchanged(root: Path, stamps: Stamps) -> bool:
    """Plain strings: with pathlib this took most of a cached answer's time."""
    top = str(root)
    return all(stamp(f"{top}/{path}") == kept for path, kept in stamps.items())


def hash_of(scanned: Scanned, read: Read) -> str:
    """One hash over names and bytes of the files that discovery read."""
    whole = hashlib.sha256()
    for path in (*scanned.configs, *scanned.locks):
        data = read(path, LARGEST * 12)
        whole.update(path.encode("utf-8", "surrogateescape") + b"\0")
        whole.update(hashlib.sha256(data or b"").digest())
    return whole.hexdigest()
