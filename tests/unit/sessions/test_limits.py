"""Limits of sessions at their values: the last thing that is taken, and the first that is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lithos.errors import InvalidInput, TooLarge
from lithos.sessions.context import parse_changes
from lithos.sessions.file_locks import lock_path
from lithos.sessions.model import closing_text, session_name

QUOTES = 2  # of a JSON text


@pytest.mark.parametrize(
    ("check", "most"),
    [
        (lambda size: session_name("x" * size), 200),
        (lambda size: closing_text("x" * size, "summary"), 20_000),
        (lambda size: lock_path("x" * size), 1_000),
        (lambda size: parse_changes({"current_step": "x" * size}), 65_536),
        (lambda size: parse_changes({"blockers": ["x" * (size - QUOTES)]}), 65_536),
        (lambda size: parse_changes({"modified_files": {"add": {"x" * size: {}}}}), 1_000),
        (lambda size: parse_changes({"blockers": [str(number) for number in range(size)]}), 5_000),
    ],
)
def test_a_value_is_taken_up_to_its_limit(check: Callable[[int], Any], most: int) -> None:
    check(most)
    with pytest.raises((InvalidInput, TooLarge)):
        check(most + 1)
