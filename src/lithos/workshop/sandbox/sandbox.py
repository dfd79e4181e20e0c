"""Sandbox: starts a command behind the walls that this machine offers, and waits for its end."""

from __future__ import annotations

import os
import resource
import secrets
import subprocess
import sys
import threading
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import orjson

from lithos.core.keyed_lock import KeyedLock
from lithos.errors import Forbidden, NotFound, Unavailable
from lithos.workshop.run_files import read_beneath, remove_tree
from lithos.workshop.sandbox import bubblewrap
from lithos.workshop.sandbox.cgroup import ROOM, RunGroup, processes_limited, run_group
from lithos.workshop.sandbox.git_config import without_credentials
from lithos.workshop.sandbox.landlock import LEAST_ABI, TCP_ABI, landlock_abi
from lithos.workshop.sandbox.seccomp import filter_program
from lithos.workshop.sandbox.supervise import Ended, Supervisor, close_pipes, kill_group
from lithos.workshop.sandbox.view import DEPENDENCIES, HOME, Scratch, View, view_of
from lithos.workshop.sandbox.watch import Watch, changed_bytes
from lithos.workshop.values import BASE_SUFFIX, Completed, Network, RunLimits, Wall, Worktree

LAUNCHER = Path(__file__).with_name("launcher.py")
LAUNCH_FAILED = 126
LAUNCHER_S = 5.0  # for the launcher to kill what it adopted
_KERNEL_FILES = ("/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/loadavg", "/proc/version")
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")


@dataclass(frozen=True, slots=True)
class Command:
    argv: Sequence[str]
    cwd: Path  # inside the worktree
    seconds: float
    stdin: bytes | None = None
    network: bool = False
    stop: threading.Event = field(default_factory=threading.Event)


