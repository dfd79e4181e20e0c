"""Side by side and three ways: every line of both edits is somewhere in what a person sees."""

from __future__ import annotations

import difflib

from hypothesis import given
from hypothesis import strategies as st

from lithos.serving.web.diffs import BETWEEN, MINE, THEIRS, compare, merge

LINES = st.lists(st.sampled_from(["a", "b", "c", "d", "", "x y"]), max_size=8).map("\n".join)


def test_edits_of_different_places_are_joined() -> None:
    assert merge("a\nb\nc", "A\nb\nc", "a\nb\nC").text == "A\nb\nC"
    assert merge("a\nb\nc", "A\nb\nc", "a\nb\nC").conflicts == 0


def test_edits_of_one_place_are_both_kept_between_marks() -> None:
    found = merge("a\nb", "a\nmine", "a\ntheirs")
    assert (found.text, found.conflicts) == ("\n".join(["a", MINE, "mine", BETWEEN, "theirs", THEIRS]), 1)


@given(LINES, LINES)
def test_one_edit_alone_is_taken_as_it_is(base: str, edited: str) -> None:
    assert merge(base, edited, base).text == edited
    assert merge(base, base, edited).text == edited
    assert merge(base, edited, edited).text == edited


@given(LINES, LINES, LINES)
def test_a_merge_loses_no_added_line(base: str, mine: str, theirs: str) -> None:
    merged = merge(base, mine, theirs).text.split("\n")
    for edited in (mine, theirs):
        added = [line[2:] for line in difflib.ndiff(base.split("\n"), edited.split("\n")) if line.startswith("+ ")]
        for line in set(added) - set(base.split("\n")):
            assert line in merged


def test_rows_of_a_diff_have_both_sides_and_mark_words() -> None:
    rows = compare("one\ntwo three\nfour", "one\ntwo 3\nfour\nfive")
    assert [(row.kind, row.old_number, row.new_number) for row in rows] == [
        ("same", 1, 1),
        ("changed", 2, 2),
        ("same", 3, 3),
        ("added", None, 4),
    ]
    assert "<del><bdi>three</bdi></del>" in rows[1].old
    assert "<ins><bdi>3</bdi></ins>" in rows[1].new


def test_a_line_of_megabytes_is_cut_and_a_long_diff_ends() -> None:
    assert len(compare("a" * 5_000_000, "b" * 5_000_000)[0].old) < 3_000
    assert len(compare("", "\n".join(map(str, range(5_000))))) < 2_100
    blank = "\n" * 15_000
    found = merge(blank, blank + "mine", "theirs" + blank).text
    assert "mine" in found
    assert "theirs" in found


def test_what_is_stored_is_escaped() -> None:
    assert "<script>" not in "".join(map(str, compare("<script>", "<script> x")[0]))
