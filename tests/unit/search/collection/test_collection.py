"""Collection on real files, with the fake embedder: what goes in is found, what goes out is not."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from lithos.search import Collection, Document, Embedding, HashedEmbedder, Query, Remove, Where
from lithos.search.collection import indexer
from lithos.search.collection.catalogue import Catalogue, IndexEntry
from lithos.search.collection.unindexed import UnindexedChanges
from lithos.search.vectors.vectors import WORN_LEAST, Vectors, Wanted, key_of
from lithos.storage import NoFaults
from tests.support.collections_at_hand import collection as at_hand
from tests.support.collections_at_hand import note, opened
from tests.support.waiting import until


@pytest.fixture
def embedding() -> Iterator[Embedding]:
    made = Embedding(HashedEmbedder())
    yield made
    made.close()


@pytest.fixture
def notes(tmp_path: Path, embedding: Embedding) -> Iterator[Collection]:
    made = opened(tmp_path, embedding)
    yield made
    made.close()


def ids(collection: Collection, text: str, by: str = "words", **more: object) -> list[str]:
    return [hit.id for hit in collection.query(Query(text, by=by, **more)).hits]  # type: ignore[arg-type]


@pytest.mark.parametrize("by", ["words", "meaning", "both"])
def test_a_question_sees_what_was_acknowledged_before_it(notes: Collection, by: str) -> None:
    notes.apply([note("a", "rivers of lava"), note("b", "sheep on meadows")])
    assert ids(notes, "lava", by)[0] == "a"
    notes.apply([note("a", "wool and shears"), note("c", "lava lamps")])
    assert ids(notes, "lava", by)[0] == "c"
    assert "a" not in ids(notes, "lava")


class HeldUp(NoFaults):
    """No batch goes on until it may."""

    def __init__(self) -> None:
        self.may = threading.Event()

    def at(self, name: str) -> None:
        self.may.wait(60)


def test_what_waits_is_found_by_every_word_that_the_index_would_have(tmp_path: Path, embedding: Embedding) -> None:
    faults = HeldUp()
    notes = opened(tmp_path, embedding, faults)
    notes.apply([note("a", "# Sheep\n\non meadows", title="Wool", tags=("shear-ing",))])
    long_question = " ".join(f"w{number}" for number in range(100))
    for text in ("sheep", "meadows", "wool", "shear", f"{long_question} wool"):
        assert ids(notes, text) == ["a"], text
    faults.may.set()
    notes.close()


def test_the_one_known_word_of_a_very_long_question_counts(notes: Collection) -> None:
    notes.apply([note("a", "wool")])
    assert notes.settle()
    assert ids(notes, " ".join(f"a{number}" for number in range(4000)) + " wool") == ["a"]


def test_a_long_text_does_not_keep_others_from_being_found(notes: Collection) -> None:
    notes.apply([note("long", "\n\n".join(f"{'lava sheep ' * 50}{number}" for number in range(150)))])
    notes.apply(note(f"n{number}", f"lava {number} and other things") for number in range(12))
    assert len(ids(notes, "lava sheep", "meaning", limit=10)) == 10
    assert len(ids(notes, "sheep", "both", limit=10)) == 10


def test_more_than_may_wait_is_taken_in_by_a_collection_that_was_idle(
    notes: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexer, "MOST_UNINDEXED", 3)
    notes.apply([note("first", "lava")])
    assert notes.settle()
    applying = threading.Thread(
        target=notes.apply, args=([note(str(each), "lava") for each in range(10)],), daemon=True
    )
    applying.start()
    applying.join(60)
    assert not applying.is_alive()
    assert len(notes.known()) == 11


@pytest.mark.parametrize("by", ["words", "meaning", "both"])
def test_what_was_removed_is_never_found_again(tmp_path: Path, embedding: Embedding, by: str) -> None:
    notes = opened(tmp_path, embedding)
    notes.apply([note("a", "lava"), note("b", "lava too")])
    assert notes.settle()
    notes.apply([Remove("a")])
    assert ids(notes, "lava", by) == ["b"]
    notes.close()
    again = opened(tmp_path, embedding)
    assert ids(again, "lava", by) == ["b"]
    assert again.known().keys() == {"b"}
    again.close()


@pytest.mark.parametrize("by", ["words", "meaning", "both"])
def test_a_filter_acts_before_the_best_are_taken(notes: Collection, by: str) -> None:
    notes.apply([note(f"n{number}", "lava " * 5) for number in range(300)])
    notes.apply([note(f"rare{number}", "a word of lava among others", tags=("rare",)) for number in range(3)])
    assert sorted(ids(notes, "lava", by, where=Where(tags=("rare",)))) == ["rare0", "rare1", "rare2"]


def test_every_kind_of_filter_holds(notes: Collection) -> None:
    notes.apply(
        [
            note("a", "lava", author="ann", path="x/a.md", keywords={"status": ("active",)}, numbers={"created": 5.0}),
            note("b", "lava", author="bob", path="x y/b.md", keywords={"status": ("old", "done")}, tags=("t", "u")),
            note("c", "lava", path="x+(1)/c.md", numbers={"created": 9.0}, tags=("t",)),
        ]
    )
    expected = [
        (Where(author="ann"), {"a"}),
        (Where(tags=("t", "u")), {"b"}),
        (Where(path_prefix="x/"), {"a"}),
        (Where(path_prefix="x"), {"a", "b", "c"}),
        (Where(path_prefix="x+(1"), {"c"}),
    ]
    for where, found in expected:
        for by in ("words", "meaning"):
            assert set(ids(notes, "lava", by, where=where)) == found, (where, by)
    for by in ("words", "meaning"):
        assert ids(notes, "lava", by, where=Where(any_of={"status": ("done", "never")})) == ["b"]
        assert set(ids(notes, "lava", by, where=Where(none_of={"status": ("old",)}))) == {"a", "c"}
        assert ids(notes, "lava", by, where=Where(between={"created": (6.0, None)})) == ["c"]
        assert set(ids(notes, "lava", by, where=Where(between={"created": (None, 9.0)}))) == {"a", "c"}


def test_the_tail_of_a_long_text_is_found_like_its_head(notes: Collection) -> None:
    body = "\n\n".join(f"paragraph {number} about word{number}" for number in range(400))
    notes.apply([note("long", body), note("other", "nothing of the kind")])
    for by in ("words", "both"):
        hit = notes.query(Query("word399", by=by)).hits[0]  # type: ignore[arg-type]
        assert (hit.id, "word399" in hit.passage) == ("long", True)
    assert len(notes.passages("long")) > 20


def test_a_word_is_found_where_a_cut_has_parted_it(tmp_path: Path, embedding: Embedding) -> None:
    faults = HeldUp()
    notes = opened(tmp_path, embedding, faults)
    text = "".join(chr(0x4E00 + number) for number in range(1500))
    notes.apply([note("a", text)])
    passages = notes.passages("a")
    seams = [before.text[-1] + after.text[0] for before, after in pairwise(passages)]
    assert seams and [pair for pair in seams if ids(notes, pair) != ["a"]] == []
    faults.may.set()
    assert notes.settle()
    longer = [before.text[-2:] + after.text[:2] for before, after in pairwise(passages)]
    assert [words for words in longer if ids(notes, f'"{words}"') != ["a"]] == []
    notes.close()


def test_purged_texts_leave_no_byte_in_any_file(tmp_path: Path, notes: Collection) -> None:
    notes.apply([note("keep", "sheep"), note("secret", "xylophonically quizzical")])
    assert notes.settle()
    notes.purge(["secret"])
    left = [path for path in tmp_path.rglob("*") if path.is_file() and b"xylophon" in path.read_bytes()]
    assert left == []
    assert ids(notes, "sheep", "both") == ["keep"]
    assert ids(notes, "xylophonically") == []


def test_another_model_rebuilds_the_vectors(tmp_path: Path, embedding: Embedding) -> None:
    notes = opened(tmp_path, embedding)
    notes.apply([note("a", "lava")])
    notes.settle()
    notes.close()
    other = Embedding(HashedEmbedder(dimension=32, id="hashed/2"))
    again = opened(tmp_path, other)
    assert again.known() == {}
    again.apply([note("a", "lava")])
    assert ids(again, "lava", "meaning") == ["a"]
    again.close()
    other.close()


def test_embedding_can_be_paused_and_the_answer_says_so(notes: Collection, embedding: Embedding) -> None:
    embedding.pause()
    notes.apply([note("a", "lava")])
    found = notes.query(Query("lava"))
    assert [hit.id for hit in found.hits] == ["a"]
    assert "paused" in found.degraded
    embedding.resume()
    assert notes.settle()
    assert notes.query(Query("lava", by="meaning")).degraded == ""


def test_words_in_the_hands_of_the_model_are_not_given_to_it_again(tmp_path: Path) -> None:
    """The second note comes while the first is being embedded: it waits for that vector."""
    asked: list[str] = []
    begun, go_on = threading.Event(), threading.Event()

    class Slow(HashedEmbedder):
        def embed(self, text: str) -> Any:
            asked.append(text)
            begun.set()
            assert go_on.wait(60)
            return super().embed(text)

    embedding = Embedding(Slow(), threads=2)
    made = opened(tmp_path, embedding)
    embedding.start()
    made.apply([note("a", "the same words", title="")])
    made._indexer.indexed(time.monotonic() + 60)
    made._indexer.semantic().wake()
    assert begun.wait(60)
    made.apply([note("b", "the same words", title="")])
    made._indexer.indexed(time.monotonic() + 60)
    semantic = made._indexer.semantic()
    semantic.wake()
    until(lambda: not semantic._line)  # the other thread took the second note up
    go_on.set()
    assert made.settle()
    assert asked == ["the same words"]
    assert {hit.id for hit in made.query(Query("the same words", "meaning")).hits} == {"a", "b"}
    made.close()
    embedding.close()


def test_equal_passages_are_embedded_once(tmp_path: Path) -> None:
    class Counting(HashedEmbedder):
        texts: list[str] = []

        def embed(self, text: str):  # type: ignore[no-untyped-def]
            self.texts.append(text)
            return super().embed(text)

    embedding = Embedding(Counting())
    notes = opened(tmp_path, embedding)
    notes.apply([note(f"n{number}", "the very same words", title="same") for number in range(20)])
    assert notes.settle()
    notes.apply([note("n1", "the very same words", title="same", tags=("new",))])
    assert notes.settle()
    assert len(Counting.texts) == 1
    assert len(ids(notes, "same words", "meaning", limit=50)) == 20
    notes.close()
    embedding.close()


def test_neighbours_are_found_while_newer_documents_have_no_vector_yet(notes: Collection, embedding: Embedding) -> None:
    active = {"keywords": {"status": ("active",)}}
    notes.apply([note("a", "fresh bread", **active), note("b", "fresh bread!", **active)])
    assert notes.settle()
    embedding.pause()
    notes.apply([note(f"n{number}", "other words", **active) for number in range(5)])
    where = Where(any_of={"status": ("active",)})
    assert notes.query(Query("words", by="meaning", where=where)).degraded  # indexed, and without vectors
    assert [each.id for each in notes.neighbours("a", least=0.5, where=where)] == ["b"]


def test_versions_that_are_gone_take_no_place_among_the_nearest(notes: Collection) -> None:
    notes.apply(
        [note("far", "sheep river and a little lava"), *(note(f"n{at}", "lava", title="") for at in range(150))]
    )
    assert notes.settle()
    notes.apply([Remove(f"n{at}") for at in range(150)])
    assert ids(notes, "lava", "meaning") == ["far"]


def test_closing_waits_for_what_is_fetched_for_the_model(
    tmp_path: Path, embedding: Embedding, caplog: pytest.LogCaptureFixture
) -> None:
    reached, go_on = threading.Event(), threading.Event()

    class Slow(Catalogue):
        def entries(self, ordinals: Iterable[int]) -> Iterator[IndexEntry]:
            reached.set()
            go_on.wait(30)
            return super().entries(ordinals)

    made = opened(tmp_path, embedding)
    made._indexer.catalogue().__class__ = Slow
    made.apply([note("a", "lava")])
    embedding.start()
    assert reached.wait(30)
    closing = threading.Thread(target=made.close)
    closing.start()
    closing.join(0.5)  # long enough for one that does not wait
    go_on.set()
    closing.join()
    embedding.close()
    assert caplog.records == []


def test_an_index_that_is_rebuilt_embeds_nothing_again(tmp_path: Path) -> None:
    """However little the first of its notes are: vectors of known words wait for their owners."""
    asked: list[str] = []

    class Noted(HashedEmbedder):
        def embed(self, text: str):  # type: ignore[no-untyped-def]
            asked.append(text)
            return super().embed(text)

    held = [note(f"n{at}", f"lava {at}", title="") for at in range(WORN_LEAST + 200)]
    for first in (held, held[:1]):
        embedding = Embedding(Noted())
        made = opened(tmp_path, embedding)
        made.apply(first)
        assert made.settle(120)
        made.apply(held)
        assert made.settle(120)
        made.close()
        embedding.close()
        assert len(asked) == len(held)
        shutil.rmtree(tmp_path / ".tantivy")


def test_known_vectors_outlive_a_kill_while_the_index_is_rebuilt(tmp_path: Path) -> None:
    path, wanted = tmp_path / "rows.bin", Wanted(7, 0, key_of("m", "some words"))
    Vectors(path, "m", 64, "one").add(wanted, HashedEmbedder().embed("some words"))
    Vectors(path, "m", 64, "two")  # an index of another layout begins, and ends before it has taken anything in
    again = Vectors(path, "m", 64, "two")
    again.keep({3: 1})
    assert again.reuse([Wanted(3, 0, wanted.key)]) == []
    cosines, _ = again.nearest(HashedEmbedder().embed("some words"), 1)
    assert (3, 0) in cosines


def test_other_names_find_a_document_and_the_title_counts_for_itself(tmp_path: Path) -> None:
    with at_hand(tmp_path) as made:
        long = "Fillers about nothing in particular. " * 40
        named = Document("named", "Retry policy", long, "h1", names=("exponential back-off", "retry.md"))
        said = Document("said", "Other things", f"{long} the back-off of a retry {long}", "h2")
        made.apply([named, said])
        made.settle()
        assert [hit.id for hit in made.query(Query("exponential", by="words")).hits] == ["named"]
        assert [hit.id for hit in made.query(Query("retry", by="words")).hits] == ["named", "said"]
        assert [hit.id for hit in made.query(Query('"retry policy" AND exponential', by="words")).hits] == ["named"]
        assert [hit.id for hit in made.query(Query("expon*", by="words")).hits] == ["named"]


@pytest.mark.parametrize("asked", ["parse_query", "parseQuery", "ParseQuery", "parse query", "parser.parse_query"])
def test_an_identifier_is_found_in_every_spelling(tmp_path: Path, asked: str) -> None:
    with at_hand(tmp_path) as made:
        texts = {"snake": "calls parse_query twice", "camel": "calls parseQuery twice", "other": "parses no question"}
        made.apply([Document(id, "", text, id) for id, text in texts.items()])
        made.settle()
        found = [hit.id for hit in made.query(Query(asked, by="words")).hits]
        assert set(found[:2]) == {"snake", "camel"}


def test_a_passage_between_others_that_answer_ranks_above_one_alone(tmp_path: Path) -> None:
    rows = Vectors(tmp_path / "rows.bin", "m", 64, "one")
    asked, noise = HashedEmbedder().embed("some words"), HashedEmbedder().embed("nothing of it")
    for ordinal, position, vector in ((0, 0, noise), (0, 1, asked), (0, 2, noise), (1, 0, asked), (1, 1, asked)):
        rows.add(Wanted(ordinal, position, bytes([ordinal, position]) * 8), vector)
    rows.keep({0: 3, 1: 2})
    cosines, smoothed = rows.nearest(asked, 5)
    assert cosines[0, 1] == pytest.approx(cosines[1, 0], abs=1e-3)
    assert smoothed[1, 0] > smoothed[0, 1]


def test_a_text_that_is_not_cut_is_one_passage_and_its_body_is_found(tmp_path: Path) -> None:
    card = "# not a heading\n" + "word " * 600
    with at_hand(tmp_path, uncut=True) as cards:
        made = Document(id="a", title="Card", text=card, body="only the body says zebra", hash="1")
        cards.apply([made, Document(id="b", title="Other", text="giraffe", body="", hash="2")])
        assert cards.settle()
        assert [passage.text for passage in cards.passages("a")] == [card]
        for _ in range(2):
            assert [hit.id for hit in cards.query(Query("zebra", by="words")).hits] == ["a"]
            assert [hit.id for hit in cards.query(Query("zeb*", by="words")).hits] == ["a"]
            assert [hit.id for hit in cards.query(Query("giraffe", by="words")).hits] == ["b"]
            assert cards.difference() is None
            cards._indexer.run(cards._indexer.rebuild_text)


def test_a_name_counts_the_same_however_many_other_names_a_note_has(notes: Collection) -> None:
    several = ("quokka", *(f"name{number} of many words" for number in range(12)))
    notes.apply([note("one", "one thing", names=("numbat",)), note("many", "another thing", names=several)])
    notes.apply([note(f"n{number}", f"sheep {number}", names=(f"n{number}.md",)) for number in range(20)])
    assert notes.settle()
    scores = [notes.query(Query(name, by="words")).hits[0].score for name in ("numbat", "quokka")]
    assert scores[0] == scores[1] > 1.0


def test_a_text_that_is_not_cut_is_found_by_its_names_and_its_body_not_by_what_repeats_them(tmp_path: Path) -> None:
    with at_hand(tmp_path, uncut=True) as cards:
        named = ("shop cart", "def add(item)")
        cards.apply([Document(id="a", title="add", text="shop cart\nwolf", names=named, body="zebra", hash="1")])
        assert cards.settle()
        found = [ids(cards, asked) for asked in ("zebra", "cart", "item", "add", "sho*", "zeb*", "wolf")]
        assert found == [["a"]] * 6 + [[]]


def test_what_is_left_of_a_flood_waits_for_more_or_for_a_question(
    tmp_path: Path, embedding: Embedding, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = {"BATCH": 10, "LARGEST_BATCH": 20, "GROUPING": (0.0, 0.0), "FLOOD_GROUPING": (600.0, 600.0)}
    for name, value in limits.items():
        monkeypatch.setattr(indexer, name, value)
    notes, sizes = opened(tmp_path, embedding), []
    real = notes._indexer._index
    monkeypatch.setattr(notes._indexer, "_index", lambda batch: (sizes.append(len(batch)), real(batch)))
    notes.apply(note(f"n{at}", "words") for at in range(25))
    until(lambda: notes.status().unindexed == 5)
    notes.apply(note(f"m{at}", "words") for at in range(4))
    assert notes.settle()
    assert sizes == [20, 9]
    notes.close()


def test_one_commit_takes_so_many_changes_or_so_much_text() -> None:
    waiting = UnindexedChanges()
    for at in range(4):
        waiting.put(at, note(f"n{at}", "x" * 100), lambda document: ())
    assert waiting.fill(4, 10_000)
    assert waiting.fill(10, 400)
    assert not waiting.fill(5, 401)
    assert list(waiting.batch(10, 250)) == ["n0", "n1"]


def test_what_a_stop_left_without_vectors_gets_them_at_the_next_start(tmp_path: Path) -> None:
    """No question is asked: opening the catalogue, as every host does, is enough, and the count tells the truth."""
    unstarted = Embedding(HashedEmbedder())
    made = opened(tmp_path, unstarted)
    made.apply([note(f"n{number}", f"lava{number}") for number in range(5)])
    assert made._indexer.indexed(time.monotonic() + 60)
    assert made.status().embedded == 0
    made.close()
    unstarted.close()
    embedding = Embedding(HashedEmbedder())
    made = opened(tmp_path, embedding)
    assert len(made.known()) == 5
    until(lambda: made.status().embedded == 0, "the passages that wait")
    embedding.start()
    until(lambda: made.status().embedded == 5, "their vectors")
    made.close()
    embedding.close()


def test_a_filter_that_was_asked_before_sees_what_came_since(notes: Collection) -> None:
    asked = Query("lava", where=Where(tags=("red",)), limit=50)
    for number in range(3):
        notes.apply([note(f"n{number}", "lava flows", tags=("red",)), note(f"m{number}", "lava flows", tags=("blue",))])
        for each in (asked, replace(asked, by="words")):
            found = {hit.id for hit in notes.query(each).hits}
            assert found == {f"n{at}" for at in range(number + 1)}
        notes.settle()
    notes.apply([note("n0", "lava flows", tags=("blue",))])
    assert notes.settle()
    assert {hit.id for hit in notes.query(asked).hits} == {"n1", "n2"}


@pytest.mark.parametrize("passages", [1, 3])
def test_passages_that_words_found_are_compared_with_the_question_however_far_they_are(
    tmp_path: Path, passages: int
) -> None:
    """Also where no document has a second passage, and nothing beside those that were found is looked up."""
    rows = Vectors(tmp_path / "rows.bin", "m", 64, "one")
    texts = {(each, at): f"word{each} part{at}" for each in range(40) for at in range(passages)}
    for number, ((ordinal, position), text) in enumerate(texts.items()):
        rows.add(Wanted(ordinal, position, number.to_bytes(16, "big")), HashedEmbedder().embed(text))
    rows.keep(dict.fromkeys(range(40), passages))
    asked = HashedEmbedder().embed("word7 part0")
    every, _ = rows.nearest(asked, len(texts))
    for also in ([7], [30, 31], [7, 30]):
        found, scored = rows.nearest(asked, 5, also=also)
        best = set(sorted(every, key=lambda place: -every[place])[:5])
        assert found.keys() == scored.keys() == best | {place for place in texts if place[0] in also}
        assert found == pytest.approx({place: every[place] for place in found})
        assert passages > 1 or scored == found
