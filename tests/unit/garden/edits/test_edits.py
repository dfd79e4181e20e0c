"""Edits of a text, without a file in sight."""

from __future__ import annotations

import pytest

from lithos.errors import Conflict, InvalidInput, LithosError, NotFound
from lithos.garden.edits.curating import steps_of
from lithos.garden.edits.edits import Append, AppendSection, Curate, Fix, Patch, ReplaceSection, Write, edited, logged
from lithos.garden.edits.hashing import checked_version, text_hash
from lithos.garden.edits.untouched_check import UntouchedCheck, promise_of
from lithos.garden.rules.lint import lint
from lithos.garden.rules.policy import load_policy
from lithos.garden.sections import outline

POLICY = load_policy()
PROFILE = """---
id: part-1
---
# The critic

## Concerns
<!-- @anchor: concerns v1 -->
Too much work.

### Old
Gone.

## Evidence
<!-- @anchor: evidence v1 -->
- "first" ev:1
- "second"
  continued ev:2

## Change Log
<!-- @anchor: change_log v1 -->
- 2026-01-01 made
"""


def test_replacing_a_section_renews_it_with_its_subsections_and_nothing_else() -> None:
    after = edited(PROFILE, ReplaceSection("concerns v1", "Less work.\n"), POLICY)
    assert after == PROFILE.replace("Too much work.\n\n### Old\nGone.\n", "Less work.\n")


def test_appending_to_a_section_stays_above_its_subsections() -> None:
    after = edited(PROFILE, AppendSection("concerns v1", "And more."), POLICY)
    assert after == PROFILE.replace("Too much work.\n", "Too much work.\n\nAnd more.\n")


@pytest.mark.parametrize(
    "content", ["## Sibling", "# Title", "text\n## Late\n", "```\nopen fence", "<!-- open comment", "Setext\n---\n"]
)
def test_text_that_would_end_or_swallow_a_section_is_refused(content: str) -> None:
    for edit in (ReplaceSection("concerns v1", content), AppendSection("concerns v1", content)):
        with pytest.raises(InvalidInput):
            edited(PROFILE, edit, POLICY)


def test_deeper_headings_and_closed_fences_are_welcome() -> None:
    after = edited(PROFILE, ReplaceSection("concerns v1", "### Now\n```\n## code\n```\n"), POLICY)
    assert "### Now\n```\n## code\n```\n\n## Evidence" in after


def test_a_missing_final_newline_and_crlf_are_kept_outside_the_section() -> None:
    text = "## A\r\none\r\n## B\r\ntwo"
    assert edited(text, ReplaceSection("A", "new\nlines"), POLICY) == "## A\r\nnew\r\nlines\r\n\r\n## B\r\ntwo"
    assert edited(text, AppendSection("B", "three"), POLICY) == "## A\r\none\r\n## B\r\ntwo\r\n\r\nthree\r\n"


def curate(ops: list[str], items: list[str] | list[list[str]], text: str = PROFILE) -> str:
    return edited(text, Curate("evidence v1", steps_of(ops, items)), POLICY)  # type: ignore[arg-type]


def test_an_item_is_appended_after_the_last() -> None:
    after = curate(["append"], ["third\nover two lines ev:3"])
    assert after == PROFILE.replace("continued ev:2\n", "continued ev:2\n- third\n  over two lines ev:3\n")


def test_an_item_is_pruned_by_its_text_or_its_token_with_its_continuation_lines() -> None:
    for item in ('"second" continued ev:2', "ev:2", '- "second"\n  continued ev:2'):
        assert curate(["prune"], [item]) == PROFILE.replace('- "second"\n  continued ev:2\n', "")


def test_merging_brings_an_item_up_to_date_or_in() -> None:
    after = curate(["merge"], ['"first, better" ev:1', "new ev:9"])
    assert '- "first, better" ev:1\n- "second"\n  continued ev:2\n- new ev:9\n' in after
    assert "ev:1\n" in after and '"first" ev:1' not in after


def test_ops_are_applied_in_order_each_with_its_own_items() -> None:
    after = curate(["prune", "append"], [["ev:1"], ["last ev:3"]])
    assert '<!-- @anchor: evidence v1 -->\n- "second"\n  continued ev:2\n- last ev:3\n' in after


@pytest.mark.parametrize(
    ("ops", "items", "error"),
    [
        (["prune"], ["unknown"], NotFound),
        (["prune"], [""], InvalidInput),
        ([], ["x"], InvalidInput),
        (["append", "prune"], [["x"]], InvalidInput),
        (["append"], ["x" * 5000], InvalidInput),
    ],
)
def test_curating_refuses_what_it_cannot_place(
    ops: list[str], items: list[str] | list[list[str]], error: type[LithosError]
) -> None:
    with pytest.raises(error):
        curate(ops, items)


def test_an_item_that_fits_twice_is_refused_with_both_lines() -> None:
    text = PROFILE.replace("ev:2", "ev:1")
    with pytest.raises(InvalidInput) as refusal:
        curate(["prune"], ["ev:1"], text)
    assert len(refusal.value.details["candidates"]) == 2


