"""Answers about notes are bounded, and say so: each limit at its value."""

from __future__ import annotations

from pathlib import Path

import pytest

from lithos.app import Lithos
from lithos.core.clock import FakeClock
from lithos.errors import InvalidInput
from lithos.tools.caller import Caller
from tests.conftest import CallTool


@pytest.fixture
def vault(lithos: Lithos, data_dir: Path) -> Path:
    return data_dir / "knowledge"


def test_validate_shows_a_thousand_problems_of_a_kind_and_counts_all(call: CallTool, vault: Path) -> None:
    (vault / "links.md").write_text("\n".join(f"[[nowhere {number}]]" for number in range(1_000)))
    found = call("lithos_validate", limit=1000)
    assert (len(found["problems"]["broken_links"]), "truncated" in found) == (1_000, False)
    (vault / "more.md").write_text("[[nowhere]]")
    call("lithos_read", path="more")
    found = call("lithos_validate", limit=1000)
    assert (found["counts"]["broken_links"], len(found["problems"]["broken_links"])) == (1_001, 1_000)
    assert found["truncated"] is True


def test_lithos_tags_shows_five_thousand(call: CallTool, vault: Path) -> None:
    tags = [f"t{number:04}" for number in range(5_001)]
    (vault / "a.md").write_text(f"---\ntags: [{', '.join(tags[:5_000])}]\n---\ntext")
    shown = call("lithos_tags")
    assert (len(shown["tags"]), "truncated" in shown) == (5_000, False)
    (vault / "b.md").write_text(f"---\ntags: [{tags[5_000]}]\n---\ntext")
    call("lithos_read", path="b")
    shown = call("lithos_tags")
    assert (len(shown["tags"]), shown["truncated"]) == (5_000, True)


def test_lithos_links_shows_a_thousand_in_each_direction(call: CallTool, vault: Path) -> None:
    for number in range(1_001):
        (vault / f"n{number}.md").write_text("x")
    (vault / "hub.md").write_text(" ".join(f"[[n{number}]]" for number in range(1_000)))
    hub = call("lithos_read", path="hub")["id"]
    shown = call("lithos_links", id=hub)
    assert (len(shown["outgoing"]), "truncated" in shown) == (1_000, False)
    (vault / "hub.md").write_text(" ".join(f"[[n{number}]]" for number in range(1_001)))
    call("lithos_read", path="hub")
    shown = call("lithos_links", id=hub)
    assert (len(shown["outgoing"]), shown["truncated"]) == (1_000, True)


def test_a_write_names_three_notes_that_say_nearly_the_same(call: CallTool) -> None:
    words = " ".join(f"word{number}" for number in range(40))
    for number in range(4):
        call("lithos_write", agent="a", title=f"Note {number}", content=words)
    assert len(call("lithos_write", agent="a", title="Last", content=words)["similar"]) == 3


def test_a_diff_has_at_most_200000_characters(call: CallTool) -> None:
    note = call("lithos_write", agent="a", title="N", content="a\n" * 60_000)
    call("lithos_write", agent="a", id=note["id"], content="b\n" * 60_000)
    assert len(call("lithos_note_diff", id=note["id"])["diff"]) == 200_000


def test_lineage_goes_back_twenty_steps(call: CallTool, vault: Path) -> None:
    for number in range(23):
        source = f"derived_from: [00000000-0000-4000-8000-{number - 1:012}]\n" if number else ""
        note_id = f"00000000-0000-4000-8000-{number:012}"
        (vault / f"n{number}.md").write_text(f"---\nid: {note_id}\n{source}---\ntext")
    lineage = call("lithos_read", path="n22")["lineage"]
    assert [each["depth"] for each in lineage] == list(range(1, 21))


@pytest.mark.parametrize(("count", "is_taken"), [(200, True), (201, False)])
def test_feedback_names_at_most_two_hundred_notes(call: CallTool, count: int, is_taken: bool) -> None:
    given = {"agent": "a", "outcome": "helped", "query": "q", "used_ids": [f"n{number}" for number in range(count)]}
    if is_taken:
        assert call("lithos_feedback", **given)["event_id"]
    else:
        with pytest.raises(InvalidInput, match="200"):
            call("lithos_feedback", **given)


def test_the_event_of_a_decay_names_a_thousand_notes_and_counts_all(call: CallTool, vault: Path) -> None:
    for number in range(1_001):
        (vault / f"{number}.md").write_text("---\nttl_policy: decay\nexpires_at: 2020-01-01\n---\ntext")
    found = call("lithos_decay", dry_run=True, agent="ann")
    assert len(found["stale_ids"]) == 1_001
    (event,) = call("lithos_events_query", type="knowledge", detail=True)["rows"]
    assert (len(event["details"]["stale_ids"]), event["details"]["count"]) == (1_000, 1_001)


def test_a_hub_is_known_by_32_names_of_its_links(call: CallTool, vault: Path) -> None:
    (vault / "hub.md").write_text("# Hub\n\ntext\n")
    links = "\n".join(f"[[hub|zebra{number:02}]]" for number in range(33))
    (vault / "map.md").write_text(f"# Map\n\n{links}\n")
    call("lithos_reindex", _caller=Caller(operator=True))

    def finds(word: str) -> bool:
        return "hub.md" in [hit["path"] for hit in call("lithos_search", query=word)["results"]]

    assert finds("zebra31") and not finds("zebra32")


def test_validate_shows_three_of_each_kind_and_fifty_of_one(call: CallTool, vault: Path) -> None:
    (vault / "a.md").write_text("".join(f"[[missing {number}]]\n" for number in range(51)))
    assert len(call("lithos_validate")["problems"]["broken_links"]) == 3
    assert len(call("lithos_validate", kind="broken_links")["problems"]["broken_links"]) == 50


def test_former_paths_are_kept_for_a_year(lithos: Lithos, call: CallTool, clock: FakeClock) -> None:
    note = call("lithos_write", agent="a", title="A", content="x")
    call("lithos_move", agent="a", id=note["id"], to="b.md")
    clock.advance(365 * 86_400)
    assert lithos.notes.prune() == 0
    clock.advance(1)
    assert lithos.notes.prune() == 1


def test_lineage_names_two_hundred_sources(call: CallTool, vault: Path) -> None:
    ids = [f"00000000-0000-4000-8000-{number:012}" for number in range(201)]
    for number, note_id in enumerate(ids):
        (vault / f"s{number}.md").write_text(f"---\nid: {note_id}\n---\ntext")
    (vault / "n.md").write_text(f"---\nderived_from: [{', '.join(ids)}]\n---\ntext")
    assert len(call("lithos_read", path="n")["lineage"]) == 200
