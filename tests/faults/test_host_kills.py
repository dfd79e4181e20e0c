"""The host is killed -9 again and again under writing guests: every acknowledged write is there exactly once."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from lithos.host.client import describe_host
from tests.guests import GuestProcess, Household, household


@pytest.fixture
def home(data_dir: Path) -> Iterator[Household]:
    with household(data_dir) as everybody:
        yield everybody


@dataclass
class Tally:
    """What the clients were told."""

    acknowledged: dict[str, str] = field(default_factory=dict)  # title → id
    errors: list[Any] = field(default_factory=list)
    unacknowledged: set[str] = field(default_factory=set)


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
            ready = describe_host(self._home.place)  # waits in the queue of a host that is only starting
            if ready is not None and not self._enough.wait(self._after):
                self._home.kill_pid(ready["pid"])
                self.kills += 1


def write(guest: GuestProcess, who: int, number: int, tally: Tally) -> None:
    title = f"guest {who} write {number}"
    answer = guest.request("tools/call", {"name": "lithos_task_create", "arguments": {"title": title, "agent": "ann"}})
    if "result" in answer and not answer["result"]["isError"]:
        tally.acknowledged[title] = answer["result"]["structuredContent"]["task_id"]
    else:
        tally.errors.append(answer)
        tally.unacknowledged.add(title)


def write_all(guest: GuestProcess, who: int, writes: int, tally: Tally) -> None:
    for number in range(writes):
        write(guest, who, number, tally)


def write_from_all(home: Household, guests: int, writes: int) -> Tally:
    tally = Tally()
    clients = [home.guest() for _ in range(guests)]
    for client in clients:
        client.initialize()
    threads = [
        threading.Thread(target=write_all, args=(client, who, writes, tally)) for who, client in enumerate(clients)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return tally


def tasks_on_the_board(home: Household) -> dict[str, str]:
    """id → title."""
    guest = home.guest("--toolsets", "all")
    guest.initialize()
    found: dict[str, str] = {}
    cursor = None
    while True:
        page = guest.call("lithos_task_list", limit=100, **({"cursor": cursor} if cursor else {}))
        found.update({task["id"]: task["title"] for task in page["tasks"]})
        cursor = page.get("next_cursor")
        if cursor is None:
            return found


def check(home: Household, tally: Tally) -> None:
    there = tasks_on_the_board(home)
    assert len(set(tally.acknowledged.values())) == len(tally.acknowledged)
    assert {title: there.get(key) for title, key in tally.acknowledged.items()} == {
        title: title for title in tally.acknowledged
    }
    assert [title for title, times in Counter(there.values()).items() if times > 1] == []
    assert set(there.values()) <= set(tally.acknowledged) | tally.unacknowledged
    assert len(home.hosts()) == 1


def test_every_write_has_its_effect_once_while_the_host_is_killed(home: Household) -> None:
    with Killer(home, after_seconds=0.15, most=2) as killer:
        tally = write_from_all(home, guests=4, writes=40)
    assert killer.kills >= 1
    assert tally.errors == []
    check(home, tally)


@pytest.mark.torture
@pytest.mark.parametrize("after_seconds", [0.3, 1.0])
def test_every_write_has_its_effect_once_while_the_host_is_killed_again_and_again(
    home: Household, after_seconds: float
) -> None:
    with Killer(home, after_seconds, most=100) as killer:
        tally = write_from_all(home, guests=8, writes=200)
    print(f"{killer.kills} kills, {len(tally.errors)} errors seen by clients")
    assert killer.kills >= 2
    check(home, tally)
    assert len(tally.errors) <= killer.kills
