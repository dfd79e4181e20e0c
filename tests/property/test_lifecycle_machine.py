"""The life of notes under random writes, hand edits, decay and restarts: what must hold always holds."""

from __future__ import annotations

import shutil
import tempfile
from datetime import timedelta
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule

from lithos.app import open_lithos
from lithos.core.clock import FakeClock, micros, parse_time, rfc3339
from lithos.core.ids import SeededIds
from lithos.errors import Conflict, InvalidInput
from lithos.notes.lifecycle import was_current
from lithos.notes.note import Note, read_note
from lithos.notes.standing import life_of
from lithos.settings import LithosConfig, StorageSettings
from lithos.tools.catalogue import catalogue

KEYS = st.sampled_from(["k1", "k2"])
DAYS = st.integers(1, 5)


class LifeMachine(RuleBasedStateMachine):
    notes = Bundle("notes")

    @initialize()
    def open_memory(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="life-"))
        self.clock = FakeClock()
        self.count = 0
        self.ids = SeededIds()
        self.reopen()

    def reopen(self) -> None:
        config = LithosConfig(storage=StorageSettings(data_dir=self.folder, synchronous="NORMAL"))
        self.lithos = open_lithos(config, clock=self.clock, ids=self.ids)
        self.lithos.embedding.pause()

    def teardown(self) -> None:
        if hasattr(self, "lithos"):
            self.lithos.close()
            shutil.rmtree(self.folder)

    def ask(self, tool: str, **arguments: Any) -> dict[str, Any]:
        return catalogue().call(self.lithos, tool, arguments)

    def files(self) -> list[Path]:
        """Without what a replaced file leaves under a hidden name for some seconds."""
        return [path for path in (self.folder / "knowledge").rglob("*.md") if not path.name.startswith(".")]

    def on_disk(self) -> dict[str, Note]:
        found: dict[str, Note] = {}
        for path in self.files():
            note = read_note(path.name, path.read_bytes())
            assert isinstance(note, Note) and note.own_id
            found[note.own_id] = note
        return found

    # What happens

    @rule(
        target=notes,
        key=st.none() | KEYS,
        policy=st.sampled_from(["merge", "supersede", "reject"]),
        days=st.none() | DAYS,
    )
    def write(self, key: str | None, policy: str, days: int | None) -> str:
        self.count += 1
        wish: dict[str, Any] = {"title": f"note {self.count}", "content": f"common {self.count}", "agent": "ann"}
        if days is not None:
            wish |= {"ttl_policy": "decay", "expires_at": self.in_days(days)}
        holders = [each for each, note in self.on_disk().items() if note.text("merge_key") == key and active(note)]
        try:
            answer = self.ask("lithos_write", **wish, **({"merge_key": key, "on_conflict": policy} if key else {}))
        except Conflict as refusal:
            assert policy == "reject" and refusal.details["active_id"] in holders
            return holders[0]
        expected = {"merge": "merged", "supersede": "superseded"}[policy] if key and holders else "inserted"
        assert answer["action"] == expected and (answer["action"] != "merged" or answer["id"] in holders)
        return str(answer["id"])

    @rule(note=notes, status=st.sampled_from(["active", "deprecated", "stale"]))
    def mark(self, note: str, status: str) -> None:
        try:
            self.ask("lithos_write", id=note, agent="ann", status=status)
        except Conflict as refusal:
            assert status == "active" and refusal.details["active_id"] != note

    @rule(old=notes, new=notes)
    def supersede_by_id(self, old: str, new: str) -> None:
        before = self.on_disk()
        try:
            self.ask("lithos_write", id=new, agent="ann", supersedes=old)
        except (Conflict, InvalidInput):
            same = {each: note.version for each, note in self.on_disk().items()}
            assert same == {each: note.version for each, note in before.items()}

    @rule(days=DAYS)
    def pass_days(self, days: int) -> None:
        self.clock.advance(days * 86_400)

    @rule()
    def decay(self) -> None:
        self.ask("lithos_decay", agent="ann")
        now = self.clock.now()
        for note in self.on_disk().values():
            end = note.moment("expires_at")
            ends = note.text("ttl_policy") == "decay" and end is not None and end <= micros(now)
            assert not (ends and active(note))

    @rule(note=notes)
    def edit_by_hand(self, note: str) -> None:
        """A person touches the text, never the fields: what a hand does to those has tests of its own."""
        path = next(path for path in self.files() if note in path.read_text()[:60])
        path.write_text(path.read_text() + "\nby hand\n")
        self.lithos.notes.reindex()

    @rule()
    def restart(self) -> None:
        self.lithos.close()
        self.reopen()

    # What must hold

    @invariant()
    def one_active_note_per_key(self) -> None:
        if hasattr(self, "lithos"):
            keys = [
                note.text("merge_key") for note in self.on_disk().values() if active(note) and note.text("merge_key")
            ]
            assert len(keys) == len(set(keys))

    @invariant()
    def a_superseded_note_leads_to_a_note_that_exists(self) -> None:
        if hasattr(self, "lithos"):
            known = self.on_disk()
            for note_id, note in known.items():
                if note.text("status") == "superseded":
                    assert note.text("superseded_by") in known
                    assert self.ask("lithos_read", id=note_id)["successor"] is not None

    @invariant()
    def nothing_that_ended_is_served_and_everything_else_is(self) -> None:
        if hasattr(self, "lithos"):
            now = self.clock.now()
            current = {
                each
                for each, note in self.on_disk().items()
                if active(note) and was_current(life_of(note, note.updated(0)), now)
            }
            assert {item["id"] for item in self.ask("lithos_list", limit=1000)["items"]} == current
            if current:
                found = self.ask("lithos_search", query="common", limit=50)["results"]
                assert {hit["id"] for hit in found} == current or len(current) > 50

    @invariant()
    def as_of_agrees_with_the_recorded_times(self) -> None:
        if hasattr(self, "lithos") and self.count:
            moment = "2026-01-03T12:00:00Z"
            then = parse_time(moment)
            expected = {
                each for each, note in self.on_disk().items() if was_current(life_of(note, note.updated(0)), then)
            }
            found = self.ask("lithos_search", query="common", limit=50, as_of=moment)["results"]
            assert {hit["id"] for hit in found} == expected

    def in_days(self, days: int) -> str:
        return rfc3339(self.clock.now() + timedelta(days=days))


def active(note: Note) -> bool:
    return (note.text("status") or "active") == "active"


# Every example opens a whole memory, so that few are run, and a failing one is shown as it is and not made smaller.
LifeMachine.TestCase.settings = settings(
    max_examples=4,
    stateful_step_count=12,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


class TestLife(LifeMachine.TestCase):  # type: ignore[name-defined,misc]
    """`make test` form."""
