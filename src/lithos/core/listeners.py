"""Listeners: functions to call when something changes. They are quick, and called from any thread."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

Wake = Callable[..., None]
_log = logging.getLogger(__name__)


class Listeners:
    def __init__(self, name: str) -> None:
        self._name = name
        self._wakes: dict[object, Wake] = {}

    def add(self, wake: Wake) -> Callable[[], None]:
        """Call `wake` after each change; returns how to stop. Stopping again does nothing."""
        key = object()
        self._wakes[key] = wake

        def stop() -> None:
            self._wakes.pop(key, None)

        return stop

    def wake(self, *news: Any) -> None:
        for each in tuple(self._wakes.values()):
            try:
                each(*news)
            except Exception:  # noqa: BLE001 - a listener's failure must not stop the writer
                _log.exception("a listener of %s failed", self._name)
