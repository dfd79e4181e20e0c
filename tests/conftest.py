"""What most tests stand on: a real Lithos on a real folder, called through the registry or through MCP."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from lithos.app import Lithos, open_lithos
from lithos.core.clock import FakeClock
from lithos.settings import LithosConfig, StorageSettings
from lithos.tools.caller import Caller
from lithos.tools.catalogue import catalogue
from tests.guests import Household, household

ERAS = ("legacy", "auto")  # mcp.Client's names: `initialize` first, or the stateless 2026-07-28

# `make test` gives every property the same examples each time; `make torture`, and pytest by hand, seek new ones.
settings.register_profile("repeatable", derandomize=True)

CallTool = Callable[..., dict[str, Any]]
Connect = Callable[..., AbstractAsyncContextManager[Any]]


@pytest.fixture(autouse=True)
def no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    for name in [name for name in os.environ if name.startswith("LITHOS_")]:
        monkeypatch.delenv(name)


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def home(data_dir: Path) -> Iterator[Household]:
    """Guests and a host of its own; whatever it started is gone afterwards."""
    with household(data_dir) as everybody:
        yield everybody


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Household]:
    """One host for all tests of a file that leave it alone: each start costs a second."""
    with household(tmp_path_factory.mktemp("house") / "data") as everybody:
        everybody.guest().initialize()
        yield everybody


@pytest.fixture
def config(data_dir: Path) -> LithosConfig:
    return LithosConfig(storage=StorageSettings(data_dir=data_dir))


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def lithos(config: LithosConfig, clock: FakeClock) -> Iterator[Lithos]:
    """Everything opened on an empty data directory, under a clock that stands still until told."""
    opened = open_lithos(config, clock=clock)
    try:
        yield opened
    finally:
        opened.close()


@pytest.fixture
def call(lithos: Lithos) -> CallTool:
    """`call("lithos_stats")`, `call("lithos_agent_info", id="a")`, `call(..., _caller=Caller(read_only=True))`."""

    def call_tool(name: str, /, _caller: Caller | None = None, **arguments: Any) -> dict[str, Any]:
        return catalogue().call(lithos, name, arguments, _caller)

    return call_tool


@pytest.fixture(params=ERAS)
def era(request: pytest.FixtureRequest) -> str:
    """Both eras of the protocol, in every test that touches it."""
    return str(request.param)


@pytest.fixture
def connect(lithos: Lithos, era: str) -> Connect:
    """`async with connect(toolsets=("all",)) as client: await client.call_tool("lithos_stats", {})`."""

    @asynccontextmanager
    async def connected(**caller: Any) -> AsyncIterator[Any]:
        import mcp

        from lithos.serving import build_server

        async with mcp.Client(build_server(lithos, default=Caller(**caller)), mode=era) as client:
            yield client

    return connected


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
