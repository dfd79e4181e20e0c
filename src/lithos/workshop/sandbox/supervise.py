"""Supervision of one process: input, output, limits, and the end of everything that it started."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from lithos.workshop.sandbox.output import Output
from lithos.workshop.sandbox.watch import Watch
from lithos.workshop.values import KilledBy

QUICK_S, QUICK_LOOK_S, SLOW_LOOK_S = 2.0, 0.05, 0.1  # memory taken fast is met early, a long test costs little
DRAIN_S = 2.0  # how long output is read after the end; a killed run closes its pipes at once
_CHUNK = 256 * 1024


@dataclass(frozen=True, slots=True)
class Ended:
    exit_code: int | None
    killed_by: KilledBy | None
    seconds: float


class Supervisor:
    """Must run in the thread that started the process: the kernel kills it when that thread ends."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        watch: Watch,
        most_output: int,
        stop: threading.Event,
        end: Callable[[], None] | None = None,
    ) -> None:
        self._process = process
        self._watch = watch
        self._stop = stop
        self._end = end or partial(kill_group, process)
        self.stdout = Output(most_output)
        self.stderr = Output(most_output)

    def wait(self, seconds: float, stdin: bytes | None) -> Ended:
        begun = looked = time.monotonic()
        reason: KilledBy | None = None
        with selectors.DefaultSelector() as selector:
            self._register(selector, stdin)
            while True:
                patience = self._patience(time.monotonic() - begun)
                self._exchange(selector, patience)
                if self._process.poll() is not None:
                    break
                if (now := time.monotonic()) < looked + patience and now < begun + seconds:
                    continue  # output came: the limits are looked at as often as in silence
                looked = now
                reason = self._verdict(now - begun, seconds)
                if reason is not None:
                    break
            self._end()
            self._drain(selector)
        self._process.wait()
        code = None if reason is not None else self._process.returncode
        return Ended(code, reason, time.monotonic() - begun)

    def _patience(self, seconds: float) -> float:
        return QUICK_LOOK_S if seconds < QUICK_S else SLOW_LOOK_S

    def _verdict(self, taken: float, seconds: float) -> KilledBy | None:
        if self._stop.is_set():
            return "stopped"
        return "timeout" if taken >= seconds else self._watch.exceeded()

    def _register(self, selector: selectors.BaseSelector, stdin: bytes | None) -> None:
        process = self._process
        assert process.stdout is not None and process.stderr is not None
        for pipe, output in ((process.stdout, self.stdout), (process.stderr, self.stderr)):
            os.set_blocking(pipe.fileno(), False)
            selector.register(pipe, selectors.EVENT_READ, output)
        if process.stdin is not None:
            os.set_blocking(process.stdin.fileno(), False)
            selector.register(process.stdin, selectors.EVENT_WRITE, memoryview(stdin or b""))

    def _exchange(self, selector: selectors.BaseSelector, patience: float) -> None:
        """One round of reading and writing. A process whose pipes are closed is only waited for."""
        if not selector.get_map():
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(patience)
            return
        for key, _ in selector.select(patience):
            if isinstance(key.data, Output):
                self._read(selector, key)
            else:
                self._write(selector, key)

    def _read(self, selector: selectors.BaseSelector, key: selectors.SelectorKey) -> None:
        try:
            part = os.read(key.fd, _CHUNK)
        except BlockingIOError:
            return
        if part:
            key.data.add(part)
        else:
            selector.unregister(key.fileobj)

    def _write(self, selector: selectors.BaseSelector, key: selectors.SelectorKey) -> None:
        left: memoryview = key.data
        try:
            left = left[os.write(key.fd, left[:_CHUNK]) :]
        except BlockingIOError:
            return
        except BrokenPipeError:
            left = left[:0]
        if left:
            selector.modify(key.fileobj, selectors.EVENT_WRITE, left)
        else:
            selector.unregister(key.fileobj)
            assert self._process.stdin is not None
            self._process.stdin.close()

    def _drain(self, selector: selectors.BaseSelector) -> None:
        end = time.monotonic() + DRAIN_S
        while any(isinstance(key.data, Output) for key in selector.get_map().values()):
            if time.monotonic() >= end:
                return
            self._exchange(selector, 0.05)


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """The process leads its own session. Within a namespace everything dies with it."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def close_pipes(process: subprocess.Popen[bytes]) -> None:
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            with suppress(BrokenPipeError):
                pipe.close()
