"""Lock, socket and note of a host; every refusal is one sentence with a hint."""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import threading
from pathlib import Path

import pytest

from lithos.errors import ConfigInvalid, Forbidden, LithosError, StorageFull, Unavailable, Unsupported
from lithos.host import wire
from lithos.host.host_lock import NO_HOST, HostLock, cannot_start, machine, peer_uid
from lithos.host.list_hosts import describe_or_error


@pytest.fixture
def place(tmp_path: Path) -> HostLock:
    found = HostLock(str(tmp_path / "data"))
    found.make_folder()
    return found


def test_the_lock_is_held_once_and_free_again_when_its_holder_ends(place: HostLock) -> None:
    held = place.try_lock()
    assert held is not None
    assert place.try_lock() is None
    os.close(held)
    again = place.try_lock()
    assert again is not None
    os.close(again)


def test_a_copy_of_the_lock_keeps_it_when_the_first_one_is_closed(place: HostLock) -> None:
    held = place.try_lock()
    assert held is not None
    copy = os.dup(held)
    os.close(held)
    assert place.try_lock() is None
    os.close(copy)


def test_a_lock_file_left_by_a_dead_host_does_not_matter(place: HostLock) -> None:
    Path(place.lock_path).write_text('{"pid": 999999, "since": "2020-01-01T00:00:00Z"}')
    held = place.try_lock()
    assert held is not None
    os.close(held)


def test_a_replaced_lock_file_is_not_ours(place: HostLock) -> None:
    held = place.try_lock()
    assert held is not None and place.still_holds(held)
    os.unlink(place.lock_path)
    assert not place.still_holds(held)
    successor = place.try_lock()
    assert successor is not None and place.still_holds(successor) and not place.still_holds(held)
    os.close(held)
    os.close(successor)


