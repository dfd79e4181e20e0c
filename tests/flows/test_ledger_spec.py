"""The example sequences and the rules of the MentisDB specification, through the real tools."""

from __future__ import annotations

from typing import Any

import pytest

from lithos.core.clock import FakeClock
from lithos.errors import Forbidden, InvalidInput, LedgerFork, NotFound, TooLarge
from lithos.ledger import sign_arguments, signing_key
from lithos.ledger.proofs.checkpoints import sign_checkpoint
from lithos.tools.caller import Caller
from lithos.tools.catalogue import catalogue
from tests.conftest import CallTool

CHAIN = "project-alpha"
THOUGHT_FIELDS = {
    "index",
    "id",
    "agent_id",
    "agent_name",
    "agent_owner",
    "timestamp",
    "thought_type",
    "role",
    "content",
    "confidence",
    "importance",
    "tags",
    "concepts",
    "refs",
    "hash",
    "prev_hash",
    "signing_key_id",
    "thought_signature",
}
AGENT_FIELDS = {
    "agent_id",
    "display_name",
    "agent_owner",
    "description",
    "aliases",
    "status",
    "public_keys",
    "thought_count",
    "first_seen_index",
    "last_seen_index",
    "first_seen_at",
    "last_seen_at",
}


def append(call: CallTool, content: str, thought_type: str = "FactLearned", **more: Any) -> dict[str, Any]:
    return call("mentisdb_append", thought_type=thought_type, content=content, **{"chain_key": CHAIN, **more})


def test_the_example_sequence_of_the_spec_works_from_bootstrap_to_the_end_of_the_session(call: CallTool) -> None:
    first = call(
        "mentisdb_bootstrap",
        chain_key=CHAIN,
        content="Memory for Project Alpha. Preserve architecture decisions, user preferences, constraints.",
        importance=1.0,
        tags=["bootstrap"],
        concepts=["project-alpha", "semantic-memory"],
    )
    assert (first["bootstrapped"], first["thought_count"]) == (True, 1)
    prompt = call("mentisdb_recent_context", chain_key=CHAIN, last_n=12)["prompt"]
    assert "Memory for Project Alpha" in prompt
    wanted = ["Constraint", "Decision", "Mistake", "Correction"]
    assert call("mentisdb_search", chain_key=CHAIN, thought_types=wanted, text="deployment", limit=10)["thoughts"] == []
    plan = append(
        call,
        "Use a staged deployment with a canary instance before global rollout.",
        "Plan",
        role="Memory",
        importance=0.82,
        tags=["deployment", "rollout"],
        concepts=["staged-rollout"],
    )["thought"]
    assert set(plan) >= THOUGHT_FIELDS
    mistake = append(
        call,
        "Assumed the production environment already had the required migration.",
        "Mistake",
        importance=0.91,
        tags=["deployment", "incident"],
    )["thought"]
    lesson = call(
        "mentisdb_append_retrospective",
        chain_key=CHAIN,
        thought_type="LessonLearned",
        importance=0.95,
        confidence=0.97,
        tags=["deployment", "lesson"],
        concepts=["migration-checklist"],
        refs=[mistake["index"]],
        content="Before deployment, explicitly verify migration state instead of assuming environment parity.",
    )["thought"]
    assert (lesson["role"], lesson["refs"]) == ("Retrospective", [mistake["index"]])
    end = append(call, "We adopted a staged rollout plan.", "Summary", role="Checkpoint", importance=0.9)
    back = call(
        "mentisdb_traverse_thoughts",
        chain_key=CHAIN,
        anchor_boundary="head",
        direction="backward",
        chunk_size=5,
        thought_types=["Plan", "Mistake"],
    )
    assert [one["id"] for one in back["thoughts"]] == [mistake["id"], plan["id"]]
    head = call("mentisdb_head", chain_key=CHAIN)
    assert (head["thought_count"], head["head_hash"], head["integrity_ok"]) == (5, end["head_hash"], True)
    assert head["latest_thought"] == end["thought"]


