"""Sessions: states, who is where, context, refusals."""

from __future__ import annotations

from typing import Any

import pytest

from lithos.app import Lithos, open_lithos
from lithos.core.clock import FakeClock
from lithos.errors import Conflict, Forbidden, InvalidInput, KeyReused, LithosError, NotFound, TooLarge
from lithos.sessions import STATES, SessionConfig, parse_session_command
from lithos.settings import LithosConfig
from lithos.tools.caller import Caller
from lithos.tools.catalogue import catalogue
from tests.conftest import CallTool, Connect

pytestmark = pytest.mark.both_databases

OPERATOR = Caller(operator=True, user="root")


def bound(agent: str) -> Caller:
    return Caller(agent=agent, bound=True)


def made(call: CallTool, name: str = "Rate limiter", agent: str = "ann", **more: Any) -> str:
    return str(call("lithos_session_create", name=name, agent=agent, **more)["session_id"])


def started(call: CallTool, name: str = "Rate limiter", agent: str = "ann", **more: Any) -> str:
    session = made(call, name, agent, **more)
    call("lithos_session_activate", session_id=session, agent=agent)
    return session


def put_into(call: CallTool, state: str) -> str:
    session = made(call)
    steps = {
        "created": (),
        "active": ("activate",),
        "suspended": ("activate", "suspend"),
        "completed": ("activate", "complete"),
        "failed": ("activate", "fail"),
    }[state]
    for verb in steps:
        act(call, verb, session)
    return session


def act(call: CallTool, verb: str, session: str) -> dict[str, Any]:
    more = {"reason": "no way"} if verb == "fail" else {}
    return call(f"lithos_session_{verb}", session_id=session, agent="ann", **more)


ALLOWED = {
    ("created", "activate"): "active",
    ("created", "complete"): "completed",
    ("created", "fail"): "failed",
    ("active", "suspend"): "suspended",
    ("active", "complete"): "completed",
    ("active", "fail"): "failed",
    ("active", "resume"): "active",  # joins
    ("suspended", "resume"): "active",
    ("suspended", "complete"): "completed",
    ("suspended", "fail"): "failed",
}


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("verb", ["activate", "suspend", "resume", "complete", "fail"])
def test_a_transition_is_allowed_or_refused_naming_the_state(call: CallTool, state: str, verb: str) -> None:
    session = put_into(call, state)
    if (state, verb) in ALLOWED:
        assert act(call, verb, session)["state"] == ALLOWED[state, verb]
        return
    with pytest.raises(Conflict) as refused:
        act(call, verb, session)
    assert refused.value.details["state"] == state
    assert state in refused.value.message
    assert call("lithos_session_get", session_id=session, agent="ann")["state"] == state


def test_a_session_has_all_fields_and_the_defaults_of_its_config(call: CallTool, clock: FakeClock) -> None:
    session = made(call, base_branch="main", metadata={"ticket": 7}, config={"max_engineers": 3})
    clock.advance(60)
    call("lithos_session_activate", session_id=session, agent="ann")
    shown = call("lithos_session_get", session_id=session, agent="ann")
    assert shown["config"] == {**SessionConfig().as_dict(), "max_engineers": 3}
    assert (shown["base_branch"], shown["metadata"], shown["dag_history"]) == ("main", {"ticket": 7}, [])
    assert (shown["created_at"], shown["activated_at"]) == ("2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z")
    assert (shown["active_dag_id"], shown["branch_name"], shown["suspended_at"]) == (None, None, None)
    assert {"current_task", "next_steps", "modified_files", "message_history"} <= set(shown["context"])
    assert SessionConfig() == SessionConfig(4, 2, 30, None, 60, False)


