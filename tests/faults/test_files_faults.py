"""At every step of every change: the process dies, the disk fails, the disk is full, a person saves."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from lithos.core.canonical import version_of
from lithos.core.clock import FakeClock
from lithos.errors import Conflict, LithosError, StorageFull, Unavailable
from lithos.storage import Crash, Limits, NoFaults, PlannedFaults, Root
from lithos.storage.faults import Faults
from lithos.storage.files import Kernel, PortableKernel, best_kernel
from tests.support import fork_server

OLD, NEW, PERSON = b"old bytes\n", b"new bytes\n" * 200_000, b"what a person saved\n"
KERNELS: dict[str, Callable[[], Kernel]] = {"native": best_kernel, "portable": PortableKernel}

CHANGES: dict[str, Callable[[Root], object]] = {
    "create": lambda root: root.replace("folder/new.md", NEW, None),
    "replace": lambda root: root.replace("a.md", NEW, version_of(OLD)),
    "move": lambda root: root.move("a.md", "folder/moved.md", version_of(OLD)),
    "trash": lambda root: root.trash("a.md", version_of(OLD)),
}
DONE: dict[str, dict[str, bytes]] = {
    "create": {"a.md": OLD, "folder/new.md": NEW},
    "replace": {"a.md": NEW},
    "move": {"folder/moved.md": OLD},
    "trash": {},
}


def opened(tmp_path: Path, kernel: str, faults: Faults | None = None) -> Root:
    return Root(
        tmp_path / "vault",
        name="vault",
        keep=tmp_path / ".lithos",
        clock=FakeClock(),
        kernel=KERNELS[kernel](),
        faults=faults or NoFaults(),
    )


def files(root: Root) -> dict[str, bytes]:
    """What is there, hidden names included."""
    found = (path for path in root.path.rglob("*") if path.is_file())
    return {str(path.relative_to(root.path)): path.read_bytes() for path in found}


def steps(tmp_path: Path, kernel: str, change: str) -> list[tuple[str, int]]:
    """(point, visit) that the change passes when nothing goes wrong."""
    faults = PlannedFaults()
    root = opened(tmp_path / "rehearsal", kernel, faults)
    (root.path / "a.md").write_bytes(OLD)
    CHANGES[change](root)
    return [(point, faults.seen[: index + 1].count(point)) for index, point in enumerate(faults.seen)]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("change", CHANGES)
def test_after_a_crash_at_any_step_the_file_is_whole_and_nothing_is_left_over(
    tmp_path: Path, kernel: str, change: str
) -> None:
    passed = steps(tmp_path, kernel, change)
    assert len(passed) >= 3
    for number, (point, visit) in enumerate(passed):
        faults = PlannedFaults()
        faults.plan(point, "crash", visit)
        root = opened(tmp_path / str(number), kernel, faults)
        (root.path / "a.md").write_bytes(OLD)
        with pytest.raises(Crash):
            CHANGES[change](root)
        again = opened(tmp_path / str(number), kernel)
        assert again.recover() == []
        assert files(again) in ({"a.md": OLD}, DONE[change]), f"crash at {point} ({visit})"


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize(("code", "error"), [(errno.EIO, Unavailable), (errno.ENOSPC, StorageFull)])
def test_an_error_at_any_step_changes_nothing_and_says_so(
    tmp_path: Path, kernel: str, change: str, code: int, error: type[LithosError]
) -> None:
    for number, (point, visit) in enumerate(steps(tmp_path, kernel, change)):
        faults = PlannedFaults()
        faults.plan(point, OSError(code, os.strerror(code)), visit)
        root = opened(tmp_path / str(number), kernel, faults)
        (root.path / "a.md").write_bytes(OLD)
        with pytest.raises(error):
            CHANGES[change](root)
        root.sweep(everything=True)
        assert files(root) == {"a.md": OLD}, f"{errno.errorcode[code]} at {point} ({visit})"


def save_in_place(path: Path) -> None:
    path.write_bytes(PERSON)


def save_by_rename(path: Path) -> None:
    aside = path.with_name(".editor~")
    aside.write_bytes(PERSON)
    os.replace(aside, path)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("change", ["replace", "trash"])
@pytest.mark.parametrize("save", [save_in_place, save_by_rename])
def test_a_save_at_any_step_is_in_the_file_or_in_a_conflict_copy(
    tmp_path: Path, kernel: str, change: str, save: Callable[[Path], None]
) -> None:
    for number, (point, visit) in enumerate(steps(tmp_path, kernel, change)):
        faults = PlannedFaults()
        root = opened(tmp_path / str(number), kernel, faults)
        target = root.path / "a.md"
        target.write_bytes(OLD)
        faults.plan(point, lambda target=target: save(target), visit)  # type: ignore[misc]
        try:
            CHANGES[change](root)
        except Conflict:
            assert root.read("a.md").data == PERSON
        root.sweep(everything=True)
        found = files(root)
        assert PERSON in found.values(), f"lost a save at {point} ({visit})"
        assert not [name for name in found if ".lithos" in name]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("fate", ["crash", "error"])
def test_a_save_survives_a_crash_or_error_while_it_is_put_back(tmp_path: Path, kernel: str, fate: str) -> None:
    def run(folder: Path, at: tuple[str, int] | None) -> tuple[Root, PlannedFaults]:
        faults = PlannedFaults()
        root = opened(folder, kernel, faults)
        (root.path / "a.md").write_bytes(OLD)
        last = ("exchange", 1) if KERNELS[kernel]().exchanges else ("rename", 1)
        faults.plan(last[0], lambda: save_in_place(root.path / "a.md"), last[1])
        if at is not None:
            faults.plan(at[0], "crash" if fate == "crash" else OSError(errno.EIO, "EIO"), at[1])
        with pytest.raises((Conflict, Unavailable, Crash)):
            CHANGES["replace"](root)
        return root, faults

    _, faults = run(tmp_path / "rehearsal", None)
    start = faults.seen.index("check")
    assert len(faults.seen) - start >= 2
    for index in range(start, len(faults.seen)):
        at = (faults.seen[index], faults.seen[: index + 1].count(faults.seen[index]))
        root, _ = run(tmp_path / str(index), at)
        if fate == "crash":
            root = opened(tmp_path / str(index), kernel)
            root.recover()
        root.sweep(everything=True)
        found = files(root)
        assert PERSON in found.values(), f"lost at {at}"
        assert not [name for name in found if ".lithos" in name], f"left over at {at}"


def test_an_editor_that_read_our_bytes_while_they_were_put_back_overwrites_nothing(tmp_path: Path) -> None:
    """The narrow case: save, see the agent's text for a microsecond, save again on top of that."""
    faults = PlannedFaults()
    root = opened(tmp_path, "native", faults)
    if not best_kernel().exchanges:
        pytest.skip("needs an exchange")
    target = root.path / "a.md"
    target.write_bytes(OLD)
    seen: list[bytes] = []
    faults.plan("exchange", lambda: save_in_place(target), 1)
    faults.plan("check", lambda: seen.append(target.read_bytes()), 1)
    with pytest.raises(Conflict):
        CHANGES["replace"](root)
    assert seen == [NEW]
    target.write_bytes(seen[0] + b"and a line more\n")  # the first save is not in what the editor had read
    root.sweep(everything=True)
    assert PERSON in files(root).values()


