"""Languages: which file is in which language, and how each is read. Grammars are loaded in the parsing child only."""

from __future__ import annotations

from typing import Final

SUFFIXES: Final = {
    "py": "python",
    "pyi": "python",
    "js": "javascript",
    "mjs": "javascript",
    "cjs": "javascript",
    "jsx": "javascript",
    "ts": "typescript",
    "mts": "typescript",
    "cts": "typescript",
    "tsx": "tsx",
    "go": "go",
    "rs": "rust",
    "java": "java",
    "c": "c",
    "h": "c",
    "cc": "cpp",
    "cpp": "cpp",
    "cxx": "cpp",
    "hh": "cpp",
    "hpp": "cpp",
    "hxx": "cpp",
    "cs": "c_sharp",
    "rb": "ruby",
    "rake": "ruby",
    "php": "php",
    "kt": "kotlin",
    "kts": "kotlin",
    "swift": "swift",
    "sh": "bash",
    "bash": "bash",
}
NAMES: Final = {"Rakefile": "ruby", "Gemfile": "ruby", "Vagrantfile": "ruby"}
# What answers and filters call them; the configuration files are read for the resolution of imports only.
SHOWN: Final = {
    "c_sharp": "csharp",
    "tsx": "typescript",
    "tsconfig": "json",
    "package_json": "json",
    "go_mod": "go",
    "cargo": "toml",
}
CONFIGS: Final = {
    "jsconfig.json": "tsconfig",
    "tsconfig.json": "tsconfig",
    "package.json": "package_json",
    "go.mod": "go_mod",
    "Cargo.toml": "cargo",
}


def language_of(path: str) -> str:
    """The grammar that reads this file; empty where none does."""
    name = path.rpartition("/")[2]
    if name in CONFIGS:
        return CONFIGS[name]
    return NAMES.get(name) or SUFFIXES.get(name.rpartition(".")[2].lower(), "") if "." in name else NAMES.get(name, "")


def shown(language: str) -> str:
    return SHOWN.get(language, language)
