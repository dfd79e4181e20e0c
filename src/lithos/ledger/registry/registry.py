"""The registry of a chain: names, aliases, status and keys of its agents, computed from its history."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from lithos.ledger.registry.history import RegistryChange
from lithos.ledger.words import AgentStatus


@dataclass(slots=True)
class Key:
    """A public key; `from_change` and `until_change` are the entries that began and ended it."""

    key_id: str
    algorithm: str
    public: bytes
    added_at: str
    from_change: int
    revoked_at: str | None = None
    until_change: int | None = None

    def holds_at(self, change: int) -> bool:
        return self.from_change <= change and (self.until_change is None or change < self.until_change)


@dataclass(slots=True)
class Agent:
    agent_id: str
    display_name: str | None = None
    agent_owner: str | None = None
    description: str | None = None
    aliases: list[str] = field(default_factory=list)
    status: AgentStatus = "active"
    keys: list[Key] = field(default_factory=list)

    def key(self, key_id: str) -> Key | None:
        """The newest under this id."""
        return next((key for key in reversed(self.keys) if key.key_id == key_id), None)


class AgentNames(NamedTuple):
    """As an answer shows an agent whose thought names itself no further."""

    name: str
    owner: str | None


class Registry:
    """The state after a history; `agents` holds only those that were registered or changed."""

    def __init__(
        self, changes: Iterable[RegistryChange] = (), known_name: Callable[[str], str | None] = lambda agent_id: None
    ) -> None:
        """`known_name` gives the name under which the whole memory knows an agent."""
        self.agents: dict[str, Agent] = {}
        self._by_alias: dict[str, Agent] = {}
        self._known_name = known_name
        self.hashes: list[str] = []
        self._places: dict[str, int] = {}
        for change in changes:
            self.take(change)

    @property
    def head(self) -> str | None:
        return self.hashes[-1] if self.hashes else None

    def take(self, change: RegistryChange) -> None:
        agent = self.agents.setdefault(change.agent_id, Agent(change.agent_id))
        details = change.details
        if change.op == "upsert":
            for name in ("display_name", "agent_owner", "description", "status"):
                if name in details:
                    setattr(agent, name, details[name])
        elif change.op == "describe":
            agent.description = details["description"]
        elif change.op == "alias":
            agent.aliases.append(details["alias"])
            self._by_alias[details["alias"]] = agent
        elif change.op == "disable":
            agent.status = "revoked"
        elif change.op == "key_added":
            _add_key(agent, change)
        elif change.op == "key_revoked":
            _revoke_key(agent, change)
        self._places[change.hash] = len(self.hashes)
        self.hashes.append(change.hash)

    def registered(self, agent_id: str) -> Agent:
        """The agent of this id or alias, with nothing said of it if it was never registered here."""
        return self.agents.get(agent_id) or self._by_alias.get(agent_id) or Agent(agent_id)

    def name_of(self, agent_id: str) -> str | None:
        """The registered name: on this chain, else in the memory. None: there is none."""
        agent = self.registered(agent_id)
        return agent.display_name or self._known_name(agent.agent_id) or self._known_name(agent_id)

    def names_of(self, agent_id: str) -> AgentNames:
        agent = self.registered(agent_id)
        return AgentNames(self.name_of(agent_id) or agent.agent_id, agent.agent_owner)

    def key_at(self, agent_id: str, key_id: str, head: str | None) -> Key | None:
        """The key that was good when the registry's last entry was `head`."""
        if head is None or agent_id not in self.agents:
            return None
        change = self._places.get(head)
        if change is None:
            return None
        keys = self.agents[agent_id].keys
        return next((key for key in keys if key.key_id == key_id and key.holds_at(change)), None)

    def place(self, head: str) -> int | None:
        return self._places.get(head)


def _add_key(agent: Agent, change: RegistryChange) -> None:
    details = change.details
    old = agent.key(details["key_id"])
    if old is not None and old.until_change is None:
        old.until_change = change.seq
    public = bytes.fromhex(details["public_key"])
    agent.keys.append(Key(details["key_id"], details["algorithm"], public, change.at, change.seq))


def _revoke_key(agent: Agent, change: RegistryChange) -> None:
    key = agent.key(change.details["key_id"])
    if key is not None:
        key.revoked_at, key.until_change = change.at, change.seq
