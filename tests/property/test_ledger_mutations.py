"""Any single change to a chain's files is detected and located: the proof of the proof.

`make test` runs some hundred of them per adapter, `make torture` ten thousand.
"""

from __future__ import annotations

import hashlib
import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest

from lithos.core.canonical import canonical_json
from lithos.ledger import Checkpoint, Filter, Verification, VerifyFinding
from lithos.ledger.chain.segments import ADAPTERS, Segment, list_segments, read_blocks
from lithos.ledger.registry.keys import signing_key
from lithos.ledger.thoughts import sign_arguments
from tests.support.ledgers import CALL, DERIVED, NotRight, append, fill, independent_check, open_ledger

THOUGHTS = 24
FORGOTTEN = 3  # the index of a thought whose content was forgotten rightly
FACT_FILES = ("registry.jsonl", "chain.json")


@dataclass(frozen=True)
class Mutation:
    """What was done, and where a finding must point: a thought's index, a file, or anywhere from an index on."""

    what: str
    index: int | None = None
    file: str | None = None
    onward: bool = False

    def is_named_by(self, finding: VerifyFinding) -> bool:
        if self.file is not None and finding.file == self.file:
            return True
        if self.index is None or finding.index is None:
            return self.file == "chain.json"
        if self.index == FORGOTTEN and finding.index == FORGOTTEN + 1:
            return True  # the hash of a redacted record is known only to the thought that follows
        return finding.index >= self.index if self.onward else finding.index == self.index


class Victim:
    """A chain in a folder of its own, with the places of its entries."""

    def __init__(self, folder: Path, chance: random.Random) -> None:
        self.folder, self.chance = folder, chance
        self.segments = list_segments(folder)
        self.entries: list[tuple[Segment, int, bytes]] = []
        for segment in self.segments:
            for block in read_blocks(segment):
                place = block.offset
                for data in block.entries:  # type: ignore[union-attr]
                    self.entries.append((segment, place, data))
                    place += len(data)

    def index_at(self, segment: Segment, offset: int) -> int:
        """Which entry a byte belongs to; a segment's magic to its first."""
        mine = [place for place, (one, start, _) in enumerate(self.entries) if one == segment and start <= offset]
        return mine[-1] if mine else segment.first

    def replace_segment(self, segment: Segment, entries: list[bytes]) -> None:
        segment.path.write_bytes(segment.adapter.magic + b"".join(entries))

    def of(self, segment: Segment) -> list[bytes]:
        return [data for one, _, data in self.entries if one == segment]


def flip_bit(victim: Victim) -> Mutation:
    segment = victim.chance.choice(victim.segments)
    data = bytearray(segment.path.read_bytes())
    place = victim.chance.randrange(len(data))
    data[place] ^= 1 << victim.chance.randrange(8)
    segment.path.write_bytes(data)
    return Mutation("bit", victim.index_at(segment, place))


def change_byte(victim: Victim) -> Mutation:
    segment = victim.chance.choice(victim.segments)
    data = bytearray(segment.path.read_bytes())
    place = victim.chance.randrange(len(data))
    data[place] = (data[place] + victim.chance.randrange(1, 256)) % 256
    segment.path.write_bytes(data)
    return Mutation("byte", victim.index_at(segment, place))


def insert_byte(victim: Victim) -> Mutation:
    segment = victim.chance.choice(victim.segments)
    data = segment.path.read_bytes()
    place = victim.chance.randrange(len(segment.adapter.magic), len(data))
    segment.path.write_bytes(data[:place] + bytes([victim.chance.randrange(256)]) + data[place:])
    index = victim.index_at(segment, place)
    starts = any(start == place for one, start, _ in victim.entries if one == segment)
    # At a border the byte may as well be the end of the entry before.
    return Mutation("insert", index, onward=starts)


def drop_row(victim: Victim) -> Mutation:
    index = victim.chance.randrange(len(victim.entries))
    segment = victim.entries[index][0]
    kept = victim.of(segment)
    del kept[index - segment.first]
    victim.replace_segment(segment, kept)
    return Mutation("row", index)


def swap_rows(victim: Victim) -> Mutation:
    segment = victim.chance.choice([one for one in victim.segments if len(victim.of(one)) > 1])
    rows = victim.of(segment)
    first, second = sorted(victim.chance.sample(range(len(rows)), 2))
    rows[first], rows[second] = rows[second], rows[first]
    victim.replace_segment(segment, rows)
    return Mutation("order", segment.first + first)


def duplicate_row(victim: Victim) -> Mutation:
    index = victim.chance.randrange(len(victim.entries))
    segment, _, data = victim.entries[index]
    rows = victim.of(segment)
    rows.insert(index - segment.first, data)
    victim.replace_segment(segment, rows)
    return Mutation("duplicate", index + 1)


