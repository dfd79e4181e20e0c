"""Places where a host cannot live, hosts that die, and guests and hosts of other versions."""

from __future__ import annotations

import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lithos import __version__
from lithos.host import wire
from lithos.host.host_lock import HostLock
from tests.support import fork_server
from tests.support.guests import LITHOS, Household, household
from tests.support.waiting import until

as_root = pytest.mark.skipif(os.getuid() != 0, reason="only root may become another user or mount a small disk")


def patched(code: str) -> list[str]:
    """The lithos command with something of the operating system broken first."""
    return [
        sys.executable,
        "-c",
        f"import os, fcntl, errno, sys\n{code}\nfrom lithos.cli.entry import main\nsys.exit(main())",
    ]


def as_nobody() -> list[str]:
    """As another user; what is needed is imported first, because this Python may be unreadable to others."""
    return patched("import lithos.host.guest.guest, lithos.errors, struct\nos.setgid(65534)\nos.setuid(65534)")


# ---------------------------------------------------------------------- places where no host can live


def test_where_no_process_may_be_started_host_and_guest_live_in_one(home: Household) -> None:
    no_fork = "def refuse(*a, **k): raise BlockingIOError(errno.EAGAIN, 'no')\nos.posix_spawn = refuse"
    guest = home.guest(command=patched(no_fork), start=fork_server.Popen)
    guest.initialize()
    guest.call("lithos_agent_register", id="ann")
    assert home.host_lock.read_holder()["pid"] == guest.process.pid
    other = home.guest()
    other.initialize()
    assert other.call("lithos_agent_list")["agents"][0]["id"] == "ann"
    assert guest.close() == 0
    assert other.call("lithos_agent_list")["agents"][0]["id"] == "ann"


def test_a_host_that_cannot_fork_leaves_its_client_to_the_guest(home: Household) -> None:
    child = f"{sys.executable} -c 'raise SystemExit(71)' #"
    script = home.data_dir.parent / "python"
    script.write_text(f"#!/bin/sh\nexec {child}\n")
    script.chmod(0o755)
    guest = home.guest(command=patched(f"sys.executable = {str(script)!r}"), start=fork_server.Popen)
    guest.initialize()
    assert home.host_lock.read_holder()["pid"] == guest.process.pid


def test_locks_that_do_not_work_are_refused_with_the_reason(home: Household) -> None:
    no_locks = "def refuse(*a): raise OSError(errno.ENOLCK, 'No locks available')\nfcntl.flock = refuse"
    guest = home.guest(command=patched(no_locks), start=fork_server.Popen)
    answer = guest.request("initialize", {})
    assert "cannot lock files" in answer["error"]["message"]
    assert guest.process.wait(60) == 1
    assert "cannot lock files" in guest.stderr()


def test_a_host_that_dies_at_every_start_is_not_started_forever(home: Household) -> None:
    guest = home.guest(command=patched("sys.executable = '/bin/true'"), start=fork_server.Popen)
    answer = guest.request("initialize", {})
    assert "ended 3 times before it served anybody" in answer["error"]["message"]
    assert "host.log" in answer["error"]["data"]["hint"]
    assert guest.process.wait(60) == 1
    os.unlink(home.host_lock.socket_path)


def test_a_deep_directory_has_a_host_like_any_other(tmp_path: Path) -> None:
    with household(tmp_path / ("deep/" * 40)) as home:
        guest = home.guest()
        guest.initialize()
        home.kill_host()
        guest.call("lithos_agent_register", id="ann")
        everywhere = subprocess.run([*LITHOS, "ps", "--json"], capture_output=True, text=True, check=True, cwd=tmp_path)
        assert home.host_lock.data_dir in {host["data_dir"] for host in json.loads(everywhere.stdout)}


def test_a_stale_socket_and_a_stale_lock_do_not_matter(home: Household) -> None:
    home.host_lock.make_folder()
    home.host_lock.listen().close()
    Path(home.host_lock.lock_path).write_text('{"pid": 1, "since": "2020-01-01T00:00:00Z"}')
    guest = home.guest()
    assert guest.initialize()["result"]["serverInfo"]["name"] == "lithos"


