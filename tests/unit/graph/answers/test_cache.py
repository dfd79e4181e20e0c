"""The cache: one key per meaning, sources that changed, time, size, rights."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from lithos.graph.answers.cache import MINUTES, AnswerCache
from lithos.graph.answers.intents import Intent, classify

NOW = datetime(2026, 11, 17, 12, tzinfo=UTC)


class World:
    def __init__(self) -> None:
        self.seconds = 0.0
        self.state = 1
        self.cache = AnswerCache(lambda: self.seconds, most=3, most_bytes=2_000)

    def put(self, query: str, scope: object = "all", answer: str = "yes") -> None:
        self.cache.put(intent(query), scope, {"answer": answer}, lambda: self.state, self.state)

    def hit(self, query: str, scope: object = "all") -> bool:
        return self.cache.get(intent(query), scope) is not None


def intent(query: str) -> Intent:
    return classify(query, NOW)


PAIRS_THAT_DIFFER = (
    ("what calls parse_config", "what does parse_config call"),
    ("where is the http client", "where is the http server"),
    ("what changed in billing last week", "what changed in billing last month"),
    ("which functions call retry_policy", "which functions never call retry_policy"),
    ("how does the index rebuild work", "did the index rebuild work"),
    ("where is MAX_RETRIES defined", "where is MAX_RETRIES used"),
    ("how did we handle timeouts in load_row", "how did we handle retries in load_row"),
    ("what changed in load_row in 2023", "what changed in load_row in 2024"),
    ("what calls gone_name or load_row", "what calls gone_name"),
)


@pytest.mark.parametrize(("first", "second"), PAIRS_THAT_DIFFER)
def test_questions_that_are_nearly_the_same_vector_do_not_hit(first: str, second: str) -> None:
    world = World()
    world.put(first)
    assert world.hit(first) and not world.hit(second)


def test_a_changed_source_and_other_rights_miss() -> None:
    world = World()
    world.put("where is CreateUser", scope="ann")
    assert not world.hit("where is CreateUser", scope="ben")
    assert world.hit("find CreateUser", scope="ann")
    world.state = 2
    assert not world.hit("find CreateUser", scope="ann")
    assert world.cache.status()["stale"] == 1 and world.cache.status()["entries"] == 0


@pytest.mark.parametrize(
    ("query", "minutes"),
    [
        ("how do we handle errors", 60),
        ("explain CreateUser", 30),
        ("list all settings", 15),
        ("how did we handle flaky tests", 60),
        ("who changed load_user", 5),
        ("did the migration work", 30),
        ("similar deadlocks in the past", 30),
        ("where did we leave off", 1),
        ("best practices for oauth", 24 * 60),
    ],
)
def test_each_intent_has_its_time(query: str, minutes: int) -> None:
    world = World()
    world.put(query)
    world.seconds = minutes * 60 - 1
    assert world.hit(query)
    world.seconds = minutes * 60
    assert not world.hit(query)
    assert MINUTES["code", "LOCATE"] is None


def test_it_is_bounded_by_entries_and_bytes_and_least_used_goes_first() -> None:
    world = World()
    for name in ("alpha_one", "beta_two", "gamma_three"):
        world.put(f"where is {name}")
    assert world.hit("where is alpha_one")
    world.put("where is delta_four")
    assert world.hit("where is alpha_one") and not world.hit("where is beta_two")
    world.put("where is big_one", answer="x" * 900)
    assert world.cache.status()["bytes"] <= 2_000
    world.put("where is too_big", answer="x" * 9_000)
    assert not world.hit("where is too_big")


def test_an_unsure_question_is_never_cached() -> None:
    world = World()
    world.put("blorp the frobnicator sideways")
    assert world.cache.status()["entries"] == 0


def test_what_changed_while_the_answer_was_made_is_stale_at_once() -> None:
    world = World()
    before = world.state
    world.state = 2
    world.cache.put(intent("where is CreateUser"), "all", {"answer": "old"}, lambda: world.state, before)
    assert not world.hit("where is CreateUser")


def test_by_default_a_cache_keeps_a_thousand_answers_and_six_million_bytes() -> None:
    world = World()
    world.cache = AnswerCache(lambda: 0.0)
    for number in range(1_001):
        world.put("where is the http client", number)
    assert world.cache.status()["entries"] == 1_000
    for number in range(5):
        world.put("where is the http client", number, "x" * 1_000_000)
    assert world.cache.status()["entries"] == 2
