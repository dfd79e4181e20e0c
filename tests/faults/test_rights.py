"""A generated matrix: every tool with every kind of caller. What must be refused is refused before anything else."""

from __future__ import annotations

import pytest

from lithos.app import Lithos
from lithos.tools.answers.errors import as_lithos_error
from lithos.tools.caller import Caller
from lithos.tools.catalogue import catalogue
from lithos.tools.dispatch import dispatch
from lithos.tools.dispatch.own_names import OWN_NAMES, own_name
from lithos.tools.registry import Tool

TOOLS = list(catalogue())
CHANGING = [tool for tool in TOOLS if not tool.reads and tool.name != "lithos_tool_call"]
BOUND = Caller(agent="bob", bound=True, toolsets=("all",))


def outcome(lithos: Lithos, tool: Tool, caller: Caller, **arguments: str) -> str:
    try:
        catalogue().call(lithos, tool.name, arguments, caller)
    except Exception as raised:
        return as_lithos_error(raised, tool.name).code
    return "answered"


def test_every_changing_tool_is_refused_to_a_read_only_caller(lithos: Lithos) -> None:
    wrong = {tool.name: code for tool in CHANGING if (code := outcome(lithos, tool, READ_ONLY)) != "forbidden"}
    assert wrong == {}


def test_every_tool_of_the_operator_is_refused_to_everybody_else(lithos: Lithos) -> None:
    tools = [tool for tool in TOOLS if tool.toolset == "operator"]
    wrong = {tool.name: code for tool in tools if (code := outcome(lithos, tool, Caller())) != "forbidden"}
    assert tools and wrong == {}


def test_a_bound_caller_cannot_name_another_agent_anywhere(lithos: Lithos) -> None:
    wrong = {}
    for tool in CHANGING:
        named = {tool.agent_argument, "agent_id"} & set(tool.arguments.model_fields)
        for argument in sorted(named) if tool.toolset != "operator" else []:
            code = outcome(lithos, tool, BOUND, **{argument: "eve"})
            if code != "forbidden":
                wrong[f"{tool.name}({argument})"] = code
    assert wrong == {}


NEEDED = {"thought_type": "Insight", "content": "c", "id": "bob", "agent_id": "bob", "agent": "bob"}
NAMED = [(tool, argument) for tool in CHANGING if (argument := own_name(tool.name, tool.arguments.model_fields))]
SPELLINGS = ("eve", "EVE ", "\uff45ve", "e\u200bve", "Eve  the first", "mary")


def test_a_bound_caller_takes_no_name_of_another_agent_or_person(lithos: Lithos) -> None:
    call = catalogue().call
    call(lithos, "lithos_agent_register", {"id": "eve", "name": "Eve the First"})
    call(lithos, "mentisdb_upsert_agent", {"agent_id": "bob"})
    call(lithos, "lithos_token_new", {"name": "of mary", "for_user": "mary"}, Caller(operator=True))
    assert len(NAMED) >= 6
    wrong = {}
    for tool, argument in NAMED:
        given = {name: value for name, value in NEEDED.items() if name in tool.arguments.model_fields}
        for spelling in SPELLINGS:
            code = outcome(lithos, tool, BOUND, **{**given, argument: spelling})
            if code != "forbidden":
                wrong[f"{tool.name}({argument}={spelling!r})"] = code
        for own in ("bob", "Bobby of Oxford"):
            if outcome(lithos, tool, BOUND, **{**given, argument: own}) == "forbidden":
                wrong[f"{tool.name}({argument}={own!r})"] = "forbidden"
    assert wrong == {}


def test_every_argument_that_may_be_a_name_has_a_ruling() -> None:
    """A new one is a name of the caller (`OWN_NAMES`), of the acting agent, or of something else."""
    others = {"agent_owner", "agents", "authors", "name", "user_id", "actor", "approved_by"}
    known = {*OWN_NAMES, *others, "agent", "agent_id", "id"}
    words = ("agent", "name", "alias", "author", "owner", "user", "actor", "approved", "reviewer", "signed")
    found = {
        each
        for tool in CHANGING
        if tool.toolset != "operator"
        for each in tool.arguments.model_fields
        if any(word in each for word in words)
    }
    assert found - known == {"agent_action_id", "filename"} & found


def test_a_change_through_tool_call_is_refused_too(lithos: Lithos) -> None:
    call = catalogue().call
    with pytest.raises(Exception) as refused:
        call(lithos, "lithos_tool_call", {"name": "lithos_task_create", "arguments": {"title": "t"}}, READ_ONLY)
    assert as_lithos_error(refused.value, "lithos_tool_call").code == "forbidden"


def test_the_matrix_notices_a_scope_that_is_not_checked(lithos: Lithos, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch, "_check_scope", lambda tool, caller: None)
    assert any(outcome(lithos, tool, READ_ONLY) != "forbidden" for tool in CHANGING)


READ_ONLY = Caller(read_only=True, operator=True, toolsets=("all",))