def test_the_lock_is_never_a_link_to_somewhere_else(place: HostLock, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("precious")
    os.symlink(tmp_path / "elsewhere", place.lock_path)
    with pytest.raises(LithosError):
        place.try_lock()
    assert (tmp_path / "elsewhere").read_text() == "precious"


def test_a_stale_socket_is_replaced_and_only_its_owner_may_use_it(place: HostLock) -> None:
    stale = place.listen()
    stale.close()
    with pytest.raises(NO_HOST):
        place.connect()
    listener = place.listen()
    assert os.stat(place.socket_path).st_mode & 0o777 == 0o600
    connection = place.connect()
    assert peer_uid(connection) == os.getuid()
    connection.close()
    listener.close()


def test_a_path_longer_than_the_system_allows_still_has_its_socket_inside(tmp_path: Path) -> None:
    place = HostLock(str(tmp_path / ("deep/" * 40)))
    place.make_folder()
    assert len(place.socket_path) > 200
    listener = place.listen()
    connection = place.connect()
    assert Path(place.socket_path).is_socket()
    connection.close()
    listener.close()


def test_where_there_is_no_proc_a_long_path_is_reached_by_a_relative_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """macOS; here the same code is forced to run."""
    monkeypatch.setattr(os.path, "isdir", lambda path: False)
    monkeypatch.delattr(socket, "SO_PEERCRED")
    here = os.getcwd()
    place = HostLock(str(tmp_path / ("deep/" * 40)))
    place.make_folder()
    listener = place.listen()
    connection = place.connect()
    assert peer_uid(connection) == os.getuid()
    assert Path(place.socket_path).is_socket()
    assert os.getcwd() == here
    connection.close()
    listener.close()


def test_two_names_of_one_directory_meet_at_one_lock(place: HostLock, tmp_path: Path) -> None:
    os.symlink(place.data_dir, tmp_path / "other name")
    held = place.try_lock()
    assert held is not None
    assert HostLock(str(tmp_path / "other name")).try_lock() is None
    os.close(held)


def test_the_note_names_the_holder_and_since_when(place: HostLock) -> None:
    held = place.try_lock()
    assert held is not None
    place.write_holder(held, version="1")
    assert place.describe_holder().startswith(f"pid {os.getpid()} since 20")
    assert place.other_machine() is None
    os.close(held)


def test_the_note_is_never_empty_while_it_is_written_again(place: HostLock) -> None:
    held = place.try_lock()
    assert held is not None
    place.write_holder(held, version="a longer version")

    def write() -> None:
        for number in range(2000):
            place.write_holder(held, version=str(number))

    writer = threading.Thread(target=write)
    writer.start()
    while writer.is_alive():
        assert place.read_holder()["pid"] == os.getpid()
    os.close(held)


def test_a_host_on_another_machine_is_named(place: HostLock) -> None:
    Path(place.lock_path).write_text('{"pid": 5, "machine": "elsewhere", "since": "2026-01-01T00:00:00Z"}')
    assert place.other_machine() == "elsewhere" != machine()
    assert "on elsewhere" in place.describe_holder()


@pytest.mark.parametrize("note", ["", "nonsense", "[]", '{"other": 1}'])
def test_a_broken_note_breaks_nothing(place: HostLock, note: str) -> None:
    Path(place.lock_path).write_text(note)
    assert place.describe_holder() == "another process"
    assert place.other_machine() is None


@pytest.mark.parametrize("code", [errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS])
def test_a_file_system_without_locks_is_refused_with_the_reason(
    place: HostLock, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def no_locks(fd: int, how: int) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(fcntl, "flock", no_locks)
    with pytest.raises(Unsupported, match="cannot lock files") as caught:
        place.try_lock()
    assert "local disk" in caught.value.hint


@pytest.mark.parametrize("code", [errno.EPERM, errno.EOPNOTSUPP])
def test_a_file_system_without_sockets_is_refused_with_the_reason(
    place: HostLock, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    class NoSockets(socket.socket):
        def bind(self, address: object) -> None:
            raise OSError(code, os.strerror(code))

    monkeypatch.setattr(socket, "socket", NoSockets)
    with pytest.raises(Unsupported, match="has no sockets"):
        place.listen()


@pytest.mark.parametrize(
    ("code", "kind"),
    [(errno.EROFS, Forbidden), (errno.EACCES, Forbidden), (errno.ENOSPC, StorageFull), (errno.EDQUOT, StorageFull)],
)
def test_each_reason_not_to_start_has_its_own_error(code: int, kind: type[LithosError]) -> None:
    error = cannot_start("/data", OSError(code, os.strerror(code)))
    assert type(error) is kind
    assert error.hint


def test_a_full_disk_does_not_keep_the_note_from_being_skipped(place: HostLock) -> None:
    full = os.open("/dev/full", os.O_RDWR)
    place.write_holder(full)
    os.close(full)


@pytest.mark.parametrize("wrong", ["a file", "a file in .lithos' place", "a name too long"])
def test_what_is_no_place_for_a_host_is_refused_as_such(tmp_path: Path, wrong: str) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / ".lithos").write_text("")
    names = {"a file": "file", "a file in .lithos' place": "data", "a name too long": "x" * 300}
    place = HostLock(str(tmp_path / names[wrong]))
    for attempt in (place.connect, place.make_folder):
        with pytest.raises(Unavailable, match="no host can start in"):
            attempt()


def test_a_folder_in_the_sockets_place_is_refused_as_such(place: HostLock) -> None:
    os.mkdir(place.socket_path)
    with pytest.raises(Unavailable, match="Is a directory"):
        place.listen()


def test_a_host_that_does_not_answer_is_shown_with_its_pid(place: HostLock) -> None:
    lock = place.try_lock()
    assert lock is not None and describe_or_error(place) is None
    listener = place.listen()  # and nobody accepts, as while a host is stopped by a signal
    place.write_holder(lock)
    shown = describe_or_error(place, 0.05)
    assert shown is not None and shown["pid"] == os.getpid()
    assert "does not answer" in shown["problem"]
    listener.close()
    os.close(lock)


def test_a_host_that_cannot_start_is_shown_with_its_reason_and_hides_no_other(place: HostLock) -> None:
    listener = place.listen()

    def refuse() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(4096)
            connection.sendall(wire.refused(ConfigInvalid("the database is from the future").as_dict()))

    refusing = threading.Thread(target=refuse)
    refusing.start()
    shown = describe_or_error(place, 60)
    refusing.join(60)
    listener.close()
    assert shown is not None and shown["problem"] == "the database is from the future"


def test_a_folder_that_may_not_be_made_names_the_one_above_it(tmp_path: Path) -> None:
    error = cannot_start(str(tmp_path / "lithos"), PermissionError(errno.EACCES, "Permission denied"))
    assert error.message == f"{tmp_path / 'lithos'} cannot be made: you may not write into {tmp_path}"
    (tmp_path / "lithos").mkdir()
    error = cannot_start(str(tmp_path / "lithos"), PermissionError(errno.EACCES, "Permission denied"))
    assert "belongs to another user" in error.message
