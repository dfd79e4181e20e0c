"""The life of notes under random writes, nonsense by hand, decay and deaths: what must hold always holds."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import suppress
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
from lithos.notes.fields import ENDED
from lithos.notes.format.note import Note, read_note
from lithos.notes.lifecycle.effective_status import lifecycle_times, status_of
from lithos.settings import LithosConfig, StorageSettings
from lithos.storage import Crash, PlannedFaults
from lithos.tools.catalogue import catalogue
from tests.support.lifecycle_rules import was_current

KEYS = st.sampled_from(["k1", "k2"])
DAYS = st.integers(1, 5)
NOBODY = "nobody"
BY_HAND = st.sampled_from(
    [
        *(("status", each) for each in ("active", "superseded", "deprecated", "stale", "dunno", "")),
        *(("ttl_policy", each) for each in ("decay", "ephemeral", "whenever", "")),
        *(("expires_at", each) for each in ("2026-01-02", "2026-01-05T12:00:00Z", "10000-01-01", "soon", "")),
        *(("superseded_at", each) for each in ("2026-01-02", "never", "")),
        *(("created_at", each) for each in ("2026-01-02", "1970-01-01", "2026-13-45", "")),
        *(("merge_key", each) for each in ("k1", "k2", "")),
        ("superseded_by", NOBODY),
    ]
)
DEATHS = st.sampled_from(
    [
        ("saga.opened", 1),
        ("saga.stepped", 1),
        ("saga.step", 2),
        ("saga.stepped", 2),
        ("saga.close", 1),
        ("saga.closed", 1),
    ]
)


class LifeMachine(RuleBasedStateMachine):
    notes = Bundle("notes")

    @initialize()
    def open_memory(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="life-"))
        self.clock = FakeClock()
        self.count = 0
        self.ids = SeededIds()
        self.made_by_hand: dict[str | None, int] = {}  # active notes of one key that a hand has made
        self.reopen()

    def reopen(self) -> None:
        config = LithosConfig(storage=StorageSettings(data_dir=self.folder, synchronous="NORMAL"))
        self.faults = PlannedFaults()
        self.lithos = open_lithos(config, clock=self.clock, ids=self.ids, faults=self.faults)
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

    def holders(self, key: str | None) -> list[str]:
        return [each for each, note in self.on_disk().items() if note.text("merge_key") == key and active(note)]

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
        holders = self.holders(key)
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
            ends = note.text("ttl_policy") in ("decay", "ephemeral") and end is not None and end <= micros(now)
            assert not (ends and active(note))

    @rule(note=notes)
    def edit_text_by_hand(self, note: str) -> None:
        path = self.path_of(note)
        path.write_text(path.read_text() + "\nby hand\n")
        self.lithos.notes.reindex()

    @rule(note=notes, other=notes, edit=BY_HAND)
    def edit_fields_by_hand(self, note: str, other: str, edit: tuple[str, str]) -> None:
        """What no tool would write: ends without a time, successors in a circle, a second holder of a key."""
        field, value = edit
        path = self.path_of(note)
        head, body = path.read_text().removeprefix("---\n").split("\n---\n", 1)
        kept = [line for line in head.split("\n") if not line.startswith(f"{field}:")]
        value = other if field == "superseded_by" and len(other) % 2 else value
        lines = [*kept, *([f"{field}: {value}"] if value else [])]
        path.write_text("---\n" + "\n".join(lines) + "\n---\n" + body)
        self.lithos.notes.reindex()
        self.made_by_hand = {key: len(self.holders(key)) for key in ("k1", "k2")}

    @rule(key=KEYS, policy=st.sampled_from(["merge", "supersede"]), death=DEATHS)
    def die_while_writing(self, key: str, policy: str, death: tuple[str, int]) -> None:
        """Whole or absent, and the retry after it is answered once."""
        self.count += 1
        wish = {"title": f"note {self.count}", "content": f"common {self.count}", "agent": "ann", "merge_key": key}
        wish |= {"on_conflict": policy, "idempotency_key": f"death {self.count}"}
        known, before = set(self.on_disk()), len(self.holders(key))
        self.faults.seen.clear()
        self.faults.plan(death[0], "crash", death[1])
        with suppress(Crash):
            self.ask("lithos_write", **wish)
        self.restart()
        assert len(self.holders(key)) <= max(before, 1)
        again = self.ask("lithos_write", **wish)
        assert again == self.ask("lithos_write", **wish)
        assert len(set(self.on_disk()) - known) <= 1 and again["id"] in self.holders(key)

    @rule(death=DEATHS)
    def die_while_decaying(self, death: tuple[str, int]) -> None:
        self.faults.seen.clear()
        self.faults.plan(death[0], "crash", death[1])
        with suppress(Crash):
            self.ask("lithos_decay", agent="ann")
        self.restart()

    def path_of(self, note: str) -> Path:
        return next(path for path in self.files() if note in path.read_text()[:60])

    @rule()
    def restart(self) -> None:
        self.lithos.close()
        self.reopen()

    # What must hold

    @invariant()
    def one_active_note_per_key_but_for_those_that_a_hand_made_and_validate_tells_of(self) -> None:
        if hasattr(self, "lithos"):
            told = {each["path"] for each in self.problems("shared_merge_keys")}
            for key in ("k1", "k2"):
                holders = self.holders(key)
                assert len(holders) <= max(1, self.made_by_hand.get(key, 0))
                assert len(holders) < 2 or len({self.path_of(each).name for each in holders} - told) == 1
                self.made_by_hand[key] = len(holders)

    @invariant()
    def a_superseded_note_leads_to_a_living_one_or_validate_tells_of_its_end(self) -> None:
        if hasattr(self, "lithos"):
            known = self.on_disk()
            lost = {each["path"] for each in self.problems("lost_successors")}
            for note_id, note in known.items():
                if note.text("status") == "superseded":
                    successor = self.ask("lithos_read", id=note_id)["successor"]
                    assert (successor is None) == (self.path_of(note_id).name in lost)
                    assert successor is None or known[successor["id"]].text("status") != "superseded"

    def problems(self, kind: str) -> list[dict[str, Any]]:
        found: dict[str, list[dict[str, Any]]] = self.ask("lithos_validate", limit=1000)["problems"]
        return found.get(kind, [])

    @invariant()
    def nothing_that_ended_is_served_and_everything_else_is(self) -> None:
        if hasattr(self, "lithos"):
            now = self.clock.now()
            current = {
                each
                for each, note in self.on_disk().items()
                if active(note) and was_current(lifecycle_times(note, note.updated(0)), now)
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
                each
                for each, note in self.on_disk().items()
                if was_current(lifecycle_times(note, note.updated(0)), then)
            }
            found = self.ask("lithos_search", query="common", limit=50, as_of=moment)["results"]
            assert {hit["id"] for hit in found} == expected

    def in_days(self, days: int) -> str:
        return rfc3339(self.clock.now() + timedelta(days=days))


def active(note: Note) -> bool:
    return status_of(note) not in ENDED


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
