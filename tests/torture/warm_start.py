"""Hosts that start in a tenth of a second: a process that has imported everything forks one for each guest that asks.

Guests spawn `sys.executable -m lithos.host`; here that is a script of one line around this file (`write_stand_in`). It
passes its arguments, environment and descriptors to the process that waits at SOCKET (`python -m
tests.torture.warm_start SOCKET LOG OPTIONS`), which forks. Everything after the imports is the real host. Where the
layer of `system_calls.c` is loaded, most hosts are armed: at some change of their files they die, or the change fails.
"""

from __future__ import annotations

import array
import json
import os
import socket
import sys

FDS = 5  # stdin, stdout, stderr, lock, listener


def ask(path: str, arguments: list[str]) -> int:
    """As a guest's `sys.executable`: the exit code of the first process of a host."""
    with socket.socket(socket.AF_UNIX) as server:
        server.connect(path)
        wish = json.dumps({"arguments": arguments, "environment": dict(os.environ)}).encode()
        rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", range(FDS)))
        server.sendmsg([len(wish).to_bytes(4, "big")], [rights])
        server.sendall(wish)
        return 0 if server.recv(1) else 71


def write_stand_in(script: str, path: str) -> None:
    """An executable in place of Python, for guests. Without `site` it starts in 15 ms."""
    with open(script, "w") as file:
        file.write(f"#!{os.path.realpath(sys.executable)} -IS\nimport sys\nsys.argv[1:1] = [{path!r}]\n")
        file.write(f"exec(compile(open({os.path.abspath(__file__)!r}).read(), 'warm_start', 'exec'))\n")
    os.chmod(script, 0o700)


def serve(path: str, log: str, seed: int, armed: bool = True, speed: float = 1.0, bug: str = "") -> None:
    """`speed`: how fast the clock of leases runs in these hosts. `bug`: a planted one, by name."""
    import random
    import signal

    import tests.torture.judge as judge

    _import_all()
    judge.embed_cheaply()
    _patch(speed, bug)
    dice = random.Random(seed)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # no zombies: a killed host is gone at once
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(16)
    while True:
        guest, _ = listener.accept()
        with guest:
            size, fds, _, _ = socket.recv_fds(guest, 4, FDS)
            said = _exactly(guest, int.from_bytes(size, "big"))
            if not said:  # the guest has given up meanwhile
                for fd in fds:
                    os.close(fd)
                continue
            wish = json.loads(said)
            plan = _plan(dice) if armed else None
            pid = os.fork()
            if pid == 0:
                listener.close()
                guest.close()
                _be_host(wish, fds, plan, log)
            with open(f"{log}.started", "a") as started:
                started.write(f"{pid}\n")
            for fd in fds:
                os.close(fd)
            guest.sendall(b"!")


def _patch(speed: float, bug: str) -> None:
    import lithos.storage.leases as leases
    from lithos.core.clock import SystemClock
    from lithos.storage import Root

    real = SystemClock.since_boot
    SystemClock.since_boot = lambda self: real(self) * speed  # type: ignore[method-assign]
    if bug == "two holders":
        leases.Lease.alive = lambda self, now: False  # type: ignore[method-assign]
    if bug == "overwritten versions are not kept":
        Root.keep_overwritten = lambda self, path, version: None  # type: ignore[method-assign]


def _plan(dice):  # type: ignore[no-untyped-def]
    """(changes until the fault, its kind, in paths that contain this); None: no fault."""
    where = ["", "", ".tantivy", ".tantivy", "coordination.db", "catalogue", "ledger", "knowledge", "garden", "vectors"]
    chosen = dice.choice(where)
    kind = dice.choice(["kill", "kill", "kill", "torn", "torn", "short", "EIO", "ENOSPC"])
    count = int(dice.random() ** 2 * (300 if chosen in where[:6] else 30)) + 1
    return None if dice.random() < 0.2 else (count, kind, chosen)


def _exactly(guest: socket.socket, size: int) -> bytes:
    """Empty where the other end closed before all of it came."""
    data = b""
    while len(data) < size:
        part = guest.recv(size - len(data))
        if not part:
            return b""
        data += part
    return data


def _import_all() -> None:
    import lithos.host.server.background
    import lithos.host.server.event_loop
    import lithos.host.server.host
    import lithos.host.server.host_config
    import lithos.host.server.listener
    import lithos.serving
    import lithos.tools.catalogue

    lithos.tools.catalogue.catalogue()


def _be_host(wish, fds, plan, log):  # type: ignore[no-untyped-def]
    import fcntl
    import signal
    from pathlib import Path

    from lithos.host.options import DATA_DIR, parse_serve
    from lithos.host.server import background
    from tests.torture.system_calls import SystemCalls

    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    copies = [fcntl.fcntl(fd, fcntl.F_DUPFD, 50) for fd in fds]
    for target, copy in enumerate(copies):
        os.dup2(copy, target, inheritable=target < 3)
    os.closerange(FDS, 4096)
    os.setsid()
    os.environ.clear()
    os.environ.update(wish["environment"])
    options = parse_serve(wish["arguments"][3:], os.environ)  # after -P -m lithos.host
    assert options is not None, wish
    if plan is not None and SystemCalls.loaded():
        changes, kind, containing = plan
        calls = SystemCalls(Path(options.get(DATA_DIR) or ""))
        calls.fault_at(changes, kind, containing, log=Path(f"{log}.faults"))
    background._serve(options)


if __name__ == "__main__":
    if sys.argv[3:4] and sys.argv[3].startswith("{"):
        serve(sys.argv[1], sys.argv[2], **json.loads(sys.argv[3]))
    else:
        raise SystemExit(ask(sys.argv[1], sys.argv[2:]))
