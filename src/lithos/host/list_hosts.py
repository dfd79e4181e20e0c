"""List the hosts of this user on this machine, for `lithos ps`."""

from __future__ import annotations

import os
from pathlib import Path

from lithos.errors import LithosError
from lithos.host.client import Answer, describe_host
from lithos.host.host_lock import SOCKET_NAME, HostLock
from lithos.host.options import DATA_DIR

_SOCKETS = Path("/proc/net/unix")
_ENDING = f"/.lithos/{SOCKET_NAME}"


def describe_or_error(host_lock: HostLock, seconds: float | None = None) -> Answer | None:
    """Facts about a host, or why it does not answer."""
    try:
        return describe_host(host_lock, seconds)
    except LithosError as error:  # one bad host must not hide the others
        return {"pid": host_lock.read_holder().get("pid"), "data_dir": host_lock.data_dir, "problem": error.message}


def all_hosts(also: str) -> list[Answer]:
    """The hosts that /proc shows, and that of the data directory `also`, for systems without /proc."""
    places = {HostLock(data_dir).data_dir for data_dir in (also, *_bound_sockets(), *_command_lines())}
    found = [
        describe_or_error(HostLock(data_dir)) for data_dir in sorted(places) if os.access(data_dir, os.R_OK | os.X_OK)
    ]
    return [host for host in found if host is not None]


def _bound_sockets() -> list[str]:
    """Hosts by their bound address; a host with a long path has bound another name."""
    try:
        lines = _SOCKETS.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return []
    paths = [line.split(maxsplit=7)[7] for line in lines if line.endswith(_ENDING) and len(line.split()) > 7]
    return [path.removesuffix(_ENDING) for path in paths if not path.startswith("/proc/")]


def _command_lines() -> list[str]:
    """Background hosts, by the data directory in their command line."""
    found = []
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = os.fsdecode(process.read_bytes()).split("\0")
        except OSError:  # it has ended, or belongs to another user
            continue
        if "lithos.host" in words and DATA_DIR in words[:-1]:
            found.append(words[words.index(DATA_DIR) + 1])
    return found
