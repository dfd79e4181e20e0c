"""Kill the host again and again under mixed load, then compare what clients were told with what tools can reach."""

from __future__ import annotations

import json
import random
import threading
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lithos.app import Lithos, open_lithos
from lithos.errors import LithosError
from lithos.settings import LithosConfig, StorageSettings
from lithos.tools.catalogue import catalogue
from tests.faults.test_host_kills import Killer
from tests.support.guests import GuestProcess, Household, household

GUESTS = 3


@dataclass
class Told:
    """What the clients of one round were told."""

    notes: dict[str, str | None] = field(default_factory=dict)  # id → content; None: deleted
    tasks: dict[str, str] = field(default_factory=dict)  # id → title
    thoughts: list[str] = field(default_factory=list)
    unsure: set[str] = field(default_factory=set)  # ids and texts whose last call ended in an error
    calls: int = 0


class RandomKiller(Killer):
    """Some moment between the first instant of a host and two seconds into its work, more often early."""

    def __init__(self, home: Household, dice: random.Random, most: int) -> None:
        super().__init__(home, 0.0, most)
        self._dice = dice

    def _is_time(self) -> bool:
        return not self._enough.wait(0.02 + self._dice.random() ** 2 * 2)


class Client:
    """One guest that creates, updates and deletes its own notes, makes tasks and appends thoughts."""

    def __init__(self, guest: GuestProcess, who: int, seed: int, told: Told, lock: threading.Lock) -> None:
        self._guest, self._who, self._told, self._lock = guest, who, told, lock
        self._dice = random.Random(seed * 100 + who)
        self._mine: list[str] = []
        self._number = 0

    def act(self) -> None:
        self._number += 1
        kinds = [self._create, self._create, self._update, self._update, self._delete, self._task, self._think]
        self._dice.choice(kinds if self._mine else [self._create])()

    def _call(self, about: str, tool: str, **arguments: Any) -> dict[str, Any] | None:
        answer = self._guest.request("tools/call", {"name": tool, "arguments": arguments})
        with self._lock:
            self._told.calls += 1
            if "result" in answer and not answer["result"]["isError"]:
                content: dict[str, Any] = answer["result"]["structuredContent"]
                return content
            self._told.unsure.add(about)
        return None

    def _word(self) -> str:
        return f"word{self._who}x{self._number}"

    def _create(self) -> None:
        title = f"note {self._who} {self._number}"
        made = self._call(title, "lithos_write", title=title, content=self._word(), agent=f"a{self._who}")
        if made is not None:
            self._mine.append(made["id"])
            self._told.notes[made["id"]] = self._word()

    def _update(self) -> None:
        note = self._dice.choice(self._mine)
        if self._call(note, "lithos_write", id=note, content=self._word(), agent=f"a{self._who}") is not None:
            self._told.notes[note] = self._word()

    def _delete(self) -> None:
        note = self._mine.pop(self._dice.randrange(len(self._mine)))
        if self._call(note, "lithos_delete", id=note, agent=f"a{self._who}") is not None:
            self._told.notes[note] = None

    def _task(self) -> None:
        title = f"task {self._who} {self._number}"
        made = self._call(title, "lithos_task_create", title=title, agent=f"a{self._who}")
        if made is not None:
            self._told.tasks[made["task_id"]] = title

    def _think(self) -> None:
        thought = {"thought_type": "Insight", "content": f"thought {self._word()}", "agent_id": f"a{self._who}"}
        if self._call(thought["content"], "mentisdb_append", **thought) is not None:
            self._told.thoughts.append(thought["content"])


def campaign(data_dir: Path, seed: int, kills: int) -> tuple[Told, int]:
    """So many kills at random moments; what the clients were told, and how many kills there were."""
    told, lock, dice = Told(), threading.Lock(), random.Random(seed)
    with household(data_dir) as home:
        clients = []
        for who in range(GUESTS):
            guest = home.guest("--toolsets", "all")
            guest.initialize()
            clients.append(Client(guest, who, seed, told, lock))
        with RandomKiller(home, dice, kills) as killer:

            def work(client: Client) -> None:
                while killer.kills < kills:
                    client.act()

            threads = [threading.Thread(target=work, args=(client,)) for client in clients]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        home.lithos("stop", check=False)
    return told, killer.kills


def judge(data_dir: Path, told: Told) -> None:
    """Every acknowledged operation is there once and is found by search, the doctor is green, and a rebuild of what is
    derived differs in nothing. Raises AssertionError."""
    memory = open_lithos(LithosConfig(storage=StorageSettings(data_dir=data_dir)))
    try:
        memory.notes.reindex()
        before = _compare(memory, told)
        examined = catalogue().call(memory, "lithos_doctor", {"full": True}, _operator())
        wrong = [each for each in examined["findings"] if each["severity"] == "error"]
        assert wrong == [], wrong
        memory.notes.reindex(clear=True)
        assert _compare(memory, told) == before
    finally:
        memory.close()


def _compare(memory: Lithos, told: Told) -> dict[str, Any]:
    for note, content in told.notes.items():
        if note in told.unsure:
            continue
        assert _content(memory, note) == content, (note, content)
        if content is not None:
            assert _found(memory, content) == [note], (note, content)
    tasks = _pages(memory)
    for task, title in told.tasks.items():
        assert tasks.get(task) == title, (task, title)
    assert [title for title, times in Counter(tasks.values()).items() if times > 1] == []
    said = Counter(_thoughts(memory))
    assert {text: said[text] for text in told.thoughts} == dict.fromkeys(told.thoughts, 1)
    return {"notes": {note: _content(memory, note) for note in told.notes}, "tasks": tasks}


def _content(memory: Lithos, note: str) -> str | None:
    try:
        return str(catalogue().call(memory, "lithos_read", {"id": note})["content"]).strip()
    except LithosError:
        return None


def _found(memory: Lithos, word: str) -> list[str]:
    return [hit["id"] for hit in catalogue().call(memory, "lithos_search", {"query": word})["results"]]


def _pages(memory: Lithos) -> dict[str, str]:
    found: dict[str, str] = {}
    cursor: str | None = None
    while True:
        asked = {"limit": 100, **({"cursor": cursor} if cursor else {})}
        page = catalogue().call(memory, "lithos_task_list", asked)
        found |= {task["id"]: task["title"] for task in page["tasks"]}
        cursor = page.get("next_cursor")
        if cursor is None:
            return found


def _thoughts(memory: Lithos) -> list[str]:
    try:
        chain = memory.ledger.chain(None)
    except LithosError:
        return []
    return [str(entry.body["content"]) for entry in chain.entries(range(chain.size)) if entry.body]


def _operator() -> Any:
    from lithos.tools.caller import Caller

    return Caller(operator=True)


def report(seed: int, told: Told, kills: int) -> str:
    counts = {"seed": seed, "kills": kills, "calls": told.calls, "notes": len(told.notes), "tasks": len(told.tasks)}
    return json.dumps({**counts, "thoughts": len(told.thoughts), "unsure": len(told.unsure)})
