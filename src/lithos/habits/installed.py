"""Installed packages: their own description, README and marks of deprecation. Read as text; nothing is imported."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from lithos.habits.lenient_json import Unreadable, read_json
from lithos.habits.manifests import PackageUse

LARGEST_TEXT = 64 * 1024  # of a README or of metadata
LONGEST_SUMMARY, LONGEST_README = 160, 400
# Of one package, for marks of deprecation: the largest type definitions in use have about 3 MB in one file.
MOST_FILES, MOST_BYTES = 400, 6 * 1024 * 1024
_ENVIRONMENTS = (".venv", "venv", "env")
_DECLARED = re.compile(
    r"\b(?:function\*?|const|let|var|class|interface|type|enum|namespace|def)\s+([A-Za-z_$][\w$]*)|^\s*(?:async\s+)?def\s+(\w+)"
)
_PROSE = re.compile(r"[A-Za-z]{2,} [A-Za-z]{2,} [A-Za-z]{2,}")


@dataclass(frozen=True)
class Installed:
    summary: str = ""
    keywords: str = ""
    readme: str = ""  # its first paragraph of prose
    deprecated: str = ""
    where: str = ""
    folder: Path | None = None  # of its source; None: not found

    @property
    def texts_shown(self) -> tuple[str, ...]:
        """The purpose it states: its summary, else the first sentence of its README."""
        said = self.summary or re.split(r"(?<=[.!?])\s", self.readme)[0][:LONGEST_SUMMARY]
        return (said,) if said else ()

    @property
    def texts(self) -> tuple[str, ...]:
        """Descriptions that a need is compared with."""
        return tuple(text for text in (self.summary, self.keywords, self.readme) if text)

    @cached_property
    def deprecated_names(self) -> dict[str, str]:
        """Exported name → the words of its mark: `@deprecated` of a comment or decorator, or `.. deprecated::`."""
        found: dict[str, str] = {}
        for text, language in _sources(self.folder) if self.folder is not None else ():
            for name, words in _python_marks(text) if language == "python" else _comment_marks(text):
                found.setdefault(name, words)
        return found


NOT_INSTALLED = Installed()


def installed(top: Path, package: PackageUse) -> Installed:
    """A package as it is installed in a root, never outside it."""
    for folder in _above(top, package.manifest):
        found = _npm(top, folder, package) if package.ecosystem == "npm" else None
        found = _pypi(top, folder, package) if package.ecosystem == "pypi" else found
        if found is not None:
            return found
    return NOT_INSTALLED


def _npm(top: Path, folder: Path, package: PackageUse) -> Installed | None:
    home = folder / "node_modules" / package.name
    facts = _json(home / "package.json") if _inside(top, home / "package.json") else None
    if facts is None:
        return None
    words = facts.get("keywords")
    return Installed(
        str(facts.get("description") or "")[:LONGEST_SUMMARY],
        " ".join(str(word) for word in words[:20])[:LONGEST_README] if isinstance(words, list) else "",
        next((_first_prose(_text(each)) for each in _readmes(home) if _inside(top, each)), ""),
        str(facts.get("deprecated") or "")[:200],
        "installed package.json",
        home,
    )


def _pypi(top: Path, folder: Path, package: PackageUse) -> Installed | None:
    wanted = re.sub(r"[-_.]+", "_", package.name).lower()
    for name in _ENVIRONMENTS:
        for file in (folder / name).glob(f"lib/python*/site-packages/{wanted}-*.dist-info/METADATA"):
            if _inside(top, file):
                return _metadata(file, wanted)
    return None


def _metadata(file: Path, name: str) -> Installed:
    head, _, body = _text(file).partition("\n\n")
    fields = dict(line.split(": ", 1) for line in head.splitlines() if ": " in line)
    top_level = _text(file.parent / "top_level.txt").split()
    site = file.parent.parent
    return Installed(
        fields.get("Summary", "")[:LONGEST_SUMMARY],
        fields.get("Keywords", "").replace(",", " ")[:LONGEST_README],
        _first_prose(body),
        "marked inactive" if "Development Status :: 7 - Inactive" in head else "",
        "installed metadata",
        next((site / each for each in (*top_level, name) if (site / each).is_dir()), None),
    )


def _readmes(home: Path) -> Iterator[Path]:
    yield from (home / name for name in ("README.md", "readme.md", "README", "Readme.md") if (home / name).is_file())


def _first_prose(text: str) -> str:
    """The first paragraph of sentences: no heading, badge, table, list or code."""
    for block in re.split(r"\n\s*\n", text):
        words = " ".join(re.sub(r"!?\[([^\]\n]{0,200})\]\([^)\n]{0,500}\)|<[^>\n]{0,300}>", r"\1", block).split())
        if not block.lstrip().startswith(("#", "|", "```", "- ", "* ", ".. ", "=")) and _PROSE.search(words):
            return words[:LONGEST_README]
    return ""


def _sources(folder: Path) -> Iterator[tuple[str, str]]:
    """Type definitions and Python files beneath a folder, the nearest first, within the bounds."""
    left, read = MOST_FILES, 0
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(each for each in folders if each not in ("node_modules", "tests", "test", "__pycache__"))
        for name in sorted(names):
            language = "python" if name.endswith((".py", ".pyi")) else "types" if name.endswith(".d.ts") else ""
            file = Path(place) / name
            if not language or file.is_symlink():
                continue
            left -= 1
            text = _text(file, MOST_BYTES - read)
            read += len(text)
            if left < 0 or read >= MOST_BYTES:
                return
            yield text, language


def _comment_marks(text: str) -> Iterator[tuple[str, str]]:
    """Names whose comment `/** … */` has `@deprecated`."""
    place = 0
    while (mark := text.find("@deprecated", place)) >= 0:
        opened, end = text.rfind("/**", 0, mark), text.find("*/", mark)
        place = mark + 1
        if end < 0 or opened < 0 or "*/" in text[opened:mark]:
            continue
        words = " ".join(text[mark + len("@deprecated") : end].replace("*", " ").split())
        declared = _DECLARED.search(text[end + 2 : end + 200].split(";")[0].split("{")[0])
        if declared is not None:
            yield declared[1] or declared[2], words[:120] or "marked deprecated"


def _python_marks(text: str) -> Iterator[tuple[str, str]]:
    """Names under a decorator `deprecated(…)`, or with `.. deprecated::` in their docstring."""
    if "deprecated" not in text:
        return
    waiting: str | None = None  # words of a decorator whose function comes
    last = ""
    for line in text.splitlines():
        bare = line.strip()
        if declared := re.match(r"(?:async )?(?:def|class) (\w+)", bare):
            last = declared[1]
            if waiting is not None:
                yield last, waiting
            waiting = None
        elif re.match(r"@(?:\w+\.)*deprecated\b", bare):
            said = re.search(r"[\"'](.{1,120}?)[\"']", bare)
            waiting = said[1] if said else "marked deprecated"
        elif bare.startswith(".. deprecated::") and last:
            yield last, f"deprecated since {bare.partition('::')[2].strip()}"[:120]


def uses_of(names: Iterable[str], local: str, text: str) -> dict[str, int]:
    """Deprecated name → the first line of a file that uses it as an attribute of a module: `pkg.name`."""
    found: dict[str, int] = {}
    wanted = set(names)
    for match in re.finditer(rf"\b{re.escape(local)}\.(\w+)", text):
        if match[1] in wanted:
            found.setdefault(match[1], text.count("\n", 0, match.start()) + 1)
    return found


def _inside(top: Path, file: Path) -> bool:
    """Whether a file is in the root when its links are followed; package managers link within it."""
    try:
        return file.resolve(strict=True).is_relative_to(top.resolve())
    except (OSError, RuntimeError):
        return False


def _above(top: Path, manifest: str) -> Iterator[Path]:
    folder = manifest.rpartition("/")[0]
    while folder:
        yield top / folder
        folder = folder.rpartition("/")[0]
    yield top


def _text(file: Path, most: int = LARGEST_TEXT) -> str:
    try:
        with file.open("rb") as opened:
            return opened.read(most).decode("utf-8", "replace")
    except OSError:
        return ""


def _json(file: Path) -> dict[str, Any] | None:
    try:
        facts = read_json(file.read_bytes()[:LARGEST_TEXT])
    except (OSError, Unreadable):
        return None
    return facts if isinstance(facts, dict) else None
