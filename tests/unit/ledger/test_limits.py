"""Limits and defaults of the ledger: what is just allowed is accepted, one more is refused or cut."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from lithos.core.call import Call
from lithos.errors import InvalidInput, TooLarge
from lithos.ledger import Filter, Ledger, Walk
from lithos.ledger.chain.chain_store import ChainStore
from lithos.ledger.relations import LinksByTarget, causal_thread
from lithos.ledger.render import prompt
from lithos.ledger.words import THOUGHT_TYPES
from tests.support.ledgers import CALL, append, open_ledger


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return open_ledger(tmp_path)


@pytest.fixture
def many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ledger:
    """A chain of 1,023 thoughts; flushes are not what is tested."""
    monkeypatch.setattr(os, "fdatasync", lambda descriptor: None)
    made = open_ledger(tmp_path)
    for number in range(1023):
        append(made, thought_type="Plan", content=f"thought {number}")
    return made


@pytest.mark.parametrize(
    ("allowed", "refused", "error"),
    [
        ({"content": "x" * 262_144}, {"content": "x" * 262_145}, TooLarge),
        ({"content": "ü" * 131_072}, {"content": "ü" * 131_073}, TooLarge),
        ({"tags": [f"t{n}" for n in range(64)]}, {"tags": [f"t{n}" for n in range(65)]}, InvalidInput),
        ({"concepts": ["c" * 200]}, {"concepts": ["c" * 201]}, InvalidInput),
        ({"session_id": "s" * 200}, {"session_id": "s" * 201}, InvalidInput),
        ({"agent_name": "n" * 200}, {"agent_name": "n" * 201}, InvalidInput),
        ({"agent_id": "n" * 200}, {"agent_id": "n" * 201}, InvalidInput),
        ({"chain_key": "k" * 200, "agent_id": "a"}, {"chain_key": "k" * 201, "agent_id": "a"}, InvalidInput),
    ],
)
def test_the_largest_text_is_accepted_and_one_more_is_refused(
    ledger: Ledger, allowed: dict[str, Any], refused: dict[str, Any], error: type[Exception]
) -> None:
    append(ledger, **{"thought_type": "Plan", "content": "x", **allowed})
    with pytest.raises(error):
        append(ledger, **{"thought_type": "Plan", "content": "x", **refused})


def test_a_thousand_references_are_accepted_and_one_more_is_refused(many: Ledger) -> None:
    assert len(append(many, thought_type="Plan", content="x", refs=range(1000))["thought"]["refs"]) == 1000
    with pytest.raises(InvalidInput, match="1000 is the most"):
        append(many, thought_type="Plan", content="x", refs=range(1001))
    relations = [{"kind": "Supports", "target": target} for target in range(1001)]
    append(many, thought_type="Plan", content="x", relations=relations[:1000])
    with pytest.raises(InvalidInput, match="1000 is the most"):
        append(many, thought_type="Plan", content="x", relations=relations)


def test_a_checkpoint_is_written_after_1024_thoughts_and_not_before(many: Ledger) -> None:
    path = many.chain(None).checkpoint_file.path
    assert not path.exists()
    append(many, thought_type="Plan", content="the 1,024th")
    [(_, checkpoint)] = list(many.chain(None).checkpoint_file.lines())
    assert checkpoint is not None and checkpoint["size"] == 1024
    assert (many.chain(None).folder / "rows.bin").stat().st_size == 1024 * 88


def test_a_segment_ends_after_32_mib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fdatasync", lambda descriptor: None)
    ledger = open_ledger(tmp_path)
    while len(segments := sorted(ledger.chain_to_write(None).folder.glob("0*.bin"))) < 2:
        append(ledger, thought_type="Plan", content="x" * 262_000)
    assert 32 << 20 <= segments[0].stat().st_size < (32 << 20) + 263_000


def test_a_search_shows_50_by_default_and_at_most_1000(many: Ledger) -> None:
    assert len(many.search(None, Filter())["thoughts"]) == 50
    assert len(many.search(None, Filter(), 5000)["thoughts"]) == 1000
    assert many.search(None, Filter())["total"] == 1023
    for limit in (0, -1):
        with pytest.raises(InvalidInput):
            many.search(None, Filter(), limit)


def test_a_walk_shows_50_by_default_and_at_most_1000(many: Ledger) -> None:
    assert len(many.traverse(None, Walk())["thoughts"]) == 50
    assert len(many.traverse(None, Walk(chunk_size=1000))["thoughts"]) == 1000
    for size in (0, 1001):
        with pytest.raises(InvalidInput, match="chunk_size"):
            many.traverse(None, Walk(chunk_size=size))


def test_a_reason_of_2000_bytes_is_accepted_and_one_more_is_refused(ledger: Ledger) -> None:
    append(ledger, thought_type="Plan", content="x")
    with pytest.raises(TooLarge):
        ledger.forget(CALL, None, thought_id=None, thought_index=0, reason="r" * 2001)
    assert ledger.forget(CALL, None, thought_id=None, thought_index=0, reason="r" * 2000)["forgotten"]


def test_a_key_is_remembered_for_48_hours(ledger: Ledger) -> None:
    call = Call(tool="t", agent="a", idempotency_key="k", arguments_hash="h")
    first = append(ledger, call, thought_type="Plan", content="x")["thought"]["index"]
    ledger.environment.clock.advance(48 * 3600 - 1)  # type: ignore[attr-defined]
    assert append(ledger, call, thought_type="Plan", content="x")["thought"]["index"] == first
    ledger.environment.clock.advance(2)  # type: ignore[attr-defined]
    assert append(ledger, call, thought_type="Plan", content="x")["thought"]["index"] == first + 1


def test_32_chains_are_open_at_most_and_a_closed_one_goes_on(tmp_path: Path) -> None:
    ledger = open_ledger(tmp_path)
    first = ledger.chain_to_write("chain 0")
    descriptors = len(os.listdir("/proc/self/fd"))
    for number in range(40):
        append(ledger, chain_key=f"chain {number}", thought_type="Plan", content="x")
    assert len(ledger.open_chains()) == 32
    assert len(os.listdir("/proc/self/fd")) - descriptors <= 3 * 32
    assert first not in ledger.open_chains()
    assert ledger.chain("chain 0") is first, "a chain that a caller holds stays one object"
    append(ledger, chain_key="chain 0", thought_type="Plan", content="y")
    assert first.size == 2 and ledger.head("chain 0")["integrity_ok"]
    ledger.close()
    assert len(os.listdir("/proc/self/fd")) <= descriptors


def test_a_chain_that_no_call_holds_is_opened_again_and_its_damage_is_remembered(tmp_path: Path) -> None:
    ledger = open_ledger(tmp_path)
    append(ledger, chain_key="a", thought_type="Plan", content="x")
    ledger.close()
    for segment in tmp_path.glob("ledger/a-*/0*"):
        segment.write_bytes(segment.read_bytes()[:-5])
    opened: list[str] = []
    store = ChainStore(ledger.folder, ledger.environment, lambda chain: opened.append(chain.key), most_open=2)
    assert store.chain("a").problem is not None and store.damaged() == {"a"}
    for key in ("b", "c", "b"):
        store.chain(key, "binary")
    assert opened == ["a", "b", "c"] and [chain.key for chain in store.open_chains()] == ["c", "b"]
    assert store.damaged() == {"a"}, "closed, and still known as damaged"
    assert ledger.problem() is None
    store.chain("a")
    assert opened == ["a", "b", "c", "a"]


def test_a_prompt_cuts_a_content_after_2000_characters(ledger: Ledger) -> None:
    for length in (2000, 2001):
        append(ledger, thought_type="Plan", content="x" * length)
    shown = [ledger.thought(thought_index=index)["thought"] for index in range(2)]
    text = prompt("c", [one for one in shown if one], 2, 100_000)
    assert text.count("x" * 2000) == 2 and "x" * 2001 not in text and text.endswith(" …")


def test_a_context_text_is_bounded_by_default(ledger: Ledger) -> None:
    for number in range(12):
        append(ledger, thought_type=THOUGHT_TYPES[number], content="word " * 400)
    text = ledger.recent_context()
    assert 3000 < len(text) / 4 <= 4200 and "left out" in text


def test_a_thread_goes_three_steps_and_shows_fifty_thoughts(ledger: Ledger) -> None:
    append(ledger, thought_type="Plan", content="first")
    for number in range(4):
        append(ledger, thought_type="Plan", content="next", relations=[{"kind": "Supports", "target": number}])
    chain = ledger.chain(None)
    links = LinksByTarget()
    assert [each["index"] for each in causal_thread(chain, links, 0)["thoughts"]] == [0, 1, 2, 3]
    for _ in range(60):
        append(ledger, thought_type="Plan", content="beside", relations=[{"kind": "Supports", "target": 0}])
    found = causal_thread(chain, links, 0)
    assert (len(found["thoughts"]), found["truncated"]) == (50, True)
