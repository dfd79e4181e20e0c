"""The one rule for paths that a caller gives: relative to the vault, the garden or a root, never of the machine."""

from __future__ import annotations

import re

from lithos.errors import InvalidInput

# "/x", "\\server\x", "C:/x", "~/x", "file:///x": places of a machine, whichever system wrote them.
_OF_A_MACHINE = re.compile(r"\s*(?:[/\\]|[A-Za-z]:(?:[/\\]|\Z)|~(?:[/\\]|\Z)|[A-Za-z][A-Za-z0-9+.-]*://)")


def is_absolute(path: str) -> bool:
    return _OF_A_MACHINE.match(path) is not None


def relative(path: str, what: str = "path") -> str:
    """The path without blanks around it and without a final slash; "/" alone is the top, and so empty."""
    trimmed = path.strip()
    if trimmed == "/":
        return ""
    if is_absolute(trimmed):
        inside = trimmed.strip("/")
        meant = f' Did you mean "{inside[:200]}"?' if inside and not is_absolute(inside) else ""
        raise InvalidInput(
            f"{what}: {trimmed[:200]!r} is a path of the machine",
            hint=f'Paths are relative, with "/" between names; "/" alone is the top folder.{meant}',
        )
    return trimmed.rstrip("/")


def prefix(given: str | None, what: str = "path_prefix") -> str | None:
    """The beginning of paths, a final slash included; None and "/" leave nothing out."""
    if given is None:
        return None
    path = relative(given, what)
    if ".." in path.split("/"):
        raise InvalidInput(f"{what}: {given[:200]!r} leads out of the folder", hint="Name a folder beneath it.")
    while path.startswith("./"):
        path = path[2:].lstrip("/")
    path = "" if path == "." else path
    return f"{path}/" if path and given.rstrip().endswith("/") else path or None
