"""Hosts that die with messages in the hands of their workers; real processes, on both databases."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import fork_server, states
from tests.support.post_office import PERSON, PostOffice, by

pytestmark = pytest.mark.both_databases
BEATS_3, BEATS_6 = 31, 61  # seconds after which so many heartbeats are missing


class Worker:
    def __init__(self, folder: Path) -> None:
        command = [sys.executable, "-m", "tests.support.mail_worker", str(folder)]
        self._process = fork_server.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=states.for_child(folder)
        )
        assert self._process.stdout is not None
        self.attempt = int(self._process.stdout.readline())

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate()

    def stop(self) -> None:
        self._process.communicate("")


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    office = PostOffice(tmp_path)
    office.send("ann", "bob", max_attempts=9)
    office.close()
    yield tmp_path


def _one_host_at_a_time() -> bool:
    return not isinstance(states.current, states.PostgresStates)


def test_what_a_killed_host_held_comes_back_at_once_and_is_set_aside_the_second_time(folder: Path) -> None:
    office = None
    for attempt in (1, 2):
        worker = Worker(folder)
        assert worker.attempt == attempt
        worker.kill()
        office = PostOffice(folder)
        if not _one_host_at_a_time():  # another host may live: it is dead when six of its heartbeats are missing
            assert office.messages.status(by("bob"), None)["leased"] == 1
            office.advance(BEATS_3)
            assert office.messages.status(by("bob"), None)["health"] == "unhealthy"
            office.advance(BEATS_6 - BEATS_3)
        assert office.messages.status(by("bob"), None)["leased"] == 0
        if attempt == 1:
            office.advance(15)  # the pause before the next attempt
            office.close()
    assert office is not None
    [dead] = office.messages.dead_letters.list(PERSON, limit=10, cursor=None)["dead_letters"]
    assert dead["reason"] == "processing_error"
    assert dead["metadata"] == {"poison": True}
    office.close()


def test_a_host_that_stops_gives_back_what_its_workers_hold_and_counts_no_death(folder: Path) -> None:
    for attempt in (1, 2, 3):
        worker = Worker(folder)
        assert worker.attempt == attempt
        worker.stop()
        office = PostOffice(folder)
        office.advance(1)
        assert office.messages.status(by("bob"), None)["waiting"] == 1
        office.close()