def test_two_saves_while_one_write_is_put_back_are_both_kept_and_the_newest_stays(tmp_path: Path) -> None:
    faults = PlannedFaults()
    root = opened(tmp_path, "native", faults)
    if not best_kernel().exchanges:
        pytest.skip("needs an exchange")
    target = root.path / "a.md"
    target.write_bytes(OLD)
    faults.plan("exchange", lambda: save_in_place(target), 1)
    faults.plan("exchange", lambda: target.write_bytes(b"second save\n") and None, 2)
    with pytest.raises(Conflict):
        CHANGES["replace"](root)
    assert target.read_bytes() == b"second save\n"
    root.sweep(everything=True)
    assert PERSON in files(root).values()


def test_a_real_kill_between_exchange_and_check_loses_no_save(tmp_path: Path) -> None:
    script = """
import sys
from pathlib import Path
from lithos.core.canonical import version_of
from lithos.core.clock import SystemClock
from lithos.storage import PlannedFaults, Root
top = Path(sys.argv[1])
faults = PlannedFaults()
root = Root(top / "vault", name="vault", keep=top / ".lithos", clock=SystemClock(), faults=faults)
target = root.path / "a.md"
target.write_bytes(b"old")
point = "exchange" if root._tree.kernel.exchanges else "rename"
faults.plan(point, lambda: target.write_bytes(b"person") and None)
faults.plan("check", "kill")
root.replace("a.md", b"agent", version_of(b"old"))
"""
    done = fork_server.run([sys.executable, "-c", script, str(tmp_path)], timeout=60)
    assert done.returncode == 137
    root = opened(tmp_path, "native")
    root.recover()
    assert b"person" in files(root).values()
    assert not [name for name in files(root) if ".lithos" in name]


def test_a_half_written_file_of_a_crash_is_dropped(tmp_path: Path) -> None:
    faults = PlannedFaults()
    faults.plan("write:bytes", "crash", visit=2)
    root = opened(tmp_path, "native", faults)
    with pytest.raises(Crash):
        root.replace("a.md", NEW, None)
    assert [len(data) for data in files(root).values()] == [2**20]
    assert opened(tmp_path, "native").recover() == []
    assert files(root) == {}


def test_leftovers_of_a_recent_run_that_an_editor_holds_are_watched_on(tmp_path: Path) -> None:
    root = opened(tmp_path, "native")
    if not best_kernel().exchanges:
        pytest.skip("leases are Linux's")
    (root.path / "a.md").write_bytes(OLD)
    with open(root.path / "a.md", "r+b") as editor:
        root.replace("a.md", NEW, version_of(OLD))
        again = opened(tmp_path, "native")
        assert again.recover() == []
        editor.write(PERSON)
    again.sweep(everything=True)
    assert PERSON in files(again).values()


def test_a_full_disk_leaves_room_to_report_the_limits(tmp_path: Path) -> None:
    """A file system of its own that really is full, where the tests may mount one."""
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "none", str(small)], capture_output=True)
    if mounted.returncode != 0:
        pytest.skip("no right to mount")
    try:
        root = Root(small / "v", name="v", keep=tmp_path / "k", clock=FakeClock(), limits=Limits())
        version = root.replace("a.md", OLD, None).version
        with pytest.raises(StorageFull):
            root.replace("a.md", b"x" * 2**20, version)
        with pytest.raises(StorageFull):
            root.replace("b.md", b"x" * 2**20, None)
        assert files(root) == {"a.md": OLD}
        root.close()
    finally:
        subprocess.run(["umount", "-l", str(small)], check=True)
