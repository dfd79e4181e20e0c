"""MinHashes tell which notes may share most of their words, and forget a note that is gone."""

from __future__ import annotations

import random

from lithos.notes.lifecycle.minhash import PLACES, MinHashes, minhash_of
from lithos.notes.lifecycle.near_duplicates import NEAR, common_share

WORDS = [f"word{number}" for number in range(5_000)]


def minhash(words: frozenset[str]) -> bytes:
    made = minhash_of(words)
    assert made is not None
    return made


def made_alike(chance: random.Random, words: frozenset[str], changed: int) -> frozenset[str]:
    """So many of them exchanged for others."""
    kept = chance.sample(sorted(words), len(words) - changed)
    return frozenset(kept) | {f"other{number}" for number in range(changed)}


def test_every_near_duplicate_is_among_the_candidates() -> None:
    chance = random.Random(5)
    notes = {str(number): frozenset(chance.sample(WORDS, chance.randint(8, 300))) for number in range(400)}
    minhashes = MinHashes(lambda: {note_id: minhash(words) for note_id, words in notes.items()})
    for note_id, words in notes.items():
        alike = made_alike(chance, words, len(words) // 5)
        assert common_share(alike, words) >= NEAR
        assert minhashes.near(minhash(alike), NEAR, 5)[0] == note_id


def test_texts_that_share_little_are_no_candidates() -> None:
    chance = random.Random(6)
    notes = {str(number): minhash(frozenset(chance.sample(WORDS, 150))) for number in range(400)}
    minhashes = MinHashes(lambda: notes)
    assert minhashes.near(minhash(frozenset(chance.sample(WORDS, 150))), NEAR, 5) == []


def test_changes_come_and_go_and_leave_the_others_where_they_are() -> None:
    chance = random.Random(7)
    truth: dict[str, bytes] = {}
    minhashes = MinHashes(dict)
    assert minhashes.near(bytes(PLACES), NEAR, 5) == []
    for _ in range(3_000):
        note_id = str(chance.randrange(1_500))
        new = minhash(frozenset(chance.sample(WORDS, 20))) if chance.random() < 0.7 else None
        minhashes.change({note_id: new})
        truth = {**truth, note_id: new} if new else {each: old for each, old in truth.items() if each != note_id}
    for note_id, known in truth.items():
        assert minhashes.near(known, NEAR, 5) == [note_id]


def test_a_minhash_is_the_same_in_every_process() -> None:
    assert minhash(frozenset({"retry", "backoff", "jitter"})).hex()[:16] == "e3e3831616e3e383"


def test_a_text_without_words_has_no_minhash() -> None:
    assert minhash_of(frozenset()) is None
