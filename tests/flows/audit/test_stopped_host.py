"""A guest says that it waits, and for whom: a host that SIGSTOP holds gives no sign of it by itself."""

from __future__ import annotations

import os
import signal

from tests.support.guests import INITIALIZE, Household


def test_a_guest_says_that_its_host_is_stopped(home: Household) -> None:
    home.guest().initialize()
    pid = home.host_pid()
    os.kill(pid, signal.SIGSTOP)
    try:
        guest = home.guest()
        asked = guest.ask("initialize", INITIALIZE)
        assert guest.process.stderr is not None
        said = guest.process.stderr.readline().decode()  # returns when it is said
        assert "is stopped" in said and f"kill -CONT {pid}" in said, said
    finally:
        os.kill(pid, signal.SIGCONT)
    assert "result" in guest.answer(asked)
