"""Part: one piece of a running Lithos, as `app` opens, starts, asks and closes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol


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
