"""Forgetting: a thought's content and names go for good; its place and every proof stay.

Announced in a small file first, so that the next opening finishes what a crash interrupted. Then a new
thought records it and vouches for what is left of the record, then the content is erased everywhere.
"""

from __future__ import annotations

from collections.abc import Callable

from typing_extensions import TypedDict

from lithos.errors import InvalidInput
from lithos.ledger.chain.announcement import FORGETTING, Announcement, Erasure, announce, announced, withdraw
from lithos.ledger.chain.chain import Chain
from lithos.ledger.chain.columns import FORGOTTEN
from lithos.ledger.chain.format import NAMES, ThoughtEntry, is_redacted, redacted, redacted_hash
from lithos.ledger.proofs.checkpoints import Checkpoint
from lithos.ledger.search import ThoughtSearch
from lithos.ledger.thoughts import Draft, Request


class Forgotten(TypedDict):
    chain_key: str
    index: int
    id: str
    forgotten: bool
    recorded_as: int  # index of the thought that says so
    checkpoint: Checkpoint


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
            announcement = Announcement(erasures, reason, by)
            announce(chain.folder, announcement)
            self._finish(chain, announcement)
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
        if chain.problem is not None or not (chain.folder / FORGETTING).exists():
            return
        announcement = announced(chain.folder)
        if announcement is None:
            withdraw(chain.folder)  # interrupted itself: nothing was done yet, and nothing was acknowledged
        else:
            self._finish(chain, announcement)

    def _finish(self, chain: Chain, announcement: Announcement) -> None:
        reason, by = announcement.reason, announcement.by
        for erasure in announcement.erasures:
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
        withdraw(chain.folder)


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
