# ruff: noqa: E501 - texts of other files, as one line each
"""Colours and lengths mean the same in any notation; words and cases."""

from __future__ import annotations

import pytest

from lithos.habits.components import Part
from lithos.habits.matching import key_words
from lithos.habits.style.configs import settings_for
from lithos.habits.style.naming import case_of
from lithos.habits.tokens.reading import category_of, read_css, read_variables
from lithos.habits.tokens.values import colour_distance, colour_of, length_of, same_colour


@pytest.mark.parametrize(
    "text",
    [
        "#3b82f6",
        "#3B82F6FF",
        "rgb(59 130 246)",
        "rgba(59, 130, 246, 1)",
        "hsl(217.2 91.2% 59.8%)",
        "217.2 91.2% 59.8%",
        "oklch(0.6231 0.188 259.81)",
    ],
)
def test_one_colour_in_many_notations(text: str) -> None:
    colour, blue = colour_of(text), colour_of("#3b82f6")
    assert colour is not None and blue is not None
    assert colour_distance(colour, blue) < 0.01


def test_exact_notations_are_equal_to_the_bit_and_rounded_ones_within_the_rounding() -> None:
    assert same_colour("#f00", "rgb(255 0 0)") and not same_colour("#fe0000", "#ff0000")
    assert same_colour("oklch(0.628 0.258 29.23)", "red") and not same_colour("hsl(0 100% 48%)", "red")


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("lab(54.29% 80.82 69.88)", "#ff0000"),
        ("lab(46.28 -47.55 48.59)", "green"),
        ("lch(29.57% 131.2 301.37 / 50%)", "#0000ff80"),
        ("color(display-p3 0.9175 0.2003 0.1386)", "red"),
    ],
)
def test_device_independent_notations_are_the_colour_of_the_screen(text: str, same: str) -> None:
    found, wanted = colour_of(text), colour_of(same)
    assert found is not None
    assert wanted is not None
    assert found.hex == wanted.hex
    assert colour_of("color(rec2020 1 0 0)") is None


@pytest.mark.parametrize("text", ["", "blueish", "16px", "rgb(1 2)", "#12345", "var(--x)", "hsl(a b c)"])
def test_no_colour(text: str) -> None:
    assert colour_of(text) is None


def test_lengths() -> None:
    assert [length_of(each) for each in ("16px", "1rem", "0", ".5em", "12", "auto")] == [16, 16, 0, 8, None, None]
    assert length_of("9" * 400 + "px") is None  # beyond any number, so no distance


def test_names_and_values_decide_the_category() -> None:
    pairs = {("radius-lg", "8px"): "radii", ("text-sm", "14px"): "typography", ("text-muted", "#666"): "colors"}
    pairs |= {("shadow-md", "0 1px 2px #000"): "shadows", ("spacing-4", "1rem"): "spacing", ("duration", "2s"): "other"}
    pairs |= {("pad", "12px"): "spacing", ("layer", "0"): "other"}
    assert {pair: category_of(*pair) for pair in pairs} == pairs


def test_css_is_read_as_a_browser_does() -> None:
    text = b"/* --no: 1 */ @media (prefers-color-scheme: dark) { :root { --a: #000 } } :root{--a:#fff}.x{color:var(--a);margin:var(--b)}"
    tokens, rules = read_css("a.css", text)
    assert [(each.name, each.value, each.theme) for each in tokens] == [("a", "#000", "dark"), ("a", "#fff", "default")]
    assert rules[0].tokens == ("a", "b")
    assert [each.name for each in read_variables("a.scss", b"$gap: 4px !default;\n// $no: 1;\n")] == ["gap"]


def test_cases_and_words() -> None:
    names = ["make_it", "makeIt", "MakeIt", "MAKE_IT", "make-it", "make", "_private_name"]
    assert [case_of(each) for each in names] == [
        *("snake_case", "camelCase", "PascalCase", "UPPER_SNAKE_CASE", "kebab-case", "", "snake_case")
    ]
    assert key_words("caching the cached HTTPResponses") == key_words("cache HTTP response")


EDITORCONFIG = b"root = true\n[*]\nindent_style = space\nindent_size = 4\n[*.{js,ts}]\nindent_size = 2\n[lib/**.js]\nindent_style = tab\n"


@pytest.mark.parametrize(
    ("files", "language", "folder", "expected"),
    [
        ({".editorconfig": EDITORCONFIG}, "typescript", "src", {"indent_style": "spaces", "indent_size": 2}),
        ({".editorconfig": EDITORCONFIG}, "javascript", "lib", {"indent_style": "tabs"}),
        (
            {".prettierrc": b"semi: false\nsingleQuote: true\n"},
            "typescript",
            "",
            {"quote_style": "single", "semicolons": False},
        ),
        (
            {"package.json": b'{"devDependencies": {"prettier": "2.8"}, "prettier": {}}'},
            "javascript",
            "a/b",
            {"trailing_comma": "es5"},
        ),
        (
            {"biome.json": b'{"formatter": {"indentStyle": "space"}}'},
            "typescript",
            "",
            {"indent_style": "spaces", "indent_size": 2},
        ),
        (
            {"pyproject.toml": b'[tool.ruff.format]\nquote-style = "single"\n'},
            "python",
            "x",
            {"quote_style": "single", "indent_size": 4},
        ),
        (
            {"biome.json": b'{"formatter": {"useEditorconfig": true}}', ".editorconfig": EDITORCONFIG},
            "javascript",
            "src",
            {"indent_style": "spaces", "indent_size": 2},
        ),
        ({"rustfmt.toml": b"hard_tabs = true\n"}, "rust", "", {"indent_style": "tabs", "trailing_comma": "all"}),
        ({".golangci.yml": b"formatters:\n  enable: [gofmt]\n"}, "go", "", {"indent_style": "tabs"}),
        (
            {".eslintrc.json": b'{"rules": {"semi": ["error", "never"], "quotes": [2, "single"]}}'},
            "javascript",
            "",
            {"semicolons": False, "quote_style": "single"},
        ),
        ({"pyproject.toml": b"[tool.black]\n"}, "python", "", {"quote_style": "double", "trailing_comma": "all"}),
        ({".prettierrc": b"{{{"}, "typescript", "", {}),
    ],
)
def test_settings_of_a_project(
    files: dict[str, bytes], language: str, folder: str, expected: dict[str, object]
) -> None:
    found = settings_for(folder, language, files.get, lambda path, data: None)
    assert {name: found[name].value for name in expected} == expected
    assert expected or not found


def test_parts_say_their_comment_and_what_people_say_of_such_a_part() -> None:
    assert "merge" in Part("cn", "utility", "lib/utils.ts", 1, {}).texts[0]
    assert "viewport" in Part("useIsMobile", "hook", "hooks/use-mobile.ts", 1, {}).texts[0]
    documented = Part("cn", "utility", "lib/utils.ts", 1, {"doc": "Joins."}).texts
    assert documented[0] == "cn: Joins." and "merge" in documented[1]
    assert Part("select", "utility", "lib/sql.ts", 1, {}).texts == ("select",)


def test_the_prefix_of_a_library_and_the_pieces_of_a_component_are_not_its_family() -> None:
    assert Part("VAlert", "ui", "VAlert.tsx", 1, {}).family == "alert"
    assert Part("ElDialogContent", "ui", "dialog.vue", 1, {}).family == "dialog"
    assert Part("QrCode", "ui", "qr.tsx", 1, {}).family == "qr code"
    assert "warning" in Part("VAlert", "ui", "VAlert.tsx", 1, {}).texts[0]
