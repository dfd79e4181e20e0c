"""Which engine resolves which language, and what its files publish."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from lithos.graph.code.resolving import configs, go, others, python, rust, typescript
from lithos.graph.code.resolving.engine import Engine
from lithos.graph.code.values import Facts

Publish = Callable[[str, Facts], Iterator[tuple[str, Any]]]
_LANGUAGES: dict[str, tuple[type[Engine], Publish]] = {
    "python": (python.PythonEngine, python.publish),
    **dict.fromkeys(("typescript", "tsx", "javascript"), (typescript.TypeScriptEngine, typescript.publish)),
    "go": (go.GoEngine, go.publish),
    "rust": (rust.RustEngine, rust.publish),
    **dict.fromkeys(("tsconfig", "package_json", "go_mod", "cargo"), (configs.ConfigEngine, configs.publish)),
}


def engine_of(language: str) -> type[Engine]:
    return _LANGUAGES.get(language, (others.PlainEngine, others.publish))[0]


def published(language: str, path: str, facts: Facts) -> dict[str, Any]:
    return dict(_LANGUAGES.get(language, (others.PlainEngine, others.publish))[1](path, facts))
