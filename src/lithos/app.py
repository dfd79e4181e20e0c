"""The one place where the parts of Lithos are joined."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lithos.core.chores import Chores
from lithos.core.clock import Clock, SystemClock
from lithos.core.ids import Ids, RandomIds

if TYPE_CHECKING:
    from lithos.settings import LithosConfig


@dataclass
class Lithos:
    """Everything a tool may reach, opened and joined; `open_lithos` makes one, `close` ends it."""

    clock: Clock
    ids: Ids
    chores: Chores = field(default_factory=Chores)
    counters: dict[str, Callable[[], int]] = field(default_factory=dict)  # for lithos_stats, by its fields
    weighers: dict[str, Callable[[], int]] = field(default_factory=dict)  # bytes on disk, by part
    _opened: ExitStack = field(default_factory=ExitStack)

    def count(self, what: str) -> int:
        """How many there are; a part that does not exist counts nothing."""
        counter = self.counters.get(what)
        return counter() if counter else 0

    def sizes(self) -> dict[str, int]:
        return {part: weigh() for part, weigh in self.weighers.items()}

    def start(self) -> None:
        """Begin what goes on behind the calls. Verbs that run once do without it."""
        self.chores.start()

    def health(self) -> str | None:
        """Why this memory cannot serve now; None: it can."""
        return None

    def close(self) -> None:
        """Ends everything in the reverse order of its opening; a second time does nothing."""
        self._opened.close()


def open_lithos(config: LithosConfig, *, clock: Clock | None = None, ids: Ids | None = None) -> Lithos:
    """Open every part in the order of the layers. What fails half way closes what was opened before it."""
    with ExitStack() as opened:
        lithos = Lithos(clock=clock or SystemClock(), ids=ids or RandomIds())
        lithos._opened = opened.pop_all()
    return lithos
