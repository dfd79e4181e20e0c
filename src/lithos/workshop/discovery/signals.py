"""Signals: what each kind of file says about tools. Pure functions of bytes; nothing is run."""

from __future__ import annotations

import configparser
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from lithos.habits import read_json, read_toml, read_yaml
from lithos.workshop.discovery.shell_lines import tools_in
from lithos.workshop.discovery.tables import patterns
from lithos.workshop.discovery.values import Confidence, Evidence

LARGEST = 1024 * 1024
Reader = Callable[[str, bytes], Iterator[Evidence]]
CI_FILES = (".gitlab-ci.yml", ".travis.yml", "azure-pipelines.yml", "bitbucket-pipelines.yml", ".drone.yml")
MAKEFILES = ("Makefile", "makefile", "GNUmakefile", "justfile", "Justfile", ".justfile")
_TARGET = re.compile(r"^@?(?P<name>[A-Za-z][\w.-]*)(?:\s+[\w:='\"]+)*\s*:(?!=)")
_VSCODE_EXTENSION = re.compile(r"^[\w-]+\.[\w.-]+$")
MANAGERS = {
    "uv.lock": "uv",
    "poetry.lock": "poetry",
    "pdm.lock": "pdm",
    "Pipfile.lock": "pipenv",
    "pnpm-lock.yaml": "pnpm",
    "yarn.lock": "yarn",
    "bun.lock": "bun",
    "bun.lockb": "bun",
    "package-lock.json": "npm",
    "gradlew": "gradle",
    "build.gradle": "gradle",
    "build.gradle.kts": "gradle",
    "pom.xml": "maven",
}


def reader_of(path: str) -> Reader | None:
    """The reader of a file that can name tools; None: it names none."""
    folder, _, name = path.rpartition("/")
    if name in _READERS:
        return _READERS[name]
    if name in patterns()["files"]:
        return _config_file
    if (path.startswith((".github/workflows/", ".forgejo/workflows/")) and name.endswith((".yml", ".yaml"))) or (
        path in CI_FILES or path in (".circleci/config.yml", ".circleci/config.yaml")
    ):
        return _ci
    if folder == ".vscode" and name in ("settings.json", "extensions.json"):
        return _vscode
    if path.startswith(".idea/") and name in patterns()["idea"]:
        return _idea
    if folder == ".husky" and not name.startswith("_"):
        return _hook_script
    return None


def _evidence(
    rules: Iterable[Iterable[str]],
    source: str,
    path: str,
    confidence: Confidence,
    command: tuple[str, ...] = (),
    version: str = "",
) -> Iterator[Evidence]:
    for tool, category in rules:
        yield Evidence(tool, category, source, path, confidence, version, command)


def _config_file(path: str, data: bytes) -> Iterator[Evidence]:
    return _evidence(patterns()["files"][path.rpartition("/")[2]], "config_file", path, "high")


def _sections(path: str, names: Iterable[str]) -> Iterator[Evidence]:
    known = patterns()["sections"][path.rpartition("/")[2]]
    for name in names:
        yield from _evidence(known.get(name, ()), "config_file", path, "high")


def _pyproject(path: str, data: bytes) -> Iterator[Evidence]:
    tool = read_toml(data).get("tool", {})
    for name, table in tool.items() if isinstance(tool, Mapping) else ():
        yield from _sections(path, [name])
        for inner in table if isinstance(table, Mapping) else ():
            yield from _sections(path, [f"{name}.{inner}"])
    if "ruff" in tool and "format" not in tool["ruff"]:  # the same program formats, unless another is configured
        yield from _evidence([("ruff", "formatter")], "config_file", path, "medium")
    scripts = _table(tool, "poe", "tasks") | _table(tool, "taskipy", "tasks") | _table(tool, "pdm", "scripts")
    for value in scripts.values():
        text = value if isinstance(value, str) else str(value.get("cmd", "")) if isinstance(value, Mapping) else ""
        for rules in tools_in(text):
            yield from _evidence(rules, "script", path, "high")


def _ruff_toml(path: str, data: bytes) -> Iterator[Evidence]:
    yield from _config_file(path, data)
    is_format = "format" in read_toml(data)
    yield from _evidence([("ruff", "formatter")], "config_file", path, "high" if is_format else "medium")


def _ini(path: str, data: bytes) -> Iterator[Evidence]:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(_text(data))
    except configparser.Error as error:
        raise ValueError(f"it is no INI file: {error}") from None
    return _sections(path, parser.sections())


