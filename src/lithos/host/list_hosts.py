"""All hosts that this user can reach on this machine, for `lithos ps`."""

from __future__ import annotations

import os
from pathlib import Path

from lithos.errors import LithosError
from lithos.host.client import Answer, describe_host
from lithos.host.guest.options import DATA_DIR
from lithos.host.host_lock import SOCKET_NAME, HostLock

_SOCKETS = Path("/proc/net/unix")
_ENDING = f"/.lithos/{SOCKET_NAME}"


def look_at(place: HostLock, seconds: float | None = None) -> Answer | None:
    """What `lithos ps` shows of a host; of one that does not answer, or is just going, that much."""
    try:
        return describe_host(place, seconds)
    except LithosError as trouble:  # one bad host must not hide the others
        return {"pid": place.read_note().get("pid"), "data_dir": place.data_dir, "trouble": trouble.message}


def all_hosts(also: str) -> list[Answer]:
    """Those that the kernel knows, and the one of the data directory `also`, where there is no /proc to ask."""
    places = {HostLock(data_dir).data_dir for data_dir in (also, *_bound_sockets(), *_command_lines())}
    found = [look_at(HostLock(data_dir)) for data_dir in sorted(places) if os.access(data_dir, os.R_OK | os.X_OK)]
    return [host for host in found if host is not None]


def _bound_sockets() -> list[str]:
    """Hosts by the address they bound; one whose path was too long bound it by another name."""
    try:
        lines = _SOCKETS.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return []
    paths = [line.split(maxsplit=7)[7] for line in lines if line.endswith(_ENDING) and len(line.split()) > 7]
    return [path.removesuffix(_ENDING) for path in paths if not path.startswith("/proc/")]


def _command_lines() -> list[str]:
    """Background hosts, by the data directory that their command line names."""
    found = []
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = os.fsdecode(process.read_bytes()).split("\0")
        except OSError:  # it ended while we looked, or is none of our business
            continue
        if "lithos.host" in words and DATA_DIR in words[:-1]:
            found.append(words[words.index(DATA_DIR) + 1])
    return found
