"""Answers as a connection gets them: specified fields always, the rest where it says something, lists bounded."""

from __future__ import annotations

import json
from typing import Any

import orjson
import pytest

from lithos.core.text import estimate_tokens
from lithos.tools.answers.lean import MOST_TOKENS
from tests.conftest import CallTool, Connect

pytestmark = pytest.mark.anyio


async def ask(client: Any, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.structured_content
    assert json.loads(result.content[0].text) == result.structured_content
    return result.structured_content


async def test_a_short_version_guards_a_write_and_a_whole_one_still_does(connect: Connect) -> None:
    async with connect(agent="ann") as client:
        note = await ask(client, "lithos_write", title="A", content="one")
        assert len(note["version"]) == 12
        assert "replaced_version" not in note and "superseded_ids" not in note
        await ask(client, "lithos_write", id=note["id"], content="two", if_match=note["version"])
        stale = await client.call_tool("lithos_write", {"id": note["id"], "content": "3", "if_match": note["version"]})
        assert stale.structured_content["error"]["code"] == "conflict"
        whole = await ask(client, "lithos_read", id=note["id"], detail=True)
        assert whole["version"].startswith("sha256:") and len(whole["version"]) == 71
        await ask(client, "lithos_write", id=note["id"], content="three", if_match=whole["version"])
        short = await client.call_tool("lithos_write", {"id": note["id"], "content": "4", "if_match": "ab"})
        assert short.structured_content["error"]["code"] == "conflict"


async def test_specified_fields_appear_even_when_they_are_empty(connect: Connect) -> None:
    async with connect(agent="ann") as client:
        note = await ask(client, "lithos_write", title="Empty", content="")
        read = await ask(client, "lithos_read", id=note["id"])
        assert {"id", "title", "content", "metadata", "links", "truncated"} <= read.keys()
        task = await ask(client, "lithos_task_create", title="t")
        (shown,) = (await ask(client, "lithos_task_status", task_id=task["task_id"]))["tasks"]
        assert shown["claims"] == []
        await ask(client, "lithos_finding_post", task_id=task["task_id"], summary="s")
        (found,) = (await ask(client, "lithos_finding_list", task_id=task["task_id"]))["findings"]
        assert found["knowledge_id"] is None
        assert "." not in found["created_at"]
        assert (await ask(client, "lithos_list"))["items"][0]["tags"] == []
        assert (await ask(client, "lithos_agent_info", id="ann"))["metadata"] == {}


async def test_a_list_is_bounded_unless_its_limit_was_chosen(connect: Connect, call: CallTool) -> None:
    for number in range(60):
        call("lithos_task_create", title=f"{number} " + "long title " * 25, agent="a", tags=[f"t{number}" * 5])
    async with connect() as client:
        short = await ask(client, "lithos_task_list")
        assert short["truncated"] is True and len(short["tasks"]) < 60
        assert estimate_tokens(orjson.dumps(short).decode()) <= MOST_TOKENS * 1.1
        seen = len(short["tasks"])
        rest = await ask(client, "lithos_task_list", cursor=short["next_cursor"], limit=100)
        assert seen + len(rest["tasks"]) == 60
        assert len((await ask(client, "lithos_task_list", limit=60))["tasks"]) == 60


async def test_lists_without_a_limit_come_in_pages(connect: Connect, call: CallTool) -> None:
    """Each page fits, nothing is lost or repeated, and a whole answer can still be asked for."""
    text = "\n\n".join(f"## Section number {number} of a long note\n\n{'word ' * 60}" for number in range(250))
    big = call("lithos_write", title="Big", content=text, agent="a")["id"]
    for number in range(150):
        content = "[[Big]]" if number % 2 else "text"
        call(
            "lithos_write", title=f"Linking {number}", content=content, agent="a", tags=[f"{number} tag".ljust(90, "x")]
        )
        thought = {"thought_type": "Idea", "content": "long " * 50, "agent_id": f"agent number {number}"}
        call("mentisdb_append", **thought, chain_key="main")
    lists: list[tuple[str, str, dict[str, Any], int]] = [
        ("lithos_links", "incoming", {"id": big}, 75),
        ("lithos_tags", "tags", {}, 150),
        ("lithos_note_passages", "passages", {"id": big}, 250),
        ("lithos_md_list_sections", "sections", {"id": big}, 250),
        ("mentisdb_list_agent_registry", "agents", {"chain_key": "main"}, 150),
    ]
    async with connect(toolsets=("all",)) as client:
        for tool, field, arguments, count in lists:
            seen: list[str] = []
            page: dict[str, Any] = {"next_cursor": None}
            while "next_cursor" in page:
                page = await ask(client, tool, **arguments, cursor=page["next_cursor"])
                assert estimate_tokens(orjson.dumps(page).decode()) <= MOST_TOKENS * 1.1, tool
                seen += [orjson.dumps(row).decode() for row in rows_of(page[field])]
            assert len(seen) == count and len(set(seen)) == count, tool
            assert len(rows_of((await ask(client, tool, **arguments, detail=True))[field])) == count
            wrong = await client.call_tool(tool, {**arguments, "cursor": "x"})
            assert wrong.structured_content["error"]["code"] == "invalid_input"
        walked: list[int] = []
        page = {"next_cursor": {}}
        while page["next_cursor"] is not None:
            anchor = {"anchor_id": page["next_cursor"]["id"]} if page["next_cursor"] else {}
            page = await ask(client, "mentisdb_traverse_thoughts", chain_key="main", **anchor)
            assert estimate_tokens(orjson.dumps(page).decode()) <= MOST_TOKENS * 1.1
            walked += [each["index"] for each in page["thoughts"]]
        assert walked == list(range(150))


def rows_of(value: Any) -> list[Any]:
    return list(value.items()) if isinstance(value, dict) else list(value)


async def test_snippets_carry_no_markup_and_audit_rows_are_terse(connect: Connect) -> None:
    async with connect(agent="ann") as client:
        await ask(client, "lithos_write", title="Pool", content="The connection_pool_size is 20. " * 5)
        (hit,) = (await ask(client, "lithos_search", query="connection_pool_size"))["results"]
        assert "connection_pool_size" in hit["snippet"] and "<b>" not in hit["snippet"]
        (row,) = (await ask(client, "lithos_events_query"))["rows"]
        assert set(row) <= {"id", "at", "agent", "user", "type", "op", "thing", "path", "rationale"}
        (row,) = (await ask(client, "lithos_events_query", detail=True))["rows"]
        assert row["after_hash"].startswith("sha256:")


async def test_an_append_can_leave_out_its_echo_and_its_checkpoint(connect: Connect) -> None:
    thought = {"thought_type": "Idea", "content": "x", "agent_id": "a"}
    async with connect() as client:
        whole = await ask(client, "mentisdb_append", **thought)
        assert whole["thought"]["prev_hash"] and "checkpoint" not in whole
        assert "checkpoint" in await ask(client, "mentisdb_append", detail=True, **thought)
        brief = await ask(client, "mentisdb_append", echo=False, **thought)
        assert set(brief["thought"]) == {"id", "index"} and brief["head_hash"]


async def test_nothing_irrelevant_is_passed_off_as_an_answer(connect: Connect) -> None:
    async with connect(agent="ann") as client:
        for number in range(12):
            await ask(client, "lithos_write", title=f"Deploy {number}", content=f"The canary rollout number {number}.")
        found = await ask(client, "lithos_recall", query="sourdough bread with rye flour")
        assert found["relevant"] is False and len(found["results"]) <= 3
