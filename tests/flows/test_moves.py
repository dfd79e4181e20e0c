"""lithos_move with rewrite_links changes links, and no text that only looks like one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import CallTool

KEPT = [
    "    [[old]] in indented code",
    "<pre>\n[[old]] and [x](old.md)\n</pre>",
    "```\n[[old]]\n```",
    "- item\n  ```\n  [[old]]\n  ```",
    "> ~~~\n> [[old]]\n> ~~~",
    "<!--\n[[old]]\n-->",
    "`[[old]]` in code",
]
CHANGED = [
    "- item\n  ```\n  code\n  ```\n\n[[old]]",
    "- ```\n  code\n- next [[old]]",
    "1. ```\n   code\n\n[x](old.md)",
    "> ```\n> code\n\n[[old|shown]]",
    "text\n    [[old]] goes on",
]


@pytest.fixture
def moved(call: CallTool, data_dir: Path) -> str:
    """The text of a note with all of these, after the note that it links to has moved."""
    target = call("lithos_write", agent="a", title="Old", content="text")
    content = "\n\nbetween\n\n".join([*KEPT, *CHANGED])
    source = call("lithos_write", agent="a", title="Source", content=content)
    answer = call("lithos_move", agent="a", id=target["id"], to="sub/new.md", rewrite_links=True)
    assert [each["id"] for each in answer["rewritten"]] == [source["id"]]
    return str(call("lithos_read", id=source["id"])["content"])


@pytest.mark.parametrize("text", KEPT)
def test_code_html_and_comments_stay_as_they_are(moved: str, text: str) -> None:
    assert text in moved


@pytest.mark.parametrize("text", CHANGED)
def test_a_link_behind_a_fence_in_a_list_or_quote_follows(moved: str, text: str) -> None:
    assert text.replace("old.md", "sub/new.md").replace("[[old", "[[new") in moved
