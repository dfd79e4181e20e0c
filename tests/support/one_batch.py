"""Writes that the database commits together: held back until all of them wait."""

from __future__ import annotations

import threading
from contextlib import suppress

from lithos.errors import Damaged
from lithos.storage import Database, Tx
from tests.support.waiting import until


def hold_writer(database: Database) -> threading.Event:
    """Keep the writer busy until the event is set, so that what comes meanwhile forms one batch."""
    inside, release = threading.Event(), threading.Event()

    def wait(tx: Tx) -> None:
        inside.set()
        assert release.wait(60)

    def hold() -> None:
        with suppress(Damaged):  # on a busy machine the test is over, and its folder gone, before this thread returns
            database.write(wait)

    threading.Thread(target=hold, daemon=True).start()
    assert inside.wait(60)
    return release


def in_one_batch(database: Database, works, *, calls: bool = False) -> list[object]:
    """What each work gave or raised, all of them committed together. `calls`: each calls the database itself."""
    results: list[object] = [None] * len(works)

    def call(position: int) -> None:
        try:
            results[position] = works[position]() if calls else database.write(works[position])
        except BaseException as error:
            results[position] = error

    release = hold_writer(database)
    threads = [threading.Thread(target=call, args=(position,)) for position in range(len(works))]
    for position, thread in enumerate(threads):
        thread.start()
        until(lambda queued=position: len(database._jobs) > queued, "the write is queued")
    release.set()
    for thread in threads:
        thread.join(60)
    return results