def test_a_lesson_that_refers_to_a_mistake_is_in_its_causal_thread(call: CallTool) -> None:
    mistake = append(call, "Used a staging-only configuration assumption in production.", "Mistake")["thought"]
    append(call, "Something else entirely.")
    lesson = call(
        "mentisdb_append_retrospective", chain_key=CHAIN, content="Verify the environment.", refs=[mistake["index"]]
    )["thought"]
    thread = call("lithos_ledger_context", chain_key=CHAIN, thought_index=mistake["index"])
    assert [one["index"] for one in thread["thoughts"]] == [mistake["index"], lesson["index"]]
    assert thread["links"] == [{"source": lesson["index"], "target": mistake["index"], "kind": "References"}]
    assert "Verify the environment." in thread["text"]


def test_typed_relations_and_session_ids_are_kept_and_followed(call: CallTool) -> None:
    plan = append(call, "Plan one", "Plan", session_id="s-1")["thought"]
    shift = append(call, "Plan two", "StrategyShift", relations=[{"kind": "Supersedes", "target": plan["index"]}])
    assert shift["thought"]["relations"] == [{"kind": "Supersedes", "target": 0}]
    assert plan["session_id"] == "s-1"
    thread = call("lithos_ledger_context", chain_key=CHAIN, thought_id=plan["id"])
    assert thread["links"][0]["kind"] == "Supersedes"


def test_bootstrap_leaves_a_chain_with_data_alone_and_says_that_the_adapter_was_ignored(call: CallTool) -> None:
    append(call, "first")
    again = call("mentisdb_bootstrap", chain_key=CHAIN, content="late", storage_adapter="jsonl")
    assert (again["bootstrapped"], again["thought_count"]) == (False, 1)
    assert "ignored" in again["note"]


def test_bootstrap_defaults_are_system_summary_checkpoint_and_full_importance(call: CallTool) -> None:
    call("mentisdb_bootstrap", content="what this is for")
    thought = call("mentisdb_get_genesis_thought")["thought"]
    assert (thought["agent_id"], thought["thought_type"], thought["role"]) == ("system", "Summary", "Checkpoint")
    assert thought["importance"] == 1.0
    assert call("mentisdb_list_chains")["default_chain_key"] == "lithos"


def test_append_defaults_are_the_chain_key_as_agent_memory_and_half_importance(call: CallTool) -> None:
    thought = append(call, "x")["thought"]
    assert (thought["agent_id"], thought["role"], thought["importance"], thought["confidence"]) == (
        CHAIN,
        "Memory",
        0.5,
        None,
    )
    lesson = call("mentisdb_append_retrospective", content="y", chain_key=CHAIN)["thought"]
    assert (lesson["thought_type"], lesson["importance"]) == ("LessonLearned", 0.7)


def test_numbers_are_clamped_not_refused(call: CallTool) -> None:
    thought = append(call, "x", importance=7, confidence=-1)["thought"]
    assert (thought["importance"], thought["confidence"]) == (1.0, 0.0)


def test_hashes_bind_each_thought_to_the_one_before(call: CallTool) -> None:
    one, two = append(call, "one")["thought"], append(call, "two")["thought"]
    assert two["prev_hash"] == one["hash"]
    assert call("mentisdb_get_thought", chain_key=CHAIN, thought_hash=one["hash"])["thought"] == one
    assert call("mentisdb_get_thought", chain_key=CHAIN, thought_id=two["id"])["thought"] == two
    assert call("mentisdb_get_thought", chain_key=CHAIN, thought_index=1)["thought"] == two


def test_what_is_not_there_is_null_and_an_unknown_chain_is_not_made_by_reading(call: CallTool) -> None:
    append(call, "one")
    assert call("mentisdb_get_thought", chain_key=CHAIN, thought_index=9)["thought"] is None
    assert call("mentisdb_get_thought", chain_key=CHAIN, thought_hash="ab" * 32)["thought"] is None
    for tool in ("mentisdb_head", "mentisdb_search", "mentisdb_recent_context", "mentisdb_list_agents"):
        with pytest.raises(NotFound):
            call(tool, chain_key="nobody")
    assert call("mentisdb_list_chains")["chain_keys"] == [CHAIN]


