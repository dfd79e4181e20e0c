"""Guests that write while their host is killed, and what must be true afterwards."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from lithos.app import Lithos, open_lithos
from lithos.host.client import describe_host
from lithos.settings import LithosConfig, StorageSettings
from lithos.tools.catalogue import catalogue
from tests.support.guests import GuestProcess, Household
from tests.support.waiting import PATIENCE

GoesOn = Callable[[], bool]


@dataclass
class Tally:
    """What the clients were told."""

    acknowledged: dict[str, str] = field(default_factory=dict)  # title → id
    errors: list[Any] = field(default_factory=list)
    unacknowledged: set[str] = field(default_factory=set)
    answers: Counter[int] = field(default_factory=Counter)  # guest → how many


class Killer:
    """Kills the host some milliseconds after it is ready; a test that kills by the clock would measure its start."""

    def __init__(self, home: Household, after_seconds: float, most: int) -> None:
        self._home = home
        self._after = after_seconds
        self._most = most
        self._enough = threading.Event()
        self.kills = 0
        self._thread = threading.Thread(target=self._kill_again_and_again)

    def __enter__(self) -> Killer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._enough.set()
        self._thread.join()

    def _kill_again_and_again(self) -> None:
        while self.kills < self._most and not self._enough.wait(0.01):
            ready = describe_host(self._home.host_lock, PATIENCE)  # waits in the queue of a host that is only starting
            if ready is not None and self._is_time():
                self._home.kill_pid(ready["pid"])
                self.kills += 1

    def _is_time(self) -> bool:
        return not self._enough.wait(self._after)


class GentleKiller(Killer):
    """Waits until every guest has had an answer since the last kill: then no call meets two kills."""

    def __init__(self, home: Household, tally: Tally, guests: int, most: int) -> None:
        super().__init__(home, 0.01, most)
        self._tally = tally
        self._guests = guests
        self._seen: Counter[int] = Counter()

    def _is_time(self) -> bool:
        while not self._enough.wait(self._after):
            now = Counter(self._tally.answers)
            if all(now[guest] > self._seen[guest] for guest in range(self._guests)):
                self._seen = now
                return True
        return False


def write(guest: GuestProcess, who: int, number: int, tally: Tally) -> None:
    """A task, or a note that links to the one before it."""
    title = f"guest {who} write {number}"
    text = f"word{who}x{number} after [[guest {who} write {number - 2}]]"
    note = number % 2 == 1
    tool = "lithos_write" if note else "lithos_task_create"
    arguments = {"title": title, "agent": f"agent-{who}"} | ({"content": text, "tags": ["kills"]} if note else {})
    answer = guest.request("tools/call", {"name": tool, "arguments": arguments})
    if "result" in answer and not answer["result"]["isError"]:
        told = answer["result"]["structuredContent"]
        tally.acknowledged[title] = told["id"] if note else told["task_id"]
    else:
        tally.errors.append(answer)
        tally.unacknowledged.add(title)
    tally.answers[who] += 1


def write_all(guest: GuestProcess, who: int, writes: int, tally: Tally, goes_on: GoesOn = lambda: False) -> None:
    """So many writes, and more for as long as it goes on: how fast anything is plays no part."""
    number = 0
    while number < writes or goes_on():
        write(guest, who, number, tally)
        number += 1


def write_from_all(home: Household, guests: int, writes: int, tally: Tally, goes_on: GoesOn) -> None:
    clients = [home.guest() for _ in range(guests)]
    for client in clients:
        client.initialize()
    threads = [
        threading.Thread(target=write_all, args=(client, who, writes, tally, goes_on))
        for who, client in enumerate(clients)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def pages(lithos: Lithos, tool: str, key: str, **arguments: Any) -> list[dict[str, Any]]:
    """All of a list, page by page, by cursor or by offset."""
    found: list[dict[str, Any]] = []
    cursor = None
    while True:
        where = {"cursor": cursor} if cursor else {} if key == "tasks" else {"offset": len(found)}
        page = catalogue().call(lithos, tool, {"limit": 100, **where, **arguments})
        found += page[key]
        cursor = page.get("next_cursor")
        if not page[key] or (key == "tasks" and cursor is None):
            return found


def indexed(lithos: Lithos) -> dict[str, Any]:
    """Everything that is derived from the files, as readers see it."""

    def call(tool: str, **arguments: Any) -> dict[str, Any]:
        return catalogue().call(lithos, tool, arguments)

    notes = sorted(pages(lithos, "lithos_list", "items"), key=lambda note: note["id"])
    return {
        "notes": notes,
        "tags": call("lithos_tags"),
        "links": {note["id"]: call("lithos_links", id=note["id"], direction="both") for note in notes[:40]},
        "search": dict(lithos.note_search.collection.known()),
        "found": {
            note["id"]: [hit["id"] for hit in call("lithos_search", query=_word(note["title"]))["results"]]
            for note in notes[:40]
        },
    }


def _word(title: str) -> str:
    _, who, _, number = title.split()
    return f"word{who}x{number}"


def check(home: Household, tally: Tally) -> None:
    """Everything acknowledged is there once, nothing else is, and the indexes are those of a rebuild."""
    assert len(home.hosts()) <= 1
    home.lithos("stop")
    config = LithosConfig(storage=StorageSettings(data_dir=home.data_dir))
    lithos = open_lithos(config)
    try:
        lithos.notes.reindex()
        tasks = {task["id"]: task["title"] for task in pages(lithos, "lithos_task_list", "tasks")}
        before = indexed(lithos)
        lithos.notes.reindex(clear=True)
        assert indexed(lithos) == before
    finally:
        lithos.close()
    notes = {note["id"]: note["title"] for note in before["notes"]}
    assert all(found == [key] for key, found in before["found"].items())
    check_once(tasks | notes, tally)
    check_tidy(home, len(notes))


def check_once(there: dict[str, str], tally: Tally) -> None:
    assert len(set(tally.acknowledged.values())) == len(tally.acknowledged)
    assert {title: there.get(key) for title, key in tally.acknowledged.items()} == {
        title: title for title in tally.acknowledged
    }
    assert [title for title, times in Counter(there.values()).items() if times > 1] == []
    assert set(there.values()) <= set(tally.acknowledged) | tally.unacknowledged


def check_tidy(home: Household, notes: int) -> None:
    files = [file for file in (home.data_dir / "knowledge").rglob("*") if file.is_file()]
    assert len(files) == notes and all(file.suffix == ".md" for file in files)
    strays = [file.name for file in home.data_dir.rglob("*") if file.name.endswith((".tmp", "-wal", ".sock", "~"))]
    assert strays == []
