"""Import the SDK without its client and framework, which cost 12 MB and 0.2 s of CPU."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType
from typing import Any

EAGER = ("mcp", "mcp.server")  # packages whose own file imports every module


class _Deferred(ModuleType):
    """A package whose modules can be imported; its own file runs when one of its names is used (`mcp.Client`)."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        spec = self.__spec__
        self.__class__ = ModuleType  # type: ignore[assignment]  # from now on an ordinary module
        if spec is not None and spec.loader is not None:
            spec.loader.exec_module(self)
        return getattr(self, name)


def defer_the_rest() -> None:
    """Does nothing if the SDK is imported already."""
    for name in EAGER:
        if name in sys.modules:
            return
        spec = importlib.util.find_spec(name)
        if spec is None or spec.submodule_search_locations is None:
            return
        package = _Deferred(name)
        package.__spec__, package.__loader__, package.__file__ = spec, spec.loader, spec.origin
        package.__package__, package.__path__ = name, list(spec.submodule_search_locations)
        sys.modules[name] = package
        parent, _, child = name.rpartition(".")
        if parent:
            setattr(sys.modules[parent], child, package)


def build_models_late() -> None:
    """Build each of the SDK's 300 models on first use: all take 0.12 s, and a connection uses a dozen."""
    from mcp_types._wire_base import WireModel

    WireModel.model_config["defer_build"] = True