def test_lists_take_additions_and_removals_and_scalars_replace(call: CallTool) -> None:
    session = started(call)
    first = call(
        "lithos_session_context_update",
        agent="ann",
        changes={
            "current_task": "limit",
            "next_steps": {"add": ["a", "b"]},
            "modified_files": {"add": {"src/a.py": {"lines": 3}}},
            "message_history": {"add": ["yes", "yes"]},
            "active_dag_id": "dag-1",
        },
    )
    assert first["version"] == 1
    second = call(
        "lithos_session_context_update",
        agent="ann",
        if_match=1,
        changes={"next_steps": {"add": ["c", "b"], "remove": ["a", "unknown"]}, "current_task": None},
    )
    assert second["version"] == 2
    found = call("lithos_session_context", agent="ann")
    assert found["session_id"] == session
    context = found["context"]
    assert (context["next_steps"], context["current_task"]) == (["b", "c"], None)
    assert context["modified_files"] == {"src/a.py": {"lines": 3}}
    assert context["message_history"] == ["yes", "yes"]
    call("lithos_session_context_update", agent="ann", changes={"next_steps": ["only"], "modified_files": None})
    context = call("lithos_session_context", agent="ann")["context"]
    assert (context["next_steps"], context["modified_files"]) == (["only"], {})


def test_the_size_of_a_context_is_what_its_rows_hold(call: CallTool, lithos: Lithos) -> None:
    session = started(call)
    for changes in (
        {"next_steps": {"add": ["a", "ü", {"x": 1}]}, "scratchpad": {"add": {"k": "v" * 100}}},
        {"next_steps": {"remove": ["ü"]}, "scratchpad": {"add": {"k": "w"}}, "current_step": "é"},
        {"next_steps": ["z"], "message_history": {"add": ["m"]}, "current_step": None},
        {"message_history": ["n", "o"], "scratchpad": {"remove": ["k"]}},
    ):
        size = call("lithos_session_context_update", agent="ann", changes=changes)["bytes"]
        rows = lithos.storage.database.read(lambda tx: tx.all("SELECT item, value FROM session_items"))
        step = call("lithos_session_context", session_id=session, agent="ann")["context"]["current_step"] or ""
        assert size == sum(len(row["item"]) + len(row["value"].encode()) for row in rows) + len(step.encode())


def test_an_update_under_another_version_changes_nothing(call: CallTool) -> None:
    started(call)
    call("lithos_session_context_update", agent="ann", changes={"current_step": "one"})
    with pytest.raises(Conflict) as refused:
        call("lithos_session_context_update", agent="ann", changes={"current_step": "two"}, if_match=0)
    assert refused.value.details["version"] == 1
    assert call("lithos_session_context", agent="ann")["context"]["current_step"] == "one"


def test_a_repeated_update_has_one_effect_and_leaves_no_audit_event(call: CallTool, lithos: Lithos) -> None:
    started(call)
    before = call("lithos_events_query", limit=100)["rows"]
    given = {"agent": "ann", "changes": {"message_history": {"add": ["hello"]}}, "idempotency_key": "k1"}
    assert call("lithos_session_context_update", **given) == call("lithos_session_context_update", **given)
    assert call("lithos_session_context", agent="ann")["context"]["message_history"] == ["hello"]
    with pytest.raises(KeyReused):
        call("lithos_session_context_update", **{**given, "changes": {"current_step": "x"}})
    assert len(call("lithos_events_query", limit=100)["rows"]) == len(before)


WRONG: dict[str, tuple[str, dict[str, Any], type[LithosError]]] = {
    "name with a newline": ("lithos_session_create", {"name": "a\nb"}, InvalidInput),
    "empty name": ("lithos_session_create", {"name": "  "}, InvalidInput),
    "endless name": ("lithos_session_create", {"name": "x" * 201}, TooLarge),
    "unknown option": ("lithos_session_create", {"name": "x", "config": {"max_engineer": 1}}, InvalidInput),
    "no engineers": ("lithos_session_create", {"name": "x", "config": {"max_engineers": 0}}, InvalidInput),
    "negative time": ("lithos_session_create", {"name": "x", "config": {"task_timeout": -1}}, InvalidInput),
    "text as time": ("lithos_session_create", {"name": "x", "config": {"task_timeout": "1h"}}, InvalidInput),
    "id of another store": (
        "lithos_session_activate",
        {"session_id": "0190a0b0-0000-7000-8000-000000000000"},
        NotFound,
    ),
    "unknown field": ("lithos_session_context_update", {"changes": {"curent_task": "x"}}, InvalidInput),
    "number as text": ("lithos_session_context_update", {"changes": {"current_task": 3}}, InvalidInput),
    "text as list": ("lithos_session_context_update", {"changes": {"next_steps": "x"}}, InvalidInput),
    "list as map": ("lithos_session_context_update", {"changes": {"read_files": ["x"]}}, InvalidInput),
    "unknown operation": ("lithos_session_context_update", {"changes": {"blockers": {"set": []}}}, InvalidInput),
    "remove from a log": (
        "lithos_session_context_update",
        {"changes": {"dag_history": {"remove": ["x"]}}},
        InvalidInput,
    ),
    "one huge item": ("lithos_session_context_update", {"changes": {"blockers": {"add": ["x" * 70_000]}}}, TooLarge),
}


