# ruff: noqa: E501 - texts of other files, as one line each
"""What each kind of file says about tools, and the three tiers that follow from it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from lithos.workshop.discovery.deciding import Decision, Known, Wanted, decide, joined, languages_of
from lithos.workshop.discovery.programs import Programs, entry, install_vector
from lithos.workshop.discovery.scanning import facts_of, hash_of, scan, stamps_of, unchanged
from lithos.workshop.discovery.shell_lines import tools_in
from lithos.workshop.discovery.tables import languages, patterns, tools
from lithos.workshop.discovery.values import RepositoryFacts

NOWHERE = Programs(())
SEEN: dict[str, tuple[str, set[tuple[str, str, str]]]] = {
    "pyproject.toml": (
        '[tool.ruff]\nline-length = 99\n[tool.mypy]\n[tool.pytest.ini_options]\n[dependency-groups]\ndev = ["black==24.1"]\n',
        {("ruff", "linter", "high"), ("ruff", "formatter", "medium"), ("mypy", "type_checker", "high")}
        | {("pytest", "test_framework", "high"), ("black", "formatter", "medium")},
    ),
    "setup.cfg": ("[tool:pytest]\n[flake8]\n", {("pytest", "test_framework", "high"), ("flake8", "linter", "high")}),
    "ruff.toml": ("[format]\nquote-style = 'single'\n", {("ruff", "linter", "high"), ("ruff", "formatter", "high")}),
    "package.json": (
        '{"scripts": {"lint": "cross-env CI=1 eslint . --max-warnings 0", "test": "vitest run"},'
        ' "devDependencies": {"@biomejs/biome": "2.0.0", "typescript": "^5"}}',
        {("eslint", "linter", "high"), ("vitest", "test_framework", "high"), ("biome", "linter", "medium")}
        | {("biome", "formatter", "medium"), ("tsc", "type_checker", "medium")},
    ),
    "Makefile": (
        "lint:\n\t@$(BIN)/ruff check src && mypy .\ntest: deps\n\tpython -m pytest -q\n",
        {("ruff", "linter", "high"), ("mypy", "type_checker", "high"), ("pytest", "test_framework", "high")},
    ),
    ".github/workflows/ci.yml": (
        "jobs:\n  a:\n    steps:\n      - uses: golangci/golangci-lint-action@v6\n      - run: |\n          go vet ./...\n"
        "          go test ./...\n",
        {
            ("golangci-lint", "linter", "high"),
            ("go vet", "type_checker", "high"),
            ("go test", "test_framework", "high"),
        },
    ),
    ".pre-commit-config.yaml": (
        "repos:\n- repo: https://github.com/astral-sh/ruff-pre-commit\n  rev: v0.5.1\n  hooks:\n  - id: ruff\n"
        "  - id: ruff-format\n- repo: local\n  hooks:\n  - id: x\n    entry: npx prettier --check\n",
        {("ruff", "linter", "high"), ("ruff", "formatter", "high"), ("prettier", "formatter", "high")},
    ),
    ".vscode/settings.json": (
        '{// mine\n"editor.defaultFormatter": "esbenp.prettier-vscode",}',
        {("prettier", "formatter", "medium")},
    ),
    ".idea/mypy.xml": ("<x/>", {("mypy", "type_checker", "medium")}),
    ".gitlab-ci.yml": ("t:\n  script: [cargo clippy]\n  x: !reference [a, b]\n", {("clippy", "linter", "high")}),
    "eslint.config.mts": ("export default []", {("eslint", "linter", "high")}),
    "biome.jsonc": ("{}", {("biome", "linter", "high"), ("biome", "formatter", "high")}),
    "go.mod": (
        "module x\n\ngo 1.24\n\ntool github.com/golangci/golangci-lint/v2/cmd/golangci-lint\n",
        {("golangci-lint", "linter", "medium")},
    ),
    "Pipfile": ('[dev-packages]\npytest = "*"\n', {("pytest", "test_framework", "medium")}),
    "mix.exs": ('defp deps do\n [{:credo, "~> 1.7", only: [:dev]}]\nend\n', {("credo", "linter", "medium")}),
    "pubspec.yaml": ("dev_dependencies:\n  test: ^1.2\n", {("dart test", "test_framework", "medium")}),
    "Taskfile.yml": ("tasks:\n  lint:\n    cmds: [shellcheck a.sh]\n", {("shellcheck", "linter", "high")}),
    ".husky/pre-commit": ("npx --no-install lint-staged && pnpm exec oxlint\n", {("oxlint", "linter", "high")}),
}


def read(files: Mapping[str, str]) -> RepositoryFacts:
    held = {path: text.encode() for path, text in files.items()}
    return facts_of(scan(files), lambda path, most: held.get(path, b"")[:most] if path in held else None)


@pytest.mark.parametrize("path", SEEN)
def test_every_kind_of_file_names_its_tools(path: str) -> None:
    text, wanted = SEEN[path]
    facts = read({path: text})
    assert {(each.tool, each.category, each.confidence) for each in facts.evidence} == wanted
    assert facts.problems == {}


@pytest.mark.parametrize("name", patterns()["files"])
def test_every_config_file_of_the_table_is_found_anywhere(name: str) -> None:
    facts = read({f"web/app/{name}": ""})
    named = {(each.tool, each.category) for each in facts.evidence}
    assert {tuple(rule) for rule in patterns()["files"][name]} <= named


def test_every_tool_that_a_table_names_is_described() -> None:
    for language in languages().values():
        for category, advice in language.recommended.items():
            for name in (advice.tool, *advice.options):
                assert category in tools()[name].run
                assert advice.satisfactory or tools()[name].pros
    assert len(languages()) == 22
    python = languages()["python"].recommended
    assert not python["type_checker"].satisfactory and "ruff" not in python["type_checker"].options
    assert tools()["ruff"].run["lsp"] == ("ruff", "server")


def test_a_damaged_file_is_named_and_the_others_count() -> None:
    facts = read({"pyproject.toml": "[tool.ruff", ".eslintrc": "", "package.json": "<<<<<<< ours\n", "tox.ini": "x"})
    assert {each.tool for each in facts.evidence} == {"eslint"}
    assert {*facts.problems} == {"pyproject.toml", "package.json", "tox.ini"}


ALIASES = "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 7))
MERGES = "a0: &a0 {k: v}\n" + "".join(f"a{n}: &a{n}\n  <<: [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 7))
HOSTILE = {
    "aliases that grow": (".github/workflows/ci.yml", ALIASES, "aliases"),
    "merges that grow": ("Taskfile.yml", MERGES, "aliases"),
    "an alias in itself": ("lefthook.yml", "a: &a [*a]\n", "aliases"),
    "deep lists": (".pre-commit-config.yaml", "[" * 2000, "deep"),
    "a deep package": ("pubspec.yaml", "[" * 2000, "deep"),
    "much": (".gitlab-ci.yml", "a: b\n" * 60_000, "256 kB"),
    "deep arrays": ("pyproject.toml", "a = " + "[" * 5000, "deep"),
    "a long key": ("ruff.toml", f"[{'.'.join('a' * 1000)}]", "200 parts"),
    "a long key behind quotes": ("Cargo.toml", f'["\\"=".{".".join("a" * 1000)}]', "200 parts"),
    "a comment without an end": (".vscode/settings.json", '{"a": 1} /* x', "no end"),
    "a text without an end": ("package.json", '{"a": "' + '\\"' * 1000, "no JSON"),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_file_that_would_keep_the_host_busy_is_refused_by_name(what: str) -> None:
    path, text, why = HOSTILE[what]
    assert why in read({path: text}).problems[path]


def test_aliases_and_texts_of_usual_size_are_read() -> None:
    shared = "x: &x {script: [ruff check]}\nlint: {<<: *x}\ntest:\n  <<: *x\n  after: [pytest]\n"
    found = read({".gitlab-ci.yml": shared, "pyproject.toml": f'[tool.mypy]\nx = "{"a." * 500}"\n'})
    assert {each.tool for each in found.evidence} == {"ruff", "pytest", "mypy"} and not found.problems


def test_configurations_of_dependencies_and_fixtures_do_not_count() -> None:
    paths = {"node_modules/a/.eslintrc": "", "vendor/x/ruff.toml": "", "tests/fixtures/p/mypy.ini": ""}
    assert read(paths).evidence == []


@pytest.mark.parametrize(
    ("line", "tool"),
    [
        ("uv run --frozen ruff format --check .", "ruff"),
        ("FOO=1 poetry run pytest -x", "pytest"),
        ("./node_modules/.bin/eslint src | tee out", "eslint"),
        ("echo eslint", None),
        ("npx vitest@latest run", "vitest"),
        ("cargo build", None),
    ],
)
def test_commands_are_recognised_behind_their_wrappers(line: str, tool: str | None) -> None:
    found = [rules[0][0] for rules in tools_in(line)]
    assert found == ([tool] if tool else [])


def known(files: Mapping[str, str], programs: Programs = NOWHERE, **choices: dict[str, str]) -> Known:
    empty: dict[str, str] = {}
    chosen = choices.get("chosen", empty), choices.get("preferred", empty), choices.get("elsewhere", empty)
    return Known(read(files), programs, *chosen)


def test_tier_one_is_what_is_configured() -> None:
    made = known({"pyproject.toml": '[tool.ruff]\n[dependency-groups]\ndev=["ruff==0.5.0", "flake8"]', "a.py": ""})
    found = decide(Wanted("linter"), "python", made)
    assert (found.tier, found.confidence, [each["name"] for each in found.tools]) == (1, "high", ["ruff"])
    assert found.tools[0]["config_path"] == "pyproject.toml" and found.tools[0]["version"] == "0.5.0"
    assert found.tools[0]["install_cmd"] == ["pip", "install", "ruff"] and not found.tools[0]["is_installed"]


def test_a_dependency_is_tier_one_only_where_its_program_is_there(tmp_path: Path) -> None:
    files = {"package.json": '{"devDependencies": {"eslint": "9.1.0"}}', "pnpm-lock.yaml": "", "a.js": ""}
    absent = decide(Wanted("linter"), "javascript", known(files))
    assert (absent.tier, absent.confidence, absent.tools[0]["version"]) == (2, "medium", "9.1.0")
    assert absent.tools[0]["install_cmd"] == ["pnpm", "add", "--save-dev", "eslint"]
    program = tmp_path / "eslint"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    there = decide(Wanted("linter"), "javascript", known(files, Programs((str(tmp_path),))))
    assert (there.tier, there.confidence, there.tools[0]["is_installed"]) == (1, "medium", True)


def test_the_projects_command_is_the_script_for_the_use_by_its_package_manager() -> None:
    scripts = '{"scripts": {"dev": "vitest", "test:ui": "vitest --ui", "test": "pnpm lint && vitest run", "lint": "eslint ."}}'
    made = known({"package.json": scripts, "pnpm-lock.yaml": "", "a.ts": ""})
    commands = [
        decide(Wanted(use), "typescript", made).tools[0].get("project_command") for use in ("test_framework", "linter")
    ]
    assert commands == [["pnpm", "run", "test"], ["pnpm", "run", "lint"]]


def test_a_runner_of_tests_counts_only_where_it_is_all_there_is() -> None:
    """tox makes environments and starts pytest in them: beside pytest it would be a second suite that never runs here."""
    both = known({"pyproject.toml": '[tool.tox]\n[dependency-groups]\ndev=["pytest"]', "a.py": ""})
    assert [each["name"] for each in decide(Wanted("test_framework"), "python", both).tools] == ["pytest"]
    alone = known({"noxfile.py": "", "a.py": ""})
    assert [each["name"] for each in decide(Wanted("test_framework"), "python", alone).tools] == ["nox"]


def test_two_dependencies_without_programs_are_the_users_choice() -> None:
    files = {"package.json": '{"devDependencies": {"jest": "29", "vitest": "1"}}', "a.ts": ""}
    found = decide(Wanted("test_framework"), "typescript", known(files))
    assert (found.tier, [each["tool"]["name"] for each in found.options]) == (3, ["jest", "vitest"])


def test_tier_two_recommends_where_there_is_a_clear_choice() -> None:
    found = decide(Wanted("linter"), "go", known({"a.go": ""}))
    assert (found.tier, found.confidence, found.tools[0]["name"]) == (2, "low", "golangci-lint")
    assert found.tools[0]["install_cmd"][-1] == "github.com/golangci/golangci-lint/v2/cmd/golangci-lint@latest"
    assert decide(Wanted("linter"), "ocaml", known({"a.ml": ""})).note


def test_tier_three_asks_with_pros_cons_and_one_recommendation() -> None:
    found = decide(Wanted("linter"), "typescript", known({"a.ts": ""}))
    assert (found.tier, found.confidence, found.tools) == (3, "low", [])
    assert [each["tool"]["name"] for each in found.options] == ["oxlint", "eslint", "biome", "tsc"]
    assert [each["recommended"] for each in found.options] == [True, False, False, False]
    assert all(each["pros"] and each["cons"] for each in found.options)


def test_a_choice_wins_in_its_project_and_is_recommended_elsewhere() -> None:
    files = {"eslint.config.js": "", "a.ts": ""}
    here = decide(Wanted("linter"), "typescript", known(files, chosen={"typescript": "biome"}))
    assert [(each["name"], each["source"]) for each in here.tools] == [("biome", "user_choice")]
    other = decide(Wanted("linter"), "typescript", known(files, elsewhere={"typescript": "biome"}))
    assert [each["name"] for each in other.tools] == ["eslint"]
    free = decide(Wanted("linter"), "typescript", known({"a.ts": ""}, elsewhere={"typescript": "biome"}))
    assert [each["tool"]["name"] for each in free.options if each["recommended"]] == ["biome"]
    liked = decide(Wanted("linter"), "typescript", known({"a.ts": ""}, preferred={"typescript": "eslint"}))
    assert [each["name"] for each in liked.tools] == ["eslint"]


def test_the_nearest_configuration_counts_for_a_path() -> None:
    made = known({"web/eslint.config.js": "", "api/pyproject.toml": "[tool.ruff]", "web/a.ts": "", "api/a.py": ""})
    assert decide(Wanted("linter", "web/src"), "typescript", made).tools[0].get("config_path") == "web/eslint.config.js"
    assert decide(Wanted("linter", "api"), "typescript", made).tier == 3
    assert decide(Wanted("linter", ""), "python", made).tools[0].get("config_path") == "api/pyproject.toml"


def test_languages_with_few_files_count_only_where_a_tool_is_configured() -> None:
    facts = read({**{f"a{n}.py": "" for n in range(40)}, "x.sh": "", "y.js": "", ".shellcheckrc": ""})
    assert languages_of(facts, facts.languages) == ["python", "bash"]
    assert joined([Decision(1, "high"), Decision(3, "low")]) == (3, "low")


def test_a_changed_or_new_file_changes_stamps_and_hash(tmp_path: Path) -> None:
    (tmp_path / "ruff.toml").write_text("")
    (tmp_path / "src").mkdir()
    scanned = scan(["ruff.toml", "src/a.py"])
    stamps = stamps_of(tmp_path, scanned)
    assert unchanged(tmp_path, stamps)
    (tmp_path / "mypy.ini").write_text("")
    assert not unchanged(tmp_path, stamps)
    held = {"ruff.toml": b"a"}
    before = hash_of(scanned, lambda path, most: held.get(path))
    held["ruff.toml"] = b"b"
    assert hash_of(scanned, lambda path, most: held.get(path)) != before


def test_a_link_out_of_the_project_gives_no_version(tmp_path: Path) -> None:
    modules = tmp_path / "project/node_modules"
    stored = modules / ".pnpm/eslint@9/node_modules/eslint"
    for folder, version in ((stored, "9.1.0"), (tmp_path / "outside", "canary-key")):
        folder.mkdir(parents=True)
        (folder / "package.json").write_text(f'{{"version": "{version}"}}')
    (modules / "eslint").symlink_to(".pnpm/eslint@9/node_modules/eslint")
    (modules / "prettier").symlink_to(tmp_path / "outside")
    (modules / "oxlint").symlink_to("oxlint")
    programs = Programs((), (modules,))
    assert [programs.version(entry(each)) for each in ("eslint", "prettier", "oxlint")] == ["9.1.0", "", ""]


def test_versions_come_from_what_is_installed(tmp_path: Path) -> None:
    packages = tmp_path / ".venv/lib/python3.11/site-packages"
    (packages / "ruff-0.9.1.dist-info").mkdir(parents=True)
    (tmp_path / "node_modules/eslint").mkdir(parents=True)
    (tmp_path / "node_modules/eslint/package.json").write_text('{"version": "9.9.9"}')
    programs = Programs((), (tmp_path / ".venv", tmp_path / "node_modules"))
    assert (programs.version(entry("ruff")), programs.version(entry("eslint"))) == ("0.9.1", "9.9.9")
    assert install_vector(entry("statix"), ()) == ["nix-env", "-iA", "nixpkgs.statix"]
