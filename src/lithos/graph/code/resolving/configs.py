"""Records that configuration files publish for the resolution of imports."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import Any

from lithos.graph.code.resolving.others import PlainEngine
from lithos.graph.code.values import Facts


class ConfigEngine(PlainEngine):
    """A configuration file has no symbols and no edges."""


def publish(path: str, facts: Facts) -> Iterator[tuple[str, Any]]:
    published = {**facts.extra.get("config", {}), "dir": posixpath.dirname(path)}
    yield f"f:{path}", 1
    if "paths" in published:
        yield f"ts:{published['dir']}", published
    elif published.get("module"):
        yield "gomods", published
    elif "exports" in published and published.get("name"):
        yield f"npm:{published['name']}", published
    elif published.get("name"):
        yield f"crate:{published['name']}", published
        yield f"cargo:{published['dir']}", published
