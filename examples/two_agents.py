"""Two scripted agents share one memory: Ann finds a cause, Bob takes the task over and closes it.

    python examples/two_agents.py [DATA_DIR]

Each agent is an MCP client with a `lithos serve` of its own, as Claude Code or Codex would have. A test runs this file.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
from contextlib import asynccontextmanager
from typing import Any

import mcp
from mcp.client.stdio import StdioServerParameters, stdio_client

LITHOS = [sys.executable, "-m", "lithos.cli.entry"]


@asynccontextmanager
async def agent(name: str, data_dir: str):
    """Yields a function that calls a tool as this agent and returns its answer."""
    arguments = [*LITHOS[1:], "serve", "--data-dir", data_dir, "--agent", name]
    async with mcp.Client(stdio_client(StdioServerParameters(command=LITHOS[0], args=arguments))) as client:

        async def call(tool: str, **arguments: Any) -> dict[str, Any]:
            answer = await client.call_tool(tool, {"agent": name, **arguments})
            return answer.structured_content

        yield call


async def work(data_dir: str) -> None:
    async with agent("ann", data_dir) as ann, agent("bob", data_dir) as bob:
        task = (await ann("lithos_task_create", title="Orders are sent twice"))["task_id"]
        await ann("lithos_task_claim", task_id=task, aspect="cause")

        taken = await bob("lithos_task_claim", task_id=task, aspect="cause")
        print("bob asks for the same part:", taken["reason"])

        note = await ann(
            "lithos_write", title="Why orders are sent twice", content="The queue retries after a timeout."
        )
        await ann("lithos_finding_post", task_id=task, summary="A retry without a key", knowledge_id=note["id"])
        await ann("lithos_task_release", task_id=task, aspect="cause")

        known = await bob("lithos_recall", query="Why does a customer get the same order twice?", kinds=["note"])
        print("bob recalls:", known["results"][0]["title"])
        fix = await bob("lithos_task_claim", task_id=task, aspect="fix")
        await bob("lithos_write", id=note["id"], content="Fixed: the queue sends an idempotency key.", append=True)
        await bob("lithos_task_complete", task_id=task, claim_token=fix["token"])

        read = await ann("lithos_read", id=note["id"])
        print("ann reads:", read["content"].splitlines()[-1])


def main() -> int:
    data_dir = sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp(prefix="lithos-example-")
    asyncio.run(work(data_dir))
    subprocess.run([*LITHOS, "stop", "--data-dir", data_dir], check=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
