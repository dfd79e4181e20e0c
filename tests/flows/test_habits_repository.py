"""Habits that survey a repository: style, components, dependencies, design tokens."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from lithos.app import Lithos, open_lithos
from lithos.core.clock import FakeClock
from lithos.core.text import estimate_tokens
from lithos.errors import InvalidInput, NotFound
from lithos.habits import HABIT_SOURCES, HABIT_TOOLS, ROLE_HABITS
from lithos.settings import LithosConfig, StorageSettings
from lithos.tools.catalogue import catalogue
from tests.conftest import PATIENT, CallTool
from tests.flows.test_sessions import OPERATOR
from tests.support.code_repos import repository, write
from tests.support.note_calls import caller
from tests.support.ui_repo import UI

PYTHON = "".join(
    f"def make_thing_{n}(value):\n    label = 'x{n}'\n    return {{\n        'a': label,\n    }}\n\n\n"
    for n in range(12)
)


@pytest.fixture(scope="module")
def lithos(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lithos]:
    folder = tmp_path_factory.mktemp("habits")
    config = LithosConfig(storage=StorageSettings(data_dir=folder / "data"), search=PATIENT)
    opened = open_lithos(config, clock=FakeClock())
    extra = {f"py/module_{n}.py": PYTHON for n in range(3)}
    root = repository(folder / "ui", {**UI, **extra})
    caller(opened)("lithos_code_add", path=str(root), name="ui", _caller=OPERATOR)
    yield opened
    opened.close()


def style(call: CallTool, language: str, path: str = "") -> dict[str, Any]:
    return dict(call("lithos_get_style_guide", language=language, path=path)["styles"][0])


def test_a_style_is_what_the_project_says_else_what_its_files_show(call: CallTool) -> None:
    script = style(call, "typescript")
    form = script["formatting"]
    assert form["quote_style"] | {"examples": []} == {
        **form["quote_style"],
        "value": "double",
        "source": "config",
        "where": ".prettierrc",
        "examples": [],
    }
    assert (form["semicolons"]["value"], form["indent_size"]["value"]) == (False, 2)
    python = style(call, "python")
    assert python["formatting"]["quote_style"]["value"] == "single"
    assert python["formatting"]["quote_style"]["source"] == "inferred"
    assert python["formatting"]["indent_size"]["value"] == 4
    assert python["formatting"]["trailing_comma"]["value"] == "all"
    assert python["naming"]["functions"]["value"] == "snake_case"
    assert python["naming"]["functions"]["examples"][0].endswith(":1")
    assert "components" in script["naming"]
    everything = call("lithos_get_style_guide")["in_short"]
    assert set(everything) == {"python", "typescript", "javascript"}
    assert everything["typescript"]["quote_style"] == "double (config)"
    with pytest.raises(NotFound, match="cobol"):
        style(call, "cobol")


def test_a_style_for_a_new_file_is_that_of_its_folder_and_an_unknown_root_is_refused(
    lithos: Lithos, call: CallTool
) -> None:
    where = Path(lithos.code.roots()[0].spec.path)
    write(where, {"odd/pyproject.toml": '[tool.ruff.format]\nquote-style = "double"\n', "odd/m.py": PYTHON})
    lithos.code.roots()[0].index.reconcile()
    assert style(call, "python", "odd/new/file.py")["formatting"]["quote_style"]["value"] == "double"
    with pytest.raises(NotFound, match="no root 'elsewhere'"):
        style(call, "python", "elsewhere:odd")
    with pytest.raises(InvalidInput, match="leaves the root"):
        style(call, "python", "ui:../elsewhere")


def test_a_long_answer_keeps_what_comes_first(lithos: Lithos, call: CallTool) -> None:
    names = [f"a rather long name of a property {n}".title().replace(" ", "") for n in range(10)]
    props = "; ".join(f"{name}: string" for name in names)
    tokens = "\n".join(f"  --a-very-long-name-of-a-shadow-{n}: 0 {n}px 40px 10px rgb(0 0 0 / 0.1);" for n in range(30))
    root = lithos.code.roots()[0]
    made = f"export function Telescope(props: {{ {props} }}) {{ return <div/> }}\n"
    write(Path(root.spec.path), {"src/telescope.tsx": made, "src/long.css": f":root {{\n{tokens}\n}}\n"})
    root.index.reconcile()
    first = call("lithos_find_component", need="telescope", type="ui")
    shadows = call("lithos_get_design_tokens", category="shadows")
    for answer in (first, shadows):
        assert estimate_tokens(orjson.dumps(answer).decode()) <= 300
    assert [each["name"] for each in first["matches"][0]["props"]][:4] == names[:4]
    assert shadows["counts"]["shadows"] > len(shadows["tokens"]["shadows"]) > 2


def test_a_setting_that_the_files_do_not_follow_shows_no_example_of_the_other_value(
    lithos: Lithos, call: CallTool
) -> None:
    says = {"pyproject.toml": '[tool.ruff.format]\nquote-style = "double"\n'}
    write(Path(lithos.code.roots()[0].spec.path), {f"odd/{name}": text for name, text in says.items()})
    write(Path(lithos.code.roots()[0].spec.path), {f"odd/m{n}.py": PYTHON for n in range(3)})
    lithos.code.roots()[0].index.reconcile()
    quotes = style(call, "python", "odd")["formatting"]["quote_style"]
    assert (quotes["value"], quotes["source"]) == ("double", "config")
    assert "single" in quotes["disagrees"] and "odd/m" in quotes["disagrees"] and "examples" not in quotes


def test_few_cases_are_mixed_never_a_guess(lithos: Lithos) -> None:
    shown = lithos.habits.styles.inferred(lithos.code.roots()[0], "javascript")
    assert shown["formatting"]["quote_style"]["value"] == "mixed"


def test_a_component_is_found_with_props_variants_and_a_use(call: CallTool) -> None:
    found = call("lithos_find_component", need="confirmation dialog", type="ui")
    assert found["found"]
    best = found["matches"][0]
    assert (best["name"], best["type"], best["uses"]) == ("ConfirmDialog", "ui", 12)
    props = {each["name"]: each for each in best["props"]}
    assert props["title"] == {"name": "title", "type": "string", "required": True}
    assert props["variant"]["default"] == "info" and not props["variant"]["required"]
    assert "<ConfirmDialog" in best["usage_example"]
    button = call("lithos_find_component", query="button", type="component")["matches"][0]
    assert button["variants"] == {"variant": ["default", "destructive"], "size": ["sm", "lg"]}
    assert [each["type"] for each in button["props"] if each["name"] in button["variants"]] == ["see variants"] * 2
    hook = call("lithos_find_component", need="media query", type="hook")["matches"][0]
    assert (hook["name"], hook["uses"]) == ("useMediaQuery", 2)
    assert hook["usage_example"].startswith("const narrow = useMediaQuery(")
    utility = call("lithos_find_component", need="date formatting", type="utility")["matches"][0]
    assert utility["name"] == "formatDate"
    assert utility["usage_example"].startswith("const label = formatDate(new Date())  // src/pages/page")
    assert call("lithos_find_component", need="badge", type="ui")["matches"][0]["name"] == "Badge"
    toggle = call("lithos_find_component", need="toggle", type="ui")["matches"][0]
    assert {each["name"]: each["required"] for each in toggle["props"]} == {"pressed": False, "label": True}
    picker = call("lithos_find_component", need="date range picker", type="ui")["matches"][0]
    assert picker["name"] == "DateRangePicker"  # of date-range-picker.svelte: its words stay apart
    nothing = call("lithos_find_component", need="blockchain wallet")
    assert not nothing["found"] and nothing["suggestion"]
    with pytest.raises(InvalidInput):
        call("lithos_find_component")


def test_a_need_is_met_by_a_package_of_the_project(call: CallTool) -> None:
    found = call("lithos_check_dependency", need="date formatting")
    assert found["already_available"]
    best = found["packages"][0]
    assert (best["name"], best["version"], best["type"]) == ("date-fns", "2.30.0", "runtime")
    assert best["deprecated"] == "use v3"
    assert any('import { format } from "date-fns"' in text for text in best["usage_examples"].values())
    assert call("lithos_check_dependency", need="schema validation")["packages"][0]["name"] == "zod"
    none = call("lithos_check_dependency", need="sending e-mail")
    assert not none["already_available"] and any("nodemailer" in each for each in none["suggestions"])
    with pytest.raises(InvalidInput):
        call("lithos_check_dependency", need=" ")


@pytest.mark.parametrize(
    ("need", "offered", "not_offered"),
    [
        ("table", "data tables", "terminal colours and progress"),
        ("password cracking", "", "password hashing"),
        ("text", "", "deep comparison and diff"),
        ("date formatting", "date and time formatting", ""),
        ("colored terminal output", "terminal colours and progress", ""),
    ],
)
def test_a_short_need_is_not_met_by_one_word_of_another_purpose(
    lithos: Lithos, need: str, offered: str, not_offered: str
) -> None:
    names = {capability.name for capability, _ in lithos.habits.dependencies.capabilities(need)}
    assert not_offered not in names and (not offered or offered in names)


def test_a_package_outside_the_table_is_found_by_its_own_words_with_deprecated_names(
    lithos: Lithos, call: CallTool
) -> None:
    root = lithos.code.roots()[0]
    home = Path(root.spec.path) / "node_modules"
    installed = {
        "date-fns/package.json": '{"description": "dates"}',
        "date-fns/format.d.ts": "/** @deprecated use lightFormat */\nexport function format(d: Date): string\n",
        "vitest/package.json": "{}",
        "vitest/README.md": "# v\n\nResizes and crops images in the browser.\n",
    }
    write(home, installed)
    root.index.reconcile()
    write(Path(root.spec.path), {"touched.ts": "export const a = 1\n"})
    root.index.reconcile()
    best = call("lithos_check_dependency", need="date formatting")["packages"][0]
    assert best["deprecated_in_use"] == {"format": "src/dates.ts:1: use lightFormat"}
    found = call("lithos_check_dependency", need="resize and crop images")["packages"][0]
    assert (found["name"], found["rests_on"]) == ("vitest", "installed package.json")
    assert found["capabilities"][-1] == "Resizes and crops images in the browser."


def test_tokens_by_category_theme_and_value(call: CallTool) -> None:
    shown = call("lithos_get_design_tokens", category="colors")
    assert shown["tokens"]["colors"]["primary"] == "#3b82f6"
    assert shown["tokens"]["colors"]["color-primary"] == "#3b82f6"
    assert shown["tokens"]["colors"]["brand-dark"] == "#800000"
    assert shown["tokens"]["colors"]["cta"] == "#3b82f6"
    assert call("lithos_get_design_tokens", name="pad")["tokens"]["spacing"]["pad"] == "12px"
    assert shown["themes"] == ["default", "dark"]
    dark = call("lithos_get_design_tokens", category="color", theme="dark")["tokens"]["colors"]
    assert dark["primary"] == "hsl(217 91% 60%)" and dark["color-primary"] == "hsl(217 91% 60%)"
    everything = call("lithos_get_design_tokens")
    assert everything["typography"]["text-sm"] == {"font_size": "0.875rem", "line_height": "1.25rem"}
    assert everything["typography"]["font.body"]["font_family"] == "Inter"
    assert everything["component_patterns"][0]["tokens"] == ["primary", "radius"]
    assert any("circular" in each for each in everything["problems"])
    assert call("lithos_get_design_tokens", category="radii")["tokens"]["radii"]["radius"] == "0.625rem"
    with pytest.raises(NotFound):
        call("lithos_get_design_tokens", theme="sepia")


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ("rgb(59, 130, 246)", "accent"),
        ("#3B82F6", "accent"),
        ("16px", "spacing-md"),
        ("1rem", "spacing-md"),
        ("24px", "space.lg"),
    ],
)
def test_a_token_is_found_by_its_value_in_any_notation(call: CallTool, value: str, name: str) -> None:
    found = call("lithos_find_design_token", value=value)
    assert found["found"] and name in [each["name"] for each in found["matches"]]


def test_the_nearest_token_has_its_distance(call: CallTool) -> None:
    near = call("lithos_find_design_token", value="#fe0000")
    assert not near["found"] and near["nearest"][0]["distance"] < 0.01
    far = call("lithos_find_design_token", value="#4080f0")
    assert not far["found"] and 0 < far["nearest"][0]["distance"] < 0.1
    assert not call("lithos_find_design_token", value="Comic Sans")["found"]


def test_raw_values_are_flagged_where_a_token_exists(call: CallTool) -> None:
    found = call("lithos_lint_tokens", path="src/card.css")["findings"]
    assert [(each["value"], each["token"]) for each in found if each["token"] == "radius"] == [("10px", "radius")]
    assert "#3B82F6" in [each["value"] for each in found]
    assert call("lithos_lint_tokens", path="src/styles/globals.css")["count"] <= 1
    folder = call("lithos_lint_tokens", path="src")
    assert folder["files"] > 10 and folder["count"] >= len(found)
    assert {"src/card.css"} <= {each["path"] for each in folder["findings"]}
    with pytest.raises(NotFound):
        call("lithos_lint_tokens", path="nowhere")


def test_a_preview_warns_of_broken_style(call: CallTool) -> None:
    edit = {"file_path": "py/module_1.py", "old_string": "'x0'", "new_string": '"x0"'}
    assert any("style" in each for each in call("lithos_preview_edit", **edit)["warnings"])


def test_manifests_that_cannot_be_read_are_named(call: CallTool, lithos: Lithos) -> None:
    (root,) = lithos.code.roots()
    folder = Path(root.spec.path)
    write(
        folder,
        {"sub/package.json": "<<<<<<< HEAD\n{}\n=======\n{}\n>>>>>>> x\n", "pnpm-lock.yaml": b"a: b\n" * 3_000_000},
    )
    root.index.reconcile()
    found = call("lithos_check_dependency", need="schema validation")
    assert "merge conflict" in found["problems"]["sub/package.json"]
    assert found["packages"][0]["name"] == "zod"


def test_the_table_of_roles_names_tools_that_exist() -> None:
    assert [
        len(ROLE_HABITS[role]) for role in ("router", "architect", "engineer", "inspector", "tester", "designer")
    ] == [*(1, 3, 10, 6, 6, 5)]
    known = {each.name for each in catalogue()}
    assert {tool for tools in HABIT_TOOLS.values() for tool in tools} <= known
    assert {habit for habits in ROLE_HABITS.values() for habit in habits} == set(HABIT_TOOLS) >= set(HABIT_SOURCES)


def test_the_list_of_the_toolset_stays_within_its_budget() -> None:
    assert sum(each.token_cost for each in catalogue().shown(("habits",))) <= 3_000
