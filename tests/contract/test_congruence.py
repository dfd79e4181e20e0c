"""The same random operations on SQLite and on PostgreSQL: every answer, refusal and error must be the same."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lithos.app import Lithos, open_lithos
from lithos.core.clock import FakeClock
from lithos.core.ids import SeededIds
from lithos.errors import LithosError
from lithos.settings import LithosConfig
from lithos.tools.caller import Caller
from lithos.tools.catalogue import catalogue
from tests.states import PostgresStates

TEXTS = ["", "plan", "Plan", "ÄÖ", "zebra", "50%_off", 'it\'s "quoted" \\ ?', "日本語", "🦊"]
text = st.sampled_from(TEXTS)
agent = st.sampled_from(["ada", "Bob", "çelik"])
task = st.integers(0, 5)  # the how-manieth that was made; more than there are: an unknown one
tags = st.lists(st.sampled_from(["x", "Y", "ä"]), max_size=3)
key = st.none() | st.sampled_from(["k1", "k2"])


def tool(name: str, /, **arguments: Any) -> Any:
    return st.tuples(st.just(name), st.fixed_dictionaries(arguments))


def maybe(strategy: Any) -> Any:
    return st.none() | strategy  # an argument that is null counts as left out


NEEDS = maybe(st.lists(task, max_size=2))
MADE = {"title": text, "agent": agent, "description": maybe(text), "tags": maybe(tags), "priority": st.integers(-1, 5)}
CLAIM = {"task_id": task, "aspect": text, "agent": agent, "ttl_minutes": maybe(st.sampled_from([0, 1, 5]))}
LISTS = {"limit": st.integers(1, 3), "tags": maybe(tags)}
METADATA = maybe(st.dictionaries(text, text, max_size=2))
OPERATIONS = st.one_of(
    tool("lithos_agent_register", id=agent, name=maybe(text), type=maybe(text), metadata=METADATA),
    tool("lithos_agent_list", type=maybe(text), active_since=maybe(st.just("2026-01-01T00:01:00Z"))),
    tool("lithos_task_create", **MADE, depends_on=NEEDS, idempotency_key=key),
    tool("lithos_task_claim", **CLAIM, idempotency_key=key),
    tool("lithos_task_renew", **CLAIM, claim_token=maybe(st.integers(1, 20))),
    tool("lithos_task_release", task_id=task, aspect=text, agent=agent),
    tool("lithos_task_complete", task_id=task, agent=agent, idempotency_key=key),
    tool("lithos_task_cancel", task_id=task, agent=agent),
    tool("lithos_task_update", task_id=task, **MADE, depends_on=NEEDS),
    tool("lithos_finding_post", task_id=task, agent=agent, summary=text),
    tool("lithos_finding_list", task_id=task, limit=st.integers(1, 3)),
    tool("lithos_task_status", task_id=maybe(task)),
    tool("lithos_task_ready", **LISTS, include_claimed=st.booleans()),
    tool(
        "lithos_task_list", **LISTS, status=st.sampled_from(["open", "completed", "all"]), blocked=maybe(st.booleans())
    ),
    tool(
        "lithos_events_query",
        agent=maybe(agent),
        type=maybe(st.sampled_from(["task", "agent"])),
        limit=st.integers(1, 4),
    ),
    tool("lithos_events_verify"),
    st.tuples(st.just("advance"), st.integers(1, 200)),
    st.tuples(st.just("reopen"), st.none()),
)


class Memory:
    """One of the two, under a clock and ids that are the same for both."""

    def __init__(self, config: LithosConfig) -> None:
        self._config = config
        self.clock, self._ids = FakeClock(), SeededIds()
        self.lithos: Lithos = open_lithos(config, clock=self.clock, ids=self._ids)
        self._tasks: list[str] = []

    def do(self, operation: tuple[str, Any]) -> Any:
        name, what = operation
        if name == "advance":
            return self.clock.advance(what)
        if name == "reopen":
            self.lithos.close()
            self.lithos = open_lithos(self._config, clock=self.clock, ids=self._ids)
            return None
        return self._call(name, {each: self._named(each, value) for each, value in what.items()})

    def _call(self, name: str, arguments: dict[str, Any]) -> Any:
        try:
            answer = catalogue().call(self.lithos, name, arguments, Caller(operator=True))
        except LithosError as error:
            return error.as_dict()
        if name == "lithos_task_create" and answer["task_id"] not in self._tasks:
            self._tasks.append(answer["task_id"])
        return _comparable(answer)

    def _named(self, argument: str, value: Any) -> Any:
        if value is None:
            return None
        if argument == "task_id":
            return self._tasks[value] if value < len(self._tasks) else "00000000-0000-7000-8000-000000000000"
        return [self._named("task_id", each) for each in value] if argument == "depends_on" else value


def _comparable(answer: Any) -> Any:
    """Without what must differ: the id of the data directory, and the MACs made with its keys."""
    if isinstance(answer, dict):
        return {name: _comparable(value) for name, value in answer.items() if name not in ("store", "head")}
    return [_comparable(each) for each in answer] if isinstance(answer, list) else answer


@contextmanager
def both(postgres: PostgresStates) -> Iterator[tuple[Memory, Memory]]:
    with tempfile.TemporaryDirectory() as folder:
        embedded, shared = Path(folder) / "embedded", Path(folder) / "shared"
        memories = Memory(_config(embedded)), Memory(_config(shared, postgres.url(shared)))
        try:
            yield memories
        finally:
            for memory in memories:
                memory.lithos.close()
            postgres.empty()


def _config(data_dir: Path, url: str | None = None) -> LithosConfig:
    return LithosConfig.model_validate({"storage": {"data_dir": str(data_dir), "database_url": url}})


def check(postgres: PostgresStates, operations: list[tuple[str, Any]]) -> None:
    with both(postgres) as (embedded, shared):
        for operation in operations:
            assert embedded.do(operation) == shared.do(operation), operation


SAME = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


@settings(SAME, max_examples=12)
@given(operations=st.lists(OPERATIONS, min_size=10, max_size=40))
def test_both_give_the_same_answers(postgres: PostgresStates, operations: list[tuple[str, Any]]) -> None:
    check(postgres, operations)


@pytest.mark.torture
@settings(SAME, max_examples=300)
@given(operations=st.lists(OPERATIONS, min_size=20, max_size=120))
def test_both_give_the_same_answers_for_long(postgres: PostgresStates, operations: list[tuple[str, Any]]) -> None:
    check(postgres, operations)
