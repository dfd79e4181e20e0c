"""Token definitions of one file: CSS custom properties, Tailwind, SCSS, Less, W3C JSON, theme objects."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from lithos.core.lazy import lazy
from lithos.habits.lenient_json import Unreadable, read_json
from lithos.habits.tokens.values import colour_of, length_of

tinycss2 = lazy("tinycss2")
DEFAULT = "default"
DEEPEST = 8
_SCSS = re.compile(r"^[ \t]*\$([\w-]+)\s*:\s*([^;{}\n]+?)(?:\s*!default)?\s*;", re.MULTILINE)
_LESS = re.compile(r"^[ \t]*@([\w-]+)\s*:\s*([^;{}\n]+?)\s*;", re.MULTILINE)
_AT = frozenset({"media", "import", "charset", "plugin", "namespace", "supports", "layer", "theme", "apply", "use"})
_DARK = re.compile(r"prefers-color-scheme:\s*(dark|light)")
_HAS_UNIT = re.compile(r"[a-z]\Z", re.IGNORECASE)  # `0` may be a z-index
_THEMED = re.compile(r"\.(dark|light|theme-[\w-]+)\b|\[data-(?:theme|mode)[~|^$*]?=['\"]?([\w-]+)")
_TAILWIND = {
    "colors": "colors",
    "backgroundColor": "colors",
    "textColor": "colors",
    "borderColor": "colors",
    "spacing": "spacing",
    "borderRadius": "radii",
    "boxShadow": "shadows",
    "fontFamily": "typography",
    "fontSize": "typography",
    "fontWeight": "typography",
    "lineHeight": "typography",
    "letterSpacing": "typography",
}
_W3C = {"color": "colors", "dimension": "spacing", "shadow": "shadows", "typography": "typography"}
_W3C |= {"fontFamily": "typography", "fontWeight": "typography", "fontSize": "typography", "borderRadius": "radii"}


@dataclass(frozen=True, slots=True)
class Token:
    name: str
    value: str
    category: str  # colors, spacing, typography, shadows, radii, other
    theme: str
    path: str
    line: int
    kind: str  # css, @theme, tailwind, scss, less, json, theme
    parts: Mapping[str, str] | None = None  # of a composite typography token


@dataclass(frozen=True, slots=True)
class RuleUse:
    """A rule of a style sheet that uses tokens."""

    selector: str
    tokens: tuple[str, ...]
    path: str
    line: int
    text: str


def category_of(name: str, value: str) -> str:
    """By the name first: `--radius-lg` is a radius, though its value is a length."""
    word = name.lower()
    if re.search(r"shadow|elevation", word):
        return "shadows"
    if re.search(r"radius|radii|rounded", word):
        return "radii"
    if re.search(r"(^|[-_])(font|text|leading|tracking|letter|line-height|weight)([-_]|$)|typography|font", word):
        return "colors" if colour_of(value) is not None else "typography"
    if colour_of(value) is not None or re.search(r"colou?r|(^|-)(bg|fill|stroke|ring|border)(-|$)", word):
        return "colors" if length_of(value) is None else "spacing"
    if _HAS_UNIT.search(value) and length_of(value) is not None:
        return "spacing"
    return "spacing" if re.search(r"spac|gap|(^|-)pad", word) else "other"


def read_css(path: str, data: bytes) -> tuple[list[Token], list[RuleUse]]:
    tokens: list[Token] = []
    rules: list[RuleUse] = []
    sheet = tinycss2.parse_stylesheet(data.decode("utf-8", "replace"), skip_comments=True, skip_whitespace=True)
    _rules(path, sheet, DEFAULT, tokens, rules, 0)
    return tokens, rules


def _rules(path: str, nodes: Any, theme: str, tokens: list[Token], rules: list[RuleUse], depth: int) -> None:
    for node in nodes if depth < DEEPEST else ():
        if node.type == "qualified-rule":
            selector = tinycss2.serialize(node.prelude).strip()
            _block(path, node, selector, _theme_of(selector, theme), tokens, rules, depth)
        elif node.type == "at-rule" and node.content is not None:
            head = tinycss2.serialize(node.prelude)
            keyword = node.lower_at_keyword
            if keyword == "theme":
                _block(path, node, "@theme", theme, tokens, rules, depth)
            elif keyword in ("media", "supports", "layer", "container", "scope"):
                dark = _DARK.search(head)
                inner = tinycss2.parse_rule_list(node.content, skip_comments=True, skip_whitespace=True)
                _rules(path, inner, dark[1] if dark else theme, tokens, rules, depth + 1)


def _theme_of(selector: str, theme: str) -> str:
    found = _THEMED.search(selector)
    return (found[1] or found[2]) if found else theme


def _block(
    path: str, node: Any, selector: str, theme: str, tokens: list[Token], rules: list[RuleUse], depth: int
) -> None:
    kind = selector if selector == "@theme" else "css"
    used: list[str] = []
    inner: list[Any] = []
    for each in tinycss2.parse_blocks_contents(node.content, skip_comments=True, skip_whitespace=True):
        if each.type == "declaration":
            value = tinycss2.serialize(each.value).strip()
            if each.name.startswith("--"):
                name = each.name[2:]
                part = name.endswith(("--line-height", "--letter-spacing", "--font-weight"))
                category = "typography" if part else category_of(name, value)
                if value:
                    tokens.append(Token(name, value, category, theme, path, each.source_line, kind))
            else:  # a block that only defines tokens is a theme, not a component
                used += re.findall(r"var\(\s*--([\w-]+)", value)
        elif each.type in ("qualified-rule", "at-rule"):
            inner.append(each)
    if inner:
        _rules(path, inner, theme, tokens, rules, depth + 1)
    names = tuple(dict.fromkeys(used))
    if len(names) > 1 and re.search(r"[.#\w]", selector) and not selector.startswith((":root", "@theme")):
        text = tinycss2.serialize(node.content).strip()
        rules.append(
            RuleUse(" ".join(selector.split())[:80], names, path, node.source_line, " ".join(text.split())[:240])
        )


def read_variables(path: str, data: bytes) -> list[Token]:
    """SCSS `$name: value;` and Less `@name: value;`; references to others stay for the resolver."""
    less = path.endswith(".less")
    text = re.sub(
        r"/\*.*?\*/", lambda found: "\n" * found[0].count("\n"), data.decode("utf-8", "replace"), flags=re.DOTALL
    )
    found: list[Token] = []
    for match in (_LESS if less else _SCSS).finditer(text):
        name, value = match[1], match[2].strip()
        if less and name in _AT:
            continue
        line = text.count("\n", 0, match.start(1)) + 1
        kind = "less" if less else "scss"
        found.append(Token(name, value, category_of(name, value), DEFAULT, path, line, kind))
    return found


def read_json_tokens(path: str, data: bytes) -> list[Token]:
    """W3C design tokens: objects with `$value`; `$type` is inherited."""
    try:
        whole = read_json(data)
    except Unreadable:
        return []
    return [*_w3c(path, whole, "", "", 0)]


def _w3c(path: str, node: Any, name: str, kind: str, depth: int) -> Iterator[Token]:
    if not isinstance(node, Mapping) or depth > 12:
        return
    own = node.get("$type", kind)
    if "$value" in node:
        value = node["$value"]
        category = _W3C.get(str(own), "")
        if isinstance(value, Mapping) and category == "typography":
            parts = {_snake(key): _plain(each) for key, each in value.items()}
            text = " ".join(parts.values())
            yield Token(name, text, "typography", DEFAULT, path, 1, "json", parts)
        else:
            text = _dimension(value)
            guessed = category_of(name, text)
            fits = guessed if guessed != "other" and category in ("", "spacing") else category or guessed
            yield Token(name, text, fits, DEFAULT, path, 1, "json")
        return
    for key, each in node.items():
        if not key.startswith("$"):
            yield from _w3c(path, each, f"{name}.{key}" if name else key, str(own), depth + 1)


def _dimension(value: Any) -> str:
    if isinstance(value, Mapping) and {"value", "unit"} <= set(value):
        return f"{value['value']}{value['unit']}"
    if isinstance(value, Mapping) and "hex" in value:
        return str(value["hex"])
    if isinstance(value, Mapping) and isinstance(value.get("components"), list):
        return _space_colour(value)
    if isinstance(value, list) and value and isinstance(value[0], Mapping):
        value = value[0]
    if isinstance(value, Mapping):
        order = ("offsetX", "offsetY", "blur", "spread", "color")
        return " ".join(_plain(value[each]) for each in order if each in value)
    return _plain(value)


def _space_colour(value: Mapping[str, Any]) -> str:
    """A colour of the W3C format by its components, as CSS writes it."""
    space, parts = str(value.get("colorSpace", "srgb")), [str(each) for each in value["components"]]
    if space in ("hsl", "hwb"):
        parts = [part if place == 0 else f"{part}%" for place, part in enumerate(parts)]
    alpha = value.get("alpha", 1)
    inner = " ".join(parts) + (f" / {alpha}" if alpha != 1 else "")
    return f"{space}({inner})" if space in ("hsl", "hwb", "oklch", "oklab") else f"color({space} {inner})"


def _plain(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return _dimension(value) if isinstance(value, Mapping) else str(value)


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def with_names(value: Any, names: Mapping[str, Any], depth: int = 0) -> Any:
    """A literal in which names of the same file (`brand`, `palette.brand`) are their values."""
    if isinstance(value, list) and depth < DEEPEST:
        return [with_names(each, names, depth + 1) for each in value]
    if not isinstance(value, Mapping) or depth >= DEEPEST:
        return value
    if "$ref" not in value:
        return {key: with_names(each, names, depth + 1) for key, each in value.items()}
    first, *rest = str(value["$ref"]).split(".")
    known = names[first][0] if first in names else None
    for part in rest:
        known = known.get(part) if isinstance(known, Mapping) else None
    return value if known is None else with_names(known, names, depth + 1)


def read_tailwind(path: str, exported: Any, names: Mapping[str, Any]) -> list[Token]:
    """The `theme` and `theme.extend` of a Tailwind 3 configuration, read as syntax."""
    theme = with_names(exported.get("theme"), names) if isinstance(exported, Mapping) else None
    if not isinstance(theme, Mapping):
        return []
    found: list[Token] = []
    for part in (theme, theme.get("extend")):
        for key, values in part.items() if isinstance(part, Mapping) else ():
            if key in _TAILWIND and isinstance(values, Mapping):
                found += _object(path, values, "", _TAILWIND[key], "tailwind", 1, 0)
    return found


def read_theme(path: str, names: Mapping[str, Any]) -> list[Token]:
    """Literal objects called theme, tokens, colors, palette … of a script."""
    found: list[Token] = []
    for name, (value, line) in names.items():
        word = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower()
        if isinstance(value, Mapping) and re.search(
            r"theme|token|palette|colou?rs?$|spacing|radii|shadows|typography", word
        ):
            found += _object(path, with_names(value, names), "", "", "theme", line, 0)
    return found


def _object(
    path: str, values: Mapping[str, Any], prefix: str, category: str, kind: str, line: int, depth: int
) -> list[Token]:
    found: list[Token] = []
    for key, value in values.items():
        name = prefix if key == "DEFAULT" else f"{prefix}-{key}" if prefix else str(key)
        if isinstance(value, Mapping) and "$ref" not in value and "$call" not in value and depth < DEEPEST:
            found += _object(path, value, name, category, kind, line, depth + 1)
        elif isinstance(value, str | int | float) and not isinstance(value, bool):
            text = str(value)
            guessed = category or category_of(name, text)
            if guessed != "other":
                found.append(Token(name, text, guessed, DEFAULT, path, line, kind))
        elif isinstance(value, list) and value and isinstance(value[0], str):
            parts = (
                {"font_size": value[0]}
                if length_of(value[0]) is not None
                else {"font_family": ", ".join(map(str, value))}
            )
            if len(value) > 1 and isinstance(value[1], Mapping):
                parts |= {
                    _snake(each): str(said) for each, said in value[1].items() if isinstance(said, str | int | float)
                }
            found.append(
                Token(
                    name,
                    ", ".join(map(str, (v for v in value if isinstance(v, str)))),
                    category or "typography",
                    DEFAULT,
                    path,
                    line,
                    kind,
                    parts,
                )
            )
    return found
