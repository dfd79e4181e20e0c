"""Pages and golden files are what the code says."""

from __future__ import annotations

from scripts.generate import GOLDEN, ROOT, generated

from lithos.tools.catalogue import catalogue


def test_a_generated_file_is_current() -> None:
    """`make docs` writes them; a tool that is gone leaves no golden file."""
    wanted = generated()
    missing = [str(path) for path in wanted if not (ROOT / path).is_file()]
    assert missing == []
    stale = [str(path) for path, text in wanted.items() if (ROOT / path).read_text(encoding="utf-8") != text]
    assert stale == []


def test_no_golden_file_is_left_of_a_tool_that_is_gone() -> None:
    assert {path.stem for path in (ROOT / GOLDEN).glob("*.json")} == {each.name for each in catalogue()}
