"""Part: one piece of a running Lithos. Parts: all of them, opened, started and asked in order, closed in reverse."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Protocol, TypeVar

from lithos.errors import ReadOnly, StorageFull

_log = logging.getLogger("lithos")


class Part(Protocol):
    """`app` builds every part first, each on those before it; then it opens, starts and asks them in that order.

    A part inherits from this class and overrides what it has something to say about.
    """

    def open(self) -> None:
        """Finish what an earlier run left, before the first call. All parts exist by now."""
        return

    def start(self) -> None:
        """Begin background work. A command that runs once does without."""
        return

    def busy(self) -> bool:
        """Whether background work is left that an idle host should finish before it ends."""
        return False

    def sizes(self) -> Mapping[str, int]:
        """Bytes on disk by name, for `lithos stats`."""
        return {}

    def problem(self) -> str | None:
        """One sentence on why this part cannot do its work now, without paths or stored text; None: it can.

        `/health` and `lithos doctor` ask often, so it costs no more than a few system calls.
        """
        return None

    def close(self) -> None:
        """Finish accepted work, stop background work, release files. Parts close in reverse order."""
        return


P = TypeVar("P", bound=Part)


class Parts:
    """The base of `app.Lithos`, which adds each part after those that it needs, then opens all."""

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self._unopened: list[Part] = []
        self._finishing = threading.Lock()
        self._closing = ExitStack()

    def _add(self, part: P) -> P:
        self.parts.append(part)
        self._closing.callback(part.close)
        return part

    def _open_all(self) -> None:
        self._unopened = [part for part in self.parts if not _opens(part)]

    def start(self) -> None:
        """Begin background work: watching files, indexing, periodic jobs."""
        for part in self.parts:
            part.start()

    def finish_opening(self) -> None:
        """Before a change: do what a full or read-only disk kept from being done at the start, or refuse as it does."""
        if not self._unopened:
            return
        with self._finishing:
            while self._unopened:
                self._unopened[0].open()
                del self._unopened[0]

    def health(self) -> str | None:
        """The first part's problem, without paths or stored text; None: all parts work."""
        return next((problem for part in self.parts if (problem := part.problem()) is not None), None)

    def busy(self) -> bool:
        """Whether an idle host should stay for background work."""
        return any(part.busy() for part in self.parts)

    def sizes(self) -> dict[str, int]:
        return {name: size for part in self.parts for name, size in part.sizes().items()}

    def close(self) -> None:
        """Close the parts in reverse order; twice is harmless."""
        self._closing.close()


def _opens(part: Part) -> bool:
    """False: the disk is full or read-only. Reading goes on, and the part opens before the first change."""
    try:
        part.open()
    except (StorageFull, ReadOnly) as refusal:
        _log.warning("changes are refused: %s", refusal.message)
        return False
    return True