def change_field(victim: Victim) -> Mutation:
    """A field changed with care: still canonical, and the entry's own hash made to fit."""
    index = victim.chance.randrange(len(victim.entries))
    segment, _, data = victim.entries[index]
    record, body, salt, _ = segment.adapter.decode(data)
    fields = orjson.loads(record)
    others: dict[str, Any] = {
        "agent_id": fields.get("agent_id", "") + "x",
        "role": "Handoff",
        "importance": 0.125,
        "timestamp": "2020-01-01T00:00:00Z",
        "thought_type": "Wonder",
        "id": "00000000-0000-7000-8000-000000000000",
    }
    name = victim.chance.choice(list(others))
    fields[name] = others[name]
    changed = canonical_json(fields)
    digest = hashlib.sha256(b"lithos.thought.v1\n" + changed).hexdigest().encode()
    rows = victim.of(segment)
    rows[index - segment.first] = segment.adapter.encode((changed, body, salt, digest))
    victim.replace_segment(segment, rows)
    return Mutation("field", min(index + 1, len(victim.entries) - 1))


def change_content(victim: Victim) -> Mutation:
    index = victim.chance.randrange(len(victim.entries))
    segment, _, data = victim.entries[index]
    record, body, salt, digest = segment.adapter.decode(data)
    rows = victim.of(segment)
    rows[index - segment.first] = segment.adapter.encode((record, body.replace(b"Thought", b"Naughty"), salt, digest))
    if b"Thought" not in body:
        return flip_bit(victim)
    victim.replace_segment(segment, rows)
    return Mutation("content", index)


def erase_content(victim: Victim) -> Mutation:
    """As forgetting does, but with no record of it."""
    index = victim.chance.choice([place for place in range(len(victim.entries)) if place != FORGOTTEN])
    segment, _, data = victim.entries[index]
    record, _, _, digest = segment.adapter.decode(data)
    rows = victim.of(segment)
    rows[index - segment.first] = segment.adapter.encode((record, b"", b"", digest))
    victim.replace_segment(segment, rows)
    return Mutation("erase", index)


def rewrite_from(victim: Victim) -> Mutation:
    """Everything from one thought on written anew with right hashes: only a checkpoint can tell."""
    index = victim.chance.randrange(len(victim.entries))
    head = None
    for segment in victim.segments:
        rows = []
        for place, data in enumerate(victim.of(segment), segment.first):
            record, body, salt, digest = segment.adapter.decode(data)
            if place >= index:
                fields = orjson.loads(record)
                if place == index:
                    fields["agent_id"] = "forger"
                fields["prev_hash"] = head or fields["prev_hash"]
                record = canonical_json(fields)
                head = hashlib.sha256(b"lithos.thought.v1\n" + record).hexdigest()
                digest = head.encode()
            rows.append(segment.adapter.encode((record, body, salt, digest)))
        victim.replace_segment(segment, rows)
    return Mutation("rewrite", index, onward=True)


def truncate(victim: Victim) -> Mutation:
    segment = victim.chance.choice(victim.segments)
    size = segment.path.stat().st_size
    place = victim.chance.randrange(size)
    with segment.path.open("r+b") as file:
        file.truncate(place)
    return Mutation("truncation", victim.index_at(segment, place))


def swap_files(victim: Victim) -> Mutation:
    one, two = victim.chance.sample(victim.segments, 2)
    first, second = one.path.read_bytes(), two.path.read_bytes()
    one.path.write_bytes(second)
    two.path.write_bytes(first)
    return Mutation("file swap", min(one.first, two.first))


def remove_file(victim: Victim) -> Mutation:
    segment = victim.chance.choice(victim.segments)
    segment.path.unlink()
    return Mutation("file removed", segment.first)


def damage_fact_file(victim: Victim) -> Mutation:
    name = victim.chance.choice(FACT_FILES)
    damage_file(victim.folder / name, victim.chance)
    return Mutation(name, 0 if name == "chain.json" else None, file=name, onward=True)


def damage_file(path: Path, chance: random.Random) -> None:
    data = bytearray(path.read_bytes())
    place = chance.randrange(len(data))
    if chance.random() < 0.3:
        del data[place:]
    else:
        data[place] ^= 1 << chance.randrange(8)
    path.write_bytes(data)


def damage_checkpoints(victim: Victim) -> Mutation:
    path = victim.folder.parent.parent / "checkpoints" / f"{victim.folder.name}.jsonl"
    data = bytearray(path.read_bytes())
    data[victim.chance.randrange(len(data))] ^= 1 << victim.chance.randrange(8)
    path.write_bytes(data)
    return Mutation("checkpoints", file="checkpoints")