def test_bad_input_is_refused_and_nothing_is_stored(call: CallTool) -> None:
    session = started(call)
    before = call("lithos_session_context", agent="ann")
    for what, (name, arguments, kind) in WRONG.items():
        try:
            call(name, agent="ann", **arguments)
            pytest.fail(f"{what} was accepted")
        except kind:
            assert call("lithos_session_context", session_id=session, agent="ann") == before, what
            assert call("lithos_session_list")["total"] == 1, what


def test_a_context_above_one_megabyte_is_refused_and_stays_as_it_was(call: CallTool) -> None:
    started(call)
    for number in range(17):
        changes = {"scratchpad": {"add": {f"k{number}": "x" * 60_000}}}
        call("lithos_session_context_update", agent="ann", changes=changes)
    with pytest.raises(TooLarge):
        call("lithos_session_context_update", agent="ann", changes={"scratchpad": {"add": {"more": "x" * 60_000}}})
    found = call("lithos_session_context", agent="ann")
    assert (len(found["context"]["scratchpad"]), found["version"]) == (17, 17)


@pytest.mark.parametrize("state", ["suspended", "completed", "failed"])
def test_a_session_that_is_not_running_takes_no_context(call: CallTool, state: str) -> None:
    session = put_into(call, state)
    with pytest.raises(Conflict, match=state):
        call("lithos_session_context_update", session_id=session, agent="ann", changes={"current_step": "x"})


def test_a_switch_suspends_what_it_leaves_only_if_no_other_agent_is_there(call: CallTool) -> None:
    first, second = started(call, "first"), made(call, "second")
    call("lithos_session_join", session_id=first, agent="bob")
    moved = call("lithos_session_switch", session_id=second, agent="ann")
    assert (moved["left"], moved["state"], "suspended" in moved) == (first, "active", False)
    assert call("lithos_session_get", session_id=first, agent="bob")["here"] == ["bob"]
    moved = call("lithos_session_switch", session_id=second, agent="bob")
    assert moved["suspended"] == first
    assert call("lithos_session_get", session_id=first, agent="bob")["state"] == "suspended"
    back = call("lithos_session_switch", session_id=first, agent="ann")
    assert (back["state"], back["left"], "suspended" in back) == ("active", second, False)


def test_an_agent_has_one_current_session_that_fills_in_the_argument(call: CallTool) -> None:
    first = started(call, "first")
    assert call("lithos_session_list", agent="ann")["current"] == first
    second = started(call, "second")
    assert call("lithos_session_get", agent="ann")["id"] == second
    assert call("lithos_session_get", session_id=first, agent="ann")["state"] == "active"
    with pytest.raises(InvalidInput, match="in no session"):
        call("lithos_session_context", agent="carl")
    call("lithos_session_complete", agent="ann")
    with pytest.raises(InvalidInput, match="in no session"):
        call("lithos_session_context", agent="ann")


def test_of_two_resumes_one_wins_and_the_other_joins(call: CallTool) -> None:
    session = put_into(call, "suspended")
    assert "joined" not in call("lithos_session_resume", session_id=session, agent="ann")
    assert call("lithos_session_resume", session_id=session, agent="bob")["joined"]
    assert call("lithos_session_get", session_id=session, agent="bob")["here"] == ["ann", "bob"]


