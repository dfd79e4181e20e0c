"""Agents of a chain: what the registry holds of each, joined with what its thoughts show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lithos.core.clock import from_micros, rfc3339
from lithos.core.lazy import lazy
from lithos.errors import Conflict, InvalidInput, NotFound
from lithos.ledger.answers import AgentIdentity, AgentRecord, PublicKey
from lithos.ledger.chain.chain import Chain
from lithos.ledger.registry.registry import Agent, Key

if TYPE_CHECKING:
    import numpy as np
else:
    np = lazy("numpy")


@dataclass(slots=True)
class Activity:
    """The activity of an agent in its thoughts; name and owner are the last that it gave."""

    count: int = 0
    first: int | None = None
    last: int | None = None
    name: str | None = None
    owner: str | None = None
    names: frozenset[str] = frozenset()
    codes: tuple[int, ...] = ()


def activities(chain: Chain) -> dict[str, Activity]:
    """By agent id; a few passes over one column, however many agents there are."""
    codes = chain.columns["agent"]
    counts = np.bincount(codes, minlength=len(chain.columns.names))
    places = np.arange(len(codes))
    first, last = np.zeros_like(counts), np.zeros_like(counts)
    last[codes] = places  # of several, the last one assigned stays
    first[codes[::-1]] = places[::-1]
    found: dict[str, Activity] = {}
    for code, agent_id, name, owner in chain.columns.agent_codes():
        if code < len(counts) and counts[code]:
            activity = found.setdefault(agent_id, Activity())
            _add(activity, code, int(first[code]), int(last[code]), int(counts[code]), name, owner)
    return found


def _add(activity: Activity, code: int, first: int, last: int, count: int, name: str | None, owner: str | None) -> None:
    activity.count += count
    activity.codes += (code,)
    if activity.first is None or first < activity.first:
        activity.first = first
    newest = activity.last is None or last > activity.last
    if newest:
        activity.last = last
    if name and (newest or activity.name is None):
        activity.name = name
    if owner and (newest or activity.owner is None):
        activity.owner = owner
    if name:
        activity.names |= {name}


class AgentActivity:
    def __init__(self, chain: Chain) -> None:
        self._chain = chain
        self._activities = activities(chain)

    def identities(self) -> list[AgentIdentity]:
        """Those that have written, in the order of their first thought."""
        writers = sorted(self._activities.items(), key=lambda item: item[1].first or 0)
        return [self._identity(agent_id, activity) for agent_id, activity in writers]

    def _identity(self, agent_id: str, activity: Activity) -> AgentIdentity:
        registered = self._chain.registry.registered(agent_id)
        return {
            "agent_id": agent_id,
            "agent_name": registered.display_name
            or activity.name
            or self._chain.registry.name_of(agent_id)
            or agent_id,
            "agent_owner": registered.agent_owner or activity.owner,
        }

    def records(self) -> list[AgentRecord]:
        ids = dict.fromkeys([*self._chain.registry.agents, *(one["agent_id"] for one in self.identities())])
        return [self.record(agent_id) for agent_id in ids]

    def knows(self, agent_id: str) -> bool:
        return agent_id in self._chain.registry.agents or agent_id in self._activities

    def record(self, agent_id: str) -> AgentRecord:
        if not self.knows(agent_id):
            raise NotFound(
                f"there is no agent {agent_id!r} on chain {self._chain.key!r}",
                hint="mentisdb_list_agent_registry names those that are; mentisdb_upsert_agent registers one.",
            )
        activity = self._activities.get(agent_id, Activity())
        registered = self._chain.registry.agents.get(agent_id, Agent(agent_id))
        identity = self._identity(agent_id, activity)
        return {
            "agent_id": agent_id,
            "display_name": identity["agent_name"],
            "agent_owner": identity["agent_owner"],
            "description": registered.description,
            "aliases": list(registered.aliases),
            "status": registered.status,
            "public_keys": public_keys(registered),
            "thought_count": activity.count,
            "first_seen_index": activity.first,
            "last_seen_index": activity.last,
            "first_seen_at": self._time(activity.first),
            "last_seen_at": self._time(activity.last),
        }

    def _time(self, index: int | None) -> str | None:
        return None if index is None else rfc3339(from_micros(int(self._chain.columns["time"][index])))

    def codes_of_ids(self, ids: list[str]) -> list[int]:
        return [code for agent_id in ids for code in self._activities.get(agent_id, Activity()).codes]

    def ids_named(self, names: list[str]) -> list[str]:
        """Agents that go, or once went, by one of these names: display name, alias, or the name in a thought."""
        wanted = {name.casefold() for name in names}
        found = []
        for agent_id in dict.fromkeys([*self._activities, *self._chain.registry.agents]):
            activity = self._activities.get(agent_id, Activity())
            registered = self._chain.registry.agents.get(agent_id, Agent(agent_id))
            named = self._chain.registry.name_of(agent_id) or agent_id
            known = {agent_id, named, *registered.aliases, *activity.names}
            if wanted & {name.casefold() for name in known}:
                found.append(agent_id)
        return found

    def ids_owned(self, owners: list[str]) -> list[str]:
        wanted = {owner.casefold() for owner in owners}
        return [
            agent_id
            for agent_id, activity in self._activities.items()
            if (self._identity(agent_id, activity)["agent_owner"] or "").casefold() in wanted
        ]


def public_keys(agent: Agent) -> list[PublicKey]:
    """The newest key under each id; older ones under the same id ride along, for older signatures."""
    shown: dict[str, PublicKey] = {}
    for key in agent.keys:
        older = shown.get(key.key_id)
        shown[key.key_id] = _public_key(key)
        if older is not None:
            replaced = [*older.get("replaced", []), _as_replaced(older, key)]
            shown[key.key_id]["replaced"] = replaced  # type: ignore[typeddict-item]
    return list(shown.values())


def _public_key(key: Key) -> PublicKey:
    return {
        "key_id": key.key_id,
        "algorithm": key.algorithm,
        "public_key_bytes": list(key.public),
        "added_at": key.added_at,
        "revoked_at": key.revoked_at,
    }


def _as_replaced(older: PublicKey, newer: Key) -> dict[str, object]:
    return {
        "public_key_bytes": older["public_key_bytes"],
        "added_at": older["added_at"],
        "replaced_at": newer.added_at,
    }


def alias_for(roster: AgentActivity, agent_id: str, alias: str) -> bool:
    """True: the alias is new. The id or alias of another agent is refused."""
    record = roster.record(agent_id)
    if alias == agent_id or alias in record["aliases"]:
        return False
    owners = [other for other in roster.ids_named([alias]) if other != agent_id]
    if owners:
        raise Conflict(
            f"{alias!r} is already a name of {owners[0]!r}", hint="Names lead searches; choose one that is free."
        )
    return True


def key_to_add(record: AgentRecord, key_id: str, public: bytes) -> bool:
    """True: there is something to add. A revoked key id is not revived with the same bytes."""
    current = next((key for key in record["public_keys"] if key["key_id"] == key_id), None)
    if current is None or bytes(current["public_key_bytes"]) != public:
        return True
    if current["revoked_at"] is not None:
        raise InvalidInput(
            f"the key {key_id!r} with these bytes was revoked", hint="A revoked key stays revoked: make a new one."
        )
    return False
