"""The same random operations on SQLite and on PostgreSQL: every answer, refusal and error must be the same."""

from __future__ import annotations

import random
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from lithos.app import Lithos, open_lithos
from lithos.core.clock import FakeClock
from lithos.core.ids import SeededIds
from lithos.errors import LithosError
from lithos.settings import LithosConfig
from lithos.tools.caller import Caller
from lithos.tools.catalogue import catalogue
from tests.support.states import PostgresStates

TEXTS = ["", "plan", "Plan", "ÄÖ", "zebra", "50%_off", 'it\'s "quoted" \\ ?', "日本語", "🦊"]
UNKNOWN = "00000000-0000-7000-8000-000000000000"
# The data directory's id and size, the MACs made with its keys, and the numbers of events: PostgreSQL's counter leaves
# out those that a refused call had drawn.
DIFFERENT = ("store", "head", "bytes", "sequence")
EVENTS_CURSOR = re.compile(r"^(\d{16})-\d+$")
Operation = tuple[str, dict[str, Any]]


class Chooser:
    """What is done next: mostly sensible, sometimes not, always the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def _one(self, *choices: Any) -> Any:
        return self._random.choice(choices)

    def _maybe(self, value: Any) -> Any:
        return value if self._random.random() < 0.5 else None  # an argument that is null counts as left out

    def _agent(self) -> str:
        return str(self._one("ada", "Bob", "çelik"))

    def _task(self) -> int:
        return self._random.randint(0, 15)  # the how-manieth that was made, counted round; 15: an unknown one

    def _aspect(self) -> str:
        return str(self._one("tests", "tests", "docs", "日本語", ""))

    def _tags(self) -> list[str]:
        return self._random.sample(["x", "Y", "ä"], self._random.randint(0, 2))

    def _key(self) -> str | None:
        return self._maybe(self._one("k1", "k2", "k3"))

    def operations(self, count: int) -> Iterator[Operation]:
        for title in TEXTS[1:]:
            yield "lithos_task_create", {"title": title, "agent": self._agent()}
        for _ in range(count):
            yield self._one(*WEIGHTED)(self)

    def create(self) -> Operation:
        needs = self._maybe([self._task()])
        return "lithos_task_create", {**self._described(), "depends_on": needs, "idempotency_key": self._key()}

    def update(self) -> Operation:
        described = {name: self._maybe(value) for name, value in self._described().items() if name != "agent"}
        needs = self._maybe([self._task(), self._task()])
        return "lithos_task_update", {"task_id": self._task(), "agent": self._agent(), **described, "depends_on": needs}

    def _described(self) -> dict[str, Any]:
        title, priority = self._one(*TEXTS), self._random.randint(0, 5)
        more = {"description": self._maybe(self._one(*TEXTS)), "tags": self._maybe(self._tags())}
        return {"title": title, "agent": self._agent(), "priority": priority, **more}

    def claim(self) -> Operation:
        wish = {"task_id": self._task(), "aspect": self._aspect(), "agent": self._agent()}
        return "lithos_task_claim", {**wish, "ttl_minutes": self._one(None, 1, 2, 5), "idempotency_key": self._key()}

    def renew(self) -> Operation:
        wish = {"task_id": self._task(), "aspect": self._aspect(), "agent": self._agent()}
        return "lithos_task_renew", {**wish, "claim_token": self._maybe(self._random.randint(1, 40))}

    def release(self) -> Operation:
        return "lithos_task_release", {"task_id": self._task(), "aspect": self._aspect(), "agent": self._agent()}

    def end(self) -> Operation:
        verb = self._one("lithos_task_complete", "lithos_task_cancel")
        return verb, {"task_id": self._task(), "agent": self._agent(), "idempotency_key": self._key()}

    def find(self) -> Operation:
        return "lithos_finding_post", {"task_id": self._task(), "agent": self._agent(), "summary": self._one(*TEXTS)}

    def register(self) -> Operation:
        metadata = self._maybe({self._one(*TEXTS): self._one(*TEXTS)})
        more = {"name": self._maybe(self._one(*TEXTS)), "type": self._maybe(self._one(*TEXTS)), "metadata": metadata}
        return "lithos_agent_register", {"id": self._agent(), **more}

    def look(self) -> Operation:
        limit = self._random.randint(1, 4)
        lists = {"tags": self._maybe(self._tags()), "limit": limit}
        return self._one(
            ("lithos_task_status", {"task_id": self._maybe(self._task())}),
            ("lithos_task_ready", {**lists, "include_claimed": self._one(True, False)}),
            ("lithos_task_list", {**lists, "status": "all", "blocked": self._one(None, True, False)}),
            ("lithos_task_list", {**lists, "claimed_by": self._agent(), "created_by": self._maybe(self._agent())}),
            ("lithos_finding_list", {"task_id": self._task(), "limit": limit}),
            ("lithos_agent_list", {"type": self._maybe(self._one(*TEXTS))}),
            ("lithos_events_query", {"agent": self._maybe(self._agent()), "limit": limit}),
            ("lithos_events_query", {"status": self._one("committed", "failed"), "limit": limit}),
            ("lithos_events_verify", {}),
            ("lithos_stats", {}),
        )

    def wait(self) -> Operation:
        return "advance", {"seconds": self._one(1, 20, 70, 200)}

    def reopen(self) -> Operation:
        return "reopen", {}


WEIGHTED = (
    [Chooser.create] * 3
    + [Chooser.update] * 3
    + [Chooser.claim] * 8
    + [Chooser.renew] * 3
    + [Chooser.release] * 3
    + [Chooser.end]
    + [Chooser.find] * 3
    + [Chooser.register] * 2
    + [Chooser.look] * 12
    + [Chooser.wait] * 3
    + [Chooser.reopen]
)


class Memory:
    """One of the two, under a clock and ids that are the same for both."""

    def __init__(self, config: LithosConfig) -> None:
        self._config = config
        self.clock, self._ids = FakeClock(), SeededIds()
        self.lithos: Lithos = open_lithos(config, clock=self.clock, ids=self._ids)
        self._tasks: list[str] = []

    def do(self, operation: Operation) -> Any:
        name, what = operation
        if name == "advance":
            return self.clock.advance(what["seconds"])
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
            return self._tasks[value % len(self._tasks)] if value < 15 else UNKNOWN
        return [self._named("task_id", each) for each in value] if argument == "depends_on" else value


def _comparable(answer: Any) -> Any:
    """Without what must differ: see DIFFERENT."""
    if isinstance(answer, dict):
        return {name: _comparable(value) for name, value in answer.items() if name not in DIFFERENT}
    if isinstance(answer, str):
        return EVENTS_CURSOR.sub(r"\1", answer)
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


def check(postgres: PostgresStates, seed: int, count: int) -> None:
    with both(postgres) as (embedded, shared):
        for operation in Chooser(seed).operations(count):
            assert embedded.do(operation) == shared.do(operation), operation


@pytest.mark.parametrize("seed", range(3))
def test_both_give_the_same_answers(postgres: PostgresStates, seed: int) -> None:
    check(postgres, seed, 150)


@pytest.mark.torture
@pytest.mark.parametrize("seed", range(1000, 1040))
def test_both_give_the_same_answers_for_long(postgres: PostgresStates, seed: int) -> None:
    check(postgres, seed, 600)
