"""A write parses each version of a file once."""

from __future__ import annotations

import pytest

from lithos.app import Lithos
from lithos.notes.format import frontmatter
from tests.conftest import CallTool


def parses(lithos: Lithos, call: CallTool, **write: object) -> int:
    before = frontmatter._parsed.cache_info().misses
    call("lithos_write", agent="a", **write)
    return frontmatter._parsed.cache_info().misses - before


def test_a_new_note_is_parsed_once(lithos: Lithos, call: CallTool) -> None:
    assert parses(lithos, call, title="One", content="x") == 1


@pytest.mark.parametrize("change", [{"content": "y"}, {"content": "z", "append": True}, {"tags": ["t"]}])
def test_an_update_parses_only_the_new_version(lithos: Lithos, call: CallTool, change: dict[str, object]) -> None:
    note = call("lithos_write", agent="b", title="One", content="x")
    assert parses(lithos, call, id=note["id"], **change) == 1


def test_what_a_reader_does_with_metadata_changes_no_other_answer(call: CallTool) -> None:
    note = call("lithos_write", agent="a", title="One", content="x", tags=["t"])
    call("lithos_read", id=note["id"])["metadata"].clear()
    assert call("lithos_read", id=note["id"])["metadata"]["tags"] == ["t"]
