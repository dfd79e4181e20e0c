"""What configuration files publish for the resolution of imports."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import Any

from lithos.graph.code.resolving.others import PlainEngine
from lithos.graph.code.values import Facts


class ConfigEngine(PlainEngine):
    """A configuration file has no symbols and no edges."""


def publish(path: str, facts: Facts) -> Iterator[tuple[str, Any]]:
    told = {**facts.extra.get("config", {}), "dir": posixpath.dirname(path)}
    yield f"f:{path}", 1
    if "paths" in told:
        yield f"ts:{told['dir']}", told
    elif told.get("module"):
        yield "gomods", told
    elif "exports" in told and told.get("name"):
        yield f"npm:{told['name']}", told
    elif told.get("name"):
        yield f"crate:{told['name']}", told
        yield f"cargo:{told['dir']}", told
