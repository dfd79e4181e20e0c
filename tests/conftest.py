"""What most tests stand on: a real Lithos on a real folder, called through the registry or through MCP."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from pydantic import SecretStr

from lithos.app import Lithos, open_lithos
from lithos.core.clock import FakeClock
from lithos.settings import LithosConfig, SearchSettings, StorageSettings
from lithos.tools.caller import Caller
from tests.support import states
from tests.support.guests import Household, household
from tests.support.note_calls import CallTool, caller
from tests.support.postgres_server import Server, make_server, remove
from tests.support.states import PostgresStates

ERAS = ("legacy", "auto")  # mcp.Client's names: `initialize` first, or the stateless 2026-07-28

# `make test` gives every property the same examples each time; `make torture`, and pytest by hand, seek new ones.
settings.register_profile("repeatable", derandomize=True)

# A module or test marked `both_databases` runs on SQLite and on PostgreSQL; one marked `sqlite_only` says why not.
BACK_ENDS = ("sqlite", pytest.param("postgres", marks=pytest.mark.postgres))
LONG_BACK_ENDS = ("sqlite", pytest.param("postgres", marks=[pytest.mark.postgres, pytest.mark.torture]))

PATIENT = SearchSettings(wait_seconds=30)  # a busy machine loads the model in more than the usual 5 s

Connect = Callable[..., AbstractAsyncContextManager[Any]]


def pytest_configure() -> None:
    """A background job of a shell ignores SIGINT and one of `nohup` SIGHUP, and so would all that tests start."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture(autouse=True)
def no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("LITHOS_")]:
        monkeypatch.delenv(name)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if metafunc.definition.get_closest_marker("both_databases") is None:
        return
    one = metafunc.definition.get_closest_marker("sqlite_only") is not None
    long = metafunc.definition.get_closest_marker("torture_on_postgres") is not None
    metafunc.fixturenames.insert(0, "back_end")
    metafunc.parametrize("back_end", BACK_ENDS[:1] if one else LONG_BACK_ENDS if long else BACK_ENDS, indirect=True)


@pytest.fixture
def back_end(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Where `open_state` and `config` put the shared state of this test."""
    if request.param == "postgres":
        schemas: PostgresStates = request.getfixturevalue("schemas")
        monkeypatch.setattr(states, "current", schemas)
        yield "postgres"
        schemas.empty()
    else:
        yield "sqlite"


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """One PostgreSQL for the whole run, started when a test first needs it."""
    made = make_server(durable=False)
    yield made
    remove(made)


@pytest.fixture(scope="session")
def schemas(server: Server) -> PostgresStates:
    return PostgresStates(server.url)


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
def config(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> LithosConfig:
    if not isinstance(states.current, PostgresStates):
        return LithosConfig(storage=StorageSettings(data_dir=data_dir), search=PATIENT)
    url = SecretStr(states.current.url(data_dir))
    monkeypatch.setenv("LITHOS_DATABASE_URL", url.get_secret_value())  # for verbs, which read settings themselves
    return LithosConfig(storage=StorageSettings(data_dir=data_dir, database_url=url), search=PATIENT)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(scope="session")
def empty_memory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory as the first start leaves it. A copy takes a fifth of the CPU of 22 migrations."""
    data_dir = tmp_path_factory.mktemp("empty") / "data"
    open_lithos(LithosConfig(storage=StorageSettings(data_dir=data_dir)), clock=FakeClock()).close()
    return data_dir


@pytest.fixture(scope="session")
def tool_vectors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder `.vectors` for a data directory: `lithos_tool_find` embeds 1,400 phrases, once for all workers."""
    own = tmp_path_factory.getbasetemp()
    shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    with open(shared / "tool-vectors.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        made = shared / "tool-vectors"
        if not made.exists():
            config = LithosConfig(storage=StorageSettings(data_dir=own / "tools"), search=PATIENT)
            with closing(open_lithos(config)) as lithos:
                assert caller(lithos)("lithos_tool_find", query="write a note")["degraded"] is False
            (own / "tools" / ".vectors").rename(made)
    return made


@pytest.fixture
def lithos(config: LithosConfig, clock: FakeClock, empty_memory: Path) -> Iterator[Lithos]:
    """Everything opened on an empty data directory, under a clock that does not move by itself."""
    if config.storage.database_url is None and not config.storage.data_dir.exists():
        shutil.copytree(empty_memory, config.storage.data_dir)
    opened = open_lithos(config, clock=clock)
    try:
        yield opened
    finally:
        opened.close()


@pytest.fixture
def call(lithos: Lithos) -> CallTool:
    """`call("lithos_stats")`, `call("lithos_agent_info", id="a")`, `call(..., _caller=Caller(read_only=True))`."""
    return caller(lithos)


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
