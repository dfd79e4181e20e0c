"""Ask the fork server for a process. Run by `python -IS` in place of an interpreter, so it imports three modules."""

from __future__ import annotations

import os
import signal
import socket
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LENGTH = 8  # bytes that say how long a request is
_FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def ask(
    server: str,
    arguments: Sequence[str],
    descriptors: Sequence[int],
    environment: Mapping[str, str],
    folder: str,
    open_files: int = 0,
) -> tuple[socket.socket, int]:
    """Start `python ARGUMENTS…` with these descriptors as its 0, 1, 2…; returns its pid and where it will end."""
    variables = [f"{name}={value}" for name, value in environment.items()]
    head = [folder, _umask(), str(open_files), str(len(arguments))]
    request = os.fsencode("\0".join([*head, *arguments, *variables]))
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(server)
    socket.send_fds(connection, [len(request).to_bytes(LENGTH, "big")], descriptors)
    connection.sendall(request)
    return connection, int(read_line(connection))


def read_line(connection: socket.socket) -> str:
    """The next line of the server: first the pid, at last the status as `waitpid` gives it."""
    line = b""
    while not line.endswith(b"\n"):
        part = connection.recv(1)
        if not part:
            raise ConnectionError("the fork server has ended")
        line += part
    return line.decode()


def _umask() -> str:
    with open("/proc/self/status", encoding="utf-8", errors="replace") as status:
        return next(line.split()[1] for line in status if line.startswith("Umask:"))


def main(server: str, name: str, python: str) -> int:
    """In place of the program `name`: start a host or a verb as a fork and end as it does.

    A signal goes on to the fork; SIGKILL cannot, so other programs run as they are.
    """
    arguments = sys.argv[1:] if name == "python" else ["-m", "lithos.cli.entry", *sys.argv[1:]]
    if name == "python" and "lithos.host" not in arguments:
        os.execv(python, [python, *arguments])
    inherited = [0, 1, 2]
    if os.path.exists("/proc/self/fd/3") and os.path.exists("/proc/self/fd/4"):
        inherited += [3, 4]  # a host's lock and listener
    connection, pid = ask(server, arguments, inherited, os.environ, os.getcwd())
    for number in _FORWARDED:
        signal.signal(number, lambda received, _: os.kill(pid, received))
    code = os.waitstatus_to_exitcode(int(read_line(connection)))
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    return code
