"""Libraries that are installed in a root: their README and metadata, read offline."""

from __future__ import annotations

import re
from collections.abc import Iterator
from email.parser import HeaderParser
from pathlib import Path

import orjson

from lithos.errors import InvalidInput, NotFound
from lithos.graph.sources.texts import SourceText

LARGEST_FILE = 2_000_000
_NAME = re.compile(r"@?[A-Za-z0-9][\w.-]{0,80}(?:/[\w.-]{1,80})?\Z")


def library(roots: list[Path], name: str) -> SourceText:
    """README and metadata of a dependency, from the first root that has it installed."""
    if not _NAME.match(name):
        raise InvalidInput(f"{name[:80]!r} is no name of a library", hint="For example library:httpx.")
    for root in roots:
        found = _python(root, name) or _node(root, name)
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


def _python(root: Path, name: str) -> SourceText | None:
    for site in _site_packages(root):
        for folder in sorted(site.glob("*.dist-info")):
            if _folded(folder.name.partition("-")[0]) == _folded(name) and (folder / "METADATA").is_file():
                return _of_metadata(folder)
    return None


def _of_metadata(folder: Path) -> SourceText:
    headers = HeaderParser().parsestr(_read(folder / "METADATA"))
    name, version = str(headers.get("Name", "")), str(headers.get("Version", ""))
    body = str(headers.get_payload() or "").strip()
    facts = [f"{label}: {headers[field]}" for label, field in _FIELDS if headers.get(field)]
    text = "\n\n".join([str(headers.get("Summary", "")), "\n".join(f"- {each}" for each in facts), body])
    return SourceText(
        f"{name} {version}",
        text,
        "documentation",
        _home(headers.get_all("Project-URL") or [], str(headers.get("Home-page") or "")),
        "library",
        tuple(each for each in (str(headers.get("Author") or ""),) if each),
        library=_folded(name),
        keys=_modules(folder, name),
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


def _modules(folder: Path, name: str) -> tuple[str, ...]:
    """Top-level modules that the distribution brings."""
    listed = folder / "top_level.txt"
    if listed.is_file():
        return tuple(each for each in _read(listed).split() if not each.startswith("_"))
    record = _read(folder / "RECORD") if (folder / "RECORD").is_file() else ""
    tops = {line.split("/")[0] for line in record.splitlines() if "/" in line.split(",")[0] and ".py" in line}
    modules = tuple(sorted(each for each in tops if each.isidentifier()))
    return modules or (name.replace("-", "_"),)


def _node(root: Path, name: str) -> SourceText | None:
    folder = root / "node_modules" / name
    package = folder / "package.json"
    if ".." in name or not package.is_file():
        return None
    try:
        facts = orjson.loads(package.read_bytes()[:LARGEST_FILE])
    except orjson.JSONDecodeError:
        raise InvalidInput(f"package.json of {name!r} cannot be read", hint="Install it again.") from None
    if not isinstance(facts, dict):
        raise InvalidInput(f"package.json of {name!r} is no object", hint="Install it again.")
    readme = next((each for each in sorted(folder.glob("[Rr][Ee][Aa][Dd][Mm][Ee]*")) if each.is_file()), None)
    about = [
        str(facts.get("description") or ""),
        f"- Version: {facts.get('version', '')}\n- License: {facts.get('license', '')}",
    ]
    text = "\n\n".join([*about, _read(readme) if readme is not None else ""])
    return SourceText(
        f"{name} {facts.get('version', '')}".strip(),
        text,
        "documentation",
        str(facts.get("homepage") or ""),
        "library",
        library=name,
        keys=(name,),
    )


def _read(path: Path) -> str:
    return path.read_bytes()[:LARGEST_FILE].decode("utf-8", "replace")