def test_upsert_on_a_new_chain_makes_an_empty_one_in_which_bootstrap_still_writes(call: CallTool) -> None:
    call("mentisdb_upsert_agent", chain_key="fresh", agent_id="astro", display_name="Astro", agent_owner="ops")
    assert call("mentisdb_get_genesis_thought", chain_key="fresh")["thought"] is None
    assert call("mentisdb_head", chain_key="fresh")["head_hash"] is None
    assert call("mentisdb_bootstrap", chain_key="fresh", content="now")["bootstrapped"] is True


def test_chains_are_listed_with_their_facts_and_a_location_inside_the_data_directory(call: CallTool) -> None:
    call("mentisdb_bootstrap", chain_key="a/../b c", content="x", storage_adapter="jsonl")
    chains = call("mentisdb_list_chains")["chains"]
    assert chains[0]["chain_key"] == "a/../b c"
    assert chains[0]["storage_adapter"] == "jsonl"
    assert (chains[0]["thought_count"], chains[0]["agent_count"], chains[0]["version"]) == (1, 1, 1)
    assert chains[0]["storage_location"].startswith(".lithos/ledger/a-b-c-")


def test_the_registry_keeps_names_aliases_status_and_activity(call: CallTool, clock: FakeClock) -> None:
    append(call, "one", agent_id="astro", agent_name="Astro", agent_owner="ops")
    clock.advance(60)
    append(call, "two", agent_id="astro")
    agent = call("mentisdb_get_agent", chain_key=CHAIN, agent_id="astro")["agent"]
    assert set(agent) == AGENT_FIELDS
    assert (agent["display_name"], agent["agent_owner"], agent["thought_count"]) == ("Astro", "ops", 2)
    assert (agent["first_seen_index"], agent["last_seen_index"]) == (0, 1)
    assert agent["first_seen_at"] < agent["last_seen_at"]
    call("mentisdb_add_agent_alias", chain_key=CHAIN, agent_id="astro", alias="Rocket")
    call("mentisdb_upsert_agent", chain_key=CHAIN, agent_id="astro", display_name="Astra", description="flies")
    agent = call("mentisdb_add_agent_alias", chain_key=CHAIN, agent_id="astro", alias="Rocket")["agent"]
    assert (agent["display_name"], agent["aliases"], agent["description"]) == ("Astra", ["Rocket"], "flies")
    cleared = call("mentisdb_set_agent_description", chain_key=CHAIN, agent_id="astro")["agent"]
    assert cleared["description"] is None
    for name in ("rocket", "Astra", "Astro"):
        assert len(call("mentisdb_search", chain_key=CHAIN, agent_names=[name])["thoughts"]) == 2
    assert call("mentisdb_list_agents", chain_key=CHAIN)["agents"] == [
        {"agent_id": "astro", "agent_name": "Astra", "agent_owner": "ops"}
    ]


def test_a_revoked_agent_cannot_append_and_its_thoughts_stay(call: CallTool) -> None:
    append(call, "one", agent_id="astro")
    assert call("mentisdb_disable_agent", chain_key=CHAIN, agent_id="astro")["agent"]["status"] == "revoked"
    with pytest.raises(Forbidden):
        append(call, "two", agent_id="astro")
    assert call("mentisdb_head", chain_key=CHAIN)["thought_count"] == 1
    call("mentisdb_upsert_agent", chain_key=CHAIN, agent_id="astro", status="active")
    assert append(call, "two", agent_id="astro")["thought"]["index"] == 1


def test_agents_that_write_thoughts_are_known_to_lithos_agent_list(call: CallTool) -> None:
    append(call, "one", agent_id="astro")
    append(call, "two")
    call("mentisdb_bootstrap", chain_key="other", content="x")
    assert {agent["id"] for agent in call("lithos_agent_list")["agents"]} >= {"astro", CHAIN, "system"}