def _package_json(path: str, data: bytes) -> Iterator[Evidence]:
    whole = read_json(data)
    if not isinstance(whole, Mapping):
        raise ValueError("it is no object")
    yield from _sections(path, whole)
    for name, text in _table(whole, "scripts").items():
        for rules in tools_in(text) if isinstance(text, str) else ():
            yield from _evidence(rules, "script", path, "high", ("npm", "run", str(name)))
    for texts in _table(whole, "lint-staged").values():
        for text in texts if isinstance(texts, list) else [texts]:
            for rules in tools_in(text) if isinstance(text, str) else ():
                yield from _evidence(rules, "pre_commit", path, "high")


def _makefile(path: str, data: bytes) -> Iterator[Evidence]:
    program = "just" if path.lower().endswith("justfile") else "make"
    target = ""
    for line in _text(data).replace("\\\n", " ").splitlines():
        found = None if line[:1] in ("\t", " ") else _TARGET.match(line)
        if found is not None:
            target = found["name"]
        elif line[:1] in ("\t", " ") and target:
            for rules in tools_in(line.strip()):
                yield from _evidence(rules, "script", path, "high", (program, target))


def _ci(path: str, data: bytes) -> Iterator[Evidence]:
    for text in _strings(read_yaml(data)):
        for rules in tools_in(text):
            yield from _evidence(rules, "ci", path, "high")
        action = text.partition("@")[0]
        if action in ("golangci/golangci-lint-action", "astral-sh/ruff-action", "ludeeus/action-shellcheck"):
            tool = {"g": "golangci-lint", "a": "ruff", "l": "shellcheck"}[action[0]]
            yield from _evidence([(tool, "linter")], "ci", path, "high")


def _pre_commit(path: str, data: bytes) -> Iterator[Evidence]:
    whole = read_yaml(data)
    for repo in whole.get("repos") or () if isinstance(whole, Mapping) else ():
        version = str(repo.get("rev", "")).removeprefix("v")
        for hook in repo.get("hooks") or ():
            known = patterns()["hooks"].get(str(hook.get("id", "")), ())
            exact = version if re.match(r"^\d+\.\d+", version) and repo.get("repo") != "local" else ""
            yield from _evidence(known, "pre_commit", path, "high", version=exact)
            for rules in tools_in(str(hook.get("entry", ""))):
                yield from _evidence(rules, "pre_commit", path, "high")


def _hook_script(path: str, data: bytes) -> Iterator[Evidence]:
    for rules in tools_in(_text(data)):
        yield from _evidence(rules, "pre_commit", path, "high")


def _lefthook(path: str, data: bytes) -> Iterator[Evidence]:
    for text in _strings(read_yaml(data)):
        for rules in tools_in(text):
            yield from _evidence(rules, "pre_commit", path, "high")


def _taskfile(path: str, data: bytes) -> Iterator[Evidence]:
    whole = read_yaml(data)
    for name, task in _table(whole, "tasks").items():
        for text in _strings(task):
            for rules in tools_in(text):
                yield from _evidence(rules, "script", path, "high", ("task", str(name)))


def _vscode(path: str, data: bytes) -> Iterator[Evidence]:
    """Formatters that are set, and extensions that are recommended. A person's taste as often as the project's."""
    whole = read_json(data)
    for text in _strings(whole):
        if _VSCODE_EXTENSION.match(text):
            yield from _evidence(patterns()["editor"].get(text.lower(), ()), "editor", path, "medium")


def _idea(path: str, data: bytes) -> Iterator[Evidence]:
    return _evidence(patterns()["idea"][path.rpartition("/")[2]], "editor", path, "medium")


def _strings(value: Any, depth: int = 0) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif depth < 20:
        for each in value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ():
            yield from _strings(each, depth + 1)


def _table(value: Any, *names: str) -> dict[str, Any]:
    for name in names:
        value = value.get(name) if isinstance(value, Mapping) else None
    return dict(value) if isinstance(value, Mapping) else {}


def _text(data: bytes) -> str:
    return data.decode("utf-8-sig", "replace")


_READERS: Mapping[str, Reader] = {
    "pyproject.toml": _pyproject,
    "ruff.toml": _ruff_toml,
    ".ruff.toml": _ruff_toml,
    "setup.cfg": _ini,
    "tox.ini": _ini,
    "package.json": _package_json,
    ".pre-commit-config.yaml": _pre_commit,
    ".pre-commit-config.yml": _pre_commit,
    "lefthook.yml": _lefthook,
    "lefthook.yaml": _lefthook,
    "Taskfile.yml": _taskfile,
    "Taskfile.yaml": _taskfile,
    **dict.fromkeys(MAKEFILES, _makefile),
}
