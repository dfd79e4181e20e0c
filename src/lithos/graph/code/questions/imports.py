"""Imports of packages: where a repository uses what it depends on."""

from __future__ import annotations

import threading
from collections import defaultdict
from typing import NamedTuple

import orjson

from lithos.graph.code.code import OpenRoot

# Distribution → module, where they differ.
MODULES = {
    "pyyaml": "yaml",
    "beautifulsoup4": "bs4",
    "pillow": "PIL",
    "python-dateutil": "dateutil",
    "scikit-learn": "sklearn",
    "opencv-python": "cv2",
    "djangorestframework": "rest_framework",
    "psycopg2-binary": "psycopg2",
    "python-dotenv": "dotenv",
    "pyjwt": "jwt",
    "attrs": "attr",
    "protobuf": "google",
    "google-re2": "re2",
    "factory-boy": "factory",
}
MOST = 200


class ImportUse(NamedTuple):
    path: str
    line: int
    local: str
    module: str
    name: str  # in the package; empty: the module itself


_lock = threading.Lock()
_held: dict[str, tuple[int, dict[str, list[ImportUse]]]] = {}


def imports_of(root: OpenRoot, ecosystem: str, package: str) -> list[ImportUse]:
    """The imports of a package in this root; source files before tests."""
    by_module = _by_module(root)
    if ecosystem == "pypi":
        name = MODULES.get(package.lower(), package.lower().replace("-", "_").replace(".", "_"))
        found = by_module.get(name, []) or by_module.get(name.casefold(), [])
    elif ecosystem == "cargo":
        found = by_module.get(package.replace("-", "_"), [])
    else:
        found = by_module.get(package, [])
    return sorted(found, key=lambda use: ("test" in use.path, use.path, use.line))


def _by_module(root: OpenRoot) -> dict[str, list[ImportUse]]:
    """Package → its imports, over all files; made again when the graph changed."""
    key = str(root.file)
    with _lock:
        held = _held.get(key)
        if held is not None and held[0] == root.store.changes:
            return held[1]
    changes = root.store.changes
    found: dict[str, list[ImportUse]] = defaultdict(list)
    for row in root.store.read(
        lambda tx: tx.all("SELECT path, language, facts FROM files JOIN facts ON file = number")
    ):
        for _, local, module, name, line in orjson.loads(row["facts"]).get("imports", ()):
            for package in _packages(row["language"], module):
                if len(found[package]) < MOST:
                    found[package].append(ImportUse(row["path"], line, local or name, module, name))
    with _lock:
        _held[key] = (changes, dict(found))
    return _held[key][1]


def _packages(language: str, module: str) -> list[str]:
    """The package names that a module may belong to."""
    if not module or module.startswith("."):
        return []
    if language == "python":
        return [module.split(".")[0]]
    if language == "rust":
        return [module.split("::")[0]]
    if language == "go":
        parts = module.split("/")
        return ["/".join(parts[:count]) for count in range(1, len(parts) + 1)]
    parts = module.split("/")
    return ["/".join(parts[:2])] if module.startswith("@") and len(parts) > 1 else [parts[0]]
