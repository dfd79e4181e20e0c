"""What the dispatcher decides before any tool runs."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import Field

from lithos.core.call import Call, Correlation, Delivery
from lithos.errors import Forbidden, InvalidInput, LithosError, TooLarge, UnknownTool
from lithos.tools.caller import Caller, parse_toolsets
from lithos.tools.dispatch.dispatch import LARGEST_ARGUMENTS
from lithos.tools.registry import Registry, tool


@tool(toolset="core")
def sample_write(
    lithos: Any,
    call: Call,
    title: str,
    agent: str,
    tags: list[str] | None = None,
    limit: Annotated[int, Field(ge=1, le=10)] = 5,
    mode: Literal["soft", "hard"] = "soft",
) -> dict[str, Any]:
    """Write."""
    return {"title": title, "limit": limit, "call": call}


@tool(toolset="core", reads=True)
def sample_read(lithos: Any, call: Call, query: str = "") -> dict[str, Any]:
    """Read."""
    return {}


@tool(toolset="operator", reads=True)
def sample_operate(lithos: Any, call: Call) -> dict[str, Any]:
    """Operate."""
    return {}


@tool(toolset="find", bare=True)
def lithos_tool_call(lithos: Any, call: Call, name: str, arguments: dict[str, Any] = {}) -> dict[str, Any]:  # noqa: B006
    """Call."""
    return {}


REGISTRY = Registry([sample_write, sample_read, sample_operate, lithos_tool_call])
GOOD = {"title": "t", "agent": "a"}
LARGEST = 8 * 1024 * 1024


def ready(name: str, arguments: Any, caller: Caller | None = None) -> Any:
    return REGISTRY.ready(name, arguments, caller or Caller())


def test_an_unknown_tool_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(UnknownTool) as refused:
        ready("sample_writ", {})
    assert refused.value.code == "unknown_tool"
    assert "sample_write" in refused.value.hint


def test_an_unknown_argument_is_refused_by_name_with_the_nearest_right_one() -> None:
    with pytest.raises(InvalidInput, match="unknown argument 'titel', did you mean 'title'"):
        ready("sample_write", {**GOOD, "titel": "x"})


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"agent": "a"}, "'title' is missing"),
        ({**GOOD, "title": 5}, "title: "),
        ({**GOOD, "tags": "a,b"}, "tags: "),
        ({**GOOD, "tags": ["a", 5]}, "tags.1: "),
        ({**GOOD, "limit": 11}, "limit: "),
        ({**GOOD, "limit": "many"}, "limit: "),
        ({**GOOD, "limit": 2**63}, "a number is too large"),
        ({**GOOD, "mode": "medium"}, "'medium' is none of soft, hard"),
        ({**GOOD, "agent": ["a"]}, "agent: "),
        ({**GOOD, "agent": "  "}, "agent is empty"),
        ({**GOOD, "title": "a\0b"}, "NUL"),
        ({**GOOD, "title": "\ud800"}, "surrogate"),
        ({**GOOD, "tags": [[["deep"]]]}, "tags.0: "),
        (["title"], "not a JSON object"),
    ],
)
def test_a_bad_argument_is_refused_by_name(arguments: Any, told: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        ready("sample_write", arguments)
    assert told in refused.value.message
    assert refused.value.hint


def test_a_question_may_have_what_no_text_may_have() -> None:
    assert ready("sample_read", {"query": "a\0b\ud800"}).values["query"] == "a b?"


def test_a_refusal_names_what_is_missing_and_what_may_stay() -> None:
    with pytest.raises(InvalidInput) as refused:
        ready("sample_write", {"limit": 3})
    assert refused.value.hint == "Call sample_write again with title (needed), agent (needed) besides limit."


def test_an_unknown_argument_is_answered_with_those_that_there_are() -> None:
    with pytest.raises(InvalidInput) as refused:
        ready("sample_write", {**GOOD, "zzz": 1})
    assert refused.value.hint.startswith("sample_write takes title, agent, tags, limit, mode")


def test_an_argument_of_ten_megabytes_is_too_large() -> None:
    with pytest.raises(TooLarge) as refused:
        ready("sample_write", {**GOOD, "title": "x" * 10_000_000})
    assert refused.value.code == "too_large"


def test_the_size_is_that_of_all_text_together_in_bytes() -> None:
    half = "ä" * (LARGEST_ARGUMENTS // 4 + 1)
    with pytest.raises(TooLarge):
        ready("sample_write", {**GOOD, "tags": [half, half]})
    ready("sample_write", {**GOOD, "tags": [half]})


def test_arguments_nested_without_end_are_refused() -> None:
    nested: Any = "x"
    for _ in range(500):
        nested = [nested]
    with pytest.raises(InvalidInput, match="nested") as refused:
        ready("sample_write", {**GOOD, "tags": nested})
    assert refused.value.hint


def test_null_counts_as_left_out() -> None:
    assert ready("sample_write", {**GOOD, "limit": None, "mode": None}).values["limit"] == 5
    with pytest.raises(InvalidInput, match="'title' is missing"):
        ready("sample_write", {**GOOD, "title": None})


def test_the_retry_key_and_correlation_ids_go_into_the_call_and_not_to_the_tool() -> None:
    extra = {"idempotency_key": "k", "tool_call_id": "t", "transaction_id": "x", "agent_action_id": "y"}
    prepared = ready("sample_write", {**GOOD, **extra}, Caller(delivery=Delivery("g", "1")))
    assert prepared.call.idempotency_key == "k"
    assert prepared.call.correlation == Correlation("t", "x", "y")
    assert prepared.call.delivery == Delivery("g", "1")
    assert set(prepared.values) == {"title", "agent", "tags", "limit", "mode"}


def test_a_reading_tool_takes_no_retry_key_and_an_agent_for_free() -> None:
    assert ready("sample_read", {"agent": " anna "}).call.agent == "anna"
    with pytest.raises(InvalidInput, match="idempotency_key"):
        ready("sample_read", {"idempotency_key": "k"})


def test_the_arguments_hash_ignores_spelling_and_defaults_but_not_meaning() -> None:
    def hashed(**arguments: Any) -> str:
        found: str = ready("sample_write", {**GOOD, **arguments}).call.arguments_hash
        return found

    plain = hashed()
    assert plain == hashed(limit=5) == hashed(limit="5") == hashed(tags=None) == hashed(idempotency_key="other")
    assert len({plain, hashed(limit=6), hashed(tags=[]), hashed(title="u")}) == 4


def test_a_read_only_caller_may_read_and_not_write() -> None:
    ready("sample_read", {}, Caller(read_only=True))
    with pytest.raises(Forbidden):
        ready("sample_write", GOOD, Caller(read_only=True))
    with pytest.raises(Forbidden):
        ready("lithos_tool_call", {"name": "sample_write", "arguments": GOOD}, Caller(read_only=True))


def test_a_bound_caller_is_its_agent_and_no_other() -> None:
    anna = Caller(agent="anna", bound=True)
    assert ready("sample_write", {"title": "t"}, anna).values["agent"] == "anna"
    assert ready("sample_write", {"title": "t", "agent": "anna"}, anna).call.agent == "anna"
    with pytest.raises(Forbidden, match="anna"):
        ready("sample_write", GOOD, anna)


def test_a_default_agent_is_used_and_gives_way() -> None:
    carla = Caller(agent="carla")
    assert ready("sample_write", {"title": "t"}, carla).call.agent == "carla"
    assert ready("sample_write", GOOD, carla).call.agent == "a"


def test_the_operators_tools_are_for_the_operator() -> None:
    ready("sample_operate", {}, Caller(operator=True))
    with pytest.raises(Forbidden):
        ready("sample_operate", {})
    with pytest.raises(Forbidden):
        ready("lithos_tool_call", {"name": "sample_operate"})


def test_a_call_by_name_is_the_call_itself() -> None:
    direct = ready("sample_write", {**GOOD, "idempotency_key": "k"})
    by_name = ready("lithos_tool_call", {"name": "sample_write", "arguments": {**GOOD, "idempotency_key": "k"}})
    assert by_name.call == direct.call
    with pytest.raises(InvalidInput, match="idempotency_key"):
        ready("lithos_tool_call", {"name": "sample_write", "arguments": GOOD, "idempotency_key": "k"})


def test_a_call_by_name_cannot_call_itself() -> None:
    with pytest.raises(InvalidInput):
        ready("lithos_tool_call", {"name": "lithos_tool_call", "arguments": {"name": "sample_read"}})


def test_toolsets_are_checked_and_all_leaves_out_the_operators() -> None:
    assert REGISTRY.check_toolsets(("core", "all")) == ("core", "all")
    assert [each.name for each in REGISTRY.shown(["all"])] == ["sample_write", "sample_read", "lithos_tool_call"]
    assert [each.name for each in REGISTRY.shown(["operator"])] == ["lithos_tool_call"]
    for wrong in ("operator", "cores"):
        with pytest.raises(InvalidInput):
            REGISTRY.check_toolsets((wrong,))


def test_a_list_of_toolsets_is_parsed_leniently() -> None:
    assert parse_toolsets(" Core, find,core ,") == ("core", "find")
    assert parse_toolsets("") == ("core",)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=50, deadline=None)
@given(st.sampled_from(["sample_write", "sample_read", "lithos_tool_call"]), st.dictionaries(st.text(max_size=8), JSON))
def test_any_json_is_either_ready_or_refused_as_ours(name: str, arguments: dict[str, Any]) -> None:
    for extra in ({}, GOOD, {"name": "sample_write"}):
        try:
            ready(name, {**arguments, **extra})
        except LithosError as refused:
            assert refused.message and refused.code in ("invalid_input", "unknown_tool", "too_large")


@pytest.mark.parametrize(
    ("arguments", "is_taken"),
    [
        ({**GOOD, "title": "t" * (LARGEST - 11)}, True),
        ({**GOOD, "title": "t" * LARGEST}, False),
        ({**GOOD, "limit": 2**63}, False),
        ({**GOOD, "idempotency_key": "k" * 200}, True),
        ({**GOOD, "idempotency_key": "k" * 201}, False),
        ({**GOOD, "tool_call_id": "k" * 200}, True),
        ({**GOOD, "tool_call_id": "k" * 201}, False),
    ],
    ids=["8 MiB", "more", "65 bits", "a key", "a long key", "an id", "a long id"],
)
def test_arguments_are_taken_up_to_their_limits(arguments: dict[str, Any], is_taken: bool) -> None:
    if is_taken:
        ready("sample_write", arguments)
    else:
        with pytest.raises(LithosError):
            ready("sample_write", arguments)


@pytest.mark.parametrize(("depth", "refusal"), [(64, "unknown argument"), (66, "nested deeper than 64 levels")])
def test_arguments_are_nested_64_deep_at_most(depth: int, refusal: str) -> None:
    value: Any = "x"
    for _ in range(depth):
        value = [value]
    with pytest.raises(InvalidInput) as refused:
        ready("sample_write", {**GOOD, "other": value})
    assert (refusal == "unknown argument") != ("nested deeper" in refused.value.message)


def test_a_refusal_lists_five_problems_and_cuts_values_after_40_characters() -> None:
    with pytest.raises(InvalidInput) as refused:
        ready("sample_write", {"tags": [1, 2, 3, 4, 5, 6], "limit": "x" * 100, "title": "t", "agent": "a"})
    assert refused.value.message.count("; ") == 5 and refused.value.message.endswith("; and 2 more")
    with pytest.raises(InvalidInput) as refused:
        ready("sample_write", {**GOOD, "mode": "y" * 100})
    assert "y" * 39 in refused.value.message and "y" * 40 not in refused.value.message
