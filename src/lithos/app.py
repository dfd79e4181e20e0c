"""The one place where the parts of Lithos are joined."""

from __future__ import annotations

from dataclasses import dataclass

from lithos.core.clock import Clock
from lithos.core.ids import Ids


@dataclass
class Lithos:
    """Everything a tool may reach, opened and joined; `open_lithos` makes one, `close` ends it."""

    clock: Clock
    ids: Ids
