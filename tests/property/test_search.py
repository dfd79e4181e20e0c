"""Random changes and random questions: live and rebuilt answer alike, and no question breaks anything."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from lithos.search import Collection, Document, Query, Remove, Where
from lithos.search.collection.columns import matches
from lithos.search.collection.passages import PassageLimits, cut_passages
from lithos.search.text.analysis import query_terms
from tests.support.collections_at_hand import answers, collection, note

WORDS = ("lava", "sheep", "river", "数据库", "книги")
SLOW = settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])

ids = st.sampled_from([f"n{number}" for number in range(8)])
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)
notes = st.builds(
    lambda id, text, tags, created: note(id, text, tags=tuple(sorted(tags)), numbers={"created": float(created)}),
    ids,
    texts,
    st.sets(st.sampled_from(["a", "b"])),
    st.integers(0, 5),
)
changes = st.lists(st.lists(st.one_of(notes, ids.map(Remove)), min_size=1, max_size=5), min_size=1, max_size=5)


@SLOW
@given(changes)
def test_changes_applied_live_and_a_rebuild_give_the_same_answers(batches: list[list[Document | Remove]]) -> None:
    truth: dict[str, Document] = {}
    with tempfile.TemporaryDirectory() as folder, collection(Path(folder, "live")) as live:
        for number, batch in enumerate(batches):
            live.apply(batch)
            for change in batch:
                truth.pop(change.id, None)
                if isinstance(change, Document):
                    truth[change.id] = change
            if number % 2:
                live.settle()
        assert live.settle()
        with collection(Path(folder, "rebuilt")) as rebuilt:
            rebuilt.rebuild(truth.values())
            assert rebuilt.settle()
            assert answers(live, WORDS) == answers(rebuilt, WORDS)


@SLOW
@given(st.lists(notes, min_size=1, max_size=8), st.sets(st.sampled_from(["a", "b"])), st.integers(0, 5))
def test_both_engines_filter_as_the_plain_definition_says(given: list[Document], tags: set[str], low: int) -> None:
    where = Where(tags=tuple(tags), between={"created": (float(low), None)})
    there = {each.id: each for each in given}
    with tempfile.TemporaryDirectory() as folder, collection(Path(folder)) as made:
        made.apply(there.values())
        assert made.settle()
        expected = {id for id, each in there.items() if matches(each, where)}
        by_meaning = made.query(Query("lava", "meaning", 50, where)).hits
        by_words = made.query(Query(" ".join(WORDS), "words", 50, where)).hits
        assert {hit.id for hit in by_meaning} == {hit.id for hit in by_words} == expected


operators = st.sampled_from(
    ['"', "'", "(", ")", "[", "]", "{", "}", ":", "^", "~", "*", "/", "\\", "+", "-", "!", "&&"]
)
pieces = st.one_of(
    operators, st.sampled_from([" AND ", " OR ", " NOT ", " TO ", " IN ", "title:", "created:", "lava", " "])
)
queries = st.one_of(
    st.lists(pieces, max_size=40).map("".join),
    st.text(max_size=200),
    st.binary(max_size=200).map(lambda data: data.decode("latin-1")),
)
EXTREMES = [
    "(" * 5000 + "lava" + ")" * 5000,
    "-" * 100_000,
    "NOT " * 400 + "lava",
    "lava " * 20_000,
    " ".join(f"word{number}" for number in range(15_000)),
    "/(a|b|c)*{900}/ lava",
    "/" + ".*" * 200 + "/",
    "lava~2 " * 200,
    "a* b* c* d* e* f* lava",
    "[" * 1000 + "lava TO sheep",
    '"' + "lava " * 300 + '"~100',
    "\0lava\0",
    "created:[9999999999999999999999 TO *}",
    "/(a|aa)+b.*c.*/",
    "/[a-z]{1,200}/ OR /.{1000}/",
    "(a* OR b*) AND (c* OR d*) " * 30,
    "w* " * 300,
    "abc~2 OR abd~2 OR xyz~2 " * 60,
    "path:/.*/ AND tags:/.*x.*/",
    "数据库" * 30_000,
    "😀" * 25_000,
    "x" * 100_000,
]


def ask(made: Collection, text: str) -> None:
    for by in ("words", "both"):
        made.query(Query(text, by=by))  # type: ignore[arg-type]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_no_query_is_an_error(data: st.DataObject) -> None:
    ask(shared(), data.draw(queries))


def test_extreme_queries_are_answered() -> None:
    for text in EXTREMES:
        ask(shared(), text)


_SHARED: list[Collection] = []


def shared() -> Collection:
    """One small collection for all questions; it lives as long as the process."""
    if not _SHARED:
        from lithos.search import Embedding, HashedEmbedder
        from tests.support.collections_at_hand import opened

        made = opened(Path(tempfile.mkdtemp()), Embedding(HashedEmbedder()))
        made.apply(note(f"n{number}", f"lava sheep {WORDS[number % 5]}") for number in range(20))
        made.settle()
        _SHARED.append(made)
    return _SHARED[0]


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=400), st.integers(50, 120), st.integers(8, 60))
@example("# a\n\n" + "x" * 400, 50, 8)
def test_every_word_of_a_text_is_in_some_passage(text: str, target: int, tokens: int) -> None:
    limits = PassageLimits(target, target * 2, tokens)
    passages = cut_passages("t", text, lambda piece: len(piece) // 3 + 1, limits)
    assert [each.position for each in passages] == list(range(len(passages)))
    said = "".join("".join(f"{each.heading} {each.text}".split()) for each in passages)
    for term in query_terms(text):
        if len(term) > 1 and term.isascii() and term in text.lower():
            assert term in said.lower()
