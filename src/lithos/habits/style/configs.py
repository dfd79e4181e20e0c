"""Style settings that a project writes down, in its formatters, linters and editors. Read, never run."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from lithos.habits.config_files import read_toml, read_yaml
from lithos.habits.lenient_json import read_json

Read = Callable[[str], bytes | None]  # a file of the root, by path; None: there is none
Literal = Callable[[str, bytes], Any]  # the exported value of a script, read as syntax
SCRIPT = ("javascript", "typescript")
_SUFFIX = {
    "javascript": "x.js",
    "typescript": "x.ts",
    "python": "x.py",
    "go": "x.go",
    "rust": "x.rs",
    "java": "x.java",
    "csharp": "x.cs",
    "php": "x.php",
    "ruby": "x.rb",
}
_PRETTIER = (".prettierrc", ".prettierrc.json", ".prettierrc.yaml", ".prettierrc.yml", ".prettierrc.toml")
_PRETTIER_JS = tuple(
    f"{name}.{end}" for name in ("prettier.config", ".prettierrc") for end in ("js", "cjs", "mjs", "ts")
)
_ESLINT = (".eslintrc", ".eslintrc.json", ".eslintrc.yml", ".eslintrc.yaml")
_ESLINT_JS = (".eslintrc.js", ".eslintrc.cjs", "eslint.config.js", "eslint.config.mjs", "eslint.config.ts")
_GOLANGCI = (".golangci.yml", ".golangci.yaml", ".golangci.toml", ".golangci.json")
NAMES = frozenset(
    {
        *_GOLANGCI,
        ".editorconfig",
        "biome.json",
        "biome.jsonc",
        "pyproject.toml",
        "ruff.toml",
        ".ruff.toml",
        "rustfmt.toml",
    }
    | {".rustfmt.toml", "package.json", "setup.cfg", *_PRETTIER, *_PRETTIER_JS, *_ESLINT, *_ESLINT_JS}
)


@dataclass(frozen=True, slots=True)
class Setting:
    value: Any
    where: str  # the file that says it


def settings_for(folder: str, language: str, read: Read, literal: Literal) -> dict[str, Setting]:
    """Settings that hold for files of a language in a folder. A formatter's word comes before an editor's."""
    found: dict[str, Setting] = {}
    for source in (_formatters, _linters, _editor):
        for name, setting in source(folder, language, read, literal):
            found.setdefault(name, setting)
    return found


def _upwards(folder: str) -> Iterator[str]:
    """The folder and those above it, the nearest first; each ends with a slash, the top is empty."""
    parts = [part for part in folder.split("/") if part]
    for count in range(len(parts), -1, -1):
        yield "".join(f"{part}/" for part in parts[:count])


def _parsed(path: str, data: bytes, literal: Literal) -> Any:
    text = data.decode("utf-8", "replace")
    try:
        if path.endswith((".js", ".cjs", ".mjs", ".ts")):
            return literal(path, data)
        if path.endswith(".toml"):
            return read_toml(data)
        if path.endswith((".json", ".jsonc")):
            return read_json(data)
        if path.endswith((".yaml", ".yml")) or not text.lstrip().startswith("{"):
            return read_yaml(data)
        return read_json(data)
    except (ValueError, yaml.YAMLError, RecursionError):
        return None


def _first(folder: str, names: tuple[str, ...], read: Read, literal: Literal) -> tuple[str, Any] | None:
    for prefix in _upwards(folder):
        for name in names:
            data = read(prefix + name)
            if data is not None:
                value = _parsed(prefix + name, data, literal)
                if isinstance(value, Mapping):
                    return prefix + name, value
                if isinstance(value, list):
                    return prefix + name, {"list": value}
    return None


def _formatters(folder: str, language: str, read: Read, literal: Literal) -> Iterator[tuple[str, Setting]]:
    if language in SCRIPT:
        yield from _prettier(folder, read, literal)
        yield from _biome(folder, read, literal)
    elif language == "python":
        yield from _python(folder, read, literal)
    elif language == "rust":
        yield from _rustfmt(folder, read, literal)
    elif language == "go":
        yield from _gofmt(folder, read, literal)


def _prettier(folder: str, read: Read, literal: Literal) -> Iterator[tuple[str, Setting]]:
    found = _first(folder, (*_PRETTIER, *_PRETTIER_JS), read, literal)
    package = _first(folder, ("package.json",), read, literal)
    if found is None and package is not None and isinstance(package[1].get("prettier"), Mapping):
        found = (package[0], package[1]["prettier"])
    if found is None:
        return
    where, options = found
    if "list" in options or "$ref" in options:
        return
    major = _major(package[1] if package else {}, "prettier")
    defaults = {"semi": True, "singleQuote": False, "trailingComma": "all" if major >= 3 else "es5"}
    known = {**defaults, **{name: value for name, value in options.items() if _plain(value)}}
    yield "semicolons", Setting(bool(known["semi"]), where)
    yield "quote_style", Setting("single" if known["singleQuote"] else "double", where)
    yield "trailing_comma", Setting(known["trailingComma"], where)
    editor = dict(_editor(folder, "typescript", read, literal))
    if "useTabs" in options or "indent_style" not in editor:
        yield "indent_style", Setting("tabs" if options.get("useTabs") is True else "spaces", where)
    if options.get("useTabs") is not True and ("tabWidth" in options or "indent_size" not in editor):
        yield "indent_size", Setting(_int(options.get("tabWidth"), 2), where)


def _plain(value: Any) -> bool:
    return isinstance(value, bool | str | int)


def _int(value: Any, default: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= 16 else default


def _major(package: Mapping[str, Any], name: str) -> int:
    for part in ("devDependencies", "dependencies"):
        versions = package.get(part)
        if isinstance(versions, Mapping) and isinstance(versions.get(name), str):
            digits = re.search(r"\d+", versions[name])
            return int(digits[0]) if digits else 3
    return 3


def _biome(folder: str, read: Read, literal: Literal) -> Iterator[tuple[str, Setting]]:
    found = _first(folder, ("biome.json", "biome.jsonc"), read, literal)
    if found is None:
        return
    where, options = found
    base = _part(options, "formatter")
    if base.get("enabled") is False:
        return
    script = {**base, **_part(_part(options, "javascript"), "formatter")}
    editor = dict(_editor(folder, "javascript", read, literal)) if script.get("useEditorconfig") is True else {}
    style = script.get("indentStyle", "tab")
    if "indentStyle" in script or "indent_style" not in editor:
        yield "indent_style", Setting("tabs" if style == "tab" else "spaces", where)
    if style != "tab" and ("indentWidth" in script or "indent_size" not in editor):
        yield "indent_size", Setting(_int(script.get("indentWidth"), 2), where)
    yield "quote_style", Setting(script.get("quoteStyle", "double"), where)
    yield "semicolons", Setting(script.get("semicolons", "always") == "always", where)
    yield "trailing_comma", Setting(script.get("trailingCommas", script.get("trailingComma", "all")), where)


def _part(options: Any, name: str) -> Mapping[str, Any]:
    value = options.get(name) if isinstance(options, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def _python(folder: str, read: Read, literal: Literal) -> Iterator[tuple[str, Setting]]:
    for prefix in _upwards(folder):
        for name in ("ruff.toml", ".ruff.toml", "pyproject.toml"):
            data = read(prefix + name)
            if data is None:
                continue
            options = _parsed(prefix + name, data, literal)
            tools = _part(options, "tool") if name == "pyproject.toml" else {"ruff": options}
            where = prefix + name
            if "black" in tools:
                black = _part(tools, "black")
                if not black.get("skip-string-normalization"):
                    yield "quote_style", Setting("double", where)
                yield "indent_style", Setting("spaces", where)
                yield "indent_size", Setting(4, where)
                if not black.get("skip-magic-trailing-comma"):
                    yield "trailing_comma", Setting("all", where)
                return
            ruff = _part(tools, "ruff")
            if "format" in ruff:
                form = _part(ruff, "format")
                quotes = form.get("quote-style", "double")
                if quotes in ("single", "double"):
                    yield "quote_style", Setting(quotes, where)
                yield "indent_style", Setting("tabs" if form.get("indent-style") == "tab" else "spaces", where)
                yield "indent_size", Setting(_int(ruff.get("indent-width"), 4), where)
                yield "trailing_comma", Setting("all", where)
                return
            quotes = _part(_part(ruff, "lint"), "flake8-quotes").get("inline-quotes")
            if quotes in ("single", "double"):
                yield "quote_style", Setting(quotes, where)
                return


def _rustfmt(folder: str, read: Read, literal: Literal) -> Iterator[tuple[str, Setting]]:
    found = _first(folder, ("rustfmt.toml", ".rustfmt.toml"), read, literal)
    if found is None:
        return
    where, options = found
    tabs = options.get("hard_tabs") is True
    yield "indent_style", Setting("tabs" if tabs else "spaces", where)
    if not tabs:
        yield "indent_size", Setting(_int(options.get("tab_spaces"), 4), where)
    comma = options.get("trailing_comma", "Vertical")
    yield "trailing_comma", Setting("none" if comma == "Never" else "all", where)


def _gofmt(folder: str, read: Read, literal: Literal) -> Iterator[tuple[str, Setting]]:
    """gofmt has one style: a project that runs it says so in golangci-lint's settings."""
    found = _first(folder, _GOLANGCI, read, literal)
    if found is None:
        return
    where, options = found
    enabled = [*_part(options, "formatters").get("enable", ()), *_part(options, "linters").get("enable", ())]
    if {"gofmt", "gofumpt", "goimports"} & {each for each in enabled if isinstance(each, str)}:
        yield "indent_style", Setting("tabs", where)


