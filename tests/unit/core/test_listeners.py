"""Listeners: added, woken, stopped."""

from __future__ import annotations

from lithos.core.listeners import Listeners


def test_stopping_twice_stops_this_listener_only() -> None:
    woken: list[str] = []

    def wake() -> None:
        woken.append("x")

    listeners = Listeners("test")
    stop, _ = listeners.add(wake), listeners.add(wake)
    listeners.wake()
    stop()
    stop()
    listeners.wake()
    assert len(woken) == 3


def test_a_listener_that_fails_does_not_keep_the_others_from_being_woken() -> None:
    woken: list[str] = []
    listeners = Listeners("test")
    listeners.add(lambda: 1 // 0)  # type: ignore[arg-type,return-value]
    listeners.add(lambda: woken.append("x"))
    listeners.wake()
    assert woken == ["x"]