def _way_to(house: Household) -> list[Path]:
    """The folders that keep another user out before ours do."""
    temporary = Path(tempfile.gettempdir())
    return [*itertools.takewhile(lambda folder: folder != temporary, house.data_dir.parents)]


@as_root
def test_another_users_memory_is_refused(house: Household) -> None:
    for folder in (*_way_to(house), house.data_dir, house.data_dir / ".lithos"):
        folder.chmod(0o755)
    stranger = house.guest(command=as_nobody())
    answer = stranger.request("initialize", {})
    assert "another user" in answer["error"]["message"]
    assert stranger.process.wait(60) == 1


@as_root
def test_a_stranger_who_gets_past_the_modes_is_refused_by_the_host_itself(house: Household) -> None:
    for path in (*_way_to(house), house.data_dir, house.data_dir / ".lithos", Path(house.host_lock.socket_path)):
        path.chmod(0o777)
    code = (
        "import os, socket, sys; os.setuid(65534); s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); "
        's.sendall(b\'{"lithos":"guest"}\\n\'); print(s.makefile().readline())'
    )
    told = subprocess.run(
        [sys.executable, "-c", code, house.host_lock.socket_path],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    ).stdout
    assert json.loads(told)["error"]["code"] == "forbidden"


@as_root
def test_a_directory_that_may_not_be_written_is_refused(home: Household) -> None:
    home.data_dir.mkdir(parents=True)
    for folder in (home.data_dir, *home.data_dir.parents[:3]):
        folder.chmod(0o555)
    guest = home.guest(command=as_nobody())
    answer = guest.request("initialize", {})
    assert "may not be written by you" in answer["error"]["message"]
    assert guest.process.wait(60) == 1
    home.data_dir.parent.chmod(0o755)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(folder)], capture_output=True)
    if mounted.returncode:
        pytest.skip("no mounts here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@as_root
def test_a_full_disk_is_reported_once_to_all_who_wait(small_disk: Path) -> None:
    with open(small_disk / "filler", "wb") as filler:
        filler.write(b"x" * (180 * 1024))
    with household(small_disk / "data") as home:
        guests = [home.guest(), home.guest()]
        for guest in guests:
            answer = guest.request("initialize", {})
            assert answer["error"]["data"]["code"] == "storage_full", answer
            assert guest.process.wait(60) == 1
        until(lambda: not home.hosts(), "the end of a host that cannot start")
        (small_disk / "filler").unlink()


@as_root
def test_a_read_only_disk_is_refused(small_disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    with household(small_disk / "data") as home:
        answer = home.guest().request("initialize", {})
        assert "read-only file system" in answer["error"]["message"]


# ---------------------------------------------------------------------- hosts of other versions, hosts that die


class FakeHost:
    """Holds lock and socket like a host, and says what the test wants it to."""

    def __init__(self, place: HostLock, welcome: dict[str, Any]) -> None:
        place.make_folder()
        lock = place.try_lock()
        assert lock is not None
        self._lock = lock
        self._listener = place.listen()
        self._welcome = {"lithos": "welcome", "pid": os.getpid(), "once": True, "warnings": [], **welcome}
        self.heard: list[dict[str, Any]] = []
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection, connection.makefile("rwb") as stream:
                self._talk(stream)

    def _talk(self, stream: Any) -> None:
        """Dies, as far as its guest can tell, of every call of a tool."""
        for line in stream:
            message = json.loads(line)
            self.heard.append(message)
            if message.get("lithos") == "guest":
                stream.write(wire.line(self._welcome))
                stream.flush()
            if message.get("method") == "tools/call":
                return

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        os.close(self._lock)


def test_a_call_that_kills_its_host_each_time_is_sent_twice_and_then_refused(home: Household) -> None:
    host = FakeHost(home.host_lock, {"pipe": wire.PIPE, "version": __version__})
    guest = home.guest()
    key = guest.ask("tools/call", {"name": "lithos_poison"})
    answer = guest.answer(key)
    assert answer["result"]["structuredContent"]["error"]["code"] == "host_restarted"
    assert [message["id"] for message in host.heard if message.get("method") == "tools/call"] == [key, key]
    assert [message["resent"] for message in host.heard if "lithos" in message][:2] == [[], [key]]
    guest.close()
    host.close()
    os.unlink(home.host_lock.socket_path)


def test_a_host_that_speaks_another_way_is_named_in_one_sentence(home: Household) -> None:
    host = FakeHost(home.host_lock, {"pipe": 0, "version": "0.0.1"})
    guest = home.guest()
    answer = guest.request("initialize", {})
    assert "the host runs Lithos 0.0.1" in answer["error"]["message"]
    assert "lithos stop" in answer["error"]["data"]["hint"]
    assert guest.process.wait(60) == 1
    host.close()
    os.unlink(home.host_lock.socket_path)


def hello(home: Household, version: str, pipe: int = wire.PIPE) -> dict[str, Any]:
    """What the host answers to a guest of this version."""
    connection = home.host_lock.connect()
    connection.setblocking(True)
    connection.settimeout(10)
    told = {"pipe": pipe, "version": version, "id": "0" * 32, "pid": os.getpid()}
    connection.sendall(wire.line({"lithos": "guest", **told}))
    with connection, connection.makefile("rb") as stream:
        return wire.parse(stream.readline())


def test_guests_of_other_versions_get_a_warning(house: Household) -> None:
    pid = house.host_pid()
    older = hello(house, "0.0.1")
    assert older["lithos"] == "welcome" and f"newer Lithos {__version__}" in older["warnings"][0]
    newer = hello(house, "99.0.0")
    assert newer["lithos"] == "welcome" and "older Lithos" in newer["warnings"][0]
    for version in ("0.0.1", "99.0.0"):
        refused = hello(house, version, pipe=77)
        assert refused["lithos"] == "refused"
        assert refused["error"]["code"] == "unsupported"
        assert version in refused["error"]["message"] and __version__ in refused["error"]["message"]
    assert house.hosts() == [pid]


def test_a_newer_guest_replaces_a_host_without_other_guests(home: Household) -> None:
    guest = home.guest()
    guest.initialize()
    pid = home.host_pid()
    guest.close()
    until(lambda: not json.loads(home.lithos("ps", "--json").stdout)[0]["guests"], "an unused host")
    assert hello(home, "99.0.0") == {"lithos": "replace"}
    until(lambda: pid not in home.hosts(), "the old host's end")


def test_a_host_says_nothing_to_noise(house: Household) -> None:
    for noise in (b"GET / HTTP/1.1\r\n\r\n", b"{}\n", b'{"lithos":"guest"}\n', b"\xff\xfe\n", b"[]\n", b""):
        connection = house.host_lock.connect()
        connection.setblocking(True)
        connection.settimeout(20)
        connection.sendall(noise)
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(100) == b""
        connection.close()
    house.guests[0].call("lithos_stats")


def test_a_killed_client_leaves_no_guest(house: Household) -> None:
    code = (
        "import subprocess, sys, time; p = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, "
        "stdout=subprocess.PIPE); print(p.pid, flush=True); time.sleep(60)"
    )
    command = [sys.executable, "-m", "lithos.cli.entry", "serve", "--data-dir", str(house.data_dir)]
    client = subprocess.Popen([sys.executable, "-c", code, *command], stdout=subprocess.PIPE, text=True)
    assert client.stdout is not None
    guest = int(client.stdout.readline())
    client.send_signal(signal.SIGKILL)
    client.wait()
    client.stdout.close()
    until(lambda: not _lives(guest), "the guest's end")


def _lives(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False


def test_a_guest_survives_a_host_that_is_killed_while_nothing_is_asked(home: Household) -> None:
    guest = home.guest("--toolsets", "board")
    guest.initialize()
    shown = guest.request("tools/list")
    home.kill_host()
    assert guest.request("tools/list")["result"] == shown["result"]
