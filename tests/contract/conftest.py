"""The same suites on PostgreSQL: modules of this folder import tests that run on SQLite elsewhere."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support import states
from tests.support.states import PostgresStates


@pytest.fixture
def postgres(schemas: PostgresStates) -> Iterator[PostgresStates]:
    """Schemas of this test's own, empty when it begins."""
    yield schemas
    schemas.empty()


@pytest.fixture(autouse=True)
def on_postgres(postgres: PostgresStates, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(states, "current", postgres)