def test_filters_combine_and_results_without_text_come_in_append_order(call: CallTool, clock: FakeClock) -> None:
    for number in range(10):
        append(
            call,
            f"thought {number}",
            "Insight" if number % 2 else "Decision",
            importance=number / 10,
            confidence=None if number < 5 else 0.9,
            tags=["Even" if number % 2 == 0 else "odd"],
            agent_id=f"agent-{number % 3}",
            agent_owner="ops",
        )
        clock.advance(1)

    def found(**filters: Any) -> list[int]:
        return [one["index"] for one in call("mentisdb_search", chain_key=CHAIN, **filters)["thoughts"]]

    assert found() == list(range(10))
    assert found(limit=3) == [7, 8, 9]
    assert found(thought_types=["Insight"], min_importance=0.5) == [5, 7, 9]
    assert found(tags_any=["even"], agent_ids=["agent-0", "agent-1"]) == [0, 4, 6]
    assert found(min_confidence=0.1, tags_any=["odd"]) == [5, 7, 9]
    assert found(since="2026-01-01T00:00:03Z", until="2026-01-01T00:00:05Z") == [3, 4, 5]
    assert found(agent_owners=["OPS"], roles=["Memory"], limit=1) == [9]
    assert found(agent_owners=["nobody"]) == []


def test_traversal_walks_in_chunks_and_its_cursors_stay_true_under_appends(call: CallTool) -> None:
    for number in range(7):
        append(call, f"thought {number}")

    def walk(**arguments: Any) -> dict[str, Any]:
        return call("mentisdb_traverse_thoughts", chain_key=CHAIN, **arguments)

    def indexes(answer: dict[str, Any]) -> list[int]:
        return [one["index"] for one in answer["thoughts"]]

    one = walk(chunk_size=3)
    assert (indexes(one), one["has_more"], one["direction"], one["chunk_size"]) == ([0, 1, 2], True, "forward", 3)
    append(call, "thought 7")
    two = walk(chunk_size=3, anchor_id=one["next_cursor"]["id"])
    assert indexes(two) == [3, 4, 5]
    back = walk(chunk_size=3, anchor_hash=two["previous_cursor"]["hash"], direction="backward")
    assert indexes(back) == [2, 1, 0]
    rest = walk(anchor_index=two["next_cursor"]["index"])
    assert (indexes(rest), rest["has_more"], rest["next_cursor"]) == ([6, 7], False, None)
    assert indexes(walk(direction="backward", chunk_size=2)) == [7, 6]
    assert indexes(walk(anchor_index=2, include_anchor=True, chunk_size=1)) == [2]
    assert indexes(walk(text="THOUGHT 5")) == [5]


def test_time_windows_are_epochs_in_their_unit_and_intersect_since_and_until(call: CallTool, clock: FakeClock) -> None:
    for _ in range(5):
        append(call, "tick")
        clock.advance(1)
    start = 1_767_225_600

    def found(**arguments: Any) -> list[int]:
        answer = call("mentisdb_traverse_thoughts", chain_key=CHAIN, **arguments)
        return [one["index"] for one in answer["thoughts"]]

    assert found(time_window={"start": start + 1, "delta": 2, "unit": "seconds"}) == [1, 2, 3]
    assert found(time_window={"start": (start + 1) * 1000, "delta": 999, "unit": "milliseconds"}) == [1]
    window = {"start": start + 1, "delta": 2, "unit": "seconds"}
    assert found(time_window=window, since="2026-01-01T00:00:03Z") == [3]


