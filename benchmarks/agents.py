"""Jobs of an agent over stdio with listed tools only: calls, tokens sent and read, wrong turns; and tool_find's hits.

A token is 4 bytes, as everywhere in Lithos. The jobs are in `_agent_jobs`. LITHOS_JOBS="begin the day" shows the calls
of one (several with commas between).
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import mcp
from mcp.client.stdio import StdioServerParameters, stdio_client

FIXTURES = Path(__file__).parent.parent / "tests" / "fixtures"
WISHES = {  # who wrote them
    "the phrases' author": ("tool_wishes.tsv",),
    "another author, held out": ("tool_wishes_held_out.tsv", "tool_wishes_held_out_2.tsv"),
}
LITHOS = [sys.executable, "-m", "lithos.cli.entry"]
FIND, CALL = "lithos_tool_find", "lithos_tool_call"
MOST_READ = 0.6  # of what the same jobs' answers cost on the commit before this benchmark
BEFORE = {  # job → tokens read on commit 7379e16
    "answer a question": 1_098,
    "find an error text": 1_056,
    "find by meaning": 1_211,
    "ask what is not there": 752,
    "recall then read": 1_217,
    "read by title": 475,
    "read a linked note": 930,
    "list a folder": 381,
    "list everything": 2_195,
    "list by one tag": 325,
    "see the tags": 49,
    "see the neighbours": 104,
    "what changed since yesterday": 5_198,
    "begin the day": 2_728,
    "everything on a topic": 2_718,
    "remember something new": 1_740,
    "remember with wrong names": 163,
    "correct one section": 117,
    "correct a note": 452,
    "append to a note": 118,
    "tag a note": 73,
    "move a note": 92,
    "take back a mistake": 295,
    "delete and restore": 119,
    "write on an old version": 623,
    "see who changed a note": 146,
    "take the next task": 460,
    "see the board": 2_099,
    "look at one task": 190,
    "read reports": 248,
    "plan work": 168,
    "meet a taken task": 254,
    "hand over": 40,
    "keep a claim": 45,
    "change a task": 4,
    "cancel a task": 4,
    "name a task by its title": 128,
    "see the agents": 73,
    "log a decision": 324,
    "log with the wrong case": 526,
    "find a thought": 943,
    "resume from the chain": 706,
    "walk back from a thought": 1_047,
    "use a skill": 747,
    "check the vault": 12,
    "see the audit": 1_343,
    "edit a garden file": 156,
    "see how big it is": 89,
    "report what helped": 476,
}


def tokens(value: Any) -> int:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return -(-len(text.encode()) // 4)


@dataclass
class Cost:
    calls: int = 0
    sent: int = 0
    read: int = 0
    wrong: int = 0  # errors, refusals, and hits of tool_find that are not the tool
    hidden: int = 0  # tools that the connection neither lists nor offers a way to
    trace: list[str] = field(default_factory=list)


class Failed(Exception):
    """A call was answered with an error."""


class Desk:
    """A model that knows only what the connection lists. Setting up is not counted."""

    def __init__(self, client: mcp.Client, listed: set[str], known: set[str]) -> None:
        self.listed, self.known = listed, known
        self.cost = Cost()
        self._client = client
        self._learnt: set[str] = set()  # tools whose schema tool_find has shown in this job

    def begin(self) -> None:
        self.cost, self._learnt = Cost(), set()

    async def set_up(self, tool: str, **arguments: Any) -> dict[str, Any]:
        result = await self._client.call_tool(tool, arguments)
        if result.is_error:
            raise Failed(f"{tool}: {result.content[0].text}")
        return result.structured_content or {}

    async def do(self, wish: str, tool: str, *forms: dict[str, Any]) -> dict[str, Any]:
        """Call a tool the way a model comes to it. `forms`: what it tries first, and after each refusal."""
        through = await self._way_to(wish, tool)
        for form in forms or ({},):
            name, arguments = (CALL, {"name": tool, "arguments": form}) if through else (tool, form)
            answer, failed = await self._call(name, arguments)
            if not failed:
                return answer
        raise Failed(f"{tool}: {answer}")

    async def _way_to(self, wish: str, tool: str) -> bool:
        """Whether the tool is called through lithos_tool_call."""
        if tool in self.listed or tool in self._learnt:
            return tool not in self.listed
        if FIND not in self.listed:
            self.cost.hidden += 1
            self.cost.trace.append(f"{tool} is not listed")
            return False
        found, _ = await self._call(FIND, {"query": wish})
        names = [each["name"] for each in found["tools"]]
        self.cost.wrong += min(names.index(tool), 1) if tool in names else 1
        if not any(each["name"] == tool and "input_schema" in each for each in found["tools"]):
            arguments = {"name": tool} if tool in names else {"query": tool.replace("_", " ")}
            await self._call(FIND, arguments)
        self._learnt.add(tool)
        return True

    async def _call(self, name: str, arguments: dict[str, Any]) -> tuple[dict[str, Any], bool]:
        result = await self._client.call_tool(name, arguments)
        text = "".join(getattr(block, "text", "") for block in result.content)
        answer = json.loads(text)
        refused = result.is_error or answer.get("success") is False
        self.cost.calls += 1
        self.cost.sent += tokens({"name": name, "arguments": arguments})
        self.cost.read += tokens(text)
        self.cost.wrong += refused
        self.cost.trace.append(f"{name} {json.dumps(arguments)[:100]} → {tokens(text)}{' refused' if refused else ''}")
        return answer, bool(result.is_error)


def main() -> None:
    logging.getLogger("client").setLevel(logging.ERROR)  # it warns of each call of a tool that is not listed
    logging.getLogger("mcp").setLevel(logging.ERROR)
    wanted = [name for name in os.environ.get("LITHOS_JOBS", "").split(",") if name]
    with tempfile.TemporaryDirectory() as folder:
        try:
            asyncio.run(_replay(Path(folder), wanted))
        finally:
            subprocess.run([*LITHOS, "stop", "--data-dir", folder], capture_output=True, timeout=60, check=False)


def _server(folder: Path, *more: str) -> StdioServerParameters:
    arguments = [*LITHOS[1:], "serve", "--data-dir", str(folder), "--agent", "claude-code-anna", *more]
    return StdioServerParameters(command=LITHOS[0], args=arguments)


async def _replay(folder: Path, wanted: list[str]) -> None:
    from benchmarks._agent_jobs import fill, jobs

    async with mcp.Client(stdio_client(_server(folder, "--toolsets", "all")), mode="legacy") as client:
        known = {each.name for each in (await client.list_tools()).tools}
        desk = Desk(client, known, known)
        stored = await fill(desk)
    async with mcp.Client(stdio_client(_server(folder)), mode="legacy") as client:
        listing = (await client.list_tools()).tools
        desk = Desk(client, {each.name for each in listing}, known)
        shown = tokens([each.model_dump(by_alias=True, exclude_none=True, mode="json") for each in listing])
        print(f"list: {len(listing)} tools, {shown:,} tokens; instructions: {tokens(client.instructions or '')} tokens")
        costs = {}
        for name, job in jobs(stored):
            if not wanted or name in wanted:
                desk.begin()
                await job(desk)
                costs[name] = desk.cost
        _report(costs, trace=bool(wanted))
        if not wanted:
            await _wishes(desk)


def _report(costs: dict[str, Cost], *, trace: bool) -> None:
    for name, cost in costs.items():
        then = f"  before {BEFORE[name]:>6,}" if name in BEFORE else ""
        print(
            f"{name:34} calls {cost.calls:>2}  sent {cost.sent:>5,}  read {cost.read:>6,}{then}"
            f"  wrong {cost.wrong}  hidden {cost.hidden}"
        )
        for step in cost.trace if trace else ():
            print("    ", step)
    total = {part: sum(getattr(cost, part) for cost in costs.values()) for part in ("calls", "sent", "read", "wrong")}
    hidden = sum(cost.hidden for cost in costs.values())
    print(f"{len(costs)} jobs: {total}, hidden {hidden}")
    if set(BEFORE) >= set(costs):
        before = sum(BEFORE[name] for name in costs)
        print(f"answers: {total['read']:,} of {before:,} tokens = {total['read'] / before:.0%} (goal {MOST_READ:.0%})")


def wishes(file: str) -> Iterator[tuple[str, frozenset[str]]]:
    for row in (FIXTURES / file).read_text().splitlines():
        if row and not row.startswith("#"):
            wish, _, tools = row.partition("\t")
            yield wish, frozenset(tools.split(","))


async def _wishes(desk: Desk) -> None:
    sizes = []
    for label, files in WISHES.items():
        places = []
        for wish, right in (each for file in files for each in wishes(file)):
            result = await desk._client.call_tool(FIND, {"query": wish})
            text = result.content[0].text
            names = [each["name"] for each in json.loads(text)["tools"]]
            places.append(next((place for place, name in enumerate(names) if name in right), None))
            sizes.append(tokens(text))
        first, three = (sum(place is not None and place < bound for place in places) for bound in (1, 3))
        print(
            f"tool_find, {label}, {len(places)} wishes: first {first / len(places):.0%}, "
            f"in three {three / len(places):.0%}, missed {places.count(None)}"
        )
    print(f"tool_find, tokens an answer: median {median(sizes):,.0f}, most {max(sizes):,}")
