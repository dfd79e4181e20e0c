"""Configuration that decides how imports are found: tsconfig.json, package.json, go.mod, Cargo.toml."""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any

from lithos.graph.code.values import Facts

_COMMENTS = re.compile(r'("(?:[^"\\]|\\.)*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_TRAILING = re.compile(r",(\s*[}\]])")


def read(language: str, source: bytes) -> Facts:
    """The file's rules of imports, in `extra`; a broken file says nothing."""
    text = source.decode("utf-8", "replace")
    facts = Facts(lines=text.count("\n") + (not text.endswith("\n")))
    try:
        facts.extra = {"config": _READERS[language](text)}
    except (ValueError, tomllib.TOMLDecodeError, TypeError, AttributeError):
        facts.parse_errors = 1
        facts.extra = {"config": {}}
    return facts


def _tsconfig(text: str) -> dict[str, Any]:
    plain = _COMMENTS.sub(lambda match: match.group(1) or "", text)
    data = json.loads(_TRAILING.sub(r"\1", plain))
    options = data.get("compilerOptions") or {}
    extends = data.get("extends") or ""
    extends = extends if isinstance(extends, str) else str(extends[0])
    paths = {str(key): [str(each) for each in value] for key, value in (options.get("paths") or {}).items()}
    return {"baseUrl": options.get("baseUrl"), "paths": paths or _generated_paths(extends), "extends": extends}


def _generated_paths(extends: str) -> dict[str, list[str]]:
    """Those of SvelteKit's own tsconfig, which a build makes and git ignores: `$lib` is src/lib."""
    folder, kit, rest = extends.rpartition(".svelte-kit/")
    if not kit or rest != "tsconfig.json":
        return {}
    return {"$lib": [f"{folder}src/lib"], "$lib/*": [f"{folder}src/lib/*"]}


def _package_json(text: str) -> dict[str, Any]:
    data = json.loads(text)
    exports = data.get("exports") or {}
    exports = {".": exports} if isinstance(exports, str) else exports
    plain = {str(key): target for key, value in exports.items() if (target := _first_path(value))}
    return {"name": str(data.get("name") or ""), "main": str(data.get("main") or ""), "exports": plain}


def _first_path(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return next((path for each in value.values() if (path := _first_path(each))), "")
    return ""


def _go_mod(text: str) -> dict[str, Any]:
    found = re.search(r"^\s*module\s+\"?([^\s\"]+)", text, re.MULTILINE)
    return {"module": found.group(1) if found else ""}


def _cargo(text: str) -> dict[str, Any]:
    data = tomllib.loads(text)
    package, library = data.get("package") or {}, data.get("lib") or {}
    return {
        "name": str(library.get("name") or package.get("name") or "").replace("-", "_"),
        "path": str(library.get("path") or ""),
    }


_READERS = {"tsconfig": _tsconfig, "package_json": _package_json, "go_mod": _go_mod, "cargo": _cargo}
