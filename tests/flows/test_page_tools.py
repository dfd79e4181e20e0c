"""Tools that exist for the page: the graph of notes, open proposals, conversations, all inboxes."""

from __future__ import annotations

from typing import Any

import pytest

from lithos.errors import Conflict, Forbidden, NotFound
from lithos.tools.caller import Caller
from tests.support.note_calls import CallTool

ANN, BOB, EVE = Caller(agent="ann"), Caller(agent="bob"), Caller(agent="eve")
OPERATOR = Caller(operator=True, agent="paul")
USER = Caller(user="una", user_bound=True, owner=False)


def test_the_graph_has_each_link_once_between_the_places_of_its_notes(call: CallTool) -> None:
    for title, body, tags in (("A", "[[B]] and [[B]] and [[A]] and [[nowhere]]", ["x"]), ("B", "[[C]]", ["x", "y"])):
        call("lithos_write", title=title, content=body, tags=tags, agent="ann")
    call("lithos_write", title="C", content="end", path="far", agent="ann")
    graph = call("lithos_note_graph")
    name = dict(enumerate(graph["titles"]))
    pairs = list(zip(graph["links"][::2], graph["links"][1::2], strict=True))
    assert sorted((name[source], name[target]) for source, target in pairs) == [("A", "B"), ("B", "C")]
    tags = {name[at]: {graph["tags"][tag] for tag in tags} for at, tags in enumerate(graph["tagged"])}
    assert tags == {"A": {"x"}, "B": {"x", "y"}, "C": set()}
    assert len(graph["ids"]) == len(graph["paths"]) == graph["total"] == 3
    inside = call("lithos_note_graph", path_prefix="far")
    assert (inside["titles"], inside["links"]) == (["C"], [])
    assert call("lithos_note_graph", tags=["y"])["titles"] == ["B"]
    assert len(call("lithos_note_graph", limit=2)["ids"]) == 2


def _propose(call: CallTool, path: str, content: str, caller: Caller = ANN) -> str:
    return str(call("lithos_propose_change", path=path, content=content, user_id="vera", _caller=caller)["proposal_id"])


def test_proposals_are_listed_until_they_are_applied_or_refused(call: CallTool) -> None:
    first, second, third = (_propose(call, f"users/vera/parts/p{n}/notes.md", f"# P{n}\n") for n in range(3))
    listed = call("lithos_proposal_list", _caller=OPERATOR)["proposals"]
    assert [each["proposal_id"] for each in listed] == [third, second, first]
    assert "+# P2" in listed[0]["diff"]
    assert (listed[0]["agent"], listed[0]["stale"]) == ("ann", [])
    call("lithos_apply_change", proposal_id=first, rationale="good", _caller=OPERATOR)
    assert call("lithos_proposal_refuse", proposal_id=second, rationale="no", _caller=OPERATOR)["refused"]
    assert [each["proposal_id"] for each in call("lithos_proposal_list")["proposals"]] == [third]
    with pytest.raises(NotFound):
        call("lithos_apply_change", proposal_id=second, rationale="late")
    with pytest.raises(Conflict):
        call("lithos_proposal_refuse", proposal_id=first, rationale="late", _caller=OPERATOR)
    refused = call("lithos_events_query", type="proposal")["rows"]
    assert [(each["op"], each["thing"], each["rationale"]) for each in refused] == [("refuse", second, "no")]


def test_a_proposal_whose_file_changed_is_stale(call: CallTool) -> None:
    _propose(call, "users/vera/parts/p/notes.md", "# Mine\n")
    call(
        "lithos_fs_write",
        path="users/vera/parts/p/notes.md",
        content="# Theirs\n",
        rationale="meanwhile",
        user_id="vera",
        _caller=BOB,
    )
    [shown] = call("lithos_proposal_list")["proposals"]
    assert shown["stale"] == ["users/vera/parts/p/notes.md"]
    assert "-# Theirs" in shown["diff"]


def test_only_persons_and_its_agent_refuse_a_proposal_and_a_user_sees_his_own(call: CallTool) -> None:
    proposal = _propose(call, "users/vera/parts/p/notes.md", "# Mine\n")
    with pytest.raises(Forbidden):
        call("lithos_proposal_refuse", proposal_id=proposal, rationale="no", _caller=BOB)
    with pytest.raises(NotFound):
        call("lithos_proposal_refuse", proposal_id=proposal, rationale="no", _caller=USER)
    assert call("lithos_proposal_list", _caller=USER)["proposals"] == []
    assert call("lithos_proposal_refuse", proposal_id=proposal, rationale="no", _caller=ANN)["refused"]


def _send(call: CallTool, sender: Caller, target: str, body: str, **more: Any) -> dict[str, Any]:
    call("lithos_agent_register", id=target)
    return dict(call("lithos_message_send", target=target, body=body, _caller=sender, **more))


def test_conversations_come_by_their_newest_message_to_those_who_may_see_them(call: CallTool) -> None:
    old = _send(call, ANN, "bob", "the old question")
    _send(call, ANN, "bob", "another")
    _send(call, EVE, "ann", "a secret of eve and ann")
    _send(call, ANN, "bob", "more of the old", correlation_id=old["correlation_id"])
    threads = call("lithos_thread_list", _caller=BOB)["threads"]
    assert [each["subject"] for each in threads] == ["the old question", "another"]
    assert (threads[0]["messages"], threads[0]["waiting"], threads[0]["names"]) == (2, 2, ["ann", "bob"])
    assert len(call("lithos_thread_list", _caller=OPERATOR)["threads"]) == 3
    assert [each["names"] for each in call("lithos_thread_list", name="eve", _caller=OPERATOR)["threads"]] == [
        ["eve", "ann"]
    ]
    page = call("lithos_thread_list", limit=1, _caller=OPERATOR)
    rest = call("lithos_thread_list", limit=5, cursor=page["next_cursor"], _caller=OPERATOR)
    subjects = [each["subject"] for each in page["threads"] + rest["threads"]]
    assert subjects == ["the old question", "a secret of eve and ann", "another"]
    assert "next_cursor" not in rest


def test_the_operator_alone_sees_all_inboxes(call: CallTool) -> None:
    _send(call, ANN, "bob", "one")
    _send(call, ANN, "bob", "two")
    inboxes = call("lithos_inbox_overview", _caller=OPERATOR)["inboxes"]
    assert (inboxes[0]["agent"], inboxes[0]["waiting"], inboxes[0]["health"]) == ("bob", 2, "healthy")
    with pytest.raises(Forbidden):
        call("lithos_inbox_overview", _caller=ANN)
