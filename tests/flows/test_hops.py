"""`lithos_recall(hops=1)`: a note that no word of the question leads to, but a link of the best hit does."""

from __future__ import annotations

from typing import Any

from tests.conftest import CallTool

QUESTION = "Does the Billing team or the Payroll team keep its rows elsewhere?"


def found(call: CallTool, **arguments: Any) -> list[str]:
    return [hit["title"] for hit in call("lithos_recall", query=QUESTION, limit=6, **arguments)["results"]]


def test_a_link_is_followed_when_it_is_asked_for(call: CallTool) -> None:
    for number in range(20):
        call("lithos_write", title=f"Team {number}", content=f"The team number {number} keeps tea rows.", agent="a")
    call("lithos_write", title="Billing", content="The Billing team keeps its rows in [[Aurora]].", agent="a")
    call("lithos_write", title="Aurora", content="Nightly dumps at 03:00.", agent="a", path="data/")
    assert "Aurora" not in found(call)
    assert "Aurora" in found(call, hops=1)
    assert "Aurora" not in found(call, hops=1, path_prefix="x/")
    plain = call("lithos_recall", query="nightly dumps", limit=3)
    assert call("lithos_recall", query="nightly dumps", limit=3, hops=1)["results"] == plain["results"]
