"""Listeners: functions to call when something changes. They are quick, and called from any thread."""

from __future__ import annotations

import logging
from collections.abc import Callable

Wake = Callable[[], None]
_log = logging.getLogger(__name__)


class Listeners:
    def __init__(self, name: str) -> None:
        self._name = name
        self._wakes: list[Wake] = []

    def add(self, wake: Wake) -> Wake:
        """Call `wake` after each change; returns how to stop."""
        self._wakes.append(wake)
        return lambda: self._wakes.remove(wake)

    def wake(self) -> None:
        for each in tuple(self._wakes):
            try:
                each()
            except Exception:  # noqa: BLE001 - a listener's failure must not stop the writer
                _log.exception("a listener of %s failed", self._name)
