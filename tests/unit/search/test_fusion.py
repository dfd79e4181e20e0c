"""How much each leg of a question counts."""

from __future__ import annotations

import pytest

from lithos.search.fusion import LegWeights, Words, fuse, leg_weights

FLAT = {(ordinal, 0): 0.50 - ordinal / 1000 for ordinal in range(20)}
SURE = {(0, 0): 0.9} | {(ordinal, 0): 0.3 for ordinal in range(1, 20)}


def words(*scores: float) -> Words:
    return Words(dict(enumerate(scores)), {}, possible=20.0)


DECISIVE = words(10.0, *[1.0] * 19)
VAGUE = words(*[10.0 - number / 100 for number in range(20)])


def test_words_that_tell_few_documents_from_the_rest_count_more() -> None:
    assert leg_weights(DECISIVE, FLAT, 1.0, 0.0).words > 5 * leg_weights(VAGUE, FLAT, 1.0, 0.0).words


def test_words_count_less_where_the_meaning_is_sure() -> None:
    assert leg_weights(DECISIVE, SURE, 1.0, 0.0).words < leg_weights(DECISIVE, FLAT, 1.0, 0.0).words / 2


def test_words_count_less_in_a_collection_of_code() -> None:
    prose, code = (leg_weights(DECISIVE, SURE, 1.0, share).words for share in (0.0, 1.0))
    assert code == pytest.approx(0.2 * prose)


def test_few_matches_are_decisive() -> None:
    assert leg_weights(words(10.0, 9.0), FLAT, 1.0, 0.0).words_drop == 1.0


@pytest.mark.parametrize("found", [words(), words(0.0), words(3.0)])
@pytest.mark.parametrize("scored", [{}, {(0, 0): 0.0}, {(0, 0): 1.0}, FLAT])
@pytest.mark.parametrize("meaning", [0.0, 0.4, 1.0])
def test_weights_are_bounded_for_any_question(
    found: Words, scored: dict[tuple[int, int], float], meaning: float
) -> None:
    weights = leg_weights(found, scored, meaning, 1.0)
    assert 0.02 <= weights.words <= 2.0 and weights.meaning == meaning
    fused = fuse(found, scored, scored, weights, 10)
    assert all(0.0 <= each.score <= meaning + 0.5 + 1e-9 for each in fused.ranked)


def test_scores_of_different_collections_have_one_scale() -> None:
    """A document that is best by words and by meaning has the same score whatever the legs weigh."""
    for weight in (0.02, 0.5, 2.0):
        best = fuse(words(10.0), {(0, 0): 1.0}, {(0, 0): 1.0}, LegWeights(1.0, weight), 1).ranked[0]
        assert best.score == pytest.approx(1.5)
