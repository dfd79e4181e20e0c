"""The same suites on PostgreSQL: modules of this folder import tests that run on SQLite elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from lithos.settings import LithosConfig, StorageSettings
from tests import states
from tests.postgres_server import Server, make_server, remove
from tests.states import PostgresStates


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    made = make_server(durable=False)
    yield made
    remove(made)


@pytest.fixture(scope="session")
def schemas(server: Server) -> PostgresStates:
    return PostgresStates(server.url)


@pytest.fixture
def postgres(schemas: PostgresStates) -> Iterator[PostgresStates]:
    """Schemas of this test's own, empty when it begins."""
    yield schemas
    schemas.empty()


@pytest.fixture(autouse=True)
def on_postgres(postgres: PostgresStates, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(states, "current", postgres)


@pytest.fixture
def config(data_dir: Path, postgres: PostgresStates, monkeypatch: pytest.MonkeyPatch) -> LithosConfig:
    url = SecretStr(postgres.url(data_dir))
    monkeypatch.setenv("LITHOS_DATABASE_URL", url.get_secret_value())  # for verbs, which read settings themselves
    return LithosConfig(storage=StorageSettings(data_dir=data_dir, database_url=url))
