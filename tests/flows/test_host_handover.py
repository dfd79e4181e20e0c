"""A host in the foreground takes over from one in the background, and nobody loses a call."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tests.support import fork_server
from tests.support.guests import LITHOS, GuestProcess, Household
from tests.support.host_kills import Tally, check, write
from tests.support.wire import Raw


class Foreground:
    """`lithos serve --transport http` as a person starts it."""

    def __init__(self, home: Household, port: int = 0) -> None:
        flags = ["serve", "--transport", "http", "--port", str(port), "--data-dir", str(home.data_dir)]
        self.process = fork_server.Popen([*LITHOS, *flags], stderr=subprocess.PIPE, text=True)

    def url(self) -> str:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            found = re.search(r"(http://\S+)/mcp", line)
            if found:
                return found[1]
        raise AssertionError(f"no address; exit code {self.process.wait()}")

    def refusal(self) -> str:
        _, told = self.process.communicate(timeout=60)
        assert self.process.returncode not in (0, None)
        return told


@contextmanager
def foreground(home: Household, port: int = 0) -> Iterator[Foreground]:
    started = Foreground(home, port)
    try:
        yield started
    finally:
        if started.process.poll() is None:
            started.process.send_signal(signal.SIGTERM)
        assert started.process.stderr is not None
        started.process.communicate(timeout=60)


def write_often(guest: GuestProcess, who: int, tally: Tally) -> None:
    for number in range(120):
        write(guest, who, number, tally)


def test_a_foreground_host_takes_over_without_a_lost_call(home: Household) -> None:
    guests = [home.guest() for _ in range(3)]
    for guest in guests:
        guest.initialize()
    background = home.host_pid()
    tally = Tally()
    writers = [threading.Thread(target=write_often, args=(guest, who, tally)) for who, guest in enumerate(guests)]
    for writer in writers:
        writer.start()
    with foreground(home) as served:
        url = served.url()
        assert home.host_lock.read_holder()["pid"] == served.process.pid != background
        assert home.hosts() == []
        for writer in writers:
            writer.join()
        assert tally.errors == []
        assert len(tally.acknowledged) == 360
        with Raw(url, "auto") as client:
            shown = client.call("lithos_stats")["structuredContent"]
            assert (shown["active_tasks"], shown["documents"]) == (180, 180)
        served.process.send_signal(signal.SIGTERM)
        assert served.process.wait(60) == 0
    guests[0].call("lithos_stats")
    check(home, tally)


def test_a_foreground_host_never_gives_way(home: Household) -> None:
    with foreground(home) as served:
        served.url()
        with foreground(home) as second:
            assert f"pid {served.process.pid} serves this memory in the foreground since" in second.refusal()
        guest = home.guest()
        guest.initialize()
        home.lithos("stop")
        assert served.process.wait(60) == 0


def test_a_taken_port_costs_the_background_host_nothing(home: Household) -> None:
    guest = home.guest()
    guest.initialize()
    background = home.host_pid()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with foreground(home, taken.getsockname()[1]) as refused:
            assert "is taken" in refused.refusal()
    guest.call("lithos_stats")
    assert home.hosts() == [background]