class Sandbox:
    """`scratch` holds the private homes and temporary folders of runs."""

    def __init__(
        self, scratch: Path, limits: RunLimits, *, toolchains: Sequence[Path] = (), unconfined: bool = False
    ) -> None:
        self._scratch = scratch
        self._limits = limits
        self._toolchains = toolchains
        self._unconfined = unconfined

    def wall(self) -> Wall:
        """The wall that runs will have. Forbidden where there is none and `workshop.unconfined` is off."""
        if not self._unconfined and not processes_limited():
            raise _unlimited()
        if bubblewrap.bubblewrap_works():
            return "bubblewrap"
        if landlock_abi() >= LEAST_ABI:
            return "landlock"
        if self._unconfined:
            return "none"
        raise Forbidden(
            "this machine offers no sandbox: neither bubblewrap with user namespaces nor Landlock",
            hint="Install bubblewrap, or the extra [sandbox]; workshop.unconfined runs without a wall.",
        )

    def run(self, worktree: Worktree, command: Command) -> Completed:
        """Wait until the command ends or reaches a limit."""
        wall = self.wall()
        restore_git_file(worktree)
        with self._private_folders(worktree) as scratch:
            inside = wall == "bubblewrap"
            view = view_of(worktree, scratch, toolchains=self._toolchains, network=command.network, inside=inside)
            program = view.program(command.argv[0], command.cwd)
            if program is None:
                raise _missing(command, "is not installed", "Install it in the project or the system.")
            argv = [program, *command.argv[1:]]
            return (
                self._run_bubblewrap(view, argv, command) if inside else self._run_launched(view, argv, command, wall)
            )

    def private_file(self, worktree: Worktree, name: str) -> tuple[str, Path]:
        """A file in the private home of a worktree's runs: as a run names it, and as it is on this machine."""
        home = self._own(worktree) / "home"
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        inside = HOME if self.wall() == "bubblewrap" else str(home)
        return f"{inside}/{name}", home / name

    def program_folders(self, worktree: Worktree) -> tuple[list[str], list[Path]]:
        """Folders where a run finds programs, and the dependency folders that it sees, as they are on this machine."""
        places = [top / name for name in DEPENDENCIES for top in (worktree.path, worktree.main)]
        view = view_of(worktree, Scratch(Path(), Path()), toolchains=self._toolchains, network=False, inside=False)
        own = [each / ".bin" if each.name == "node_modules" else each / "bin" for each in places]
        return [*map(str, own), *view.environment["PATH"].split(":")], places

    def forget(self, worktree_id: str) -> None:
        """Delete the homes and caches of a worktree that is gone."""
        remove_tree(self._scratch / worktree_id)

    def sweep(self, known: Container[str]) -> None:
        """At the start of a host: temporary folders that a killed one left, and homes of worktrees that are gone."""
        for own in self._scratch.iterdir() if self._scratch.is_dir() else ():
            if own.name not in known:
                remove_tree(own)
                continue
            for each in own.glob("tmp-*"):
                remove_tree(each)

    def trim(self, busy: Callable[[str], bool], locks: KeyedLock) -> None:
        """Delete homes that hold more than a run may write: each run may add so much, and caches fill again."""
        for own in self._scratch.iterdir() if self._scratch.is_dir() else ():
            if busy(own.name):
                continue
            with locks.hold(own.name):
                if changed_bytes(own, 0.0, self._limits.disk_bytes) > self._limits.disk_bytes:
                    remove_tree(own)

    def _own(self, worktree: Worktree) -> Path:
        """A worktree shares its home with its base: what one run compiled, Go and others need not compile again."""
        return self._scratch / worktree.id.removesuffix(BASE_SUFFIX)

    @contextmanager
    def _private_folders(self, worktree: Worktree) -> Iterator[Scratch]:
        own = self._own(worktree)
        home, temporary = own / "home", own / f"tmp-{secrets.token_hex(8)}"
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        temporary.mkdir(mode=0o700)
        try:
            yield Scratch(home, temporary)
        finally:
            remove_tree(temporary)

    def _group(self, opened: ExitStack) -> RunGroup:
        group = run_group(self._limits)
        opened.callback(group.close)
        if not self._unconfined and not group.limits_processes():
            raise _unlimited()
        return group

    def _run_bubblewrap(self, view: View, argv: Sequence[str], command: Command) -> Completed:
        with ExitStack() as opened:
            group = self._group(opened)
            program = filter_program()
            seccomp = None if program is None else _memory_file(opened, program)
            hidden = without_credentials(view.worktree.main / ".git")
            covered = [(path, _memory_file(opened, shown)) for path, shown in hidden]
            status, status_out = _pipe(opened)
            block, release = _pipe(opened)
            wall = bubblewrap.arguments(
                view, command.cwd, seccomp=seccomp, status=status_out.number, block=block.number, covered=covered
            )
            numbers = (seccomp, status_out.number, block.number, *(number for _, number in covered))
            passed = [each for each in numbers if each is not None]
            process = _spawn([*wall, *argv], command, passed, view.worktree.path, {})
            try:
                status_out.close()
                block.close()
                first = _first_process(status.number)
                if first is not None:
                    _limit(first, self._limits)
                    _join(group, first)
                    os.write(release.number, b"1")
                watch = Watch(first or process.pid, self._limits, _folders(view))
                supervisor = Supervisor(process, watch, self._limits.output_bytes, command.stop)
                ended = _judged(supervisor.wait(command.seconds, command.stdin), group)
            finally:
                _end(process)
            if ended.killed_by is None and not _ran(status.number):
                said = supervisor.stderr.bytes().decode("utf-8", "replace").strip().splitlines()
                raise _not_started(command, argv[0], said[-1] if said else str(ended.exit_code))
        network: Network = "open" if view.network else "blocked"
        return _completed(ended, supervisor, "bubblewrap", network)

    def _run_launched(self, view: View, argv: Sequence[str], command: Command, wall: Wall) -> Completed:
        """Behind Landlock, or behind nothing: the launcher ends what the command leaves behind."""
        confined = wall == "landlock"
        if confined and (hidden := next(without_credentials(view.worktree.main / ".git"), None)) is not None:
            raise Forbidden(
                f"{hidden[0].name} of the repository holds a credential, and without namespaces a run could read it",
                hint="Let git ask a credential helper, and take the credential out of the address.",
            )
        with ExitStack() as opened:
            group = self._group(opened)
            life, hold = _pipe(opened)
            launch = [sys.executable, "-I", "-S", str(LAUNCHER), str(life.number)]
            spec = _specification(view, argv, self._limits, confined=confined)
            start, go = _pipe(opened)
            process = _spawn([*launch, str(start.number), spec], command, [life.number, start.number], command.cwd, {})
            try:
                life.close()
                start.close()
                _join(group, process.pid)
                go.close()
                watch = Watch(process.pid, self._limits, _folders(view))
                supervisor = Supervisor(process, watch, self._limits.output_bytes, command.stop, hold.close)
                ended = _judged(supervisor.wait(command.seconds, command.stdin), group)
            finally:
                hold.close()
                _end(process, LAUNCHER_S)
        restore_git_file(view.worktree)
        said = supervisor.stderr.bytes()
        if ended.exit_code == LAUNCH_FAILED and said.startswith(b"the sandbox could not start"):
            raise _not_started(command, argv[0], said.decode("utf-8", "replace").strip().partition(": ")[2])
        blocked = confined and not view.network and landlock_abi() >= TCP_ABI
        return _completed(ended, supervisor, wall, "tcp blocked" if blocked else "open")


def _missing(command: Command, why: str, hint: str) -> NotFound:
    return NotFound(f"{command.argv[0][:200]!r} {why}", hint=hint, reason="not_installed")


def _not_started(command: Command, program: str, said: str) -> NotFound | Unavailable:
    """A script whose interpreter is gone is there and cannot be executed; anything else is a fault of the sandbox."""
    if program in said:
        return _missing(
            command, "cannot start: its interpreter is missing, or it is no program", "Install it again in the project."
        )
    return Unavailable(f"the sandbox could not start: {said[:300]}")


def _unlimited() -> Forbidden:
    return Forbidden(
        "the host runs as root and may make no control group: nothing would limit the processes of a run",
        hint="Run the host as another user, or in a container with a limit of processes (--pids-limit).",
    )


