"""Tasks by a name instead of an id."""

from __future__ import annotations

import pytest

from tests.conftest import CallTool

pytestmark = pytest.mark.both_databases


@pytest.mark.parametrize("name", ["%", "______", "a b " * 50_000, "0" * 200_000])
def test_a_name_with_wildcards_or_of_any_length_means_no_task(call: CallTool, name: str) -> None:
    call("lithos_task_create", title="one", agent="a")
    assert call("lithos_task_status", task_id=name, detail=True)["tasks"] == []


def test_a_beginning_or_end_of_an_id_means_its_task(call: CallTool) -> None:
    made = call("lithos_task_create", title="one", agent="a")["task_id"]
    for part in (made[:12], made[-8:], f"…{made[-8:]}"):
        assert call("lithos_task_status", task_id=part, detail=True)["tasks"][0]["id"] == made