def test_markdown_puts_a_correction_under_what_it_corrects_and_is_bounded(call: CallTool) -> None:
    append(call, "The port is 80.", "FactLearned", agent_name="Astro", agent_id="astro")
    append(call, "We chose SQLite.", "Decision")
    append(call, "The port is 8080.", "Correction", refs=[0])
    text = call("mentisdb_memory_markdown", chain_key=CHAIN)["markdown"]
    lines = [line for line in text.splitlines() if line.strip().startswith("-")]
    wrong = next(place for place, line in enumerate(lines) if "port is 80." in line)
    assert "port is 8080" in lines[wrong + 1] and lines[wrong + 1].startswith("  -")
    assert "by Astro (astro)" in lines[wrong] and "2026-01-01" in lines[wrong]
    for number in range(200):
        append(call, f"A long observation number {number}. " * 10)
    small = call("mentisdb_memory_markdown", chain_key=CHAIN, limit=200, max_tokens=500)["markdown"]
    assert len(small) < 2600 and "left out" in small
    prompt = call("mentisdb_recent_context", chain_key=CHAIN, last_n=100, max_tokens=400)["prompt"]
    assert len(prompt) < 2200 and "number 199" in prompt and "left out" in prompt


def test_the_same_idempotency_key_gives_the_first_answer_and_one_thought(call: CallTool) -> None:
    first = append(call, "once", idempotency_key="k")
    append(call, "between")
    assert append(call, "once", idempotency_key="k") == first
    assert call("mentisdb_head", chain_key=CHAIN)["thought_count"] == 2
    from lithos.errors import KeyReused

    with pytest.raises(KeyReused):
        append(call, "other", idempotency_key="k")
    upsert = {"chain_key": CHAIN, "agent_id": "a", "idempotency_key": "k2"}
    before = call("mentisdb_upsert_agent", **upsert)
    append(call, "more", agent_id="a")
    assert call("mentisdb_upsert_agent", **upsert) == before