def _linters(folder: str, language: str, read: Read, literal: Literal) -> Iterator[tuple[str, Setting]]:
    if language not in SCRIPT:
        return
    found = _first(folder, (*_ESLINT, *_ESLINT_JS), read, literal)
    package = _first(folder, ("package.json",), read, literal)
    if found is None and package is not None and isinstance(package[1].get("eslintConfig"), Mapping):
        found = (package[0], package[1]["eslintConfig"])
    if found is None:
        return
    where, options = found
    rules = dict(_part(options, "rules"))
    for each in options.get("list", ()):
        rules |= _part(each, "rules")
    for name in ("quotes", "semi", "indent", "comma-dangle"):
        on, choice = _rule(rules, name)
        if not on:
            continue
        if name == "quotes" and choice in ("single", "double"):
            yield "quote_style", Setting(choice, where)
        elif name == "semi":
            yield "semicolons", Setting(choice != "never", where)
        elif name == "indent":
            yield "indent_style", Setting("tabs" if choice == "tab" else "spaces", where)
            if isinstance(choice, int):
                yield "indent_size", Setting(choice, where)
        elif name == "comma-dangle" and choice in ("never", "always-multiline", "always"):
            yield "trailing_comma", Setting("none" if choice == "never" else "all", where)


def _rule(rules: Mapping[str, Any], name: str) -> tuple[bool, Any]:
    for key in (name, f"@stylistic/{name}", f"@stylistic/js/{name}", f"@typescript-eslint/{name}"):
        value = rules.get(key)
        level = value[0] if isinstance(value, list) and value else value
        if level in ("error", "warn", 1, 2):
            return True, value[1] if isinstance(value, list) and len(value) > 1 else None
    return False, None


