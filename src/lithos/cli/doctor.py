"""`lithos doctor`: is this memory well, and if not, what to do."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from lithos.cli.memory import is_memory, no_memory
from lithos.cli.terminal import Terminal, show, styled, verb
from lithos.errors import LithosError

Finding = dict[str, str]
FOUND = 1  # exit code when something is wrong
LEAST_FREE = 64 * 2**20
PRIVATE = (".lithos", ".lithos/keys", ".tantivy", ".vectors", ".catalogue", ".graph")
MARKS = {"ok": "ok  ", "warning": "warn", "error": "FAIL"}
COLOURS = {"ok": "green", "warning": "yellow", "error": "red"}


def join(root: typer.Typer) -> None:
    root.command("doctor")(doctor)


@verb
def doctor(
    terminal: Terminal,
    full: Annotated[bool, typer.Option("--full", help="Check everything instead of tails and samples.")] = False,
    repair: Annotated[bool, typer.Option("--repair", help="Rebuild derived state that is wrong.")] = False,
) -> None:
    """Check versions, files, locks, indexes, audit and ledger; say for each finding what to do. Exit code 1: something
    is wrong. --repair rebuilds what is derived and never touches notes, tasks, events or thoughts."""
    findings = list(_outside(terminal.folder, terminal.settings.storage.vault))
    repaired: list[str] = []
    if not is_memory(terminal.folder):
        missing = no_memory(terminal.folder, named=terminal.named)
        findings.append(_finding("folder", "error" if terminal.named else "warning", missing.message, missing.hint))
        _report(terminal, findings, repaired)
        return
    try:
        inside = terminal.ask("lithos_doctor", {"full": full, "repair": repair})
        findings += inside["findings"]
        repaired = inside["repaired"]
    except LithosError as error:
        findings.append(_finding(_part(error), "error", error.message, error.hint))
    _report(terminal, findings, repaired)


def _report(terminal: Terminal, findings: list[Finding], repaired: list[str]) -> None:
    wrong = [each for each in findings if each["severity"] == "error"]
    if terminal.as_json:
        show({"ok": not wrong, "findings": findings, "repaired": repaired})
    else:
        _print(findings, repaired)
    if wrong:
        raise typer.Exit(FOUND)


def _print(findings: list[Finding], repaired: list[str]) -> None:
    for each in findings:
        mark = styled(MARKS[each["severity"]], COLOURS[each["severity"]])
        print(f"{mark}  {each['part']:14} {each['message']}")
        if each["todo"] and each["severity"] != "ok":
            print(f"      {'':14} → {each['todo']}")
    for line in repaired:
        print(f"done  {'repair':14} {line}")


def _part(error: LithosError) -> str:
    """Which part could not be opened: its file is named in the message."""
    for name, part in (("coordination", "coordination"), ("database", "coordination"), ("host", "host")):
        if name in error.message:
            return part
    return "start"


def _outside(folder: Path, notes: Path) -> Iterator[Finding]:
    """Checks that need no opened memory."""
    yield from _versions()
    if is_memory(folder):
        if not notes.is_dir():  # the next start makes an empty one
            todo = "Put it back, or restore a backup: lithos restore."
            yield _finding("notes", "error", f"the folder of notes is gone: {notes.name}", todo)
        yield from _permissions(folder)
        yield from _space(folder)
        yield from _lock(folder)
    yield from _clients(folder)


def _versions() -> Iterator[Finding]:
    import apsw

    from lithos import __version__
    from lithos.storage import checksum_vfs

    python = ".".join(map(str, sys.version_info[:3]))
    yield _finding("versions", "ok", f"Lithos {__version__}, Python {python}, SQLite {apsw.sqlite_lib_version()}")
    if checksum_vfs() is None:
        yield _finding("versions", "warning", "this SQLite has no page checksums", "Install apsw from its wheel.")


def _permissions(folder: Path) -> Iterator[Finding]:
    if folder.stat().st_uid != os.getuid():
        yield _finding("permissions", "error", f"{folder} belongs to another user", "Run as its owner.")
    private = [folder / name for name in PRIVATE]
    for path in filter(Path.is_symlink, private):  # never a hint to close the folder behind it: that is not ours
        yield _finding("permissions", "warning", f"{path.name} is a link", "Put a folder in its place.")
    ours = [path for path in private if path.is_dir() and not path.is_symlink()]
    open_ones = [path for path in ours if stat.S_IMODE(path.stat().st_mode) & 0o077]
    for path in open_ones:
        yield _finding("permissions", "error", f"{path.name} is open to other users", f"chmod 700 {path}")
    if not open_ones:
        yield _finding("permissions", "ok", "no other user can read the memory's own files")


def _space(folder: Path) -> Iterator[Finding]:
    disk = os.statvfs(folder)
    free = disk.f_bavail * disk.f_frsize
    if disk.f_flag & os.ST_RDONLY:
        yield _finding("space", "error", "the disk is read-only: nothing can be written", "Mount it for writing.")
    elif free < LEAST_FREE:
        yield _finding("space", "error", f"{free >> 20} MB are free", "Free disk space.")
    else:
        yield _finding("space", "ok", f"{free >> 20:,} MB are free")


def _lock(folder: Path) -> Iterator[Finding]:
    from lithos.host.host_lock import HostLock, is_stopped

    if not (folder / ".lithos" / "host.lock").exists():
        yield _finding("lock", "ok", "no host has run here yet")
        return
    place = HostLock(str(folder))
    held = place.try_lock()
    if held is not None:
        os.close(held)
        yield _finding("lock", "ok", "no host runs; the memory is opened for this check")
    elif is_stopped(place.read_holder().get("pid")):
        yield _finding(
            "lock", "error", f"the host ({place.describe_holder()}) is stopped by a signal", "kill -CONT it."
        )
    else:
        yield _finding("lock", "ok", f"the host is {place.describe_holder()}")


def _clients(memory: Path) -> Iterator[Finding]:
    """The configurations of MCP clients, yours and this project's."""
    from lithos.clients.catalogue import Where
    from lithos.clients.check import check_clients

    for found in check_clients(Where.here(), memory):
        yield _finding("clients", found.severity, found.message, found.todo)


def _finding(part: str, severity: str, message: str, todo: str = "") -> Finding:
    return {"part": part, "severity": severity, "message": message, "todo": todo}
