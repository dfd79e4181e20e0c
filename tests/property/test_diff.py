"""Unified diffs apply exactly or not at all."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lithos.errors import Conflict, InvalidInput, LithosError
from lithos.garden.edits.diff import patch, unified

LINES = st.lists(st.sampled_from(["a\n", "b\n", "\n", "- c\n", "+ d\n", "\\ e\n", "@@ f\n", "a\r\n"]), max_size=12)
TEXTS = st.builds(lambda lines, last: "".join(lines) + last, LINES, st.sampled_from(["", "end"]))


@settings(max_examples=200, deadline=None)
@given(TEXTS, TEXTS)
def test_a_diff_of_two_texts_turns_the_one_into_the_other(before: str, after: str) -> None:
    diff = unified(before, after, "notes.md")
    if before == after:
        assert diff == ""
    else:
        assert patch(before, diff) == after


@settings(max_examples=100, deadline=None)
@given(TEXTS, TEXTS, TEXTS)
def test_a_diff_against_another_text_is_refused_or_its_lines_are_really_there(old: str, new: str, other: str) -> None:
    diff = unified(old, new, "x")
    if old == new or other == old:
        return
    try:
        result = patch(other, diff)
    except Conflict:
        return
    assert result != other or new == old


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="@-+ 0123456789,\n\\ab", max_size=80))
def test_nonsense_is_refused_with_an_error_of_ours(diff: str) -> None:
    try:
        patch("a\nb\n", diff)
    except LithosError as refusal:
        assert refusal.hint


def test_a_misfit_names_the_line_of_the_file() -> None:
    with pytest.raises(Conflict) as refusal:
        patch("one\ntwo\n", "@@ -1,2 +1,2 @@\n one\n-three\n+four\n")
    assert refusal.value.details["line"] == 2


def test_a_hunk_that_counts_wrong_is_refused() -> None:
    with pytest.raises(InvalidInput, match="counts other lines"):
        patch("one\n", "@@ -1,3 +1 @@\n-one\n+two\n")


def test_text_after_the_last_hunk_is_refused() -> None:
    with pytest.raises(InvalidInput, match="belongs to no hunk"):
        patch("one\n", "@@ -1 +1 @@\n-one\n+two\nand more\n")
