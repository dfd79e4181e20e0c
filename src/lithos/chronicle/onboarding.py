"""Onboarding: the Librarian's summary of a repository, from the code graph and the files it lists, without a model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from lithos.core.call import Call
from lithos.core.clock import Clock, rfc3339
from lithos.graph.code import Code, detect, listing, structure

MOST_FILES = 20_000
DEPTH = 2
LARGEST_TREE = 40  # lines
# File name → package manager, tool.
MANAGERS: Mapping[str, str] = {
    "pyproject.toml": "pip",
    "requirements.txt": "pip",
    "poetry.lock": "poetry",
    "uv.lock": "uv",
    "package.json": "npm",
    "pnpm-lock.yaml": "pnpm",
    "yarn.lock": "yarn",
    "go.mod": "go modules",
    "Cargo.toml": "cargo",
    "Gemfile": "bundler",
    "composer.json": "composer",
    "pom.xml": "maven",
    "build.gradle": "gradle",
}
TOOLS: Mapping[str, tuple[str, str]] = {
    "Makefile": ("build", "make"),
    "CMakeLists.txt": ("build", "cmake"),
    "Dockerfile": ("container", "docker"),
    "tox.ini": ("test", "tox"),
    "pytest.ini": ("test", "pytest"),
    "jest.config.js": ("test", "jest"),
    "vitest.config.ts": ("test", "vitest"),
    ".eslintrc.json": ("lint", "eslint"),
    "eslint.config.js": ("lint", "eslint"),
    "ruff.toml": ("lint", "ruff"),
    ".golangci.yml": ("lint", "golangci-lint"),
    "rustfmt.toml": ("format", "rustfmt"),
    ".prettierrc": ("format", "prettier"),
    ".pre-commit-config.yaml": ("lint", "pre-commit"),
    "tsconfig.json": ("type", "tsc"),
    "mypy.ini": ("type", "mypy"),
}
FAMILIES = ("error handling", "logging", "test setup", "dependency injection")


def onboarding(code: Code, call: Call, root: str, clock: Clock) -> dict[str, Any]:
    """`CodebaseSummary` of one root; fields that only a reader can fill are left empty."""
    tree = structure(code, call, "", DEPTH, root)
    (top,) = tree["structure"]
    files = [each["path"] for each in listing(code, call, "**", root, MOST_FILES, None)["files"]]
    names = Counter(path.rpartition("/")[2] for path in files)
    tests = [path for path in files if _is_test(path)]
    found = [row for family in FAMILIES for row in detect(code, call, family, None, root)["patterns"][:3]]
    summary: dict[str, Any] = {
        "timestamp": rfc3339(clock.now()),
        "session_id": "",
        "context_usage": 0.0,
        "checkpoint_index": 0,
        "directory_structure": "\n".join([*_tree(top, 0)][:LARGEST_TREE]),
        "key_paths": _key_paths(top, files),
        "code_style": _languages(top["languages"]),
        "architecture": _architecture(top),
        "testing_strategy": _testing(tests, len(files)),
        "tooling": _tooling(names),
        "package_managers": sorted({MANAGERS[name] for name in names if name in MANAGERS}),
        "patterns": [f"{row['family']}: {row['shape']} {row['variant']} ({row['count']}×)" for row in found],
        "conventions": _conventions(files),
        "new_discoveries": [],
    }
    answer = {"root": root, "files": len(files), "summary": summary, "degraded": bool(tree.get("degraded"))}
    if answer["degraded"]:
        answer["degraded_reason"] = tree["degraded_reason"]
    return answer


def _tree(folder: Mapping[str, Any], depth: int) -> Iterable[str]:
    name = folder["path"].rpartition("/")[2] or folder["path"]
    yield f"{'  ' * depth}{name}  ({folder['files']} files, {folder['symbols']} symbols)"
    for each in folder.get("folders", ()):
        yield from _tree(each, depth + 1)


def _key_paths(top: Mapping[str, Any], files: list[str]) -> list[str]:
    marks = {"README.md", "main.py", "main.go", "index.ts", "lib.rs", "main.rs", "__main__.py", "app.py", *MANAGERS}
    short = sorted(
        (path for path in files if path.rpartition("/")[2] in marks), key=lambda path: (path.count("/"), path)
    )
    folders = sorted(top.get("folders", ()), key=lambda each: (-each["symbols"], each["path"]))
    return [*short[:10], *(each["path"] for each in folders[:5])]


def _languages(languages: Mapping[str, int]) -> str:
    return ", ".join(f"{name}: {count} files" for name, count in languages.items())


def _architecture(top: Mapping[str, Any]) -> str:
    folders = sorted(top.get("folders", ()), key=lambda each: (-each["symbols"], each["path"]))[:8]
    return "; ".join(f"{each['path']}: {each['symbols']} symbols in {each['files']} files" for each in folders)


def _is_test(path: str) -> bool:
    name = path.rpartition("/")[2]
    parts = path.split("/")[:-1]
    return (
        name.startswith("test_")
        or any(mark in name for mark in ("_test.", ".test.", ".spec.", "Test.java"))
        or any(part in ("tests", "test", "__tests__", "spec") for part in parts)
    )


def _testing(tests: list[str], files: int) -> str:
    if not tests:
        return "no tests were found"
    folders = Counter(path.split("/")[0] for path in tests)
    where = ", ".join(f"{name}/ ({count})" for name, count in folders.most_common(5))
    return f"{len(tests)} of {files} files are tests: {where}"


def _tooling(names: Counter[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name in sorted(names):
        if name in TOOLS:
            kind, tool = TOOLS[name]
            if tool not in found.setdefault(kind, []):
                found[kind].append(tool)
    return found


def _conventions(files: list[str]) -> list[str]:
    """How source files are named, where one way is clearly the usual."""
    stems = [path.rpartition("/")[2].split(".")[0] for path in files if "." in path.rpartition("/")[2]]
    kinds = Counter(_case(stem) for stem in stems if len(stem) > 3)
    kinds.pop("", None)
    total = sum(kinds.values())
    return [f"file names in {kind} ({count} of {total})" for kind, count in kinds.most_common(1) if count * 2 > total]


def _case(stem: str) -> str:
    if "_" in stem:
        return "snake_case"
    if "-" in stem:
        return "kebab-case"
    if stem[0].isupper() and any(each.islower() for each in stem):
        return "PascalCase"
    return "camelCase" if any(each.isupper() for each in stem) else ""
