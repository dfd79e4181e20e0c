"""The SDK without what a server never uses: its packages import the client and a framework, 12 MB and 0.2 s of CPU."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType
from typing import Any

EAGER = ("mcp", "mcp.server")  # packages whose own file imports everything there is


class _Deferred(ModuleType):
    """A package whose modules can be imported; its own file runs when a name of it is asked for (`mcp.Client`)."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        spec = self.__spec__
        self.__class__ = ModuleType  # type: ignore[assignment]  # from now on an ordinary module
        if spec is not None and spec.loader is not None:
            spec.loader.exec_module(self)
        return getattr(self, name)


def defer_the_rest() -> None:
    """Does nothing when the SDK is imported already."""
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
    """Two revisions have 300 models of which a connection uses a dozen: 0.12 s to build them all, so each on need."""
    from mcp_types._wire_base import WireModel

    WireModel.model_config["defer_build"] = True
