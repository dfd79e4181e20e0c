"""Decapod"s rules, one row each."""

from __future__ import annotations

import pytest

from lithos.core.clock import parse_time
from lithos.errors import Conflict, InvalidInput
from lithos.notes.fields import checked_fields
from lithos.notes.lifecycle.decisions import (
    LifecycleTimes,
    OnConflict,
    WriteStep,
    check_promotion,
    clean_references,
    decide,
    has_expired,
    recency_score,
    successor,
    trusted,
)
from tests.support.lifecycle_rules import was_current

NOON = parse_time("2026-01-10T12:00:00Z")


@pytest.mark.parametrize(
    ("asked", "holder", "step"),
    [
        ((None, None, "merge"), None, WriteStep("inserted")),
        (("a", None, "merge"), None, WriteStep("updated", "a")),
        (("a", "k", "merge"), "a", WriteStep("updated", "a")),
        (("a", "k", "merge"), None, WriteStep("updated", "a")),
        ((None, "k", "merge"), None, WriteStep("inserted")),
        ((None, "k", "merge"), "a", WriteStep("merged", "a")),
        ((None, "k", "merge"), "a", WriteStep("merged", "a")),
        ((None, "k", "supersede"), "a", WriteStep("superseded", "a")),
        ((None, "k", "supersede"), None, WriteStep("inserted")),
        ((None, "k", "reject"), None, WriteStep("inserted")),
    ],
)
def test_a_write_means_one_step(
    asked: tuple[str | None, str | None, OnConflict], holder: str | None, step: WriteStep
) -> None:
    assert decide(*asked, holder) == step


@pytest.mark.parametrize(
    "asked",
    [
        (None, "k", "reject"),
        ("b", "k", "merge"),
        ("b", "k", "supersede"),
    ],
)
def test_a_key_that_another_note_holds_is_refused_and_the_note_named(
    asked: tuple[str | None, str | None, OnConflict],
) -> None:
    with pytest.raises(Conflict) as refusal:
        decide(*asked, "a")
    assert refusal.value.details["active_id"] == "a"


@pytest.mark.parametrize(
    "text",
    [
        "file:src/a.py",
        "file:a b.md#L10",
        "file:a.md#L10-L20",
        "url:https://x.org/?q#f",
        "cmd:make",
        "commit:0af",
        "event:01HZ_X",
    ],
)
def test_provenance_of_every_scheme_is_taken(text: str) -> None:
    assert checked_fields({"provenance": text}) == {"provenance": text}


@pytest.mark.parametrize(
    "text",
    [
        "file:",
        "file:a#10",
        "file:a#L1-2",
        "url:a b",
        "cmd:make test",
        "commit:XYZ",
        "commit:",
        "event:abc",
        "http://x",
        "FILE:a",
        "event:A\n",
        "file:" + "a" * 3000,
    ],
)
def test_provenance_of_no_known_form_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="provenance"):
        checked_fields({"provenance": text})


def life(**changes: object) -> LifecycleTimes:
    fields: dict[str, object] = {"status": "active", "ttl_policy": "decay", "created_at": parse_time("2026-01-01")}
    times = {
        key: parse_time(value) if isinstance(value, str) and key.endswith("_at") else value
        for key, value in changes.items()
    }
    return LifecycleTimes(**{**fields, **times})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("note", "expired"),
    [
        (life(expires_at="2026-01-10T12:00:00Z"), True),
        (life(expires_at="2026-01-10T12:00:01Z"), False),
        (life(ttl_policy="ephemeral", expires_at="2026-01-09"), True),
        (life(ttl_policy="persistent", expires_at="2026-01-09"), False),
        (life(), False),
        (life(status="stale", expires_at="2026-01-09"), False),
        (life(status="superseded", expires_at="2026-01-09"), False),
    ],
)
def test_decay_takes_what_is_active_ends_and_has_come_to_its_time(note: LifecycleTimes, expired: bool) -> None:
    assert has_expired(note, NOON) is expired


@pytest.mark.parametrize(
    ("note", "current"),
    [
        (life(), True),
        (life(created_at="2026-01-11"), False),
        (life(status="superseded", superseded_at="2026-01-11"), True),
        (life(status="superseded", superseded_at="2026-01-10"), False),
        (life(expires_at="2026-01-10"), False),
        (life(status="stale", expires_at="2026-01-11"), True),
        (life(status="deprecated"), False),
        (life(status="superseded"), False),
        (life(created_at=None), True),
    ],
)
def test_as_of_asks_the_recorded_times(note: LifecycleTimes, current: bool) -> None:
    assert was_current(note, NOON) is current


def test_recency_halves_after_a_day_and_the_future_is_no_better_than_now() -> None:
    assert recency_score(parse_time("2026-01-09T12:00:00Z"), NOON) == 0.5
    assert recency_score(parse_time("2027-01-01"), NOON) == 1.0


def test_references_are_trimmed_sorted_and_unique() -> None:
    assert clean_references([" b", "a", "b ", ""]) == ["a", "b"]
    with pytest.raises(InvalidInput):
        clean_references([" ", ""])


@pytest.mark.parametrize(
    ("actor", "approver", "reason", "known"),
    [("", "b", "r", []), ("a", " ", "r", []), ("a", "b", "", []), ("a", "a ", "r", []), ("a", "b", "r", ["c"])],
)
def test_a_promotion_without_a_second_voice_is_refused(
    actor: str, approver: str, reason: str, known: list[str]
) -> None:
    with pytest.raises(InvalidInput):
        check_promotion(actor, approver, reason, known)


def test_a_promotion_with_a_second_voice_passes() -> None:
    check_promotion("a", "b", "r", [])
    check_promotion("a", "b", "r", ["b", "c"])


def test_trust_is_that_of_the_weakest_source() -> None:
    assert trusted(0.9, [0.4, 0.8]) == 0.4
    assert trusted(0.9, []) == 0.9


def test_a_chain_of_successors_ends_at_the_living_one_and_a_cycle_nowhere() -> None:
    assert successor("a", {"a": "b", "b": "c"}.get) == "c"
    assert successor("a", {"a": "b", "b": "a"}.get) is None
    assert successor("a", {}.get) is None
