"""Many processes, one memory: guests, the host that they start, and its end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.support import fork_server
from tests.support.guests import LITHOS, GuestProcess, Household, household, light_lithos, structured
from tests.support.waiting import until


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Household]:
    """Started as a client starts it: its first guest starts a new interpreter for the host."""
    with household(tmp_path_factory.mktemp("house") / "data", command=LITHOS) as everybody:
        everybody.guest().initialize()
        yield everybody


def knows(guest: GuestProcess, agent: str) -> bool:
    return agent in {known["id"] for known in guest.call("lithos_agent_list")["agents"]}


def test_two_guests_share_one_host_and_one_memory(house: Household) -> None:
    first, second = house.guest(), house.guest("--toolsets", "all", "--agent", "bob")
    assert first.initialize()["result"]["serverInfo"]["name"] == "lithos"
    second.initialize()
    first.call("lithos_agent_register", id="shared", name="Shared")
    assert knows(second, "shared")
    assert house.hosts() == [house.host_pid()]
    few, all_of_them = (guest.request("tools/list")["result"]["tools"] for guest in (first, second))
    assert len(few) < len(all_of_them)
    shown = _shown(house)
    assert shown["data_dir"] == str(house.data_dir)
    agents = {guest["pid"]: guest["agent"] for guest in shown["guests"]}
    assert agents[first.process.pid] is None and agents[second.process.pid] == "bob"
    assert {guest["client"] for guest in shown["guests"]} == {"test-client"}


def _shown(home: Household) -> dict[str, Any]:
    [host] = json.loads(home.lithos("ps", "--json").stdout)
    found: dict[str, Any] = host
    return found


def test_ten_guests_started_in_the_same_moment_find_one_host(home: Household) -> None:
    guests = [home.guest() for _ in range(10)]
    for guest in guests:
        guest.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x"}})
    hosts = set()
    for guest in guests:
        guest.answer(1)
        hosts |= set(home.hosts())
    assert len(hosts) == 1


@pytest.mark.torture
@pytest.mark.parametrize("number", [2, 50])
def test_a_storm_of_guests_finds_one_host(home: Household, number: int) -> None:
    guests = [home.guest() for _ in range(number)]
    for guest in guests:
        guest.initialize()
    assert len(home.hosts()) == 1
    pid = home.kill_host()
    for guest in guests:
        guest.call("lithos_stats")
    assert len(home.hosts()) == 1 and home.hosts() != [pid]


def test_a_guest_ends_with_its_client_and_its_work_is_kept(house: Household) -> None:
    guest, other = house.guest(), house.guest()
    guest.initialize()
    other.initialize()
    guest.ask("tools/call", {"name": "lithos_agent_register", "arguments": {"id": "parting"}})
    assert guest.close(5) == 0
    until(lambda: knows(other, "parting"), "the write of the guest that left")


def test_a_guest_notices_that_no_one_reads_it_any_more(house: Household) -> None:
    """A grandchild of the client may keep stdin open; the closed stdout tells."""
    guest = house.guest()
    guest.initialize()
    assert guest.process.stdout is not None
    guest.process.stdout.close()
    assert guest.process.wait(60) == 0


def test_answers_are_given_after_stdin_has_ended_and_an_idle_host_ends_without_a_trace(home: Household) -> None:
    lines = (
        '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},'
        '"clientInfo":{"name":"printf","version":"1"}}}\n{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
        '{"jsonrpc":"2.0","id":2,"method":"tools/list"}\n'
    )
    command = [*light_lithos(), "serve", "--data-dir", str(home.data_dir)]
    soon = {**os.environ, "LITHOS_IDLE_EXIT_MINUTES": "0.001"}
    done = subprocess.run(command, input=lines, capture_output=True, text=True, timeout=60, check=True, env=soon)
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == [1, 2]
    until(lambda: not home.hosts(), "the end of the idle host")
    assert not Path(home.host_lock.socket_path).exists()
    until(lambda: not home.has_host(), "the lock of a process that is gone from the list, and still closing its files")


def test_a_host_is_nobodys_child_and_its_command_line_names_the_memory(house: Household) -> None:
    host = psutil.Process(house.host_pid())
    assert host.ppid() != house.guests[0].process.pid
    assert os.getsid(host.pid) == host.pid
    assert {"lithos.host", str(house.data_dir)} <= set(host.cmdline())
    assert Path(house.host_lock.log_path).stat().st_mode & 0o777 == 0o600


def test_after_a_stop_guests_wait_for_their_clients_next_wish(home: Household) -> None:
    guest = home.guest()
    guest.initialize()
    pid = home.host_pid()
    assert f"Stopped pid {pid}." in home.lithos("stop").stdout
    assert not Path(home.host_lock.socket_path).exists()
    assert home.hosts() == []
    assert guest.process.poll() is None
    guest.call("lithos_stats")
    assert home.host_pid() != pid
    assert "No host serves" in _stop_twice(home)


def _stop_twice(home: Household) -> str:
    home.lithos("stop")
    return home.lithos("stop").stdout


def test_standalone_refuses_a_memory_that_is_served_and_names_the_host(house: Household) -> None:
    second = house.guest("--standalone", start=fork_server.Popen)
    assert second.process.wait(60) == 1
    note = house.host_lock.read_holder()
    assert f"pid {note['pid']} since {note['since']}" in second.stderr()


def test_standalone_is_host_and_guest_in_one_process(home: Household) -> None:
    alone = home.guest("--standalone", command=LITHOS, start=fork_server.Popen)
    alone.initialize()
    alone.call("lithos_agent_register", id="ann")
    assert home.host_lock.read_holder()["pid"] == alone.process.pid
    joined = home.guest()
    joined.initialize()
    assert joined.call("lithos_agent_list")["agents"][0]["id"] == "ann"
    assert home.hosts() == []
    alone.close()
    assert joined.call("lithos_agent_list")["agents"][0]["id"] == "ann"
    assert len(home.hosts()) == 1


def test_verbs_go_through_the_host_and_reading_verbs_start_none(home: Household) -> None:
    home.lithos("call", "lithos_agent_register", "id=ann")
    assert not home.has_host()
    assert json.loads(home.lithos("stats", "--json").stdout)["agents"] == 1
    assert not home.has_host()
    guest = home.guest()
    guest.initialize()
    home.lithos("call", "lithos_agent_register", "id=bob")
    assert len(guest.call("lithos_agent_list")["agents"]) == 2
    refused = home.lithos("call", "lithos_agent_info", "id=nobody", check=False)
    assert json.loads(refused.stdout)["error"]["code"] == "not_found"
    assert refused.returncode == 3


def test_an_option_that_differs_from_the_hosts_is_a_warning(house: Household) -> None:
    other = house.guest("--no-watch", "--read-only", env={**os.environ, "LITHOS_WORKERS": "3"})
    other.initialize()
    assert other.call("lithos_agent_register", id="nobody")["error"]["code"] == "forbidden"
    [warning] = next(guest for guest in _shown(house)["guests"] if guest["pid"] == other.process.pid)["warnings"]
    assert "--no-watch, LITHOS_WORKERS" in warning
    other.close()
    assert warning in other.stderr()


def test_an_unknown_toolset_is_refused_in_one_sentence(house: Household) -> None:
    guest = house.guest("--toolsets", "bored")
    answer = guest.request("initialize", {})
    assert "bored" in answer["error"]["message"]
    assert "Did you mean board?" in answer["error"]["data"]["hint"]
    assert guest.process.wait(60) == 1
    assert "bored" in guest.stderr()


def test_a_settings_file_that_cannot_be_read_is_reported_to_every_guest_that_waits(home: Household) -> None:
    home.data_dir.mkdir(parents=True)
    (home.data_dir / "config.yaml").write_text("server:\n  wrokers: 3\n")
    guests = [home.guest(), home.guest()]
    for guest in guests:
        answer = guest.request("initialize", {})
        assert "server.wrokers" in answer["error"]["message"]
        assert answer["error"]["data"]["code"] == "config_invalid"
        assert guest.process.wait(60) == 1
    until(lambda: not home.hosts(), "the end of a host that cannot start")


WITHOUT_HELPER = [sys.executable, "-c", "import sys; from lithos.cli.root import run; sys.exit(run(sys.argv[1:]))"]


@pytest.mark.parametrize(("lithos", "largest"), [(LITHOS, 25_000_000), (WITHOUT_HELPER, 80_000_000)])
def test_a_settings_file_alone_tells_where_the_memory_is(
    house: Household, tmp_path: Path, lithos: list[str], largest: int
) -> None:
    settings = tmp_path / "lithos.yaml"
    settings.write_text(f"storage:\n  data_dir: {house.data_dir}\n")
    command = [*lithos, "serve", "--config", str(settings)]
    guest = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
    assert guest.stdin is not None and guest.stdout is not None
    guest.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
    assert json.loads(guest.stdout.readline())["id"] == 1
    assert psutil.Process(guest.pid).memory_info().rss < largest
    assert not psutil.Process(guest.pid).children()
    guest.stdin.close()
    assert guest.wait(60) == 0
    guest.stdout.close()


def test_a_host_whose_lock_was_deleted_leaves_and_touches_nothing_of_its_successor(home: Household) -> None:
    guest = home.guest()
    guest.initialize()
    old = home.host_pid()
    os.unlink(home.host_lock.lock_path)
    os.unlink(home.host_lock.socket_path)
    successor = home.guest()
    successor.initialize()
    new = home.host_pid()
    assert new != old
    until(lambda: home.hosts() == [new], "the old host's end")
    assert Path(home.host_lock.socket_path).exists()
    guest.call("lithos_agent_register", id="ann")
    assert successor.call("lithos_agent_list")["agents"]


def test_a_deleted_socket_is_bound_again(house: Household) -> None:
    os.unlink(house.host_lock.socket_path)
    other = house.guest()
    other.initialize()
    assert len(house.hosts()) == 1


def test_a_second_signal_stops_a_host_at_once_and_safely(home: Household) -> None:
    guest = home.guest()
    guest.initialize()
    guest.call("lithos_agent_register", id="ann")
    pid = home.host_pid()
    os.kill(guest.process.pid, signal.SIGSTOP)  # a guest that reads nothing holds a clean stop up
    try:
        os.kill(pid, signal.SIGTERM)
        os.kill(pid, signal.SIGTERM)
        until(lambda: pid not in home.hosts(), "the host's end", 5)
    finally:
        os.kill(guest.process.pid, signal.SIGCONT)
    assert guest.call("lithos_agent_list")["agents"][0]["id"] == "ann"


def test_a_stop_under_load_loses_nothing_that_was_acknowledged(home: Household) -> None:
    guest = home.guest()
    guest.initialize()
    asked = [
        guest.ask("tools/call", {"name": "lithos_agent_register", "arguments": {"id": f"agent-{number}"}})
        for number in range(60)
    ]
    home.kill_host(signal.SIGTERM)
    for key in asked:
        assert guest.answer(key)["result"]["isError"] is False
    assert len(guest.call("lithos_agent_list")["agents"]) == 60


def test_a_call_that_waits_holds_no_stop_up_and_goes_on_with_the_next_host(home: Household) -> None:
    waiting, other = home.guest("--toolsets", "all"), home.guest()
    waiting.initialize()
    key = waiting.ask("tools/call", {"name": "lithos_board_wait", "arguments": {"timeout": 50}})
    until(lambda: _open_calls(home), "a waiting call")
    pid = home.host_pid()
    home.lithos("stop")
    other.initialize()
    until(lambda: _open_calls(home), "the same call at the next host")
    assert home.host_pid() != pid
    other.call("lithos_task_create", title="news", agent="ann")
    assert structured(waiting.answer(key))["changes"]


def _open_calls(home: Household) -> int:
    return sum(guest["open"] for guest in _shown(home)["guests"])
