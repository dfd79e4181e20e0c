# ruff: noqa: E501 - texts of other files, as one line each
"""Every manifest that is read, and the damage that is named."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from lithos.habits import read_manifests
from lithos.habits.lenient_json import Unreadable, read_json
from lithos.habits.manifests import LARGEST_LOCK, Manifests

MANIFESTS: dict[str, tuple[str, set[tuple[str, str, str]]]] = {
    "pyproject.toml": (
        '[project]\ndependencies = ["httpx>=0.27", "rich==13.0"]\n[project.optional-dependencies]\nx = ["lxml"]\n'
        '[dependency-groups]\ndev = ["pytest"]\n[tool.poetry.dependencies]\npython = "^3.11"\nflask = "^3"\n',
        {("httpx", "runtime", ""), ("rich", "runtime", "13.0"), ("lxml", "optional", ""), ("pytest", "dev", "")}
        | {("flask", "runtime", "")},
    ),
    "requirements-dev.txt": ("# c\nblack==24.1 ; python_version > '3'\n-r other.txt\n", {("black", "dev", "24.1")}),
    "setup.cfg": (
        "[options]\ninstall_requires =\n    attrs>=1\n    six\n",
        {("attrs", "runtime", ""), ("six", "runtime", "")},
    ),
    "package.json": (
        '{"dependencies": {"a": "^1.0.0", "own": "workspace:*"}, "peerDependencies": {"b": "*"},}',
        {("a", "runtime", "1.2.3"), ("b", "peer", "")},
    ),
    "go.mod": (
        "module x\n\ngo 1.22\n\nrequire (\n\tgithub.com/a/b v1.2.0\n\tgithub.com/c/d v0.1.0 // indirect\n)\n",
        {("github.com/a/b", "runtime", "v1.2.0"), ("github.com/c/d", "indirect", "v0.1.0")},
    ),
    "Cargo.toml": (
        '[dependencies]\nserde = "1"\nlocal = { path = "x" }\ntokio = { version = "1.2" }\n[dev-dependencies]\nrand = "0.8"\n',
        {("serde", "runtime", "1"), ("tokio", "runtime", "1.2"), ("rand", "dev", "0.8")},
    ),
    "pom.xml": (
        "<project><properties><v>5.1</v></properties><dependencies><dependency><groupId>g</groupId>"
        "<artifactId>a</artifactId><version>${v}</version><scope>test</scope></dependency></dependencies></project>",
        {("g:a", "dev", "5.1")},
    ),
    "build.gradle": (
        "dependencies { implementation 'g:a:1.0'\n testImplementation(\"t:u:2\") }",
        {("g:a", "runtime", "1.0"), ("t:u", "dev", "2")},
    ),
    "Gemfile": ("source 'x'\ngem 'rails', '~> 7.0'\n", {("rails", "runtime", "")}),
    "composer.json": (
        '{"require": {"php": "8", "a/b": "1.0"}, "require-dev": {"c/d": "2.0"}}',
        {("a/b", "runtime", "1.0"), ("c/d", "dev", "2.0")},
    ),
    "app.csproj": (
        '<Project><ItemGroup><PackageReference Include="P" Version="3.0"/></ItemGroup></Project>',
        {("P", "runtime", "3.0")},
    ),
}
MANIFESTS |= {
    "Pipfile": (
        '[packages]\nflask = "==3.0"\n[dev-packages]\nmypy = {version = "*"}\n',
        {("flask", "runtime", "3.0"), ("mypy", "dev", "")},
    ),
    "mix.exs": (
        'defp deps do\n [{:plug, "~> 1.0"}, {:credo, "~> 1.7", only: [:dev]}]\nend\n',
        {("plug", "runtime", ""), ("credo", "dev", "")},
    ),
    "pubspec.yaml": (
        "dependencies:\n  http: ^1.2\ndev_dependencies:\n  test: any\n",
        {("http", "runtime", ""), ("test", "dev", "")},
    ),
}
LOCKS = {"yarn.lock": 'a@^1.0.0:\n  version "1.2.3"\n'}


def read(files: Mapping[str, str | bytes]) -> Manifests:
    raw = {path: text.encode() if isinstance(text, str) else text for path, text in files.items()}
    return read_manifests(raw, lambda path, most: raw[path][:most] if path in raw else None)


@pytest.mark.parametrize("name", MANIFESTS)
def test_a_manifest_names_its_packages(name: str) -> None:
    text, expected = MANIFESTS[name]
    found = read({name: text, **LOCKS})
    assert found.problems == {}
    assert {(each.name, each.kind, each.version) for each in found.packages} == expected


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("package.json", "<<<<<<< HEAD\n{}\n=======\n{}\n>>>>>>> x\n", "merge conflict"),
        ("package.json", "[1]", "no object"),
        ("pom.xml", "<!DOCTYPE x [<!ENTITY a 'b'>]><x>&a;</x>", "entities"),
        ("pyproject.toml", "[project", "Expected"),
    ],
)
def test_damage_is_named_and_the_others_count(name: str, text: str, problem: str) -> None:
    found = read({name: text, "Gemfile": "gem 'rake'\n"})
    assert problem in found.problems[name]
    assert [each.name for each in found.packages] == ["rake"]


def test_a_lock_above_the_limit_is_left_out() -> None:
    found = read({"package.json": '{"dependencies": {"a": "^1.0.0"}}', "pnpm-lock.yaml": b"x" * (LARGEST_LOCK + 2)})
    assert "pnpm-lock.yaml" in found.problems and found.packages[0].version == ""


def test_pnpm_and_npm_locks_give_versions() -> None:
    pnpm = "lockfileVersion: '9.0'\n\nimporters:\n\n  .:\n    dependencies:\n      '@a/b':\n        specifier: ^1\n        version: 1.4.0(x@1)\n\npackages:\n"
    found = read({"package.json": '{"dependencies": {"@a/b": "^1"}}', "pnpm-lock.yaml": pnpm})
    assert found.packages[0].version == "1.4.0"


def test_json_as_people_keep_it() -> None:
    assert read_json(b'{\n // c\n "a": "x // y", /* d */ "b": [1, 2,],\n}') == {"a": "x // y", "b": [1, 2]}
    with pytest.raises(Unreadable):
        read_json(b"{")
