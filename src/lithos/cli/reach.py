"""How a verb reaches the memory: one tool call, wherever the memory is open."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lithos.app import Lithos
    from lithos.settings import LithosConfig


def call_tool(config: LithosConfig, name: str, arguments: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The tool's answer; refusals are raised. The operator at the keyboard may call every tool."""
    from lithos.tools.caller import Caller
    from lithos.tools.catalogue import catalogue

    with opened(config) as lithos:
        return catalogue().call(lithos, name, arguments, Caller(agent=config.server.agent, operator=True))


@contextmanager
def opened(config: LithosConfig) -> Iterator[Lithos]:
    from lithos.app import open_lithos

    lithos = open_lithos(config)
    try:
        yield lithos
    finally:
        lithos.close()
