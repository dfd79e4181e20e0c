"""Work for the thread of an index, and the wait for its end."""

from __future__ import annotations

import threading
from collections.abc import Callable


class IndexTask:
    def __init__(self, work: Callable[[], None]) -> None:
        self._work = work
        self._done = threading.Event()
        self._error: BaseException | None = None

    def run(self) -> None:
        try:
            self._work()
        except BaseException as error:
            self._error = error
            raise
        finally:
            self._done.set()

    def wait(self) -> None:
        self._done.wait()
        if self._error is not None:
            raise self._error
