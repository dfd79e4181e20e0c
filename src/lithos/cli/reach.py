"""How a verb reaches the memory: through its host when there is one, else opened here for as long as it takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lithos.settings import LithosConfig


def call_tool(config: LithosConfig, name: str, arguments: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The tool's answer; refusals are raised. The operator at the keyboard may call every tool."""
    from lithos.host.client import memory

    with memory(config) as call:
        return call(name, arguments)