BAD: list[tuple[str, dict[str, Any]]] = [
    ("mentisdb_append", {"thought_type": "Nonsense", "content": "x"}),
    ("mentisdb_append", {"thought_type": "Idea", "content": "x", "role": "Boss"}),
    ("mentisdb_append", {"thought_type": "Idea", "content": "   "}),
    ("mentisdb_append", {"thought_type": "Idea", "content": "x", "refs": [99]}),
    ("mentisdb_append", {"thought_type": "Idea", "content": "x", "refs": [-1]}),
    ("mentisdb_append", {"thought_type": "Idea", "content": "x", "relations": [{"kind": "Corrects", "target": 5}]}),
    ("mentisdb_append", {"thought_type": "Idea", "content": "x", "relations": [{"kind": "Eats", "target": 0}]}),
    ("mentisdb_append", {"thought_type": "Idea", "content": "a\x07b"}),
    ("mentisdb_append", {"thought_type": "Idea", "content": "a\ud800b"}),
    ("mentisdb_append", {"thought_type": "Idea", "content": "x" * 10_000_000}),
    ("mentisdb_append", {"thought_type": "Idea", "content": "x", "chain_key": "k" * 201}),
    ("mentisdb_append", {"thought_type": "Idea", "content": "x", "chain_key": "a\nb"}),
    ("mentisdb_append", {"thought_type": "Idea", "content": "x", "chain_key": " "}),
    ("mentisdb_append", {"thought_type": "Idea", "content": "x", "agent_id": "a\x00"}),
    ("mentisdb_append", {"thought_type": "Idea", "content": "x", "tags": ["a" * 201]}),
    ("mentisdb_append", {"thought_type": "Idea", "content": "x", "tags": "no, list"}),
    ("mentisdb_append", {"thought_type": "Idea", "content": "x", "importance": "high"}),
    ("mentisdb_append", {"thought_type": "Idea", "content": "x", "signing_key_id": "k"}),
    ("mentisdb_append", {"thought_type": "Idea", "content": "x", "thought_signature": [300] * 64}),
    ("mentisdb_append", {"thought_type": "Idea", "content": "x", "last_checkpoint": {"size": 1}}),
    ("mentisdb_append", {"content": "x"}),
    ("mentisdb_append_retrospective", {"content": "x", "thought_type": "ideas"}),
    ("mentisdb_bootstrap", {"content": "x", "storage_adapter": "xml"}),
    ("mentisdb_bootstrap", {"content": ""}),
    ("mentisdb_search", {"thought_types": ["Nope"]}),
    ("mentisdb_search", {"limit": -1}),
    ("mentisdb_search", {"since": "yesterday"}),
    ("mentisdb_search", {"min_importance": "x"}),
    ("mentisdb_get_thought", {}),
    ("mentisdb_get_thought", {"thought_index": 0, "thought_id": "x"}),
    ("mentisdb_get_thought", {"thought_index": -1}),
    ("mentisdb_traverse_thoughts", {"anchor_index": 0, "anchor_boundary": "head"}),
    ("mentisdb_traverse_thoughts", {"chunk_size": 0}),
    ("mentisdb_traverse_thoughts", {"chunk_size": -3}),
    ("mentisdb_traverse_thoughts", {"direction": "sideways"}),
    ("mentisdb_traverse_thoughts", {"anchor_boundary": "middle"}),
    ("mentisdb_traverse_thoughts", {"anchor_id": "not-there"}),
    ("mentisdb_traverse_thoughts", {"time_window": {"start": 1, "delta": 1, "unit": "days"}}),
    ("mentisdb_traverse_thoughts", {"time_window": {"start": 10**30, "delta": 1, "unit": "seconds"}}),
    ("mentisdb_recent_context", {"last_n": 0}),
    ("mentisdb_memory_markdown", {"limit": 0}),
    ("mentisdb_head", {"last_checkpoint": {"a": 1}}),
    ("mentisdb_list_chains", {"surprise": 1}),
    ("mentisdb_list_agents", {"chain_key": ""}),
    ("mentisdb_get_genesis_thought", {"chain_key": 7}),
    ("mentisdb_list_agent_registry", {"chain_key": []}),
    ("mentisdb_get_agent", {}),
    ("mentisdb_upsert_agent", {"agent_id": "a", "status": "asleep"}),
    ("mentisdb_upsert_agent", {"agent_id": ""}),
    ("mentisdb_set_agent_description", {"description": "x"}),
    ("mentisdb_add_agent_alias", {"agent_id": "a", "alias": ""}),
    ("mentisdb_add_agent_key", {"agent_id": "a", "key_id": "k", "algorithm": "rsa", "public_key_bytes": [1]}),
    ("mentisdb_add_agent_key", {"agent_id": "a", "key_id": "k", "algorithm": "ed25519", "public_key_bytes": [1]}),
    (
        "mentisdb_add_agent_key",
        {"agent_id": "a", "key_id": "k", "algorithm": "ed25519", "public_key_bytes": [256] * 32},
    ),
    ("mentisdb_revoke_agent_key", {"agent_id": "a"}),
    ("mentisdb_disable_agent", {}),
    ("lithos_ledger_context", {"depth": 0}),
    ("lithos_ledger_prove", {"thought_index": -1}),
    ("lithos_ledger_prove", {"thought_index": 99}),
    ("lithos_ledger_context", {"thought_index": 0, "thought_id": "x"}),
]


def test_bad_input_is_refused_and_writes_nothing(call: CallTool) -> None:
    call("mentisdb_append", thought_type="Idea", content="there is something", agent_id="a")
    for tool, arguments in BAD:
        case = f"{tool} {arguments}"[:120]
        try:
            call(tool, **arguments)
            pytest.fail(f"{case} was accepted")
        except (InvalidInput, TooLarge) as refused:
            assert refused.message and refused.code in ("invalid_input", "too_large"), case
        assert call("mentisdb_head")["thought_count"] == 1, case
        assert call("mentisdb_list_chains")["chain_keys"] == ["lithos"], case


def test_every_ledger_tool_appears_among_the_bad_inputs() -> None:
    named = {tool for tool, _ in BAD}
    mine = {tool.name for tool in catalogue() if tool.toolset == "ledger"}
    assert mine == named


