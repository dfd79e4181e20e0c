"""Pages and golden files are what the code says."""

from __future__ import annotations

from pathlib import Path

import pytest
from scripts.generate import GOLDEN, ROOT, generated

from lithos.tools.catalogue import catalogue

WANTED = generated()


@pytest.mark.parametrize("path", sorted(WANTED), ids=str)
def test_a_generated_file_is_current(path: Path) -> None:
    assert (ROOT / path).is_file(), f"{path} is missing: run `make docs`"
    assert (ROOT / path).read_text(encoding="utf-8") == WANTED[path], f"{path} is stale: run `make docs`"


def test_no_golden_file_is_left_of_a_tool_that_is_gone() -> None:
    assert {path.stem for path in (ROOT / GOLDEN).glob("*.json")} == {each.name for each in catalogue()}
