"""Design tokens: themes, references, notations, what is a raw value, and how long an answer is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson
import pytest

from lithos.app import Lithos, open_lithos
from lithos.core.clock import FakeClock
from lithos.settings import LithosConfig, StorageSettings
from tests.conftest import PATIENT, CallTool
from tests.flows.test_sessions import OPERATOR
from tests.support.code_repos import repository
from tests.support.note_calls import caller

CSS = """@import "tailwindcss";
:root { --card: oklch(1 0 0); --brand: #0f62fe; --gap-x: 24px; --radius-x: 7px; --aa: var(--bb); --bb: var(--aa); }
.dark { --card: oklch(0.145 0 0); --brand: var(--card); --ring: var(--card); }
@theme inline { --color-card: var(--card); --font-sans: var(--font-sans); --font-mono: var(--font-mono); }
.panel { background: var(--card); outline-color: var(--brand); }
"""
LONG = "".join(
    f".wide-selector-of-a-component-{n} {{ color: var(--card); background-color: var(--brand);"
    f" border-color: var(--brand); padding: var(--gap-x); border-radius: var(--radius-x) }}\n"
    for n in range(9)
)
TAILWIND = """const brand = "#ff00aa"
const palette = { deep: "#334455" }
module.exports = { theme: { extend: { colors: {
  hot: brand,
  cold: palette.deep,
  own: "#010101",
} } } }
"""
W3C = {
    "c": {"$type": "color", "pink": {"$value": {"colorSpace": "srgb", "components": [1, 0, 0.5]}}},
    "lead": {"$type": "number", "$value": 1.5},
    "body": {"$type": "typography", "$value": {"fontSize": "16px", "lineHeight": "{lead}"}},
}
RAW = '.a{padding:24px;border-radius:7px}\n<i class="p-[24px] rounded-[7px]">\n'
FILES = {
    "app/globals.css": CSS,
    "app/long.css": LONG,
    "app/raw.css": RAW,
    "app/one-line.css": ".o { padding: 24px; --own-gap-of-a-panel: 24px; }\n",
    "ink.css": ":root { --ink-long: #123abc; --ink: var(--ink-long); }\n",
    "app/many.css": "".join(f".m{n} {{ color: #0f62fe }}\n" for n in range(40)),
    "app/typeset.css/readme.txt": "a folder that is called like a file\n",
    "tailwind.config.js": TAILWIND,
    "design.tokens.json": orjson.dumps(W3C).decode(),
}


@pytest.fixture(scope="module")
def lithos(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lithos]:
    folder = tmp_path_factory.mktemp("tokens")
    config = LithosConfig(storage=StorageSettings(data_dir=folder / "data"), search=PATIENT)
    opened = open_lithos(config, clock=FakeClock())
    caller(opened)("lithos_code_add", path=str(repository(folder / "ui", FILES)), name="ui", _caller=OPERATOR)
    yield opened
    opened.close()


def test_an_alias_has_the_value_of_the_theme_that_is_on(call: CallTool) -> None:
    dark = call("lithos_get_design_tokens", category="colors", theme="dark", name="card")["tokens"]["colors"]
    assert dark == {"card": "oklch(0.145 0 0)", "color-card": "oklch(0.145 0 0)"}
    assert call("lithos_get_design_tokens", name="color-card")["tokens"]["colors"] == {"color-card": "oklch(1 0 0)"}


def test_a_property_that_a_theme_passes_on_is_no_circle_and_a_circle_is_named_once(call: CallTool) -> None:
    assert call("lithos_get_design_tokens")["problems"] == ["circular: aa → bb → aa"]


def test_a_theme_is_no_component_pattern_and_the_answer_about_all_is_short(call: CallTool) -> None:
    shown = call("lithos_get_design_tokens")
    assert ".dark" not in [each["name"] for each in shown["component_patterns"]]
    assert len(orjson.dumps(shown)) <= 1_200


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ("#ff00aa", "hot"),
        ("#334455", "cold"),
        ("rgb(255 0 128)", "c.pink"),
        ("color(srgb 1 0 0.5)", "c.pink"),
        ("hwb(219 6% 0%)", "brand"),
    ],
)
def test_names_components_and_rare_notations_are_followed(call: CallTool, value: str, name: str) -> None:
    assert name in [each["name"] for each in call("lithos_find_design_token", value=value)["matches"]]


def test_parts_of_a_composite_token_follow_their_references(call: CallTool) -> None:
    shown = call("lithos_get_design_tokens", category="typography")["typography"]
    assert shown["body"] == {"font_size": "16px", "line_height": "1.5"}


@pytest.mark.parametrize("value", ["#00ff00", "999px", "darkslateblue"])
def test_there_is_always_a_nearest_token_with_its_distance(call: CallTool, value: str) -> None:
    found = call("lithos_find_design_token", value=value)
    assert not found["found"] and found["nearest"][0]["distance"] > 0


def linted(call: CallTool, path: str, **more: Any) -> list[tuple[int, str, str]]:
    found = call("lithos_lint_tokens", path=path, **more)["findings"]
    return [(each["line"], each["value"], each["token"]) for each in found]


def test_each_raw_value_of_a_line_is_judged_by_its_own_property(call: CallTool) -> None:
    expected = [(line, *pair) for line in (1, 2) for pair in (("24px", "gap-x"), ("7px", "radius-x"))]
    assert linted(call, "app/raw.css") == expected


def test_definitions_are_no_raw_values_and_a_folder_without_style_sheets_has_none(call: CallTool) -> None:
    assert linted(call, "tailwind.config.js") == []
    empty = call("lithos_lint_tokens", path="app/typeset.css")
    assert (empty["findings"], empty["count"], empty["files"]) == ([], 0, 0)


def test_a_variable_defined_beside_a_raw_value_hides_it_not(call: CallTool) -> None:
    assert linted(call, "app/one-line.css") == [(1, "24px", "gap-x")]


def test_a_token_comes_before_its_aliases(call: CallTool) -> None:
    assert [each["name"] for each in call("lithos_find_design_token", value="#123abc")["matches"]] == [
        "ink-long",
        "ink",
    ]


def test_a_lint_is_short_unless_more_is_asked_for(call: CallTool) -> None:
    short = call("lithos_lint_tokens", path="app")
    assert short["count"] >= 40 and len(orjson.dumps(short)) <= 1_200
    assert len(linted(call, "app", limit=200)) == short["count"]
