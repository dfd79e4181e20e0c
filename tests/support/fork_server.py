"""A fork server: one process imports Lithos once; hosts and verbs that a test starts are forks of it.

A started host costs 2 s of CPU, nearly all of it imports. A fork has its own environment, folder, descriptors, command
line and exit code; it differs in the imports that it need not do. Tests of a start as such use `sys.executable`.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import fcntl
import functools
import gc
import os
import resource
import runpy
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from tests.support.fork_client import LENGTH, ask, read_line

PROJECT = Path(__file__).parents[2]
READY = "ready"
_PADDING = "-" * 8192  # an argument of the server: where its forks write their command lines
_ABOVE_FIXED = 64  # copies get higher numbers, or a dup2 would overwrite the source of the next


class Popen(subprocess.Popen[Any]):
    """`subprocess.Popen([sys.executable, "-m", …])` for a fork. It is not our child: the server reports its end."""

    def __init__(self, command: Sequence[str], *, open_files: int = 0, **options: Any) -> None:
        self._open_files = open_files
        super().__init__(command, **options)

    def _execute_child(self, *given: Any) -> None:
        (command, _, _, _, _, folder, environment, _, _, _, *pipes) = given[:16]
        child_in, _, _, child_out, _, child_err = pipes
        descriptors = [usual if each == -1 else each for usual, each in enumerate((child_in, child_out, child_err))]
        variables = os.environ if environment is None else environment
        self._connection, self.pid = ask(
            _server(), command[1:], descriptors, variables, str(folder or os.getcwd()), self._open_files
        )
        self._child_created = True
        self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]

    def _try_wait(self, flags: int) -> tuple[int, int]:
        """As `os.waitpid`."""
        self._connection.setblocking(not flags & os.WNOHANG)
        try:
            status = int(read_line(self._connection))
        except BlockingIOError:
            return 0, 0
        self._connection.close()
        return self.pid, status

    def _internal_poll(self, *_: Any, **__: Any) -> int | None:
        if self.returncode is None:
            pid, status = self._try_wait(os.WNOHANG)
            if pid:
                self._handle_exitstatus(status)  # type: ignore[attr-defined]
        return self.returncode


def run(
    command: Sequence[str],
    *,
    timeout: float,
    input: str | None = None,
    check: bool = False,
    **options: Any,
) -> subprocess.CompletedProcess[str]:
    """As `subprocess.run(capture_output=True, text=True)`."""
    given = subprocess.DEVNULL if input is None else subprocess.PIPE
    with Popen(command, stdin=given, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options) as process:
        try:
            out, err = process.communicate(input, timeout)
        except BaseException:  # as subprocess.run: also an interrupt or a timeout leaves no process behind
            process.kill()
            raise
    ended = subprocess.CompletedProcess(list(command), process.returncode, out, err)
    if check:
        ended.check_returncode()
    return ended


def python() -> str:
    """An executable for the place of `sys.executable`: a host that it starts is a fork."""
    return f"{commands()}/python"


def commands() -> str:
    """A folder for PATH with a `lithos` that is a fork."""
    return str(Path(_server()).parent)


@functools.cache
def _server() -> str:
    """The address of this process's server, started when first needed; it ends with this process."""
    folder = tempfile.TemporaryDirectory(prefix="fork-")
    path = f"{folder.name}/server"
    for name in ("python", "lithos"):
        script = Path(folder.name, name)
        script.write_text(
            f"#!{sys.executable} -IS\nimport sys\nsys.path.insert(0, {str(Path(__file__).parent)!r})\n"
            f"from fork_client import main\nraise SystemExit(main({path!r}, {name!r}, {sys.executable!r}))\n"
        )
        script.chmod(0o700)
    command = [sys.executable, "-m", "tests.support.fork_server", path, _PADDING]
    server = subprocess.Popen(command, cwd=PROJECT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    assert server.stdout.readline().strip() == READY
    _KEPT.extend((folder, server))
    return path


_KEPT: list[Any] = []  # the folder is removed and the server's stdin closed when this process ends


class _Server:
    """Forks a process for each request, and says how it ended."""

    def __init__(self, path: str) -> None:
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(path)
        self._listener.listen(128)
        self._running: dict[int, socket.socket] = {}
        self._woken, wake = os.pipe()
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    def serve(self) -> Callable[[], None] | None:
        """Until our starter has ended: None. In a fork: what it is to do."""
        waiting = selectors.DefaultSelector()
        for each in (self._listener, self._woken, sys.stdin):
            waiting.register(each, selectors.EVENT_READ)
        while True:
            ready = [key.fileobj for key, _ in waiting.select()]
            if sys.stdin in ready:
                return None
            if self._woken in ready:
                os.read(self._woken, 4096)
                self._reap()
            if self._listener in ready:
                task = self._fork(self._listener.accept()[0])
                if task is not None:
                    return task

    def _reap(self) -> None:
        while self._running:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            connection = self._running.pop(pid)
            with contextlib.suppress(OSError):
                connection.sendall(b"%d\n" % status)
            connection.close()

    def _fork(self, connection: socket.socket) -> Callable[[], None] | None:
        head, descriptors, _, _ = socket.recv_fds(connection, LENGTH, 8)
        length, request = int.from_bytes(head, "big"), b""
        while len(request) < length and (part := connection.recv(length - len(request))):
            request += part
        if request and len(request) == length:  # a client may have been killed while it asked
            pid = os.fork()
            if not pid:
                sys.executable = str(Path(self._listener.getsockname()).with_name("python"))
                return functools.partial(_become, os.fsdecode(request).split("\0"), descriptors)
            self._running[pid] = connection
            with contextlib.suppress(OSError):
                connection.sendall(b"%d\n" % pid)
        else:
            connection.close()
        for each in descriptors:
            os.close(each)
        return None


def _become(request: list[str], descriptors: list[int]) -> None:
    """Be `python ARGUMENTS…`."""
    folder, umask, open_files, number, *rest = request
    arguments, variables = rest[: int(number)], rest[int(number) :]
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    copies = [fcntl.fcntl(each, fcntl.F_DUPFD, _ABOVE_FIXED) for each in descriptors]
    for target, copy in enumerate(copies):
        os.dup2(copy, target)
    os.closerange(len(copies), 4096)
    os.chdir(folder)
    os.umask(int(umask, 8))
    if int(open_files):
        resource.setrlimit(resource.RLIMIT_NOFILE, (int(open_files), int(open_files)))
    os.environ.clear()
    os.environ.update(each.split("=", 1) for each in variables)
    time.tzset()
    tempfile.tempdir = None
    _show_command_line(["python", *arguments])
    while arguments[0].startswith("-") and arguments[0] not in ("-m", "-c"):
        arguments.pop(0)
    if arguments[0] == "-m":
        sys.argv[1:] = arguments[2:]
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    elif arguments[0] == "-c":
        sys.argv[:] = ["-c", *arguments[2:]]
        exec(compile(arguments[1], "<string>", "exec"), {"__name__": "__main__"})
    else:
        sys.argv[:] = arguments
        runpy.run_path(arguments[0], run_name="__main__")


def _show_command_line(words: list[str]) -> None:
    """Where others look for it: `lithos ps`, and tests."""
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    start, end = int(fields[45]), int(fields[46])
    ctypes.memset(start, 0, end - start)
    line = os.fsencode("\0".join(words))[: end - start - 1]
    ctypes.memmove(start, line, len(line))


def _preload() -> None:
    """What a host and the verbs import, and the tools that each of them builds."""
    import tokenizers  # noqa: F401

    from lithos.cli.root import app
    from lithos.host.server import background, event_loop, host, listener  # noqa: F401
    from lithos.tools.catalogue import catalogue

    app()
    catalogue()


def _end(task: Callable[[], None]) -> NoReturn:
    """Run and exit; from here on without taking 1,300 modules apart, which costs 70 ms."""
    try:
        task()
        _exit_codes.append(0)
    except SystemExit as ended:
        _exit_codes.extend([ended.code or 0] if isinstance(ended.code, int | None) else [])
        raise
    raise SystemExit


def _leave() -> None:
    """Runs after all that the task registered for its exit."""
    if _exit_codes:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(_exit_codes[0])


_exit_codes: list[int] = []


if __name__ == "__main__":
    atexit.register(_leave)
    gc.disable()
    _preload()
    gc.freeze()
    gc.enable()
    _serving = _Server(sys.argv[1])
    print(READY, flush=True)
    _task = _serving.serve()
    if _task is not None:
        _end(_task)
