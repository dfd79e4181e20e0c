"""Choosing thoughts: filters over columns, walking the chain in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from lithos.core.clock import micros, parse_time
from lithos.core.lazy import lazy
from lithos.core.since import check_bounds
from lithos.errors import InvalidInput
from lithos.ledger.answers import Traversal, as_cursor, as_thoughts
from lithos.ledger.chain.chain import Chain
from lithos.ledger.chain.format import ThoughtEntry
from lithos.ledger.registry.agent_activity import AgentActivity
from lithos.ledger.scopes import EntryScope
from lithos.ledger.words import ROLE_CODES, TYPE_CODES

if TYPE_CHECKING:
    import numpy as np

    from lithos.ledger.chain.columns import Ints, Mask
else:
    np = lazy("numpy")

Direction = Literal["forward", "backward"]
LARGEST_CHUNK = 1000
CHUNK = 50
LATEST = 10**18  # microseconds: some 30,000 years
_UNITS = {"seconds": 1_000_000, "milliseconds": 1_000}


@dataclass(frozen=True, slots=True)
class Filter:
    """All that is given must hold; an empty tuple asks for nothing."""

    text: str | None = None
    thought_types: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    tags_any: tuple[str, ...] = ()
    concepts_any: tuple[str, ...] = ()
    agent_ids: tuple[str, ...] = ()
    agent_names: tuple[str, ...] = ()
    agent_owners: tuple[str, ...] = ()
    min_importance: float | None = None
    min_confidence: float | None = None
    since: datetime | None = None
    until: datetime | None = None
    window: tuple[int, int] | None = None  # microseconds, both ends inclusive
    entries: EntryScope | None = None  # only entries of sessions, and of which
    seen: Mask | None = None  # the thoughts that the caller may see; the ledger fills it in

    def __post_init__(self) -> None:
        check_bounds(self.since, self.until)

    @property
    def words(self) -> tuple[str, ...]:
        return tuple((self.text or "").casefold().split())


def time_window(start: int, delta: int, unit: str) -> tuple[int, int]:
    """From `start` on for `delta` units, both ends included."""
    if delta < 0:
        raise InvalidInput(
            f"time_window.delta is {delta}: a window cannot end before it starts",
            hint="start is the earlier end, delta the length: 0 or more.",
        )
    scale, last = _UNITS[unit], start + delta
    if max(abs(start), abs(last)) * scale > LATEST:
        raise InvalidInput("time_window is beyond any date", hint="start is epoch time in `unit`.")
    # A window of seconds ends with its last second, not at its first microsecond.
    return start * scale, (last + 1) * scale - 1


def optional_time(text: str | None, field_name: str) -> datetime | None:
    return None if text is None else parse_time(text, field_name)


def mask_of(chain: Chain, chosen: Filter) -> Mask | None:
    """Which thoughts pass everything but `text`; None: all do."""
    columns = chain.columns
    parts: list[Mask] = []
    if chosen.thought_types:
        parts.append(columns.among("type", [TYPE_CODES[name] for name in chosen.thought_types]))
    if chosen.roles:
        parts.append(columns.among("role", [ROLE_CODES[name] for name in chosen.roles]))
    if chosen.min_importance is not None:
        parts.append(columns["importance"] >= chosen.min_importance)
    if chosen.min_confidence is not None:
        parts.append(columns["confidence"] >= chosen.min_confidence)
    if chosen.seen is not None:
        parts.append(chosen.seen)
    parts += _times(chain, chosen) + _agents(chain, chosen) + _terms(chain, chosen)
    if not parts:
        return None
    size = min(len(part) for part in parts)
    whole = parts[0][:size].copy()
    for part in parts[1:]:
        whole &= part[:size]
    return whole


def _times(chain: Chain, chosen: Filter) -> list[Mask]:
    times = chain.columns["time"]
    parts: list[Mask] = []
    if chosen.since is not None:
        parts.append(times >= micros(chosen.since))
    if chosen.until is not None:
        parts.append(times <= micros(chosen.until))
    if chosen.window is not None:
        parts.append((times >= chosen.window[0]) & (times <= chosen.window[1]))
    return parts


def _agents(chain: Chain, chosen: Filter) -> list[Mask]:
    asked = (chosen.agent_ids, chosen.agent_names, chosen.agent_owners)
    if not any(asked):
        return []
    roster = AgentActivity(chain)
    wanted = [list(chosen.agent_ids)] if chosen.agent_ids else []
    wanted += [roster.ids_named(list(chosen.agent_names))] if chosen.agent_names else []
    wanted += [roster.ids_owned(list(chosen.agent_owners))] if chosen.agent_owners else []
    return [chain.columns.among("agent", roster.codes_of_ids(ids)) for ids in wanted]


def _terms(chain: Chain, chosen: Filter) -> list[Mask]:
    asked = (("tag", chosen.tags_any), ("concept", chosen.concepts_any))
    return [chain.columns.with_terms(kind, terms) for kind, terms in asked if terms]


def matches(chain: Chain, chosen: Filter) -> Ints:
    """Indexes that pass everything but `text`, oldest first."""
    mask = mask_of(chain, chosen)
    return np.arange(chain.size) if mask is None else np.flatnonzero(mask)


def says(entry: ThoughtEntry, words: tuple[str, ...]) -> bool:
    """Every word occurs in the content, a tag or a concept, in any case."""
    if entry.body is None:
        return not words
    body = entry.body
    text = "\n".join([body["content"], *body.get("tags", ()), *body.get("concepts", ())]).casefold()
    return all(word in text for word in words)


@dataclass(frozen=True, slots=True)
class Walk:
    """Where to begin and which way to go; at most one of the anchors."""

    direction: Direction = "forward"
    anchor_id: str | None = None
    anchor_hash: str | None = None
    anchor_index: int | None = None
    anchor_boundary: Literal["genesis", "head"] | None = None
    include_anchor: bool = False
    chunk_size: int = CHUNK
    chosen: Filter = field(default_factory=Filter)

    def check(self) -> None:
        anchors = (self.anchor_id, self.anchor_hash, self.anchor_index, self.anchor_boundary)
        if sum(anchor is not None for anchor in anchors) > 1:
            raise InvalidInput(
                "more than one anchor", hint="Give anchor_id, anchor_hash, anchor_index or anchor_boundary, or none."
            )
        if not 1 <= self.chunk_size <= LARGEST_CHUNK:
            raise InvalidInput(f"chunk_size is {self.chunk_size}", hint=f"Use 1 to {LARGEST_CHUNK}.")


def traverse(chain: Chain, walk: Walk) -> Traversal:
    walk.check()
    anchor, include = _anchor(chain, walk)
    found, has_more = _walk(chain, walk, anchor, include)
    # Chronological position decides the cursors: `next` continues in the direction of the walk, `previous` goes back.
    return {
        "chain_key": chain.key,
        "direction": walk.direction,
        "include_anchor": walk.include_anchor,
        "chunk_size": walk.chunk_size,
        "anchor": None if anchor is None or chain.size == 0 else as_cursor(chain.entry(anchor)),
        "thoughts": as_thoughts(found, chain.registry),
        "has_more": has_more,
        "next_cursor": as_cursor(found[-1]) if found and has_more else None,
        "previous_cursor": as_cursor(found[0]) if found and _has_before(chain, walk, found[0].index) else None,
    }


def _anchor(chain: Chain, walk: Walk) -> tuple[int | None, bool]:
    """A thought's index, and whether it is part of the walk: a boundary is no thought, so its end always is."""
    if walk.anchor_id is not None:
        return _must_be(chain.find_id(walk.anchor_id), f"the thought {walk.anchor_id[:80]!r}"), walk.include_anchor
    if walk.anchor_hash is not None:
        return _must_be(
            chain.find_hash(walk.anchor_hash), f"the thought {walk.anchor_hash[:80]!r}"
        ), walk.include_anchor
    if walk.anchor_index is not None:
        inside = 0 <= walk.anchor_index < chain.size
        return _must_be(walk.anchor_index if inside else None, f"thought {walk.anchor_index}"), walk.include_anchor
    boundary = walk.anchor_boundary or ("genesis" if walk.direction == "forward" else "head")
    if chain.size == 0:
        return None, True
    return (0 if boundary == "genesis" else chain.size - 1), True