def restore_git_file(worktree: Worktree) -> None:
    """Where no mount protects it, a run may have replaced it. Our own git never reads it; other tools do."""
    place, right = worktree.path / ".git", f"gitdir: {worktree.git_dir}\n"
    if read_beneath(worktree.path, ".git", len(right) + 1) == right.encode():
        return
    worktree.path.chmod(0o700)
    remove_tree(place)
    with place.open("x") as file:
        file.write(right)


def _specification(view: View, argv: Sequence[str], limits: RunLimits, *, confined: bool) -> str:
    worktree, program = view.worktree, filter_program(alone=True)
    readable = [*view.readable, worktree.main / ".git", *(source for source, _ in view.dependencies), *_KERNEL_FILES]
    spec = {
        "argv": argv,
        "environment": view.environment,
        "landlock": confined,
        "tcp": view.network,
        "readable": [str(each) for each in readable],
        "writable": [str(each) for each in (*_folders(view), *_DEVICES)],
        "seccomp": program.hex() if program is not None and confined else "",
        "limits": {
            "RLIMIT_FSIZE": limits.disk_bytes,
            "RLIMIT_CORE": 0,
            "RLIMIT_NPROC": _tasks_of_user() + limits.processes + ROOM,
        },
    }
    return orjson.dumps(spec).decode()


def _spawn(
    argv: Sequence[str], command: Command, passed: Sequence[int], cwd: Path, environment: dict[str, str]
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603 - a vector that no shell reads
        argv,
        cwd=cwd,
        env=environment,
        pass_fds=passed,
        stdin=subprocess.DEVNULL if command.stdin is None else subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def _end(process: subprocess.Popen[bytes], patience: float = 0.0) -> None:
    """A launcher gets a moment to kill what it adopted."""
    if process.poll() is None:
        with suppress(subprocess.TimeoutExpired):
            process.wait(patience)
        kill_group(process)
        process.wait()
    close_pipes(process)


class _Descriptor:
    """Closed once: a second close could hit a descriptor that another thread opened meanwhile."""

    def __init__(self, number: int) -> None:
        self.number = number
        self._open = True

    def close(self) -> None:
        if self._open:
            self._open = False
            os.close(self.number)


def _pipe(opened: ExitStack) -> tuple[_Descriptor, _Descriptor]:
    ends = os.pipe()
    read, write = _Descriptor(ends[0]), _Descriptor(ends[1])
    opened.callback(read.close)
    opened.callback(write.close)
    return read, write


def _memory_file(opened: ExitStack, data: bytes) -> int:
    descriptor = os.memfd_create("lithos")
    opened.callback(os.close, descriptor)
    os.write(descriptor, data)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def _first_process(status: int) -> int | None:
    """The namespace's first process; None: bubblewrap ended before it made one, and says why on stderr."""
    text = b""
    while not text.endswith(b"\n"):
        part = os.read(status, 4096)
        if not part:
            return None
        text += part
    found = orjson.loads(text.splitlines()[0]).get("child-pid")
    return found if isinstance(found, int) else None


def _ran(status: int) -> bool:
    """bubblewrap reports an exit code only if it came to start the command."""
    text = b""
    while part := os.read(status, 4096):
        text += part
    return b"exit-code" in text


def _limit(pid: int, limits: RunLimits) -> None:
    """Limits that the kernel keeps. Root is exempt from the number of processes: a control group counts its own."""
    wanted = (
        (resource.RLIMIT_FSIZE, limits.disk_bytes),
        (resource.RLIMIT_NPROC, limits.processes + ROOM),
        (resource.RLIMIT_CORE, 0),
    )
    for name, value in wanted:
        with suppress(ProcessLookupError):
            resource.prlimit(pid, name, (value, value))


def _join(group: RunGroup, pid: int) -> None:
    with suppress(ProcessLookupError):
        group.add(pid)


def _judged(ended: Ended, group: RunGroup) -> Ended:
    """The kernel may be faster than the watch."""
    if ended.killed_by is None and group.out_of_memory():
        return replace(ended, exit_code=None, killed_by="memory")
    return ended


def _tasks_of_user() -> int:
    """Threads of this user outside the run: without a namespace the kernel counts them with those of the run."""
    count, user = 0, os.getuid()
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            with suppress(OSError):
                if entry.stat().st_uid == user:
                    count += len(os.listdir(f"/proc/{entry.name}/task"))  # noqa: PTH208 - hundreds of them
    return count


def _folders(view: View) -> tuple[Path, ...]:
    return (view.worktree.path, view.scratch.home, view.scratch.temporary)


def _completed(ended: Ended, supervisor: Supervisor, wall: Wall, network: Network) -> Completed:
    return Completed(
        exit_code=ended.exit_code,
        stdout=supervisor.stdout.bytes(),
        stderr=supervisor.stderr.bytes(),
        seconds=round(ended.seconds, 3),
        timed_out=ended.killed_by == "timeout",
        killed_by=ended.killed_by,
        truncated=supervisor.stdout.truncated or supervisor.stderr.truncated,
        confined=wall != "none",
        network=network,
        wall=wall,
    )
