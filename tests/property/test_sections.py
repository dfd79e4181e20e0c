"""A change to one section leaves every other byte of the file alone."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from lithos.errors import InvalidInput, NotFound
from lithos.garden.sections import append, outline, replace
from tests.support.markdown_texts import documents

ADDITIONS = st.sampled_from(["- new", "new text", "two\n\nparagraphs", "```\ncode\n```"])


@settings(max_examples=80, deadline=None)
@given(documents(), ADDITIONS, st.integers(0, 10))
def test_replacing_a_section_changes_nothing_outside_it(text: str, content: str, pick: int) -> None:
    before = outline(text)
    assume(before.sections)
    section = before.sections[pick % len(before.sections)]
    after = replace(before, section, content)
    head, tail = "".join(before.lines[: section.body]), "".join(before.lines[section.end :])
    assert after.startswith(head.rstrip("\r\n")) and after.endswith(tail)
    again = outline(after)
    others = [each.name for each in before.sections if not section.first < each.first < section.end]
    assert [each.name for each in again.sections] == others
    same = again.find(section.name)
    assert outline(after).text_of(same).replace("\r\n", "\n").strip("\n") == content


@settings(max_examples=80, deadline=None)
@given(documents(), ADDITIONS, st.integers(0, 10))
def test_appending_keeps_every_line_that_was_there_in_order(text: str, content: str, pick: int) -> None:
    before = outline(text)
    assume(before.sections)
    section = before.sections[pick % len(before.sections)]
    after = append(before, section, content)
    again = outline(after)
    assert [s.name for s in again.sections] == [s.name for s in before.sections]
    assert again.anchors == before.anchors
    kept = iter(after.replace("\r\n", "\n").split("\n"))
    assert all(line in kept for line in text.replace("\r\n", "\n").split("\n") if line)
    same = again.find(section.name)
    own = "".join(again.lines[same.body : same.own_end]).replace("\r\n", "\n")
    assert own.rstrip("\n").endswith(content)


def test_an_anchor_a_path_and_a_unique_heading_all_name_a_section() -> None:
    found = outline("## Concerns\n<!-- @anchor: concerns v1 -->\nx\n### Old\ny\n## Other\n### Older\n")
    assert found.find("concerns v1").heading == "Concerns"
    assert found.find("Concerns > Old").level == 3
    assert found.find("Older").path == ("Other", "Older")


def test_a_name_that_occurs_twice_is_refused_with_both_places() -> None:
    with pytest.raises(InvalidInput) as refusal:
        outline("## A\n### Log\n## B\n### Log\n").find("Log")
    assert refusal.value.details["candidates"] == ["A > Log", "B > Log"]


def test_a_missing_section_is_refused_with_what_is_there() -> None:
    with pytest.raises(NotFound) as refusal:
        outline("## A\n<!-- @anchor: a v1 -->\n## B\n").find("C")
    assert refusal.value.details["candidates"] == ["a v1", "B"]


def test_an_anchor_in_a_code_block_is_no_anchor() -> None:
    assert outline("## A\n```\n<!-- @anchor: a v1 -->\n```\n").anchors == ()


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(2, 4), st.sampled_from(["A", "B", "A > B", "A (line 3)"]), st.sampled_from(["", "x v1"])),
        min_size=1,
        max_size=8,
    )
)
def test_every_candidate_that_is_offered_means_its_own_section(drawn: list[tuple[int, str, str]]) -> None:
    anchors = [f"<!-- @anchor: {anchor} -->\n" if anchor else "" for _, _, anchor in drawn]
    heads = [f"{'#' * level} {name}\n" for level, name, _ in drawn]
    outlined = outline("".join(head + anchor + "text\n\n" for head, anchor in zip(heads, anchors, strict=True)))
    with pytest.raises(NotFound) as refusal:
        outlined.find("Nothing of the kind")
    offered = refusal.value.details["candidates"]
    assert [outlined.find(name) for name in offered] == list(outlined.sections)
    for section in outlined.sections:
        try:
            outlined.find(section.heading)
        except InvalidInput as ambiguous:
            found = [outlined.find(name) for name in ambiguous.details["candidates"]]
            assert len(found) == len(set(found)) > 1
