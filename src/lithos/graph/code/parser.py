"""Parser: sends files to the parsing child and takes their facts. Restarts the child when it dies or is too slow."""

from __future__ import annotations

import logging
import os
import select
import signal
import struct
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import orjson

from lithos.errors import Unavailable
from lithos.graph.code.values import Facts
from lithos.graph.polling import polled, readable

_log = logging.getLogger("lithos.code")
SECONDS_PER_FILE = 2.0  # the slowest real file took 0.1
START_SECONDS = 20.0  # a child on a busy machine imports its grammars
_AHEAD = 16  # files on their way: the child never waits for us, and a crash costs little
IDLE_SECONDS = 120.0
_MOST_WAITS = 10  # times its seconds, for a child that neither works nor answers; a starved one works slowly
_COLD_ENDS = 3  # children that died before their first answer: then the fault is ours, not the files'


@dataclass(slots=True)
class Source:
    path: str
    language: str
    data: bytes


class Parser:
    """One child for all roots; calls from several threads take turns."""

    def __init__(self, *, seconds: float = SECONDS_PER_FILE, command: list[str] | None = None) -> None:
        self._seconds = seconds
        self._command = command or [sys.executable, "-P", str(Path(__file__).with_name("child.py"))]
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._warm = False
        self._stuck = False  # it took too long to read a file: nothing more is sent, part of a frame may be on its way
        self._used = 0.0
        self._cold_ends = 0
        self.restarts = 0

    def parse(self, sources: Iterable[Source]) -> Iterator[tuple[Source, Facts | None]]:
        """Facts of each file, in order; None where its grammar failed, crashed or took too long."""
        with self._lock:
            waiting: deque[Source] = deque()
            try:
                yield from self._parse(iter(sources), waiting)
            finally:
                if waiting:  # the caller stopped half way: the answers on their way are of no one who asks next
                    self._end()
                self._used = time.monotonic()

    def _parse(self, sources: Iterator[Source], waiting: deque[Source]) -> Iterator[tuple[Source, Facts | None]]:
        more = True
        tried: Source | None = None
        if self._process is not None and self._process.poll() is not None:
            self._end()  # it was ended while it had nothing to do: no file is to blame
        while more or waiting:
            while more and len(waiting) < _AHEAD:
                source = next(sources, None)
                if source is None:
                    more = False
                    break
                waiting.append(source)
                self._send(source)
            if not waiting:
                return
            answer = self._receive()
            if answer is None:  # dead or stuck: the first one that waits is to blame, the others go again
                killed = self._was_killed() and waiting[0] is not tried
                tried = waiting[0]
                _log.warning("parsing %s failed; the parsing process is started again", tried.path)
                self._cold_ends = 0 if self._warm else self._cold_ends + 1
                self._end()
                self.restarts += 1
                if self._cold_ends >= _COLD_ENDS:
                    self._cold_ends = 0
                    raise Unavailable("the parsing process does not start", hint="The log has its last words.")
                if not killed:
                    yield waiting.popleft(), None
                for source in waiting:
                    self._send(source)
                continue
            yield waiting.popleft(), Facts.from_json(orjson.loads(answer)) if answer else None

    def _send(self, source: Source) -> None:
        """A child that dies or is stuck meanwhile is noticed when its answer does not come."""
        if self._stuck:
            return
        name = source.language.encode()
        frame = bytes([len(name)]) + name + source.data
        process = self._running()
        assert process.stdin is not None and process.stdout is not None
        data = memoryview(struct.pack(">I", len(frame)) + frame)
        number = process.stdin.fileno()
        watch = _Patience(process.pid, self._seconds if self._warm else START_SECONDS)
        while data and not self._stuck:
            # The child may itself wait for us to take its answers: look at both ends.
            ready = polled({process.stdout.fileno(): select.POLLIN, number: select.POLLOUT}, watch.interval)
            answers = process.stdout.fileno() in ready
            if answers and not self._take(0.0):
                return
            if number in ready:
                try:
                    data = data[os.write(number, data[:65_536]) :]
                except BlockingIOError:
                    continue
                except OSError:
                    return
            if ready:
                watch.restart()
            elif watch.is_over():
                self._stuck = True

    def _receive(self) -> bytes | None:
        header = self._read(4)
        return self._read(struct.unpack(">I", header)[0]) if header is not None else None

    def _read(self, count: int) -> bytes | None:
        assert self._process is not None
        watch = _Patience(self._process.pid, self._seconds if self._warm else START_SECONDS)
        while len(self._buffer) < count:
            is_over = self._stuck or self._process.poll() is not None
            if not self._take(watch.interval) and (is_over or watch.is_over()):
                return None
        self._warm = True
        data = bytes(self._buffer[:count])
        del self._buffer[:count]
        return data

    def _take(self, seconds: float = 0.05) -> bool:
        """Read what the child has answered; False: nothing came, or it is dead."""
        assert self._process is not None and self._process.stdout is not None
        number = self._process.stdout.fileno()
        part = os.read(number, 1024 * 1024) if readable([number], seconds) else b""
        self._buffer += part
        return bool(part)

    def _was_killed(self) -> bool:
        """By another program, such as the system that is out of memory: the file gets another try."""
        ended = None if self._process is None else self._process.poll()
        return not self._stuck and ended in (-signal.SIGKILL, -signal.SIGTERM)

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            self._buffer = bytearray()
            self._warm = False
            environment = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "LANG") if name in os.environ}
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, bufsize=0, close_fds=True
            )
            assert self._process.stdin is not None
            os.set_blocking(self._process.stdin.fileno(), False)
        return self._process

    @property
    def process(self) -> int | None:
        """The id of the child while there is one."""
        return None if self._process is None else self._process.pid

    def rest(self) -> None:
        """End a child that had nothing to do for a while: it holds 50 MB."""
        if self._process is not None and time.monotonic() - self._used > IDLE_SECONDS and self._lock.acquire(False):
            try:
                self._end()
            finally:
                self._lock.release()

    def close(self) -> None:
        with self._lock:
            self._end()

    def _end(self) -> None:
        process, self._process, self._stuck = self._process, None, False
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()


class _Patience:
    """How long the child may work on one file. Its CPU time counts: on a busy machine it may rarely get to run.

    It is asked only after `interval` seconds without progress, and looks at the child's CPU time only then.
    """

    interval = 0.25

    def __init__(self, pid: int, seconds: float) -> None:
        self._pid = pid
        self._seconds = seconds
        self.restart()

    def restart(self) -> None:
        self._since = self._worked = time.monotonic()
        self._is_watching = False

    def is_over(self) -> bool:
        now, used = time.monotonic(), _cpu_seconds(self._pid)
        if not self._is_watching:
            self._is_watching = True
            self._cpu = self._seen = used
        if now - self._since < self._seconds:
            return False
        if used is None or self._cpu is None:
            return True
        if used != self._seen:
            self._seen, self._worked = used, now
        return used - self._cpu >= self._seconds or now - self._worked >= _MOST_WAITS * self._seconds


def _cpu_seconds(pid: int) -> float | None:
    """CPU time of a process so far; None where the system does not say."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
