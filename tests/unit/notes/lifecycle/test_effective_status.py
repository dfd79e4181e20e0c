"""How a note stands, and through which lens a question sees it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lithos.core.clock import micros, parse_time
from lithos.notes.format.note import Note, read_note
from lithos.notes.lifecycle.effective_status import GONE, NEVER, effective_status, ends, lifecycle_times
from lithos.notes.lifecycle.newest import newest
from lithos.notes.lifecycle.search_scope import SearchScope
from lithos.search import Bounds, Hit, Query, SearchResult, Where
from tests.support.lifecycle_rules import was_current

NOW = parse_time("2026-03-10T12:00:00Z")


def note(path: str = "a.md", **fields: Any) -> Note:
    front = "".join(f"{name}: {value}\n" for name, value in fields.items())
    made = read_note(path, f"---\n{front}---\n\ntext\n".encode())
    assert isinstance(made, Note)
    return made


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (note(), "active"),
        (note(status="superseded"), "superseded"),
        (note(status="stale"), "stale"),
        (note(status="nonsense"), "active"),
        (note("procedural/rule.md"), "unapproved"),
        (note("Procedural/rule.md", provenance="url:x"), "unapproved"),
        (note("procedural/rule.md", provenance="event:FORGED"), "unapproved"),
        (note("procedural/rule.md", provenance="event:GOOD"), "active"),
        (note("procedural/rule.md", provenance="event:GOOD", status="deprecated"), "deprecated"),
        (note("procedures/rule.md"), "active"),
    ],
)
def test_a_note_counts_by_its_status_and_its_promotion(made: Note, expected: str) -> None:
    assert effective_status(made, lambda made: made.text("provenance") == "event:GOOD") == expected


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (note(), NEVER),
        (note(expires_at="2026-01-01"), micros(parse_time("2026-01-01"))),
        (note(expires_at="2026-01-01", ttl_policy="nonsense"), NEVER),
        (note(expires_at="2026-01-01", ttl_policy="decay"), micros(parse_time("2026-01-01"))),
        (note(expires_at="1767225600Z", ttl_policy="ephemeral"), micros(parse_time("2026-01-01"))),
        (note(expires_at="10000-01-01", ttl_policy="decay"), NEVER),
        (note(expires_at="9999-01-01", ttl_policy="decay"), NEVER),
        (note(status="superseded"), 77),
        (note(status="superseded", superseded_at="2026-01-01"), micros(parse_time("2026-01-01"))),
        (note(status="deprecated"), GONE),
        (note(status="stale", ttl_policy="decay", expires_at="2026-01-01"), micros(parse_time("2026-01-01"))),
    ],
)
def test_a_note_ends_when_its_fields_say_so_and_nonsense_ends_nothing(made: Note, expected: int) -> None:
    assert ends(made, updated=77) == expected


@pytest.mark.parametrize("days", [-1, 0, 1, 40, 400])
@pytest.mark.parametrize(
    "made",
    [
        note(created_at="2026-03-10T12:00:00Z"),
        note(created_at="2026-03-10T12:00:00Z", ttl_policy="decay", expires_at="2026-03-11T12:00:00Z"),
        note(created_at="2026-03-10T12:00:00Z", status="superseded", superseded_at="2026-04-10"),
        note(created_at="2026-03-10T12:00:00Z", status="deprecated"),
        note(created_at="2026-03-10T12:00:00Z", status="stale"),
        note(status="superseded", superseded_at="2026-04-10"),
        note(),
    ],
)
def test_filter_and_rule_agree_on_what_was_current(made: Note, days: int) -> None:
    moment = NOW + timedelta(days=days)
    where = SearchScope(NOW, as_of=moment).where(Where())
    created = (made.moment("created_at") or 0) / 1e6
    low, high = where.between["created"][1], where.between["ends"][0]
    assert low is not None and high is not None
    by_filter = created <= low and ends(made, micros(NOW)) / 1e6 >= high
    assert by_filter is was_current(lifecycle_times(made, micros(NOW)), moment)


def hit(note_id: str, score: float, created: str = "2026-03-01") -> Hit:
    born = micros(parse_time(created)) / 1e6
    return Hit(note_id, note_id, "", "", "", "", "", 0, score, numbers={"created": born, "updated": born})


def order(lens: SearchScope, *hits: Hit) -> list[str]:
    return [each.id for each in lens.arranged(hits)]


def test_by_default_only_what_is_active_and_unexpired_counts() -> None:
    where = SearchScope(NOW).where(Where(tags=("a",)))
    assert where.tags == ("a",) and where.any_of == {"status": ("active",)}
    low, high = where.between["ends"]
    assert high is None and low == pytest.approx(micros(NOW) / 1e6)


def test_a_status_opens_the_rest() -> None:
    assert SearchScope(NOW, status="stale").where(Where()).any_of == {"status": ("stale",)}
    assert SearchScope(NOW, status="stale").where(Where()).between == {}
    assert SearchScope(NOW, status="all").where(Where()) == Where()


def test_a_window_counts_back_from_as_of_or_now() -> None:
    day = 86_400.0
    assert (
        SearchScope(NOW, status="all", window_days=7).where(Where()).between["created"][0]
        == micros(NOW) / 1e6 - 7 * day
    )
    then = parse_time("2026-01-01")
    assert SearchScope(NOW, as_of=then, window_days=7).where(Where()).between["created"] == (
        micros(then) / 1e6 - 7 * day,
        micros(then) / 1e6,
    )


def test_recency_alone_orders_by_age_and_blended_by_both() -> None:
    old, new, best = hit("old", 0.9, "2025-01-01"), hit("new", 0.1, "2026-03-09"), hit("best", 1.0, "2026-02-01")
    assert order(SearchScope(NOW), old, new, best) == ["old", "new", "best"]
    assert order(SearchScope(NOW, rank="recency_decay"), old, new, best) == ["new", "best", "old"]
    assert order(SearchScope(NOW, rank="blended"), old, new, best) == ["best", "old", "new"]
    assert order(SearchScope(NOW, rank="blended"), hit("a", 0.5, "2025-01-01"), hit("b", 0.49, "2026-03-10")) == [
        "b",
        "a",
    ]


def test_feedback_moves_a_hit_a_little_and_is_explained() -> None:
    lens = SearchScope(NOW, boosts={"b": 0.1, "a": -0.1})
    assert order(lens, hit("a", 1.0), hit("b", 0.85), hit("c", 0.2)) == ["b", "a", "c"]
    assert lens.trace()["feedback"] == {"b": 0.1, "a": -0.1}
    assert order(SearchScope(NOW, boosts={"b": 0.1}), hit("a", 1.0), hit("b", 0.5)) == ["a", "b"]


def test_an_answer_says_what_changed_since_and_how_recent_it_is() -> None:
    then = parse_time("2026-02-01")
    changed = Hit("x", "x", "", "", "", "", "", 0, 1.0, numbers={"created": 0.0, "updated": micros(NOW) / 1e6})
    assert SearchScope(NOW, as_of=then).remarks(changed)["changed_since"] is True
    assert "changed_since" not in SearchScope(NOW, as_of=NOW).remarks(changed)
    assert SearchScope(NOW, rank="recency_decay").remarks(hit("y", 1, "2026-03-09T12:00:00Z")) == {"recency_score": 0.5}
    assert SearchScope(NOW).remarks(changed) == {}


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4000), st.floats(0, 1)), max_size=120, unique_by=lambda each: each[0]))
def test_the_newest_of_all_that_matches_come_first_however_little_relevant(facts: list[tuple[int, float]]) -> None:
    day = 86_400.0
    hits = [
        Hit(str(at), "", "", "", "", "", "", 0, score, numbers={"created": at % 5 and at * day, "updated": at * day})
        for at, score in facts
    ]

    def ask(query: Query) -> SearchResult:
        there = [each for each in hits if all(_inside(each, *bounds) for bounds in query.where.between.items())]
        return SearchResult(tuple(sorted(there, key=lambda each: -each.score)[: query.limit]), True)

    found = newest(ask, Query("q", limit=40), 5, 5_000 * day)
    youngest = sorted((at for at, _ in facts), reverse=True)[:5]
    assert [int(each.id) for each in found.hits] == youngest


def _inside(each: Hit, field: str, bounds: Bounds) -> bool:
    low, high = bounds
    return (low is None or each.numbers[field] >= low) and (high is None or each.numbers[field] <= high)