def test_numbers_go_on_counting() -> None:
    text = "## Evidence\n<!-- @anchor: evidence v1 -->\n1. one ev:1\n2. two ev:2\n"
    assert curate(["append"], ["three ev:3"], text).endswith("2. two ev:2\n3. three ev:3\n")


def test_a_change_leaves_one_line_in_the_change_log_of_a_profile_only() -> None:
    assert logged(PROFILE, "why", POLICY, "profile", "concerns v1") == PROFILE + "- why\n"
    assert logged(PROFILE, "why", POLICY, "notes", "concerns v1") == PROFILE
    assert logged(PROFILE, "why", POLICY, "profile", "change_log v1") == PROFILE
    assert logged("## A\n", "why", POLICY, "profile", "A") == "## A\n"


def test_fix_repairs_headings_and_white_space_and_no_words() -> None:
    text = PROFILE.replace("## Concerns", "## Worries").replace("work.", "work. \t").rstrip("\n")
    repaired = edited(text, Fix(), POLICY)
    assert repaired == PROFILE
    assert lint(repaired, POLICY).warnings == []


def test_the_other_edits() -> None:
    assert edited(None, Write("new\n"), POLICY) == "new\n"
    assert edited("a", Append("b"), POLICY) == "a\nb\n"
    assert edited(None, Append("b\n"), POLICY) == "b\n"
    assert edited("a\nb\n", Patch("@@ -2 +2 @@\n-b\n+c\n"), POLICY) == "a\nc\n"
    with pytest.raises(Conflict):
        edited("a\nb\n", Patch("@@ -1 +1 @@\n-b\n+c\n"), POLICY)
    with pytest.raises(NotFound):
        edited(None, ReplaceSection("A", "x"), POLICY)
    with pytest.raises(InvalidInput):
        edited("a", Append(" \n"), POLICY)


def test_the_canonical_hash_forgives_white_space_and_is_no_version() -> None:
    assert text_hash("a \r\nb") == text_hash("a\nb\n") != text_hash("a\n\nb\n")
    assert checked_version("sha256:1") == "sha256:1"
    with pytest.raises(InvalidInput, match="canonical"):
        checked_version(text_hash("a"))
    with pytest.raises(InvalidInput):
        checked_version("abc")


def _promise() -> UntouchedCheck:
    before = outline(PROFILE, POLICY.anchor_pattern)
    return promise_of(before, before.find("concerns v1"), False, "- why")


def test_a_promise_is_kept_by_the_section_and_one_line_of_the_log() -> None:
    after = logged(
        edited(PROFILE, ReplaceSection("concerns v1", "new"), POLICY), "why", POLICY, "profile", "concerns v1"
    )
    assert _promise().kept_by(after)
    assert _promise().kept_by(PROFILE)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("id: part", "id: Part"),
        ("2026-01-01 made\n", "2026-01-01 made\n- why\n- why\n"),
        ("2026-01-01 made\n", "2026-01-01 made\n- another\n"),
        ("2026-01-01 made\n", ""),
        ("2026-01-01 made\n", "2026-01-01 made\n\n\n"),
        ("## Concerns", "## Worries"),
        ("<!-- @anchor: change_log v1 -->\n", ""),
    ],
)
def test_a_promise_is_broken_by_any_other_byte(old: str, new: str) -> None:
    assert old in PROFILE
    assert not _promise().kept_by(PROFILE.replace(old, new))


@pytest.mark.parametrize("mixed", [PROFILE.replace("Gone.\n", "Gone.\r\n"), PROFILE.replace("---\n", "---\r\n", 1)])
def test_a_promise_is_kept_where_line_ends_are_mixed(mixed: str) -> None:
    for text in (mixed, mixed.rstrip("\n")):
        before = outline(text, POLICY.anchor_pattern)
        promise = promise_of(before, before.find("concerns v1"), True, "- why")
        after = edited(text, AppendSection("concerns v1", "new"), POLICY)
        assert promise.kept_by(logged(after, "why", POLICY, "profile", "concerns v1"))


@pytest.mark.parametrize(
    ("after", "is_kept"),
    [
        (
            "## A\nnew\n\n## Change Log\nplain text\n\n- log\n",
            True,
        ),  # the last line had no end
        ("## A\nnew\n\n## Change Log\nplain text\n- log\n", True),
        ("## A\nnew\n\n## Change Log\nplain text", True),
        ("## A\nnew\n\n## Change Log\nplain text\n\n\n- log\n", False),
        ("## A\nnew\n\n## Change Log\nplain words\n\n- log\n", False),
        ("## B\nnew\n\n## Change Log\nplain text\n\n- log\n", False),
    ],
)
def test_only_the_section_and_one_line_of_the_change_log_may_differ(after: str, is_kept: bool) -> None:
    assert UntouchedCheck("## A\n", "## Change Log\nplain text", "- log").kept_by(after) is is_kept