def _must_be(index: int | None, what: str) -> int:
    if index is None:
        raise InvalidInput(f"anchor: {what} is not on this chain", hint="Pass a cursor back as it was received.")
    return index


def _walk(chain: Chain, walk: Walk, anchor: int | None, include: bool) -> tuple[list[ThoughtEntry], bool]:
    """Up to a chunk of matches, and whether there are more behind it."""
    ordered, words = _ordered(chain, walk, anchor, include), walk.chosen.words
    if not words:
        chunk = [int(index) for index in ordered[: walk.chunk_size]]
        return chain.entries(chunk), len(ordered) > len(chunk)
    found: list[ThoughtEntry] = []
    for index in ordered:
        entry = chain.entry(int(index))
        if not says(entry, words):
            continue
        if len(found) == walk.chunk_size:
            return found, True
        found.append(entry)
    return found, False


def _ordered(chain: Chain, walk: Walk, anchor: int | None, include: bool) -> Sequence[int] | Ints:
    if anchor is None:
        return ()
    mask = mask_of(chain, walk.chosen)
    if mask is None:  # the usual walk, which must not cost more on a longer chain
        start = anchor if include else anchor + (1 if walk.direction == "forward" else -1)
        return range(start, chain.size) if walk.direction == "forward" else range(start, -1, -1)
    indexes = np.flatnonzero(mask)
    if walk.direction == "forward":
        return indexes[np.searchsorted(indexes, anchor, "left" if include else "right") :]
    return indexes[: np.searchsorted(indexes, anchor, "right" if include else "left")][::-1]


def _has_before(chain: Chain, walk: Walk, first: int) -> bool:
    """Whether going back from here would find anything."""
    return first > 0 if walk.direction == "forward" else first < chain.size - 1
