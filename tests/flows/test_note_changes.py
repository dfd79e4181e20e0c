"""What changed among the notes, by any hand, as `recall` asks it."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path

import pytest

from lithos.app import Lithos
from lithos.core.call import Call
from lithos.core.clock import FakeClock
from lithos.recall import ChangesQuery
from lithos.storage import EventDraft, Outcome
from tests.conftest import CallTool


def changes(lithos: Lithos, since: datetime, **more: object) -> list[tuple[str, str, str | None]]:
    found = lithos.recall.kinds["note"].changes(ChangesQuery(Call("lithos_changes"), since, **more))  # type: ignore[arg-type]
    return [(each.path, each.what, each.agent) for each in found]


@pytest.fixture
def begun(call: CallTool, clock: FakeClock) -> datetime:
    """After three notes were written, and an hour later."""
    for title in ("One", "Two", "Three"):
        call("lithos_write", agent="ann", title=title, content=title)
        clock.advance(60)
    clock.advance(3600)
    return clock.now()


def note_id(call: CallTool, path: str) -> str:
    return str(call("lithos_read", path=path)["id"])


def test_every_operation_of_an_agent_is_listed_with_its_name_newest_first(
    lithos: Lithos, call: CallTool, clock: FakeClock, begun: datetime
) -> None:
    assert changes(lithos, begun) == []
    call("lithos_write", agent="bob", id=note_id(call, "one"), content="new")
    clock.advance(1)
    call("lithos_move", agent="eve", id=note_id(call, "two"), to="sub/two.md")
    clock.advance(1)
    call("lithos_delete", agent="dan", id=note_id(call, "three"))
    clock.advance(1)
    call("lithos_write", agent="ann", title="Four", content="4")
    assert changes(lithos, begun) == [
        ("four.md", "create", "ann"),
        ("three.md", "delete", "dan"),
        ("sub/two.md", "move", "eve"),
        ("one.md", "update", "bob"),
    ]
    assert changes(lithos, begun, agent="eve") == [("sub/two.md", "move", "eve")]
    assert changes(lithos, begun, path_prefix="sub/") == [("sub/two.md", "move", "eve")]
    assert changes(lithos, begun, limit=2) == [("four.md", "create", "ann"), ("three.md", "delete", "dan")]


def test_a_persons_save_after_an_agents_write_is_an_edit_by_an_unknown_author(
    lithos: Lithos, call: CallTool, clock: FakeClock, data_dir: Path, begun: datetime
) -> None:
    call("lithos_write", agent="bob", id=note_id(call, "one"), content="new")
    clock.advance(10)
    file = data_dir / "knowledge/one.md"
    file.write_text(file.read_text() + "by hand\n")
    lithos.notes.reindex()
    assert changes(lithos, begun) == [("one.md", "edit", None)]


def test_reading_a_file_again_is_no_change(
    lithos: Lithos, call: CallTool, clock: FakeClock, data_dir: Path, begun: datetime
) -> None:
    moment = clock.now().timestamp()
    os.utime(data_dir / "knowledge/one.md", (moment, moment))
    (data_dir / "knowledge/two.md").chmod(0o640)
    lithos.notes.reindex()
    lithos.notes.reindex(clear=True)
    assert changes(lithos, begun) == []
    assert call("lithos_list", since=begun.isoformat())["items"] == []


def test_a_former_path_is_dropped_after_a_year_and_not_a_day_before(
    lithos: Lithos, call: CallTool, clock: FakeClock, data_dir: Path, begun: datetime
) -> None:
    call("lithos_write", agent="a", title="From", content="[[plain]]")
    (data_dir / "knowledge/plain.md").write_text("A text without a title.")
    lithos.notes.reindex()
    (data_dir / "knowledge/plain.md").rename(data_dir / "knowledge/other.md")
    lithos.notes.reindex()
    assert lithos.notes.prune() == 0
    assert call("lithos_validate")["counts"] == {"stale_references": 1, "missing_frontmatter": 1}
    clock.advance(364.9 * 86_400)
    assert lithos.notes.prune() == 0
    clock.advance(0.2 * 86_400)
    assert lithos.notes.prune() == 1
    assert call("lithos_validate")["counts"] == {"broken_links": 1, "missing_frontmatter": 1}


@pytest.mark.parametrize(("later", "agent"), [(499, "ann"), (500, None)])
def test_a_change_is_attributed_among_the_last_500_events(
    lithos: Lithos, call: CallTool, clock: FakeClock, begun: datetime, later: int, agent: str | None
) -> None:
    call("lithos_write", agent="ann", title="Four", content="4")
    drafts = tuple(EventDraft("note", "update", f"other {number}") for number in range(later))
    lithos.storage.effects.commit(Call("lithos_write", agent="bob"), lambda tx: Outcome({}, drafts))
    assert [by for path, _, by in changes(lithos, begun) if path == "four.md"] == [agent]
