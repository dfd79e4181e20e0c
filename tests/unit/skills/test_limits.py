"""Limits of skills: what is just allowed is accepted, one more is refused."""

from __future__ import annotations

import pytest

from lithos.errors import InvalidInput, TooLarge
from lithos.skills.text import read_skill


def test_a_skill_of_256_kib_is_read_and_one_byte_more_is_refused() -> None:
    head = "# Name\n\n"
    assert read_skill(head + "x" * (262_144 - len(head)), "markdown").name == "Name"
    with pytest.raises(TooLarge):
        read_skill(head + "x" * (262_145 - len(head)), "markdown")


def test_frontmatter_is_bounded_in_length_and_in_brackets() -> None:
    def skill(line: str) -> str:
        return f"---\nname: n\n{line}\n---\ntext\n"

    fits = 16 * 1024 - len("name: n\n") - len("# \n")
    assert read_skill(skill("# " + "x" * fits), "markdown").name == "n"
    with pytest.raises(InvalidInput, match="too large"):
        read_skill(skill("# " + "x" * (fits + 1)), "markdown")
    assert read_skill(skill("# " + "[" * 1000), "markdown").name == "n"
    with pytest.raises(InvalidInput, match="too large"):
        read_skill(skill("# " + "[" * 1001), "markdown")


@pytest.mark.parametrize("name", ["description", "warnings", "tags"])
def test_fields_are_bounded(name: str) -> None:
    most = {"description": 4000, "warnings": 2000, "tags": 200}[name]

    def skill(length: int) -> str:
        value = "x" * length if name == "description" else f"[{'x' * length}]"
        return f"---\nname: n\n{name}: {value}\n---\ntext\n"

    assert read_skill(skill(most), "markdown").name == "n"
    with pytest.raises(InvalidInput):
        read_skill(skill(most + 1), "markdown")
