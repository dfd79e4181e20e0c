"""Every tool that a text names can be followed, for every choice of toolsets, as an official client sees it."""

from __future__ import annotations

import json
import re
from typing import Any

import mcp
import pytest

from lithos.app import Lithos
from lithos.serving import build_server
from lithos.tools.caller import Caller
from lithos.tools.catalogue import catalogue

pytestmark = pytest.mark.anyio
NAME = re.compile(r"\b(?:lithos|mentisdb)_[a-z0-9_]*[a-z0-9]")
KNOWN = frozenset(each.name for each in catalogue())
REFUSED: list[tuple[str, dict[str, Any]]] = [
    ("lithos_read", {"id": "nowhere"}),
    ("lithos_search", {}),
    ("lithos_list", {"status": "zzz"}),
    ("lithos_changes", {"since": "someday"}),
    ("lithos_write", {"body": "x", "agent": "a"}),
    ("lithos_undo", {"agent": "nobody-yet"}),
    ("lithos_task_claim", {"task_id": "no-task", "aspect": "work", "agent": "a"}),
    ("lithos_task_complete", {"task_id": "no-task", "agent": "a"}),
    ("lithos_agent_info", {"id": "zz"}),
    ("lithos_note_restore", {"note": "zz", "agent": "a"}),
    ("mentisdb_append", {"thought_type": "Wish", "content": "c", "agent_id": "a"}),
    ("mentisdb_get_thought", {"thought_index": 4, "chain_key": "zz"}),
    ("mentisdb_read_skill", {"skill_id": "zz"}),
    ("mentisdb_upload_skill", {"agent_id": "zz", "content": "---\nname: a\ndescription: b\n---\ntext"}),
    ("lithos_tool_call", {"name": "lithos_reed", "arguments": {}}),
]


def lost(text: str, listed: frozenset[str]) -> set[str]:
    """Names that a model could not follow. One in quotes is an argument of the call that the text offers."""
    named = {found.group() for found in NAME.finditer(text) if f'"{found.group()}"' not in text}
    return {name for name in named & KNOWN - listed if f"{name} (through lithos_tool_call)" not in text}


@pytest.mark.parametrize("toolset", [*catalogue().toolsets(), "core,garden", "find,board"])
@pytest.mark.parametrize("read_only", [False, True], ids=["whole", "read-only"])
async def test_every_text_of_a_connection_can_be_followed(lithos: Lithos, toolset: str, read_only: bool) -> None:
    caller = Caller(toolsets=tuple(toolset.split(",")), read_only=read_only)
    async with mcp.Client(build_server(lithos, default=caller), mode="legacy") as client:
        tools = (await client.list_tools()).tools
        listed = frozenset(each.name for each in tools)
        assert {"lithos_tool_find", "lithos_tool_call"} <= listed
        assert lost(client.instructions or "", listed) == set()
        for each in tools:
            assert each.title, each.name
            shown = each.model_dump(mode="json", by_alias=True, exclude_none=True)
            for text in (shown["description"], *descriptions(shown["inputSchema"])):
                assert lost(text, listed) == set(), each.name
            assert "additionalProperties" not in shown["inputSchema"], each.name
            assert "idempotency_key" not in shown["inputSchema"]["properties"], each.name
            assert not read_only or shown["annotations"]["readOnlyHint"] is True
        for prompt in (await client.list_prompts()).prompts:
            said = await client.get_prompt(prompt.name)
            assert lost(said.messages[0].content.text, listed) == set(), prompt.name
        for name, arguments in REFUSED:
            answer = (await client.call_tool(name, arguments)).structured_content
            assert answer is not None
            error = answer.get("error", answer)
            assert lost(error.get("hint", ""), listed) == set(), name
            assert lost(error.get("message", ""), listed | {name}) == set(), name


async def test_a_connection_that_only_reads_gets_no_advice_to_write(lithos: Lithos) -> None:
    async with mcp.Client(build_server(lithos, default=Caller(read_only=True)), mode="legacy") as client:
        writes = {each.name for each in catalogue() if not each.reads} - {"lithos_tool_call"}
        assert not writes & set(NAME.findall(client.instructions or ""))
        names = {each.name for each in (await client.list_prompts()).prompts}
        assert names == {"briefing", "recall", "standup"}


def descriptions(schema: Any) -> list[str]:
    text = json.dumps(schema, ensure_ascii=False)
    return [json.loads(f'"{found}"') for found in re.findall(r'"description": "((?:[^"\\]|\\.)*)"', text)]
