"""The host is killed -9 under eight processes that append: what was acknowledged is there, in order, exactly once."""

from __future__ import annotations

import itertools
import threading
from collections import Counter
from typing import Any

import pytest

from lithos.app import open_lithos
from lithos.ledger import Verification
from lithos.settings import LithosConfig, StorageSettings
from lithos.tools.catalogue import catalogue
from tests.support.guests import GuestProcess, Household
from tests.support.host_kills import Killer
from tests.support.ledgers import independent_check

CHAIN = "kills"
WRITERS = 8


class Heard:
    """What one client was told: thoughts in the order of its calls, and the checkpoints that came with them."""

    def __init__(self) -> None:
        self.thoughts: list[dict[str, Any]] = []
        self.checkpoints: list[dict[str, Any]] = []
        self.unanswered: set[str] = set()


def append_all(guest: GuestProcess, who: int, count: int, heard: Heard, killer: Killer) -> None:
    """As often as asked, and on until the host was killed once: a fast machine must not be done before."""
    numbers = itertools.takewhile(lambda number: number < count or not killer.kills, itertools.count())
    for number in numbers:
        content = f"writer {who} thought {number}"
        arguments = {
            "chain_key": CHAIN,
            "thought_type": "FactLearned",
            "content": content,
            "agent_id": f"w{who}",
            "detail": True,
        }
        answer = guest.request("tools/call", {"name": "mentisdb_append", "arguments": arguments})
        if "result" in answer and not answer["result"]["isError"]:
            told = answer["result"]["structuredContent"]
            heard.thoughts.append(told["thought"])
            heard.checkpoints.append(told["checkpoint"])
        else:
            heard.unanswered.add(content)


def hear(home: Household, count: int, kills: int) -> list[Heard]:
    guests = [home.guest() for _ in range(WRITERS)]
    for guest in guests:
        guest.initialize()
    heard = [Heard() for _ in guests]
    with Killer(home, 0.15, kills) as killer:
        threads = [
            threading.Thread(target=append_all, args=(guest, who, count, heard[who], killer))
            for who, guest in enumerate(guests)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return heard


def check(home: Household, heard: list[Heard]) -> None:
    home.lithos("stop")
    lithos = open_lithos(LithosConfig(storage=StorageSettings(data_dir=home.data_dir)))
    try:
        chain = lithos.ledger.chain(CHAIN)
        stored = chain.entries(range(chain.size))
        folder = chain.folder
        for one in heard:
            for checkpoint in one.checkpoints[-3:]:
                catalogue().call(lithos, "mentisdb_head", {"chain_key": CHAIN, "last_checkpoint": checkpoint})
    finally:
        lithos.close()
    assert Counter(entry.body["content"] for entry in stored if entry.body).most_common(1)[0][1] == 1
    by_index = {entry.index: entry for entry in stored}
    for one in heard:
        assert [thought["hash"] for thought in one.thoughts] == [
            by_index[thought["index"]].hash for thought in one.thoughts
        ]
        indexes = [thought["index"] for thought in one.thoughts]
        assert indexes == sorted(indexes)
    told = {thought["content"] for one in heard for thought in one.thoughts}
    there = {entry.body["content"] for entry in stored if entry.body}
    assert told <= there <= told | set().union(*(one.unanswered for one in heard))
    report = Verification(folder, home.data_dir / ".lithos" / "checkpoints", full=True).run()
    assert report.findings == []
    assert independent_check(folder) == (report.thoughts, report.root)


def test_appends_of_eight_processes_survive_kills_of_the_host(home: Household) -> None:
    check(home, hear(home, count=12, kills=2))


@pytest.mark.torture
def test_appends_of_eight_processes_survive_many_kills(home: Household) -> None:
    check(home, hear(home, count=400, kills=25))