def test_others_see_no_private_part_of_a_session(call: CallTool) -> None:
    session = started(call, base_branch="secret-branch", metadata={"x": "secret-meta"})
    call("lithos_session_context_update", agent="ann", changes={"current_task": "secret-task"})
    shown = call("lithos_session_get", session_id=session, agent="eve")
    assert "secret" not in str(shown)
    assert (shown["name"], shown["member"]) == ("Rate limiter", False)
    for tool in ("lithos_session_context", "lithos_session_suspend", "lithos_session_complete"):
        with pytest.raises(Forbidden):
            call(tool, session_id=session, agent="eve")
    assert "secret" not in str(call("lithos_session_list", agent="eve"))


def test_with_bound_tokens_joining_needs_the_invitation_of_the_owner(call: CallTool) -> None:
    session = call("lithos_session_create", name="s", _caller=bound("ann"))["session_id"]
    call("lithos_session_activate", session_id=session, _caller=bound("ann"))
    for who in (bound("bob"), Caller(agent="bob")):
        with pytest.raises(Forbidden, match="invitation"):
            call("lithos_session_join", session_id=session, _caller=who)
    with pytest.raises(Forbidden):
        call("lithos_session_invite", session_id=session, agents=["bob"], _caller=bound("bob"))
    call("lithos_session_invite", session_id=session, agents=["bob"], _caller=bound("ann"))
    with pytest.raises(Forbidden):
        call("lithos_session_context", session_id=session, _caller=bound("bob"))  # invited is not joined
    assert call("lithos_session_join", session_id=session, _caller=bound("bob"))["joined"]
    assert call("lithos_session_context", session_id=session, _caller=bound("bob"))["session_id"] == session


def test_a_name_that_belongs_to_a_token_is_of_no_use_without_it(call: CallTool) -> None:
    session = call("lithos_session_create", name="s", _caller=bound("ann"))["session_id"]
    call("lithos_session_activate", session_id=session, _caller=bound("ann"))
    for tool in ("lithos_session_context", "lithos_session_suspend", "lithos_session_join", "lithos_session_resume"):
        with pytest.raises(Forbidden):
            call(tool, session_id=session, agent="ann")
    assert "current" not in call("lithos_session_list", agent="ann")
    assert call("lithos_session_list", _caller=bound("ann"))["current"] == session


def test_an_operator_may_look_anywhere_and_leaves_an_event(call: CallTool) -> None:
    session = started(call)
    call("lithos_session_context_update", agent="ann", changes={"current_task": "t"})
    found = call("lithos_session_context", session_id=session, _caller=OPERATOR)
    assert found["context"]["current_task"] == "t"
    looks = [each for each in call("lithos_events_query", type="session")["rows"] if each["op"] == "look"]
    assert [(each["thing"], each["user"]) for each in looks] == [(session, "root")]


def test_a_closed_session_is_read_only_and_out_of_lists_unless_asked_for(call: CallTool) -> None:
    session = started(call)
    assert call("lithos_session_close", session_id=session, agent="ann")["state"] == "suspended"
    assert call("lithos_session_list")["sessions"] == []
    (shown,) = call("lithos_session_list", closed=True)["sessions"]
    assert shown["closed_at"]
    for verb in ("resume", "complete", "fail", "close", "join"):
        with pytest.raises(Conflict, match="closed"):
            act(call, verb, session)
    with pytest.raises(Conflict, match="closed"):
        call("lithos_session_context_update", session_id=session, agent="ann", changes={"current_step": "x"})
    assert call("lithos_session_context", session_id=session, agent="ann")["state"] == "suspended"


def test_close_all_is_for_the_operator(call: CallTool) -> None:
    started(call, "one"), made(call, "two")
    with pytest.raises(Forbidden):
        call("lithos_session_close_all", agent="ann")
    assert call("lithos_session_close_all", _caller=OPERATOR)["closed"] == 2
    assert call("lithos_session_list")["total"] == 0
    assert call("lithos_session_stats")["closed"] == 2


