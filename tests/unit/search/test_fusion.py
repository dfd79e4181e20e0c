"""How much each leg of a question counts."""

from __future__ import annotations

import pytest

from lithos.search.fusion import Cosines, LegWeights, Words, fuse, leg_weights

FLAT = Cosines({(ordinal, 0): 0.50 - ordinal / 1000 for ordinal in range(20)})
FULL = Cosines({(0, 0): 1.0})
SURE = Cosines({(0, 0): 0.9} | {(ordinal, 0): 0.3 for ordinal in range(1, 20)})


def words(*scores: float) -> Words:
    return Words(dict(enumerate(scores)), {}, possible=20.0)


DECISIVE = words(10.0, *[1.0] * 19)
VAGUE = words(*[10.0 - number / 100 for number in range(20)])


def test_words_that_tell_few_documents_from_the_rest_count_more() -> None:
    assert leg_weights(DECISIVE, FLAT, 1.0, 0.0).words > 5 * leg_weights(VAGUE, FLAT, 1.0, 0.0).words


def test_words_count_less_where_the_meaning_is_sure() -> None:
    assert leg_weights(DECISIVE, SURE, 1.0, 0.0).words < leg_weights(DECISIVE, FLAT, 1.0, 0.0).words / 2


def test_words_count_less_in_a_collection_of_code() -> None:
    prose, code = (leg_weights(words(5.0, *[4.0] * 19), FLAT, 1.0, share).words for share in (0.0, 1.0))
    assert code == pytest.approx(0.2 * prose)


def test_decisive_words_count_in_a_collection_of_code_too() -> None:
    prose, code = (leg_weights(DECISIVE, SURE, 1.0, share).words for share in (0.0, 1.0))
    assert code > 0.8 * prose


def test_few_matches_are_decisive() -> None:
    assert leg_weights(words(10.0, 9.0), FLAT, 1.0, 0.0).words_drop == 1.0


@pytest.mark.parametrize("found", [words(), words(0.0), words(3.0)])
@pytest.mark.parametrize("scored", [Cosines(), Cosines({(0, 0): 0.0}), Cosines({(0, 0): 1.0}), FLAT])
@pytest.mark.parametrize("meaning", [0.0, 0.4, 1.0])
def test_weights_are_bounded_for_any_question(found: Words, scored: Cosines, meaning: float) -> None:
    weights = leg_weights(found, scored, meaning, 1.0)
    assert 0.02 <= weights.words <= 2.0 and weights.meaning == meaning
    fused = fuse(found, scored, scored, weights, 10)
    assert all(0.0 <= each.score <= meaning + 0.5 + 1e-9 for each in fused.ranked)


def test_scores_of_different_collections_have_one_scale() -> None:
    """A document that is best by words and by meaning has the same score whatever the legs weigh."""
    for weight in (0.02, 0.5, 2.0):
        best = fuse(words(10.0), FULL, FULL, LegWeights(1.0, weight), 1).ranked[0]
        assert best.score == pytest.approx(1.5)


@pytest.mark.parametrize(("cosine", "is_answer"), [(0.521, True), (0.519, False)])
def test_a_similarity_of_052_is_an_answer(cosine: float, is_answer: bool) -> None:
    alone = Cosines({(0, 0): cosine})
    assert fuse(words(), alone, alone, LegWeights(1.0, 0.5), 5).relevant is is_answer


def test_one_of_the_best_three_must_be_the_answer() -> None:
    """The fourth by rank is the only one whose words and meaning together reach it."""
    found = Words({ordinal: 10.0 - ordinal for ordinal in range(4)}, {}, possible=40.0)
    far = {(ordinal, 0): 0.1 for ordinal in range(3)} | {(3, 0): 0.49}
    for count, is_answer in ((3, True), (4, False)):
        words_of = Words({o: s for o, s in found.scores.items() if o >= 4 - count}, {}, possible=40.0)
        shown = Cosines({place: value for place, value in far.items() if place[0] >= 4 - count})
        ranks = Cosines(dict.fromkeys(shown, 0.1))
        assert fuse(words_of, shown, ranks, LegWeights(1.0, 0.5), 5).relevant is is_answer


@pytest.mark.parametrize("least", [0.0, 0.3, 0.55, 0.9, 2.0])
def test_only_those_that_score_enough_are_ranked_and_the_three_that_are_judged(least: float) -> None:
    every = fuse(VAGUE, FLAT, FLAT, LegWeights(1.0, 0.5), 20)
    enough = fuse(VAGUE, FLAT, FLAT, LegWeights(1.0, 0.5), 20, least=least)
    assert enough.confidence == every.confidence and len(every.ranked) == 20
    assert enough.ranked == [each for rank, each in enumerate(every.ranked) if each.score >= least or rank < 3]


def test_of_equal_documents_the_oldest_are_ranked() -> None:
    alike = Words(dict.fromkeys(reversed(range(9)), 1.0), {}, possible=20.0)
    ranked = fuse(alike, Cosines(), Cosines(), LegWeights(0.0, 0.5), 4).ranked
    assert [each.ordinal for each in ranked] == [0, 1, 2, 3]
