"""Libraries that are installed in a root: their README and metadata, read offline."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from email.parser import HeaderParser
from pathlib import Path

import orjson

from lithos.errors import InvalidInput, NotFound
from lithos.graph.sources.files import beginning
from lithos.graph.sources.texts import SourceText

LARGEST_FILE = 2_000_000
_NAME = re.compile(r"@?[A-Za-z0-9][\w.-]{0,80}(?:/[\w.-]{1,80})?\Z")


@dataclass(frozen=True, slots=True)
class _Installed:
    """The folder of a dependency within a root. Links that lead out of the root are not followed, except for the
    operator."""

    root: Path
    folder: Path
    anywhere: bool

    def read(self, name: str) -> str:
        """The beginning of a file; empty where there is none."""
        path = self.folder / name
        if not path.is_file():
            return ""
        return beginning(path, [self.root], LARGEST_FILE, anywhere=self.anywhere).decode("utf-8", "replace")


def library(roots: list[Path], name: str, *, anywhere: bool) -> SourceText:
    """README and metadata of a dependency, from the first root that has it installed."""
    if not _NAME.match(name):
        raise InvalidInput(f"{name[:80]!r} is no name of a library", hint="For example library:httpx.")
    for root in roots:
        found = _python(root, name, anywhere) or _node(root, name, anywhere)
        if found is not None:
            return found
    raise NotFound(
        f"{name!r} is installed in no code root", hint="It is looked for in .venv, venv and node_modules of the roots."
    )


def _site_packages(root: Path) -> Iterator[Path]:
    for folder in (".venv", "venv", "env"):
        yield from sorted((root / folder / "lib").glob("python3.*/site-packages"))


def _folded(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).casefold()


def _python(root: Path, name: str, anywhere: bool) -> SourceText | None:
    for site in _site_packages(root):
        for folder in sorted(site.glob("*.dist-info")):
            if _folded(folder.name.partition("-")[0]) == _folded(name) and (folder / "METADATA").is_file():
                return _of_metadata(_Installed(root, folder, anywhere), name)
    return None


def _of_metadata(installed: _Installed, asked: str) -> SourceText:
    headers = HeaderParser().parsestr(installed.read("METADATA"))
    name, version = str(headers.get("Name") or asked), str(headers.get("Version", ""))
    body = str(headers.get_payload() or "").strip()
    facts = [f"{label}: {headers[field]}" for label, field in _FIELDS if headers.get(field)]
    text = "\n\n".join([str(headers.get("Summary", "")), "\n".join(f"- {each}" for each in facts), body])
    return SourceText(
        f"{name} {version}".strip(),
        text,
        "documentation",
        _home(headers.get_all("Project-URL") or [], str(headers.get("Home-page") or "")),
        "library",
        tuple(each for each in (str(headers.get("Author") or ""),) if each),
        library=_folded(name),
        keys=_modules(installed, name),
    )


_FIELDS = (
    ("Version", "Version"),
    ("License", "License-Expression"),
    ("License", "License"),
    ("Python", "Requires-Python"),
)


def _home(urls: list[str], home: str) -> str:
    named = [each.partition(",")[2].strip() for each in urls if re.match(r"(?i)(home|doc|source|repo)", each)]
    return home or (named[0] if named else "")


def _modules(installed: _Installed, name: str) -> tuple[str, ...]:
    """Top-level modules that the distribution brings."""
    listed = installed.read("top_level.txt")
    if listed:
        return tuple(each for each in listed.split() if not each.startswith("_"))
    lines = installed.read("RECORD").splitlines()
    tops = {line.split("/")[0] for line in lines if "/" in line.split(",")[0] and ".py" in line}
    modules = tuple(sorted(each for each in tops if each.isidentifier()))
    return modules or (name.replace("-", "_"),)


def _node(root: Path, name: str, anywhere: bool) -> SourceText | None:
    folder = root / "node_modules" / name
    if ".." in name or not (folder / "package.json").is_file():
        return None
    installed = _Installed(root, folder, anywhere)
    try:
        facts = orjson.loads(installed.read("package.json"))
    except orjson.JSONDecodeError:
        raise InvalidInput(f"package.json of {name!r} cannot be read", hint="Install it again.") from None
    if not isinstance(facts, dict):
        raise InvalidInput(f"package.json of {name!r} is no object", hint="Install it again.")
    said = {key: value for key, value in facts.items() if isinstance(value, str)}
    readme = next((each.name for each in sorted(folder.glob("[Rr][Ee][Aa][Dd][Mm][Ee]*")) if each.is_file()), "")
    about = [said.get("description", ""), f"- Version: {said.get('version', '')}\n- License: {said.get('license', '')}"]
    return SourceText(
        f"{name} {said.get('version', '')}".strip(),
        "\n\n".join([*about, installed.read(readme) if readme else ""]),
        "documentation",
        said.get("homepage", ""),
        "library",
        library=name,
        keys=(name,),
    )
