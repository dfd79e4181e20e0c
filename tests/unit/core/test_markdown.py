"""Links, sections and moves see the same code, HTML, lists and quotes: one scanner answers all three."""

from __future__ import annotations

import pytest

from lithos.core.markdown import scan
from lithos.garden.sections import outline
from lithos.notes.format.links import find_links

# Each text holds "NAME" where a link and a heading are tried; True: it is text there, False: code or HTML.
CASES = [
    ("    NAME\n", False),
    ("\tNAME\n", False),
    ("text\n\n    NAME\n\ntext\n", False),
    ("text\n    NAME\n", True),  # a paragraph goes on, however far it is indented
    ("<pre>\nNAME\n</pre>\n", False),
    ("<pre>\n\nNAME\n\n</pre>\n", False),
    ("<PRE class=x>\nNAME\n</PRE>\n", False),
    ("<pre>a</pre>\nNAME\n", True),
    ("<script>\nNAME\n</script>\n", False),
    ("<style>\nNAME\n</style>\n", False),
    ("<textarea>\nNAME\n</textarea>\n", False),
    ("<!--\nNAME\n-->\n", False),
    ("<!-- a -->\nNAME\n", True),
    ("<!--\nNAME\n", False),  # a comment that nothing closes hides the rest, as in every renderer
    ("<div>\nNAME\n</div>\n", False),
    ("<div>\n\nNAME\n\n</div>\n", True),
    ("<?php\nNAME\n?>\n", False),
    ("<![CDATA[\nNAME\n]]>\n", False),
    ("```\nNAME\n```\n", False),
    ("```\ncode\n```\nNAME\n", True),
    ("~~~\n```\nNAME\n~~~\n", False),
    ("- item\n  ```\n  code\n  ```\n\nNAME\n", True),
    ("- item\n  ```\n  code\n\nNAME\n", True),  # the fence ends with its list item
    ("- ```\n  code\n- next\n\nNAME\n", True),
    ("1. ```\n   code\n\nNAME\n", True),
    ("- ```\n  code\n\n  NAME\n  ```\n", False),
    ("- item\n\n      NAME\n", False),  # indented code of the item
    ("> ```\n> code\n\nNAME\n", True),
    ("> ```\n> code\nNAME\n", True),
    ("> ```\n> NAME\n> ```\n", False),
    ("> <pre>\n> NAME\n> </pre>\n", False),
    ("- <pre>\n  NAME\n  </pre>\n", False),
    ("- a\n  - b\n    ```\n    NAME\n    ```\n", False),
    ("- a\n  - b\n    ```\n    code\n    ```\n\nNAME\n", True),
]


def at_top_level(text: str) -> bool:
    """A heading in a list or quote is content there: only where the line begins with it can it be a section."""
    return "\nNAME" in f"\n{text}"


@pytest.mark.parametrize(("text", "is_text"), CASES)
def test_a_link_counts_where_the_line_is_text(text: str, is_text: bool) -> None:
    assert [link.target for link in find_links(text.replace("NAME", "[[note]]"))] == ["note"] * is_text
    assert [link.target for link in find_links(text.replace("NAME", "[x](note.md)"))] == ["note.md"] * is_text


@pytest.mark.parametrize(("text", "is_text"), [case for case in CASES if at_top_level(case[0])])
def test_a_heading_counts_where_the_line_is_text(text: str, is_text: bool) -> None:
    headed = text.replace("NAME", "## Heading")
    assert [heading.text for heading in scan(headed).headings] == ["Heading"] * is_text
    assert [section.heading for section in outline(headed).sections] == ["Heading"] * is_text


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("- a `tick\n- b` [[yes]]", ["yes"]),  # a code span ends with its block
        ("# a `tick\nb` [[yes]]", ["yes"]),
        ("> `a\n> [[no]]` [[yes]]", ["yes"]),
        ("text <!-- a\n\n[[yes]] -->", ["yes"]),
        ("text <!-- a\n[[no]] --> [[yes]]", ["yes"]),
        ("- $a\n- b$ [[yes]]", ["yes"]),
        ("| `a | [[yes]] |\n|---|---|\n| b` | [[also]] |", ["yes", "also"]),
    ],
)
def test_inline_code_math_and_comments_end_with_their_block(text: str, found: list[str]) -> None:
    assert [link.target for link in find_links(text)] == found
