"""Programs: whether a tool is installed where a run would find it, and which version. Nothing is run."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import orjson

from lithos.workshop.discovery.signals import MANAGERS
from lithos.workshop.discovery.tables import ToolEntry, tools
from lithos.workshop.run_files import read_regular

_DIST = re.compile(r"^(?P<name>[\w.]+)-(?P<version>[^-]+)\.dist-info$")


@dataclass(frozen=True, slots=True)
class Programs:
    """`folders` of programs in the order of the run's PATH; `dependencies`: .venv, node_modules of the project."""

    folders: Sequence[str]
    dependencies: Sequence[Path] = ()

    def find(self, tool: ToolEntry) -> str | None:
        for program in tool.programs:
            for folder in self.folders:
                path = f"{folder}/{program}"
                if os.access(path, os.X_OK) and os.path.isfile(path):  # noqa: PTH113 - strings, for speed
                    return path
        return None

    def version(self, tool: ToolEntry) -> str:
        """Of the installed package; empty where no metadata says it."""
        for ecosystem, package in tool.install.items():
            for folder in self.dependencies:
                found = ""
                if ecosystem == "npm" and folder.name == "node_modules":
                    found = _npm_version(folder, package)
                elif ecosystem == "pypi" and folder.name != "node_modules":
                    found = _dist_version(folder, package)
                if found:
                    return found
        return ""


def _npm_version(modules: Path, package: str) -> str:
    """Package managers link packages within the project; a link that leads out of it is a run's."""
    try:
        path = (modules / package / "package.json").resolve()
        if not path.is_relative_to(modules.parent.resolve()):
            return ""
        return str(orjson.loads(read_regular(path, 65536) or b"").get("version", ""))
    except (ValueError, AttributeError, OSError, RuntimeError):  # the last two: links in a circle
        return ""


def _dist_version(venv: Path, package: str) -> str:
    wanted = re.sub(r"[-_.]+", "_", package).lower()
    for folder in venv.glob("lib/python3*/site-packages"):
        try:
            version = _distributions(str(folder), folder.stat().st_mtime_ns).get(wanted, "")
        except OSError:
            continue
        if version:
            return version
    return ""


@lru_cache(maxsize=16)
def _distributions(folder: str, _changed: int) -> Mapping[str, str]:
    """Versions of the packages in a folder, read once until it changes."""
    found = (_DIST.match(each.name) for each in Path(folder).iterdir())
    return {re.sub(r"[-_.]+", "_", match["name"]).lower(): match["version"] for match in found if match is not None}


def install_vector(tool: ToolEntry, managers: Iterable[str]) -> list[str]:
    """The command that a person would type; empty: it comes with the toolchain, or has no one way."""
    held = [*managers]
    for ecosystem, package in tool.install.items():
        manager = next((each for each in held if each in _MANAGERS.get(ecosystem, {})), "")
        known = _MANAGERS.get(ecosystem, {})
        return [*known.get(manager, known[""]), _PREFIX.get(ecosystem, "") + package + _SUFFIX.get(ecosystem, "")]
    return []


def install_command(program: str, root: Path) -> list[str]:
    """How a person would install a program, by the lock files of the project; empty: the tables do not know it."""
    managers = [manager for name, manager in MANAGERS.items() if (root / name).is_file()]
    known = next((each for each in tools().values() if program in each.programs), None)
    return install_vector(known, managers) if known is not None else []


_MANAGERS: Mapping[str, Mapping[str, Sequence[str]]] = {
    "npm": {
        "": ("npm", "install", "--save-dev"),
        "pnpm": ("pnpm", "add", "--save-dev"),
        "yarn": ("yarn", "add", "--dev"),
        "bun": ("bun", "add", "--dev"),
    },
    "pypi": {
        "": ("pip", "install"),
        "uv": ("uv", "add", "--dev"),
        "poetry": ("poetry", "add", "--group", "dev"),
        "pdm": ("pdm", "add", "--dev"),
        "pipenv": ("pipenv", "install", "--dev"),
    },
    "go": {"": ("go", "install")},
    "gem": {"": ("gem", "install")},
    "composer": {"": ("composer", "require", "--dev")},
    "rustup": {"": ("rustup", "component", "add")},
    "cargo": {"": ("cargo", "install")},
    "brew": {"": ("brew", "install")},
    "opam": {"": ("opam", "install")},
    "nix": {"": ("nix-env", "-iA")},
    "mix": {"": ("mix", "archive.install", "hex")},
}
_SUFFIX = {"go": "@latest"}
_PREFIX = {"nix": "nixpkgs."}


def entry(name: str) -> ToolEntry:
    """A tool of the table; one that a person named is a program of that name."""
    known = tools().get(name)
    return known if known is not None else ToolEntry(name, (), (shlex.split(name)[0],), {}, {}, (), ())