MUTATIONS: tuple[Callable[[Victim], Mutation], ...] = (
    flip_bit,
    change_byte,
    insert_byte,
    drop_row,
    swap_rows,
    duplicate_row,
    change_field,
    change_content,
    erase_content,
    rewrite_from,
    truncate,
    swap_files,
    remove_file,
    damage_fact_file,
    damage_checkpoints,
)


@pytest.fixture(scope="module", params=["jsonl", "binary"])
def sound(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Checkpoint]:
    """A chain with everything in it: segments, signatures, a forgotten thought, a registry, checkpoints."""
    folder = tmp_path_factory.mktemp(f"sound-{request.param}")
    ledger = open_ledger(folder, default_adapter=request.param, segment_bytes=5000)
    fill(ledger, 10)
    key = signing_key(b"\x03" * 32)
    chain = ledger.chain(None)
    details = {"key_id": "k", "algorithm": "ed25519", "public_key": key.public.hex()}
    chain.record_change("key_added", "agent-1", details, None)
    given = {"agent_id": "agent-1", "thought_type": "Decision", "content": "Thought that is signed"}
    append(ledger, **sign_arguments(key, "k", given, "lithos"))
    chain.write_checkpoint()
    ledger.forget(CALL, None, thought_id=None, thought_index=FORGOTTEN, reason="test")
    fill(ledger, THOUGHTS - 12)
    checkpoint = ledger.head()["checkpoint"]
    ledger.close()
    assert not Verification(chain.folder, folder / "checkpoints", full=True, against=checkpoint).run().findings
    return chain.folder, checkpoint


def run_mutations(sound: tuple[Path, Checkpoint], folder: Path, count: int, seed: int) -> None:
    chain, checkpoint = sound
    chance = random.Random(seed)
    for number in range(count):
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(chain.parent.parent, folder)
        victim = Victim(folder / "ledger" / chain.name, chance)
        mutation = MUTATIONS[number % len(MUTATIONS)](victim)
        found = Verification(victim.folder, folder / "checkpoints", full=True, against=checkpoint).run().findings
        assert found, f"{number}: {mutation} was not detected"
        assert any(mutation.is_named_by(finding) for finding in found), f"{number}: {mutation}, found {found[:4]}"


def test_every_single_mutation_is_detected_and_located(sound: tuple[Path, Checkpoint], tmp_path: Path) -> None:
    run_mutations(sound, tmp_path / "x", 150, seed=1)


def test_no_damage_to_a_derived_file_changes_the_verdict_or_the_answers(
    sound: tuple[Path, Checkpoint], tmp_path: Path
) -> None:
    chain, checkpoint = sound
    chance = random.Random(3)
    for number in range(40):
        folder = tmp_path / str(number)
        shutil.copytree(chain.parent.parent, folder)
        victim = folder / "ledger" / chain.name
        for name in chance.sample(DERIVED, chance.randrange(1, len(DERIVED))):
            (victim / name).unlink() if chance.random() < 0.3 else damage_file(victim / name, chance)
        report = Verification(victim, folder / "checkpoints", full=True, against=checkpoint).run()
        assert report.findings == []
        again = open_ledger(folder, seed=2)
        shown = again.head(last_checkpoint=checkpoint)
        assert shown["integrity_ok"] is True and shown["thought_count"] == report.thoughts
        found = again.search(None, Filter(tags_any=("t3",)), 100)["thoughts"]
        assert [one["index"] for one in found] == [7, 15, 19, 23] and again.prove(None, 5)["index"] == 5
        again.close()


@pytest.mark.torture
def test_ten_thousand_mutations_are_detected_and_located(sound: tuple[Path, Checkpoint], tmp_path: Path) -> None:
    run_mutations(sound, tmp_path / "x", 5000, seed=2)


def test_both_verifiers_agree_on_which_entries_are_wrong(sound: tuple[Path, Checkpoint], tmp_path: Path) -> None:
    """Without checkpoints, index files and signatures, what one finds the other finds."""
    chain, _ = sound
    chance = random.Random(7)
    for number in range(45):
        shutil.rmtree(tmp_path / "x", ignore_errors=True)
        shutil.copytree(chain, tmp_path / "x" / chain.name)
        victim = Victim(tmp_path / "x" / chain.name, chance)
        for name in DERIVED:
            (victim.folder / name).unlink()
        MUTATIONS[number % 12](victim)
        report = Verification(victim.folder, tmp_path / "none").run()
        try:
            theirs: Any = independent_check(victim.folder)
        except (NotRight, UnicodeDecodeError, ValueError, KeyError, TypeError):
            theirs = None
        ours = (report.thoughts, report.root) if report.ok else None
        assert ours == theirs, (number, report.findings[:2], theirs)


def test_adapters_are_known_by_name() -> None:
    assert set(ADAPTERS) == {"binary", "jsonl"}