def test_the_journal_has_every_step_of_a_life(call: CallTool) -> None:
    session = started(call)
    for verb in ("suspend", "resume", "complete", "close"):
        act(call, verb, session)
    failed = put_into(call, "failed")
    seen = call("lithos_session_wait", since=0, timeout=0)
    kinds = [each["kind"] for each in seen["changes"] if each["session_id"] == session]
    assert kinds == ["created", "activated", "suspended", "resumed", "completed", "closed"]
    kinds = [each["kind"] for each in seen["changes"] if each["session_id"] == failed]
    assert kinds == ["created", "activated", "failed"]
    assert call("lithos_session_wait", since=seen["cursor"], timeout=0)["changes"] == []


def test_a_page_ends_with_the_cursor_of_the_next(call: CallTool) -> None:
    ids = [made(call, f"s{number}") for number in range(5)]
    first = call("lithos_session_list", limit=2)
    rest = call("lithos_session_list", limit=10, cursor=first["next_cursor"])
    assert [each["id"] for each in first["sessions"] + rest["sessions"]] == ids[::-1]
    assert (first["total"], rest["next_cursor"]) == (5, None)
    with pytest.raises(InvalidInput):
        call("lithos_session_list", cursor="x")


def test_everything_is_there_after_a_restart(config: LithosConfig, clock: FakeClock) -> None:
    lithos = open_lithos(config, clock=clock)
    call = catalogue().call
    session = call(lithos, "lithos_session_create", {"name": "s", "agent": "ann"})["session_id"]
    call(lithos, "lithos_session_activate", {"session_id": session, "agent": "ann"})
    call(lithos, "lithos_session_context_update", {"agent": "ann", "changes": {"next_steps": ["x"]}})
    before = call(lithos, "lithos_session_get", {"agent": "ann"})
    lithos.close()
    lithos = open_lithos(config, clock=clock)
    assert call(lithos, "lithos_session_get", {"agent": "ann"}) == before
    lithos.close()


@pytest.mark.sqlite_only("no database is asked")
@pytest.mark.parametrize(
    ("text", "tool", "arguments"),
    [
        ("/session new rate-limiter-feature", "lithos_session_create", {"name": "rate-limiter-feature"}),
        ('/session new "two words"', "lithos_session_create", {"name": "two words"}),
        ("/session new two words", "lithos_session_create", {"name": "two words"}),
        ("  /session   list ", "lithos_session_list", {}),
        ("/session list active", "lithos_session_list", {"state": "active"}),
        ("/session switch abc", "lithos_session_switch", {"session_id": "abc"}),
        ("/session suspend", "lithos_session_suspend", {}),
        ("/session RESUME abc", "lithos_session_resume", {"session_id": "abc"}),
        ("/session complete it's done", "lithos_session_complete", {"summary": "it's done"}),
    ],
)
def test_a_slash_command_names_its_tool(text: str, tool: str, arguments: dict[str, str]) -> None:
    command = parse_session_command(text)
    assert (command.tool, command.arguments) == (tool, arguments)
    checked = catalogue().get(command.tool).arguments
    assert set(command.arguments) <= set(checked.model_fields)


@pytest.mark.sqlite_only("no database is asked")
@pytest.mark.parametrize(
    "text",
    ["/session", "/session nwe x", "/session new", "/session switch", "/sessions list", "", "/session switch a b"],
)
def test_what_is_no_command_is_refused_with_a_hint(text: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_session_command(text)
    assert refused.value.hint


@pytest.mark.sqlite_only("the list of tools needs no database")
@pytest.mark.anyio
async def test_a_session_over_mcp_with_the_toolset_listed(connect: Connect) -> None:
    async with connect(toolsets=("sessions",), agent="ann") as client:
        listed = {each.name for each in (await client.list_tools()).tools}
        assert "lithos_session_create" in listed
        assert "lithos_session_close" not in listed
        made = (await client.call_tool("lithos_session_create", {"name": "s"})).structured_content
        inner = {"name": "lithos_session_close", "arguments": {"session_id": made["session_id"]}}
        closed = (await client.call_tool("lithos_tool_call", inner)).structured_content
        assert closed["state"] == "created"


@pytest.mark.sqlite_only("the list of tools needs no database")
def test_the_list_of_the_toolset_stays_within_its_budget() -> None:
    shown = catalogue().shown(["sessions"])
    assert sum(each.token_cost for each in shown) <= 3_000
