"""The line scanner finds the same headings as a real CommonMark parser."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from lithos.core.markdown import RAW, Kind, rescan, scan, split_lines

PARSER = MarkdownIt("commonmark").enable("table")


def headings_of_parser(text: str) -> list[tuple[int, int, int]]:
    found, depth = [], 0
    for token in PARSER.parse(text):
        if token.type == "heading_open" and depth == 0 and token.map:
            found.append((int(token.tag[1]), token.map[0], token.map[1]))
        if token.type in ("bullet_list_open", "ordered_list_open", "blockquote_open"):
            depth += 1
        if token.type in ("bullet_list_close", "ordered_list_close", "blockquote_close"):
            depth -= 1
    return found


PIECES = [
    "# One", "## Two ##", "### Three", "#not", "####### seven", "##", "Title\n===", "Title\n---", "text",
    "two\nlines\n---", "```", "```py", "~~~", "````", "    indented", "- item", "- item\n\n  ## inside",
    "  - nested", "1. first", "2) second", "> quote", "> ## quoted", "> text\nlazy", "---", "***", "<!-- c -->",
    "<!--\n## hidden\n-->", "<div>", "</div>", "<pre>", "</pre>", "| a | b |\n|---|---|\n| 1 | 2 |",
    "| a |\n---", "", "", "  ## indented heading", "   text", "\t## tab", "a | b\n--- | ---", "<b>inline</b>",
    "* * *", "+", "text <!-- tail", "-->", "===",
]  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=8))
def test_headings_are_those_of_a_commonmark_parser(pieces: list[str]) -> None:
    text = "\n".join(pieces) + "\n"
    ours = [(h.level, h.first, h.after) for h in scan(text, front_matter=False).headings]
    assert ours == headings_of_parser(text), text


NESTED_PIECES = [
    "- ```", "  ```", "  code", "      deep", "> ```", "> code", ">     ind", "-     ind", "- <pre>", "  </pre>",
    "-\ttab", "\ttext", "10. ten", "    more", "-", "  x", "> - ```", ">   y", "1.  ```", "- a\n  - b\n    - c",
    "      d", ">", "> <div>", "- # h", "  ===", "text", "", "", "```", "~~~", "<!--", "-->", "| a | b |\n|---|---|",
]  # fmt: skip


def raw_lines_of_parser(text: str) -> set[int]:
    tokens = [token for token in PARSER.parse(text) if token.type in ("fence", "code_block", "html_block")]
    return {line for token in tokens if token.map for line in range(*token.map)}


@settings(max_examples=500, deadline=None)
@given(st.lists(st.sampled_from([*PIECES, *NESTED_PIECES]), max_size=8))
def test_code_and_html_are_those_of_a_commonmark_parser_inside_lists_and_quotes_too(pieces: list[str]) -> None:
    text = "\n".join(pieces) + "\n"
    found = scan(text, front_matter=False)
    written = {index for index, line in enumerate(found.lines) if line.strip()}
    assert {index for index in written if found.inline[index] == RAW} == raw_lines_of_parser(text) & written, text
    assert [(h.level, h.first, h.after) for h in found.headings] == headings_of_parser(text), text


@given(st.text(max_size=200))
def test_the_lines_joined_are_the_text_and_each_has_a_kind(text: str) -> None:
    found = scan(text)
    assert "".join(found.lines) == text
    assert len(found.kinds) == len(found.inline) == len(found.lines)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends_of_any_kind_give_the_same_headings(end: str) -> None:
    text = end.join(["---", "title: x", "---", "# A", "", "```", "# no", "```", "B", "---", "end"])
    assert [(h.level, h.text) for h in scan(text).headings] == [(1, "A"), (2, "B")]


def test_front_matter_is_not_content_and_an_open_one_is_none() -> None:
    assert scan("---\n# a: comment\n---\n# H\n").kinds[:3] == [Kind.FRONT] * 3
    assert len(scan("---\n# H\n").headings) == 1


def test_form_feeds_and_line_separators_do_not_split_lines() -> None:
    assert split_lines("a\x0cb\u2028c\nd") == ["a\x0cb\u2028c\n", "d"]


FRAMES = st.sampled_from(["", "---\nid: x\n---\n", "---\nid: x\n", "\ufeff---\n...\n"])


@settings(max_examples=300, deadline=None)
@given(
    FRAMES,
    FRAMES,
    st.lists(st.sampled_from(PIECES), max_size=10),
    st.lists(st.sampled_from(PIECES), max_size=4),
    st.data(),
)
def test_a_scan_from_what_is_known_equals_a_scan_from_scratch(
    before: str, after: str, pieces: list[str], new: list[str], data: st.DataObject
) -> None:
    first = data.draw(st.integers(0, len(pieces)))
    last = data.draw(st.integers(first, len(pieces)))
    end = data.draw(st.sampled_from(["\n", "\r\n"]))
    frame = data.draw(st.sampled_from([before, after]))
    old = (before + "\n".join(pieces)).replace("\n", end)
    text = (frame + "\n".join([*pieces[:first], *new, *pieces[last:]])).replace("\n", end)
    assert rescan(scan(old), text) == scan(text)


def test_a_heading_in_the_same_place_ends_no_scan_while_lines_below_it_differ() -> None:
    assert rescan(scan("# A\ntext\n# B\n"), "# C\n```\n# B\n") == scan("# C\n```\n# B\n")


@pytest.mark.parametrize("line", ["* ", "> ", " #", "-|", " b="])
@pytest.mark.parametrize("start", ["", "a | b\n-", "<a"])
def test_no_line_costs_the_square_of_its_length(start: str, line: str) -> None:
    """A quadratic scanner needs many minutes for these; nothing here asks how long a linear one takes."""
    text = start + line * 50_000 + " " * 100_000 + "x\n"
    assert "".join(scan(text).lines) == text
