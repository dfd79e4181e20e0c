"""The causal thread around a thought: what it refers to, and what refers to it, as a graph."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from lithos.ledger.answers import ThoughtLink, Thread, as_thought, as_thoughts
from lithos.ledger.chain.chain import Chain
from lithos.ledger.chain.columns import REFERS
from lithos.ledger.chain.format import ThoughtEntry
from lithos.ledger.render import MAX_TOKENS, thread

if TYPE_CHECKING:
    from lithos.ledger.chain.columns import Mask

DEPTH = 3
MOST = 50


def links_of(entry: ThoughtEntry) -> list[ThoughtLink]:
    """From this thought to earlier ones; a typed relation says more than a bare reference to the same thought."""
    typed: list[ThoughtLink] = [
        {"source": entry.index, "target": one["target"], "kind": one["kind"]}
        for one in entry.record.get("relations", ())
    ]
    named = {link["target"] for link in typed}
    plain: list[ThoughtLink] = [
        {"source": entry.index, "target": target, "kind": "References"}
        for target in entry.record.get("refs", ())
        if target not in named
    ]
    return typed + plain


class LinksByTarget:
    """Later thoughts by the thought they refer to, updated as the chain grows. Holds only thoughts with references."""

    def __init__(self) -> None:
        self._later: dict[int, list[int]] = {}
        self._seen = 0

    def update(self, chain: Chain) -> None:
        for index in chain.columns.flagged(REFERS, self._seen):
            for link in links_of(chain.entry(index)):
                self._later.setdefault(link["target"], []).append(index)
            self._seen = index + 1

    def later(self, index: int) -> list[int]:
        return self._later.get(index, [])


def causal_thread(
    chain: Chain,
    links: LinksByTarget,
    start: int,
    depth: int = DEPTH,
    most: int = MOST,
    max_tokens: int = MAX_TOKENS,
    seen: Mask | None = None,
) -> Thread:
    links.update(chain)
    entries, truncated = _around(chain, links, start, depth, most, seen)
    shown = sorted(entries)
    found = as_thoughts((entries[index] for index in shown), chain.registry)
    edges = [link for index in shown for link in links_of(entries[index]) if link["target"] in entries]
    return {
        "chain_key": chain.key,
        "thought": as_thought(entries[start], chain.registry),
        "thoughts": found,
        "links": edges,
        "truncated": truncated,
        "text": thread(found, start, max_tokens),
    }


def _around(
    chain: Chain, links: LinksByTarget, start: int, depth: int, most: int, seen: Mask | None
) -> tuple[dict[int, ThoughtEntry], bool]:
    """Breadth first, so that the farthest thoughts are left out when there are too many."""
    entries = {start: chain.entry(start)}
    waiting = deque([(start, 0)])
    while waiting:
        index, distance = waiting.popleft()
        if distance == depth:
            continue
        earlier = [link["target"] for link in links_of(entries[index])]
        for neighbour in dict.fromkeys([*earlier, *links.later(index)]):
            if neighbour in entries or (seen is not None and not (neighbour < len(seen) and seen[neighbour])):
                continue
            if len(entries) == most:
                return entries, True
            entries[neighbour] = chain.entry(neighbour)
            waiting.append((neighbour, distance + 1))
    return entries, False
