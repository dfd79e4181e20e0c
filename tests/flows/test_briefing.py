"""The briefing, as a tool."""

from __future__ import annotations

import pytest

from lithos.app import Lithos
from lithos.core.clock import FakeClock
from lithos.core.text import estimate_tokens
from lithos.recall.briefing import TOKENS
from tests.conftest import CallTool

pytestmark = pytest.mark.both_databases


def test_a_briefing_names_claims_tasks_changes_and_the_notes_that_matter(
    call: CallTool, lithos: Lithos, clock: FakeClock
) -> None:
    call("lithos_write", title="House rules", content="Be kind.", tags=["pinned"], agent="ben")
    note = call("lithos_write", title="Pool size", content="Twenty connections.", agent="ben")
    found = call("lithos_recall", query="pool size connections", agent="ann")
    call("lithos_feedback", used_ids=[note["id"]], outcome="helped", receipt=found["receipt"], agent="ann")
    lithos.agents.flush()
    clock.advance(4 * 3600)
    mine = call("lithos_task_create", title="Tune the pool", agent="ann")["task_id"]
    call("lithos_task_claim", task_id=mine, aspect="work", agent="ann")
    call("lithos_task_create", title="Write the runbook", agent="ben", priority=0)
    for title in ("A", "B"):
        call("lithos_write", title=title, content=f"{title} says otherwise", claim_id="pool-size", agent="ben")
    text = call("lithos_get_briefing", agent="ann", topic="connections", tier="full")["briefing"]
    for words in ("## Your claims\n- Tune the pool", "P0 Write the runbook", "Changed since your last visit"):
        assert words in text
    assert "House rules" in text and "Pool size" in text and "pool-size: " in text
    assert "## About connections" in text


@pytest.mark.parametrize("tier", ["micro", "standard", "full"])
def test_a_tier_is_a_budget(call: CallTool, tier: str) -> None:
    for number in range(40):
        call("lithos_task_create", title=f"A task with a rather long title, number {number}", agent="ann")
    answer = call("lithos_get_briefing", tier=tier)
    assert estimate_tokens(answer["briefing"]) <= TOKENS[tier]
    assert answer["briefing"].startswith("## Ready tasks")


def test_an_empty_memory_says_so(call: CallTool) -> None:
    assert call("lithos_get_briefing")["briefing"] == "Nothing is stored here yet."
