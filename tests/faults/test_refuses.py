"""What must be refused is refused, by name and in time, and says the way out."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import sqlite3
import stat
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lithos.app import Lithos, open_lithos
from lithos.cli.root import run
from lithos.settings import LithosConfig, StorageSettings
from lithos.tools.answers.errors import as_lithos_error
from lithos.tools.caller import Caller
from lithos.tools.catalogue import catalogue
from tests.conftest import CallTool
from tests.support.guests import GuestProcess, Household
from tests.support.served import Served, lithos, served
from tests.support.small_disk import fill_the_disk, run_on_a_small_disk
from tests.support.waiting import until

TASK = {"title": "t", "agent": "ann"}


def code_of(answer: dict[str, Any]) -> str | None:
    error = answer.get("error")
    return None if error is None else str(error["code"])


# F5: a safety switch that is not understood is refused, never ignored


ON = ["1", "true", "True", "TRUE", "yes", "YES", "on", "On", "y", "t", ""]
OFF = ["0", "false", "False", "no", "off", "n", "f"]
MISSPELLED = [
    *(
        "read_only[]=1",
        "read_only%00=1",
        "read_only+=1",
        "+read_only=1",
        ";read_only=1",
        "ro=1",
        "x=1;read_only=1",
        "x=1;Read-Only",
    ),
    *("readOnly=true", "READ_ONLY=1", "read-only=1", "read.only=1"),
]
MISNAMED = ["X_Lithos_Read_Only", "Lithos-Read-Only", "Read-Only", "X-Read-Only", "X-Lithos-Readonly", "LithosReadOnly"]
NONSENSE = ["2", "maybe", "tru", "read", "null", "-1", "1,0", "\u00bd"]


def written(host: Served, **options: Any) -> bool:
    answer = host.request("lithos_task_create", TASK, **options)
    return answer.status_code == 200 and not answer.json()["result"]["isError"]


def test_the_command_line_obeys_the_setting_read_only(data_dir: Path) -> None:
    lithos(data_dir, "note", "write", "--title", "first", "--content", "x")
    for verb in (("call", "lithos_task_create", "title=t"), ("note", "write", "--title", "t", "--content", "x")):
        refused = lithos(data_dir, *verb, LITHOS_READ_ONLY="yes")
        assert refused.returncode and "server.read_only is on" in refused.stdout + refused.stderr, verb
    assert lithos(data_dir, "note", "list", "--json", LITHOS_READ_ONLY="yes").returncode == 0
    assert lithos(data_dir, "token", "new", "--name", "a", LITHOS_READ_ONLY="yes").returncode == 0


def test_no_spelling_of_read_only_lets_a_write_through(data_dir: Path) -> None:
    with served(data_dir) as host:
        for value in [*ON, *NONSENSE]:
            header = {"X-Lithos-Read-Only": value.encode("utf-8")}
            assert not written(host, headers=header), value
            assert not written(host, params={"read_only": value}), value
        for value in OFF:
            assert written(host, headers={"X-Lithos-Read-Only": value}), value
            assert written(host, params={"read_only": value}), value
        for query in MISSPELLED:
            refused = host.request("lithos_task_create", TASK, params=query)
            assert refused.status_code == 400, query
        for name in MISNAMED:
            assert host.request("lithos_task_create", TASK, headers={name: "1"}).status_code == 400, name
        # Of several the strictest counts.
        assert not written(host, params=[("read_only", "0"), ("read_only", "1")])
        assert not written(host, params={"read_only": "0"}, headers={"X-Lithos-Read-Only": "1"})
        refused = host.request("lithos_task_create", TASK, params={"read_only": "maybe"})
        assert refused.status_code == 400 and refused.json()["error"]["code"] == "invalid_input"


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("mentisdb_upsert_agent", {"status": "revoked"}),
        ("mentisdb_set_agent_description", {"description": "mine now"}),
        ("mentisdb_add_agent_alias", {"alias": "evelyn"}),
        ("mentisdb_add_agent_key", {"key_id": "k2", "algorithm": "ed25519", "public_key_bytes": None}),
        ("mentisdb_revoke_agent_key", {"key_id": "k1"}),
        ("mentisdb_disable_agent", {}),
    ],
)
def test_a_token_bound_to_one_agent_cannot_change_another(call: CallTool, tool: str, arguments: dict[str, Any]) -> None:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    public = list(Ed25519PrivateKey.generate().public_key().public_bytes_raw())
    key = {"key_id": "k1", "algorithm": "ed25519", "public_key_bytes": public}
    call("mentisdb_upsert_agent", agent_id="eve")
    call("mentisdb_add_agent_key", agent_id="eve", **key)
    before = call("mentisdb_get_agent", agent_id="eve")
    if "public_key_bytes" in arguments:
        arguments = {**arguments, "public_key_bytes": public}
    bob = Caller(agent="bob", bound=True, toolsets=("all",))
    with pytest.raises(Exception) as refused:
        call(tool, _caller=bob, agent_id="eve", **arguments)
    assert as_lithos_error(refused.value, tool).code == "forbidden"
    assert call("mentisdb_get_agent", agent_id="eve") == before


# F7: an authority that is gone or altered is noticed before anything is acknowledged


@pytest.mark.parametrize("how", ["deleted", "replaced"])
def test_no_task_is_acknowledged_into_a_database_that_is_gone(data_dir: Path, how: str) -> None:
    with served(data_dir) as host:
        host.call("lithos_task_create", **TASK)
        database = data_dir / ".lithos" / "coordination.db"
        if how == "deleted":
            for path in database.parent.glob("coordination.db*"):
                path.unlink()
        else:
            database.rename(database.with_name("away.db"))
            database.write_bytes(database.with_name("away.db").read_bytes())
        answer = host.call("lithos_task_create", **TASK)
        assert code_of(answer) == "damaged" and answer["error"]["hint"]
        assert host.health()["http"] == 503
        assert code_of(host.call("lithos_task_list")) == "damaged"


@pytest.mark.parametrize("how", ["deleted", "emptied", "another"])
def test_an_empty_database_where_rows_were_is_refused_with_the_way_out(data_dir: Path, how: str) -> None:
    assert lithos(data_dir, "call", "lithos_task_create", "--json", json.dumps(TASK)).returncode == 0
    database = data_dir / ".lithos" / "coordination.db"
    if how == "deleted":
        for path in database.parent.glob("coordination.db*"):
            path.unlink()
    elif how == "emptied":
        database.write_bytes(b"")
    else:
        other = data_dir.with_name("other")
        open_lithos(LithosConfig(storage=StorageSettings(data_dir=other))).close()
        database.write_bytes((other / ".lithos" / "coordination.db").read_bytes())
    ended = lithos(data_dir, "stats")
    assert ended.returncode == 7, ended.stdout + ended.stderr
    assert "Traceback" not in ended.stderr and "backup" in ended.stderr


def flip_a_title(database: Path, title: bytes) -> None:
    """One bit, in the file itself, as a disk does it."""
    connection = sqlite3.connect(database)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    data = bytearray(database.read_bytes())
    place = data.find(title)
    assert place > 0
    while place > 0:
        data[place] ^= 1
        place = data.find(title, place + 1)
    database.write_bytes(data)


def test_a_flipped_bit_in_a_row_is_found_by_doctor(data_dir: Path) -> None:
    lithos(data_dir, "call", "lithos_task_create", "--json", json.dumps({**TASK, "title": "remarkable title"}))
    assert lithos(data_dir, "doctor").returncode == 0
    flip_a_title(data_dir / ".lithos" / "coordination.db", b"remarkable title")
    ended = lithos(data_dir, "doctor", "--json")
    findings = json.loads(ended.stdout)["findings"]
    assert ended.returncode != 0
    assert any(each["part"] == "coordination" and each["severity"] == "error" for each in findings), findings


def test_a_flipped_bit_in_a_row_is_never_served(data_dir: Path) -> None:
    lithos(data_dir, "call", "lithos_task_create", "--json", json.dumps({**TASK, "title": "remarkable title"}))
    flip_a_title(data_dir / ".lithos" / "coordination.db", b"remarkable title")
    ended = lithos(data_dir, "call", "lithos_task_list")
    assert ended.returncode == 7 and "is not what was written" in ended.stderr + ended.stdout


# F10, F11: what stands in place of our files is named, at once


def authority(data_dir: Path) -> None:
    """One thing of every kind, everything closed."""
    memory = open_lithos(LithosConfig(storage=StorageSettings(data_dir=data_dir)))
    for tool, arguments in (
        ("lithos_write", {"title": "n", "content": "c", "agent": "ann"}),
        ("lithos_write", {"title": "n", "content": "d", "agent": "ann"}),
        ("lithos_task_create", TASK),
        ("mentisdb_append", {"thought_type": "Insight", "content": "c", "agent_id": "ann"}),
    ):
        catalogue().call(memory, tool, arguments)
    memory.note_search.collection.settle()
    memory.close()
    (data_dir / ".lithos" / "host.lock").touch()


PLACES = [
    ".lithos/coordination.db",
    ".lithos/store-id",
    ".lithos/keys/events-0001.key",
    ".lithos/ledger/*/chain.json",
    ".lithos/ledger/*/0*.*",
    ".lithos/recent/vault.log",
    ".lithos/host.lock",
    "knowledge/n.md",
    ".catalogue/catalogue-*.db",
    ".tantivy/notes/catalogue.db",
    ".vectors/notes/rows.bin",
]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data_dir = tmp_path_factory.mktemp("whole") / "data"
    authority(data_dir)
    return data_dir


@pytest.mark.timeout(120)
@pytest.mark.parametrize("thing", ["fifo", "folder"])
@pytest.mark.parametrize("place", PLACES)
def test_a_fifo_or_folder_in_place_of_a_file_hangs_nothing(
    whole: Path, data_dir: Path, place: str, thing: str, capfd: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(whole, data_dir)
    paths = list(data_dir.glob(place))
    assert paths, place
    for path in paths:
        path.unlink()
        os.mkfifo(path) if thing == "fifo" else path.mkdir()
    for verb in (["stats"], ["call", "mentisdb_head"]):
        code = run([*verb, "--data-dir", str(data_dir)])
        out, err = capfd.readouterr()
        assert "Traceback" not in err and "internal" not in err, err
        assert code in (0, 7) or "lithos: " in err or '"hint"' in out


@pytest.mark.parametrize("left", [0, 100, "gone", "folder"])
@pytest.mark.parametrize("when", ["running", "stopped"])
def test_a_cut_ledger_segment_is_damage_by_name(data_dir: Path, left: int | str, when: str) -> None:
    thought = {"thought_type": "Insight", "agent_id": "ann"}
    config = LithosConfig(storage=StorageSettings(data_dir=data_dir))
    memory = open_lithos(config)
    for number in range(3):
        catalogue().call(memory, "mentisdb_append", {**thought, "content": f"thought {number}"})
    if when == "stopped":
        memory.close()
    for segment in (data_dir / ".lithos" / "ledger").glob("*/0*.*"):
        if isinstance(left, int):
            os.truncate(segment, left)
            continue
        segment.unlink()
        if left == "folder":
            segment.mkdir()
    if when == "stopped":
        memory = open_lithos(config)
    codes = set()
    try:
        for tool, arguments in (
            ("mentisdb_search", {}),
            ("mentisdb_get_thought", {"thought_index": 2}),
            ("mentisdb_recent_context", {}),
            ("mentisdb_append", {**thought, "content": "after"}),
            ("mentisdb_traverse_thoughts", {}),
            ("mentisdb_memory_markdown", {}),
        ):
            try:
                catalogue().call(memory, tool, arguments)
                codes.add(f"{tool} answered")
            except Exception as raised:
                codes.add(as_lithos_error(raised, tool).code)
        assert codes == {"damaged"}
    finally:
        memory.close()


@pytest.mark.parametrize("garbage", [b"\xff\xfe\x00", b"", b"x" * 5000, b"not hex at all!!", b"0123456789abcde"])
def test_garbage_in_the_store_id_is_damage_by_name(
    whole: Path, data_dir: Path, garbage: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(whole, data_dir)
    (data_dir / ".lithos" / "store-id").write_bytes(garbage)
    assert run(["stats", "--data-dir", str(data_dir)]) == 7
    assert "store-id" in capsys.readouterr().err


# F12: others see nothing, and say nothing twice


def test_nothing_under_the_data_directory_is_open_to_other_users(data_dir: Path) -> None:
    before = os.umask(0o022)
    try:
        authority(data_dir)
    finally:
        os.umask(before)
    tops = [path for path in data_dir.iterdir() if path.is_dir()]
    open_ones = [str(path.relative_to(data_dir)) for path in tops if stat.S_IMODE(path.stat().st_mode) & 0o077]
    assert open_ones == []


def test_an_index_that_an_older_version_left_open_is_closed_at_start(data_dir: Path) -> None:
    authority(data_dir)
    for name in (".tantivy", ".vectors", ".graph", ".catalogue"):
        if (data_dir / name).exists():
            (data_dir / name).chmod(0o755)
    assert lithos(data_dir, "search", "c").returncode == 0
    tops = [path for path in data_dir.iterdir() if path.is_dir()]
    assert [path.name for path in tops if stat.S_IMODE(path.stat().st_mode) & 0o077] == []


def test_a_header_that_decides_is_accepted_once_only(data_dir: Path) -> None:
    with served(data_dir) as host:
        for headers in (
            "Host: 127.0.0.1\r\nHost: evil.example\r\n",
            "Host: evil.example\r\nHost: 127.0.0.1\r\n",
            "Host: 127.0.0.1\r\nhost: 127.0.0.1\r\n",
            "Host: 127.0.0.1\r\nOrigin: http://127.0.0.1\r\nOrigin: http://evil.example\r\n",
            "Host: 127.0.0.1\r\nAuthorization: Bearer a\r\nAuthorization: Bearer b\r\n",
        ):
            with host.connect() as connection:
                connection.sendall(f"GET /health HTTP/1.1\r\n{headers}\r\n".encode())
                answer = connection.recv(1 << 16).decode()
            assert answer.split(" ")[1] in ("400", "421"), (headers, answer)


def test_a_lost_sse_client_writes_no_traceback(data_dir: Path) -> None:
    with served(data_dir) as host:
        for _ in range(5):
            connection = host.connect()
            connection.sendall(b"GET /sse HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n\r\n")
            assert b"endpoint" in _read_until(connection, b"endpoint")
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
            connection.close()
        assert host.call("lithos_stats")
        host.stop()
        logs = host.log() + "".join(path.read_text() for path in (data_dir / ".lithos").glob("*.log*"))
        assert "Traceback" not in logs


def _read_until(connection: socket.socket, mark: bytes) -> bytes:
    data = b""
    while mark not in data and (part := connection.recv(1 << 16)):
        data += part
    return data


# A disk that is full or read-only, and a host that was stopped


def read_from_a_full_disk() -> None:
    """Runs on the small disk."""
    config = LithosConfig(storage=StorageSettings(data_dir=Path("/mnt/data")))
    _use(open_lithos(config))
    fill_the_disk()
    lithos = open_lithos(config)
    _reads_and_refuses(lithos, "storage_full")
    Path("/mnt/rest").unlink()
    until(lambda: _writes(lithos), "writes once there is room")
    lithos.close()


def remount(how: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{how}", "/mnt"], check=True)


def read_from_a_read_only_disk() -> None:
    config = LithosConfig(storage=StorageSettings(data_dir=Path("/mnt/data")))
    _use(open_lithos(config))
    remount("ro")
    lithos = open_lithos(config)
    _reads_and_refuses(lithos, "read_only")
    remount("rw")
    until(lambda: _writes(lithos), "writes once it may")
    lithos.close()


def serve_guests_from_such_disks() -> None:
    """A guest starts a host there: no lock file can be written, no socket bound, no log opened."""
    data = Path("/mnt/data")
    _use(open_lithos(LithosConfig(storage=StorageSettings(data_dir=data))))
    _serve_a_guest(data, "read_only", lambda: remount("ro"), lambda: remount("rw"))
    _serve_a_guest(data, "storage_full", fill_the_disk, Path("/mnt/rest").unlink)


def _serve_a_guest(data: Path, code: str, refuse: Callable[[], None], allow: Callable[[], None]) -> None:
    refuse()
    guest, second = GuestProcess(data), GuestProcess(data)
    try:
        guest.initialize()
        second.initialize()
        large = {**TASK, "description": "d" * 20_000}
        assert len(guest.call("lithos_task_list")["tasks"]) >= 1
        assert guest.call("lithos_search", query="kept")["results"][0]["title"] == "before"
        assert second.call("mentisdb_head")["thought_count"] >= 1
        refuse()  # again: a host that starts may give the pages of an old log back
        assert code_of(guest.call("lithos_task_create", **large)) == code
        red = lithos(data, "doctor", "--json")
        assert red.returncode == 1, red.stdout
        assert any(each["part"] == "space" for each in json.loads(red.stdout)["findings"])
        allow()
        until(lambda: code_of(second.call("lithos_task_create", **large)) is None, "writes again")
        until(lambda: lithos(data, "doctor").returncode == 0, "green again")
    finally:
        guest.close()
        second.close()
        assert lithos(data, "stop").returncode == 0


def _use(lithos: Lithos) -> None:
    catalogue().call(lithos, "lithos_write", {"title": "before", "content": "kept", "agent": "ann"})
    catalogue().call(lithos, "lithos_task_create", TASK)
    catalogue().call(lithos, "mentisdb_append", {"thought_type": "Insight", "content": "kept", "agent_id": "ann"})
    catalogue().call(lithos, "lithos_search", {"query": "kept"})
    lithos.close()


def _reads_and_refuses(lithos: Lithos, code: str) -> None:
    call = catalogue().call
    assert [note["title"] for note in call(lithos, "lithos_list", {})["items"]] == ["before"]
    assert [hit["title"] for hit in call(lithos, "lithos_search", {"query": "kept"})["results"]] == ["before"]
    assert len(call(lithos, "lithos_task_list", {})["tasks"]) == 1
    assert call(lithos, "mentisdb_head", {})["thought_count"] >= 1
    codes = []
    for name, arguments in (
        ("lithos_write", {"title": "long", "content": "x" * 100_000, "agent": "ann"}),
        ("lithos_task_create", {**TASK, "description": "d" * 20_000}),
        ("mentisdb_append", {"thought_type": "Insight", "content": "c" * 30_000, "agent_id": "ann"}),
    ):
        try:
            call(lithos, name, arguments)
            codes.append("ok")
        except Exception as raised:
            codes.append(as_lithos_error(raised, name).code)
    assert codes == [code] * 3, codes
    assert lithos.health(), "the health must say it"


def _writes(lithos: Lithos) -> bool:
    try:
        catalogue().call(lithos, "lithos_task_create", TASK)
        catalogue().call(lithos, "lithos_write", {"title": "after", "content": "room", "agent": "ann"})
    except Exception as raised:
        assert as_lithos_error(raised, "write").retryable
        return False
    return lithos.health() is None


def test_a_full_disk_is_read_from_the_start_and_written_again_when_there_is_room() -> None:
    run_on_a_small_disk("from tests.faults.test_refuses import read_from_a_full_disk as use; use()", megabytes=24)


def test_a_guest_starts_a_host_on_a_full_or_read_only_disk() -> None:
    script = "from tests.faults.test_refuses import serve_guests_from_such_disks as use; use()"
    run_on_a_small_disk(script, megabytes=96)


def test_a_read_only_disk_is_read_from_the_start_and_written_again_when_it_may() -> None:
    run_on_a_small_disk("from tests.faults.test_refuses import read_from_a_read_only_disk as use; use()", megabytes=64)


def test_a_stopped_host_is_named_within_five_seconds(home: Household) -> None:
    home.guest().initialize()
    pid = home.host_pid()
    started = time.monotonic()
    home.lithos("stats")
    usual = time.monotonic() - started  # on a busy machine most of it is the interpreter's start
    os.kill(pid, signal.SIGSTOP)
    try:
        for verb in (["stats"], ["stop"], ["ps"], ["search", "x"]):
            started = time.monotonic()
            ended = home.lithos(*verb, check=False)
            assert time.monotonic() - started < 5 + 3 * usual, verb
            assert str(pid) in ended.stdout + ended.stderr, ended.stderr
    finally:
        os.kill(pid, signal.SIGCONT)
