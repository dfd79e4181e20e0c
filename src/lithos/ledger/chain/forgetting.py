"""Forgetting: a thought's content goes for good, its place and every proof stay.

Announced in a small file first, so that a crash in the middle is finished at the next opening; then recorded as a
thought of its own, then erased everywhere. `verify` accepts a missing content only where such a record names it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import orjson
from typing_extensions import TypedDict

from lithos.errors import InvalidInput
from lithos.ledger.chain.chain import FORGETTING, Chain
from lithos.ledger.chain.columns import FORGETS
from lithos.ledger.chain.log import sync_folder
from lithos.ledger.proofs.checkpoints import Checkpoint
from lithos.ledger.search import ThoughtSearch
from lithos.ledger.thoughts import Draft


class Forgotten(TypedDict):
    chain_key: str
    index: int
    id: str
    forgotten: bool
    recorded_as: int  # index of the thought that says so
    checkpoint: Checkpoint


class Forgetting:
    def __init__(self, search: ThoughtSearch, scrub: Callable[[str], object]) -> None:
        self._search = search
        self._scrub = scrub

    def forget(self, chain: Chain, index: int, reason: str, by: str) -> Forgotten:
        entry = chain.entry(index)
        if "forgets" in entry.record:
            raise InvalidInput(
                f"thought {index} records a forgetting", hint="That something was forgotten is not forgotten."
            )
        recorded = recorded_as(chain, index)
        if recorded is None or entry.body is not None:
            _announce(chain.folder, index, reason, by)
            recorded = self._finish(chain, index, reason, by)
        return {
            "chain_key": chain.key,
            "index": index,
            "id": entry.record["id"],
            "forgotten": True,
            "recorded_as": recorded,
            "checkpoint": chain.checkpoint(),
        }

    def resume(self, chain: Chain) -> None:
        """At opening: what was announced and not finished."""
        path = chain.folder / FORGETTING
        if chain.problem is not None or not path.exists():
            return
        try:
            said = orjson.loads(path.read_bytes())
        except orjson.JSONDecodeError:  # cut short itself: nothing was done yet, and nothing was promised
            path.unlink()
            return
        self._finish(chain, said["index"], said["reason"], said["by"])

    def _finish(self, chain: Chain, index: int, reason: str, by: str) -> int:
        recorded = recorded_as(chain, index)
        if recorded is None:
            recorded = chain.append(_record(index, reason, by)).entry.index
        entry = chain.entry(index)
        if entry.body is not None:
            chain.erase(index)
        self._search.purge(chain, index)
        self._scrub(entry.record["id"])
        (chain.folder / FORGETTING).unlink()
        sync_folder(chain.folder)
        return recorded


def recorded_as(chain: Chain, index: int) -> int | None:
    for place in chain.columns.flagged(FORGETS):
        if chain.entry(place).record["forgets"] == index:
            return place
    return None


def _record(index: int, reason: str, by: str) -> Draft:
    return Draft(
        agent_id=by,
        thought_type="ActionTaken",
        role="Audit",
        content=f"The content of thought {index} was removed for good. Reason: {reason}",
        importance=0.5,
        refs=(index,),
        forgets=index,
    )


def _announce(folder: Path, index: int, reason: str, by: str) -> None:
    unfinished = folder / f"{FORGETTING}.new"
    with unfinished.open("wb") as file:
        file.write(orjson.dumps({"index": index, "reason": reason, "by": by}))
        file.flush()
        os.fsync(file.fileno())
    unfinished.rename(folder / FORGETTING)
    sync_folder(folder)
