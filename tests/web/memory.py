"""A filled memory: notes with links, tasks in every state, thoughts, proposals, messages of every fate."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from lithos.app import Lithos
from lithos.tools.caller import Caller
from lithos.tools.catalogue import catalogue

ANN, BOB, CLEO = (Caller(agent=name) for name in ("ann", "bob", "cleo"))
OPERATOR = Caller(operator=True)
PROFILE = "users/vera/parts/kitchen/notes.md"
OTHER = "users/vera/parts/garden/notes.md"


@dataclass
class Memory:
    lithos: Lithos
    ids: dict[str, str] = field(default_factory=dict)

    def call(self, tool: str, caller: Caller = ANN, /, **arguments: Any) -> dict[str, Any]:
        answer = catalogue().ready(tool, arguments, caller).run(self.lithos)
        if not asyncio.iscoroutine(answer):
            return dict(answer)
        with ThreadPoolExecutor(1) as threads:  # the browser's driver has a loop in this one
            return dict(threads.submit(asyncio.run, answer).result())


def fill(lithos: Lithos) -> Memory:
    memory = Memory(lithos)
    _notes(memory)
    _board(memory)
    _ledger(memory)
    _garden(memory)
    _mail(memory)
    return memory


def _notes(memory: Memory) -> None:
    topics = ("Retries", "Timeouts", "Backoff", "Queues", "Leases", "Index", "Recall", "Tokens")
    for place, title in enumerate(topics):
        links = f"[[{topics[(place + 1) % 8]}]] and [[{topics[(place + 3) % 8]}]]"
        body = f"# {title}\n\n{title} are explained here, see {links}.\n\n- one\n- two\n"
        made = memory.call(
            "lithos_write",
            title=title,
            content=body,
            tags=["design", "net" if place % 2 else "core"],
            path="guides" if place % 2 else "notes",
        )
        memory.ids[title] = made["id"]
    memory.call(
        "lithos_write", BOB, id=memory.ids["Retries"], content="# Retries\n\nTwice, then stop. See [[Timeouts]].\n"
    )


def _board(memory: Memory) -> None:
    def task(title: str, **more: Any) -> str:
        memory.ids[title] = memory.call("lithos_task_create", title=title, agent="ann", **more)["task_id"]
        return memory.ids[title]

    first = task("Measure the queue", description="Under load and idle.\nReport both.", tags=["speed"], priority=1)
    task("Write the guide", depends_on=[first], tags=["docs"])
    task("Pick a name")
    task("Old idea", priority=4)
    done = task("Draw the logo")
    memory.call("lithos_task_claim", BOB, task_id=first, aspect="idle", agent="bob", ttl_minutes=45)
    memory.call("lithos_finding_post", BOB, task_id=first, agent="bob", summary="Idle costs nothing.")
    memory.call("lithos_task_complete", task_id=done, agent="ann")
    memory.call("lithos_task_cancel", task_id=memory.ids["Old idea"], agent="ann")


def _ledger(memory: Memory) -> None:
    thoughts = (
        ("Decision", "We retry twice, because the third try never helped.", {}),
        ("Constraint", "No call may wait longer than 55 seconds.", {}),
        ("Correction", "Three retries on the slow line.", {"relations": [{"kind": "Corrects", "target": 0}]}),
        ("Insight", "Backoff with jitter spreads the load.", {"refs": [0, 2], "tags": ["net"]}),
    )
    for kind, content, more in thoughts:
        memory.call("mentisdb_append", agent_id="ann", thought_type=kind, content=content, **more)
    memory.call(
        "mentisdb_append", BOB, agent_id="bob", chain_key="side", thought_type="Idea", content="A second chain."
    )


def _garden(memory: Memory) -> None:
    for path, content in ((PROFILE, "# Kitchen\n\nThe oven is warm.\n"), (OTHER, "# Garden\n\nRoses.\n")):
        made = memory.call("lithos_propose_change", path=path, content=content, user_id="vera")
        memory.ids[path] = made["proposal_id"]


def _mail(memory: Memory) -> None:
    for agent in (ANN, BOB, CLEO):
        memory.call("lithos_inbox_list", agent)
    asked = memory.call("lithos_message_send", ANN, target="bob", body="How many retries do we make?")
    memory.ids["thread"] = asked["correlation_id"]
    taken = memory.call("lithos_inbox_take", BOB)["messages"][0]
    memory.call(
        "lithos_inbox_reply", BOB, message_id=taken["message"]["id"], token=taken["token"], body="Two, then we stop."
    )
    memory.call("lithos_message_send", BOB, target="operator", body="May I delete the old index?")
    memory.call("lithos_message_send", ANN, target="cleo", payload={"body": "For the record", "subject": "Weekly"})
    for what in ("poisoned work", "second failure"):
        memory.call("lithos_message_send", ANN, target="bob", body=what)
        bad = memory.call("lithos_inbox_take", BOB)["messages"][0]
        lease = {"message_id": bad["message"]["id"], "token": bad["token"]}
        memory.call("lithos_inbox_fail", BOB, **lease, error="cannot be done", retry=False)
        memory.ids[what] = bad["message"]["id"]