def test_a_wrong_enum_is_answered_with_the_nearest_and_where_all_are(call: CallTool) -> None:
    with pytest.raises(InvalidInput, match="did you mean 'LessonLearned'") as refused:
        append(call, "x", "LessonLernt")
    assert "lithos_tool_find" in refused.value.hint
    assert len(refused.value.message) < 250


def test_things_that_are_not_there_are_not_found(call: CallTool) -> None:
    append(call, "x")
    for tool, arguments in (
        ("mentisdb_get_agent", {"agent_id": "nobody"}),
        ("mentisdb_set_agent_description", {"agent_id": "nobody", "description": "x"}),
        ("mentisdb_add_agent_alias", {"agent_id": "nobody", "alias": "n"}),
        ("mentisdb_disable_agent", {"agent_id": "nobody"}),
        ("mentisdb_revoke_agent_key", {"agent_id": CHAIN, "key_id": "none"}),
        ("lithos_ledger_context", {"thought_index": 77}),
    ):
        with pytest.raises(NotFound):
            call(tool, chain_key=CHAIN, **arguments)


def test_a_read_only_caller_may_read_and_not_append(call: CallTool) -> None:
    append(call, "x")
    reader = Caller(read_only=True)
    assert call("mentisdb_head", _caller=reader, chain_key=CHAIN)["thought_count"] == 1
    with pytest.raises(Forbidden):
        append(call, "y", _caller=reader)


def test_a_description_of_4000_bytes_is_accepted_and_one_more_is_refused(call: CallTool) -> None:
    for tool in ("mentisdb_upsert_agent", "mentisdb_set_agent_description"):
        agent = call(tool, chain_key=CHAIN, agent_id="a", description="d" * 4000)["agent"]
        assert len(agent["description"]) == 4000
        with pytest.raises(InvalidInput):
            call(tool, chain_key=CHAIN, agent_id="a", description="d" * 4001)


def test_a_checkpoint_of_a_chain_that_is_gone_is_a_fork(call: CallTool) -> None:
    kept = append(call, "x")["checkpoint"]
    with pytest.raises(LedgerFork, match="there is no chain"):
        call("mentisdb_append", thought_type="Plan", content="y", chain_key="gone", last_checkpoint=_renamed(kept))
    with pytest.raises(InvalidInput, match="there is no thought 3 yet; the chain has 0"):
        call("mentisdb_append", thought_type="Plan", content="y", chain_key="new", refs=[3])
    assert call("mentisdb_list_chains")["chain_keys"] == [CHAIN]


def _renamed(checkpoint: dict[str, Any]) -> dict[str, Any]:
    """As another host signed it for a chain of this name."""
    key = signing_key(b"\x09" * 32)
    fields = {name: value for name, value in checkpoint.items() if name not in ("signature", "public_key", "root")}
    fields["chain_key"] = "gone"
    return dict(sign_checkpoint(key, root=bytes.fromhex(checkpoint["root"]), **fields))


def test_what_the_signer_did_not_normalise_is_signed_as_it_is_stored(call: CallTool) -> None:
    key = signing_key(b"\x05" * 32)
    call("mentisdb_upsert_agent", chain_key=CHAIN, agent_id="astro")
    details = {"key_id": "k", "algorithm": "ed25519", "public_key_bytes": list(key.public)}
    call("mentisdb_add_agent_key", chain_key=CHAIN, agent_id="astro", **details)
    given = {
        "thought_type": "Plan",
        "content": " not trimmed ",
        "agent_id": " astro ",
        "agent_name": "  ",
        "session_id": " s ",
        "tags": [" b ", "a", "b"],
        "concepts": [],
        "confidence": 7,
    }
    thought = call("mentisdb_append", **sign_arguments(key, "k", given, CHAIN))["thought"]
    assert (thought["tags"], thought["session_id"], thought["confidence"]) == (["b", "a"], "s", 1)
    assert thought["content"] == " not trimmed " and thought["signing_key_id"] == "k"
