"""The garden's limits at their values: the last thing that is taken, and the first that is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lithos.app import Lithos
from lithos.core.clock import FakeClock
from lithos.errors import InvalidInput, NotFound
from tests.conftest import CallTool

NOTES = "users/ana/notes.md"


@pytest.fixture
def tend(call: CallTool, lithos: Lithos, data_dir: Path) -> CallTool:
    (data_dir / "garden/users/ana").mkdir(parents=True)
    (data_dir / "garden" / NOTES).write_text("# Notes\n\n## List\n\n- one\n")
    return lambda name, **arguments: call(name, **{"user_id": "ana", "agent": "gardener", **arguments})


def refused(tend: CallTool, name: str, **arguments: Any) -> None:
    with pytest.raises(InvalidInput):
        tend(name, **arguments)


def test_a_rationale_has_at_most_500_characters(tend: CallTool) -> None:
    tend("lithos_fs_append", path=NOTES, text="x", rationale="r" * 500)
    refused(tend, "lithos_fs_append", path=NOTES, text="x", rationale="r" * 501)


def test_an_item_of_a_list_has_at_most_4000_characters(tend: CallTool) -> None:
    edit = {"path": NOTES, "section_anchor": "List", "ops": ["append"], "reason": "r"}
    tend("lithos_md_curate_list", **edit, items=["i" * 4_000])
    refused(tend, "lithos_md_curate_list", **edit, items=["i" * 4_001])


def test_a_pattern_has_at_most_1000_characters_and_a_match_shows_400(tend: CallTool, data_dir: Path) -> None:
    (data_dir / "garden" / NOTES).write_text("y" * 401 + "\n")
    (match,) = tend("lithos_fs_search", pattern="y" * 300)["matches"]
    assert len(match["match"]) == 400
    tend("lithos_fs_search", pattern="z" * 1_000)
    refused(tend, "lithos_fs_search", pattern="z" * 1_001)


def test_a_proposal_has_at_most_50_edits(tend: CallTool) -> None:
    edits = [{"path": NOTES, "section_anchor": "List", "change": {"append": f"- {number}"}} for number in range(51)]
    assert tend("lithos_propose_change", edits=edits[:50])["proposal_id"]
    refused(tend, "lithos_propose_change", edits=edits)


def test_a_proposal_is_kept_for_seven_days(tend: CallTool, lithos: Lithos, clock: FakeClock) -> None:
    edit = {"path": NOTES, "section_anchor": "List", "change": {"append": "- two"}}
    proposal = tend("lithos_propose_change", **edit)["proposal_id"]
    clock.advance(7 * 86_400)
    assert lithos.garden.proposals.prune() == 0
    clock.advance(1)
    assert lithos.garden.proposals.prune() == 1
    with pytest.raises(NotFound, match="no proposal"):
        tend("lithos_apply_change", proposal_id=proposal, rationale="r")


def test_a_listing_shows_a_thousand_paths(tend: CallTool, data_dir: Path) -> None:
    def make(name: str) -> None:
        folder = data_dir / "garden/users/ana/parts" / name
        folder.mkdir(parents=True)
        (folder / "profile.md").write_text("x")

    for number in range(999):
        make(f"p{number}")
    shown = tend("lithos_fs_list", path="users/ana")
    assert (len(shown["paths"]), "truncated" in shown) == (1_000, False)
    make("last")
    shown = tend("lithos_fs_list", path="users/ana")
    assert (len(shown["paths"]), shown["truncated"]) == (1_000, True)