def _editor(folder: str, language: str, read: Read, literal: Literal) -> Iterator[tuple[str, Setting]]:
    name = _SUFFIX.get(language)
    if name is None:
        return
    known: dict[str, Setting] = {}
    for prefix in _upwards(folder):
        data = read(f"{prefix}.editorconfig")
        if data is None:
            continue
        inner = (folder.removeprefix(prefix.rstrip("/")).strip("/") + "/" + name).lstrip("/")
        top, sections = _sections(data.decode("utf-8", "replace"))
        for pattern, options in reversed(sections):
            if _matches(pattern, inner):
                for key, value in options.items():
                    known.setdefault(key, Setting(value, f"{prefix}.editorconfig"))
        if top:
            break
    style, size = known.get("indent_style"), known.get("indent_size")
    if style is not None and style.value in ("space", "tab"):
        yield "indent_style", Setting("tabs" if style.value == "tab" else "spaces", style.where)
    if size is not None and size.value.isdigit() and (style is None or style.value != "tab"):
        yield "indent_size", Setting(int(size.value), size.where)
    quotes = known.get("quote_type")
    if quotes is not None and quotes.value in ("single", "double"):
        yield "quote_style", Setting(quotes.value, quotes.where)


def _sections(text: str) -> tuple[bool, list[tuple[str, dict[str, str]]]]:
    top = False
    sections: list[tuple[str, dict[str, str]]] = []
    current: dict[str, str] | None = None
    for raw in text.splitlines():
        line = raw.strip()
        if not line or line[0] in "#;":
            continue
        if line.startswith("[") and line.endswith("]"):
            current = {}
            sections.append((line[1:-1], current))
            continue
        key, equals, value = line.partition("=")
        if not equals:
            continue
        name, said = key.strip().lower(), re.split(r"\s[#;]", value)[0].strip().lower()
        if current is None:
            top = top or (name == "root" and said == "true")
        else:
            current[name] = said
    return top, sections


def _matches(pattern: str, path: str) -> bool:
    """An editorconfig glob: `*` within a name, `**` across, `{a,b}`, `[abc]`, `?`."""
    whole = pattern if "/" in pattern else f"**/{pattern}"
    expression = _glob(whole.lstrip("/"))
    try:
        return re.fullmatch(expression, path) is not None or (
            whole.startswith("**/") and re.fullmatch(_glob(whole[3:]), path) is not None
        )
    except re.error:
        return False


def _glob(pattern: str) -> str:
    out, at, depth = "", 0, 0
    while at < len(pattern):
        mark = pattern[at]
        if pattern.startswith("**", at):
            out, at = out + ".*", at + 1
        elif mark == "*":
            out += "[^/]*"
        elif mark == "?":
            out += "[^/]"
        elif mark == "{" and "}" in pattern[at:]:
            out, depth = out + "(?:", depth + 1
        elif mark == "}" and depth:
            out, depth = out + ")", depth - 1
        elif mark == "," and depth:
            out += "|"
        elif mark == "[" and "]" in pattern[at:]:
            end = pattern.index("]", at)
            out, at = out + pattern[at : end + 1].replace("[!", "[^"), end
        else:
            out += re.escape(mark)
        at += 1
    return out
