"""Limits of the board, by number: the last thing that is taken, and the first that is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lithos.board import LARGEST_PAGE, LONGEST_WAIT_S, USUAL_PAGE, Terms
from lithos.board.inputs import NewTask, aspect_of, dependencies_of, description_of, summary_of, tags_of
from lithos.errors import InvalidInput, TooLarge


@pytest.mark.parametrize(
    ("check", "most"),
    [
        (lambda n: NewTask("t" * n, "ann").checked(), 500),
        (lambda n: aspect_of("a" * n), 200),
        (lambda n: description_of("d" * n), 100_000),
        (lambda n: summary_of("s" * n), 20_000),
        (lambda n: tags_of(["t" * n]), 100),
        (lambda n: tags_of([str(each) for each in range(n)]), 50),
        (lambda n: dependencies_of([str(each) for each in range(n)]), 200),
    ],
    ids=["title", "aspect", "description", "summary", "tag", "tags", "dependencies"],
)
def test_an_argument_is_taken_up_to_its_limit(check: Callable[[int], Any], most: int) -> None:
    check(most)
    with pytest.raises((InvalidInput, TooLarge)):
        check(most + 1)


def test_the_numbers_that_the_tools_promise() -> None:
    """In schemas and pages: 100 rows unless asked, 500 at most, 55 s of waiting, claims of 60 to 480 minutes."""
    assert (USUAL_PAGE, LARGEST_PAGE, LONGEST_WAIT_S) == (100, 500, 55)
    assert Terms() == Terms(default_minutes=60, max_minutes=480, reboot_grace_s=120)
