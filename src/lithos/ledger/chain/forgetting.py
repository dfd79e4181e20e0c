"""Forgetting: a thought's content and names go for good; its place and every proof stay.

Announced in a small file first, so that the next opening finishes what a crash interrupted. Then a new
thought records it and vouches for what is left of the record, then the content is erased everywhere.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
from typing_extensions import TypedDict

from lithos.errors import InvalidInput
from lithos.ledger.chain.chain import FORGETTING, Chain
from lithos.ledger.chain.columns import FORGOTTEN
from lithos.ledger.chain.format import NAMES, ThoughtEntry, is_redacted, redacted, redacted_hash
from lithos.ledger.proofs.checkpoints import Checkpoint
from lithos.ledger.search import ThoughtSearch
from lithos.ledger.thoughts import Draft, Request
from lithos.storage import flush_path, read_file


class Forgotten(TypedDict):
    chain_key: str
    index: int
    id: str
    forgotten: bool
    recorded_as: int  # index of the thought that says so
    checkpoint: Checkpoint


@dataclass(frozen=True, slots=True)
class Erasure:
    """One thought to forget, and the names that go from its record."""

    index: int
    names: list[str]


class Forgetting:
    def __init__(
        self, search: ThoughtSearch, scrub: Callable[[str], object], forget_agent: Callable[[str], object]
    ) -> None:
        """`scrub(thought_id)` removes remembered answers; `forget_agent(agent_id)` an agent known only by its calls."""
        self._search = search
        self._scrub = scrub
        self._forget_agent = forget_agent

    def forget(self, chain: Chain, index: int, reason: str, by: str) -> Forgotten:
        entry = chain.entry(index)
        if "forgets" in entry.record:
            raise InvalidInput(
                f"thought {index} records a forgetting", hint="That something was forgotten is not forgotten."
            )
        erasures = erasures_of(chain, entry, by)
        if erasures:
            _announce(chain.folder, erasures, reason, by)
            self._finish(chain, erasures, reason, by)
        record = chain.forgetting_record(index)
        assert record is not None
        return {
            "chain_key": chain.key,
            "index": index,
            "id": entry.record["id"],
            "forgotten": True,
            "recorded_as": record.index,
            "checkpoint": chain.checkpoint(),
        }

    def resume(self, chain: Chain) -> None:
        """At opening: finish what was announced."""
        path = chain.folder / FORGETTING
        if chain.problem is not None or not path.exists():
            return
        try:
            said = orjson.loads(read_file(path))
            erasures = [Erasure(one["index"], one["names"]) for one in said.get("erasures", [])]
        except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError):
            path.unlink()  # interrupted itself: nothing was done yet, and nothing was acknowledged
            return
        self._finish(chain, erasures or [Erasure(said["index"], [])], said["reason"], said["by"])

    def _finish(self, chain: Chain, erasures: list[Erasure], reason: str, by: str) -> None:
        for erasure in erasures:
            entry = chain.entry(erasure.index)
            left = redacted(entry.record, erasure.names)
            digest = redacted_hash(left) if is_redacted(left) else None
            record = chain.forgetting_record(erasure.index)
            if record is None or record.record.get("redacted") != digest:
                chain.append(_record(chain, entry, digest, reason, by))
            if entry.body is not None or left != entry.record:
                chain.erase(erasure.index, left)
            self._search.purge(chain, erasure.index)
            if "agent_id" in erasure.names and "agent_id" in entry.record:
                self._forget_agent(entry.record["agent_id"])
            self._scrub(entry.record["id"])
        (chain.folder / FORGETTING).unlink()
        flush_path(chain.folder)


def erasures_of(chain: Chain, entry: ThoughtEntry, by: str) -> list[Erasure]:
    """The erasures that forgetting this thought takes; none, if it was forgotten already.

    An agent's id stays while the registry or a thought that was not forgotten shows it: removing it would hide nothing.
    It goes with the last of them, from those forgotten earlier too.
    """
    names = [name for name in NAMES if name in entry.record]
    others: list[int] = []
    if "agent_id" in names:
        agent = entry.record["agent_id"]
        codes = [code for code, agent_id, _, _ in chain.columns.agent_codes() if agent_id == agent]
        writes = chain.columns.among("agent", codes)
        forgotten = (chain.columns["flags"][: len(writes)] & FORGOTTEN) != 0
        writes[entry.index] = False
        if agent == by or agent in chain.registry.agents or (writes & ~forgotten).any():
            names.remove("agent_id")
        else:
            others = [int(index) for index in (writes & forgotten).nonzero()[0]]
    if not names and entry.body is None:
        return []
    return [Erasure(entry.index, names), *(Erasure(index, ["agent_id"]) for index in others)]


def _record(chain: Chain, entry: ThoughtEntry, digest: str | None, reason: str, by: str) -> Draft:
    """Its own arguments are a keyed hash of the forgotten ones: a retry with the same key is still recognised."""
    earlier = chain.forgetting_record(entry.index)
    kept = earlier.body.get("arguments", "") if earlier is not None and earlier.body is not None else ""
    if entry.body is not None and "arguments" in entry.body:
        kept = chain.keyed_hash(entry.body["arguments"])
    return Draft(
        agent_id=by,
        thought_type="ActionTaken",
        role="Audit",
        content=f"The content of thought {entry.index} was removed for good. Reason: {reason}",
        importance=0.5,
        refs=(entry.index,),
        forgets=entry.index,
        redacted=digest,
        request=Request(arguments=kept),
    )


def _announce(folder: Path, erasures: list[Erasure], reason: str, by: str) -> None:
    said: dict[str, Any] = {"erasures": erasures, "reason": reason, "by": by}
    unfinished = folder / f"{FORGETTING}.new"
    with unfinished.open("wb") as file:
        file.write(orjson.dumps(said))
        file.flush()
        os.fsync(file.fileno())
    unfinished.rename(folder / FORGETTING)
    flush_path(folder)
