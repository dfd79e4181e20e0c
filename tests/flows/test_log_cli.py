"""`lithos log`: what changed, and following it."""

from __future__ import annotations

import subprocess
from queue import Queue
from threading import Thread

from tests.support import fork_server
from tests.support.guests import LITHOS, Household
from tests.support.waiting import PATIENCE


def test_the_log_shows_what_changed_and_follows(house: Household) -> None:
    guest = house.guest()
    guest.initialize()
    guest.call("lithos_write", title="Before", content="x", agent="ann")
    command = [*LITHOS, "log", "--since", "1d", "-f", "--data-dir", str(house.data_dir)]
    with fork_server.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as following:
        lines: Queue[str] = Queue()
        stdout = following.stdout
        assert stdout is not None
        reader = Thread(target=lambda: [lines.put(line) for line in stdout], daemon=True)
        reader.start()
        assert "Before" in lines.get(timeout=PATIENCE)
        guest.call("lithos_task_create", title="Meanwhile", agent="ben")
        line = lines.get(timeout=PATIENCE)
        assert "Meanwhile" in line and "task" in line and "by ben" in line
        following.terminate()
        reader.join(PATIENCE)
