"""Freshness, trust and quality: the numbers of the issue."""

from __future__ import annotations

import pytest

from lithos.graph.trust import (
    Age,
    Decay,
    Side,
    Standing,
    freshness,
    quality,
    trust_level,
    trust_name,
    trust_warning,
    winner,
)


@pytest.mark.parametrize(
    ("age", "score", "warned"),
    [
        (Age("code"), 1.0, False),
        (Age("code", unchanged=False), 0.0, True),
        (Age("history", days=0), 1.0, False),
        (Age("history", days=30), 1 - 30 / 180 * 0.8, False),
        (Age("history", days=90), 0.6, True),
        (Age("history", days=1000), 0.2, True),
        (Age("history", days=-3), 1.0, False),
        (Age("academic", days=180), 1 - 180 / 365 * 0.7, False),
        (Age("academic", days=181), 1 - 181 / 365 * 0.7, True),
        (Age("academic", days=9999), 0.3, True),
        (Age("academic", days=0, expired=True), 0.5, True),
    ],
)
def test_freshness_follows_the_formula(age: Age, score: float, warned: bool) -> None:
    found = freshness(age)
    assert found.score == pytest.approx(score)
    assert bool(found.warning) is warned


def test_superseded_names_the_successor_and_a_setting_replaces_the_formula() -> None:
    found = freshness(Age("history", days=2, superseded_by="t9"))
    assert (found.score, found.superseded_by) == (0.1, "t9") and "t9" in found.warning
    slow = {"history": Decay(360.0, 0.8, 0.2, 30.0)}
    assert freshness(Age("history", days=90), slow).score == pytest.approx(0.8)


@pytest.mark.parametrize(
    ("standing", "level"),
    [
        (Standing("code"), 100),
        (Standing("history", verified=True, days=6.9), 80),
        (Standing("history", verified=True, days=7), 60),
        (Standing("history", verified=True, days=30), 40),
        (Standing("academic", verified=True, kind="rfc"), 70),
        (Standing("academic", verified=True, kind="documentation", days=900), 70),
        (Standing("academic", verified=True, kind="paper"), 60),
        (Standing("academic", verified=True, kind="best_practice"), 60),
        (Standing("academic", verified=True, kind="tutorial"), 60),
        (Standing("academic", verified=True, kind="stackoverflow"), 30),
        (Standing("academic", verified=True, kind="blog"), 30),
        (Standing("history"), 20),
        (Standing("academic", kind="rfc"), 20),
        (Standing("history", unchecked=True, days=1), 40),
        (Standing("history", verified=True, days=1, confidence=0.5), 50),
        (Standing("history", verified=True, days=1, ceiling=40), 40),
        (Standing("history", verified=True, days=1, lost=True), 20),
        (Standing("code", lost=True), 20),
    ],
)
def test_trust_levels(standing: Standing, level: int) -> None:
    assert trust_level(standing) == level


def test_names_and_warnings_are_the_specifications() -> None:
    assert [trust_name(level) for level in (100, 80, 70, 60, 40, 30, 20)] == [
        "Ground Truth (Code)",
        "Recent Verified",
        "Authoritative",
        "Academic",
        "Old History",
        "Informal",
        "Unverified/Inferred",
    ]
    assert trust_warning(100) == ""
    assert trust_warning(20) == "⚠️ UNVERIFIED - LLM inference, may be incorrect"


def test_what_could_not_be_checked_is_not_called_old() -> None:
    assert trust_name(40, unchecked=True) == "Unchecked"
    assert "OLD" not in trust_warning(35, unchecked=True)
    assert trust_name(20, unchecked=True) == "Unverified/Inferred"


def test_code_wins_then_trust_then_time() -> None:
    code, old, new = Side("c", "code", 100, 1.0), Side("a", "history", 80, 1.0), Side("b", "history", 40, 9.0)
    assert winner(old, code) == (code, "Code is source of truth")
    assert winner(new, old)[0] is old
    assert winner(Side("x", "history", 40, 1.0), new)[0] is new


def test_quality_weighs_similarity_trust_freshness_and_proof() -> None:
    assert quality(1.0, 100, 1.0, True) == pytest.approx(1.0)
    assert quality(0.5, 80, 0.6, False) == pytest.approx(0.35 * 0.5 + 0.25 * 0.8 + 0.25 * 0.6)
