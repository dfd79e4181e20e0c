"""Change a chain's registry. Each change is an entry of its history; one that changes nothing adds none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from lithos.core.call import Call
from lithos.core.names import agent_name, looks_like
from lithos.core.validators import label, one_of, optional_text
from lithos.errors import Forbidden, InvalidInput, NotFound
from lithos.ledger.answers import AgentRecord, AgentRegistry, Agents, OneAgent
from lithos.ledger.chain.chain import Chain
from lithos.ledger.ledger import Ledger
from lithos.ledger.registry.agent_activity import AgentActivity, alias_for, key_to_add
from lithos.ledger.registry.history import Op
from lithos.ledger.registry.keys import KEY_BYTES, is_public_key, octets
from lithos.storage import Answer, Effects, EventDraft, Outcome, Tx

LONGEST_DESCRIPTION = 4000
Decide = Callable[[Chain, AgentActivity], tuple[Op, dict[str, Any]] | None]


class Registrar:
    def __init__(self, ledger: Ledger, effects: Effects) -> None:
        self._ledger = ledger
        self._effects = effects

    # -- reading

    def writers(self, chain_key: str | None) -> Agents:
        chain = self._ledger.chain(chain_key)
        return {"chain_key": chain.key, "agents": AgentActivity(chain).identities()}

    def agent(self, chain_key: str | None, agent_id: str) -> OneAgent:
        chain = self._ledger.chain(chain_key)
        return {"chain_key": chain.key, "agent": AgentActivity(chain).record(agent_name(agent_id, "agent_id"))}

    def agents(self, chain_key: str | None) -> AgentRegistry:
        chain = self._ledger.chain(chain_key)
        return {"chain_key": chain.key, "agents": AgentActivity(chain).records()}

    def others_named(self, chain_key: str | None, name: str, agent_id: str) -> list[str]:
        """Agents but this one whose id, display name or alias on the chain a reader takes for this name."""
        try:
            registry = self._ledger.chain(chain_key).registry
        except NotFound:
            return []
        wanted = looks_like(name)
        others = (agent for agent in registry.agents.values() if agent.agent_id != agent_id)
        names = ((each.agent_id, (each.agent_id, each.display_name or "", *each.aliases)) for each in others)
        return [other for other, known in names if wanted in map(looks_like, known)]

    def uploader(self, chain_key: str | None, agent_id: str) -> tuple[str, AgentRecord]:
        """Chain and record of an agent that uploads a skill."""
        try:
            found = self.agent(chain_key, agent_id)
        except NotFound:
            key = chain_key or self._ledger.default_chain
            raise NotFound(
                f"{agent_id!r} is not registered on chain {key!r}, and only a registered agent uploads skills",
                hint="Register it with mentisdb_upsert_agent, then upload again.",
            ) from None
        return found["chain_key"], found["agent"]

    # -- changing

    def upsert(self, call: Call, chain_key: str | None, agent_id: str, given: dict[str, Any]) -> OneAgent:
        """`given` holds only what the caller named; the rest stays as it is. Makes the chain if there is none."""
        for name, longest in (("display_name", 200), ("agent_owner", 200), ("description", LONGEST_DESCRIPTION)):
            if name in given:
                given[name] = optional_text(given[name], name, longest)
        self._ledger.refuse_secrets({"agent_id": agent_id, **given})
        chain = self._ledger.chain_to_write(chain_key)

        def decide(chain: Chain, roster: AgentActivity) -> tuple[Op, dict[str, Any]] | None:
            known = chain.registry.agents.get(agent_id)
            if known is not None and all(getattr(known, name) == value for name, value in given.items()):
                return None
            return "upsert", given

        return self._change(call, chain, agent_name(agent_id, "agent_id"), decide)

    def describe(self, call: Call, chain_key: str | None, agent_id: str, description: str | None) -> OneAgent:
        text = optional_text(description, "description", LONGEST_DESCRIPTION)

        def decide(chain: Chain, roster: AgentActivity) -> tuple[Op, dict[str, Any]] | None:
            return None if roster.record(agent_id)["description"] == text else ("describe", {"description": text})

        return self._change(call, self._ledger.chain(chain_key), agent_id, decide)

    def add_alias(self, call: Call, chain_key: str | None, agent_id: str, alias: str) -> OneAgent:
        name = label(alias.strip(), "alias")

        def decide(chain: Chain, roster: AgentActivity) -> tuple[Op, dict[str, Any]] | None:
            return ("alias", {"alias": name}) if alias_for(roster, agent_id, name) else None

        return self._change(call, self._ledger.chain(chain_key), agent_id, decide)

    def add_key(
        self, call: Call, chain_key: str | None, agent_id: str, key_id: str, algorithm: str, public: Sequence[int]
    ) -> OneAgent:
        name = label(key_id.strip(), "key_id")
        one_of(algorithm, ("ed25519",), "algorithm")
        data = octets(public, "public_key_bytes", KEY_BYTES)
        if not is_public_key(data):
            raise InvalidInput("public_key_bytes is no Ed25519 key", hint="`lithos ledger keygen` makes one.")

        def decide(chain: Chain, roster: AgentActivity) -> tuple[Op, dict[str, Any]] | None:
            if not key_to_add(roster.record(agent_id), name, data):
                return None
            return "key_added", {"key_id": name, "algorithm": algorithm, "public_key": data.hex()}

        return self._change(call, self._ledger.chain(chain_key), agent_id, decide)

    def revoke_key(self, call: Call, chain_key: str | None, agent_id: str, key_id: str) -> OneAgent:
        def decide(chain: Chain, roster: AgentActivity) -> tuple[Op, dict[str, Any]] | None:
            keys = roster.record(agent_id)["public_keys"]
            key = next((key for key in keys if key["key_id"] == key_id), None)
            if key is None:
                raise NotFound(f"{agent_id} has no key {key_id!r}", hint="mentisdb_get_agent lists its keys.")
            return None if key["revoked_at"] is not None else ("key_revoked", {"key_id": key_id})

        return self._change(call, self._ledger.chain(chain_key), agent_id, decide)

    def disable(self, call: Call, chain_key: str | None, agent_id: str) -> OneAgent:
        def decide(chain: Chain, roster: AgentActivity) -> tuple[Op, dict[str, Any]] | None:
            return None if roster.record(agent_id)["status"] == "revoked" else ("disable", {})

        return self._change(call, self._ledger.chain(chain_key), agent_id, decide)

    def _change(self, call: Call, chain: Chain, agent_id: str, decide: Decide) -> OneAgent:
        self._ledger.refuse_secrets({"agent_id": agent_id, "agent": call.agent, "user": call.user})

        def work(tx: Tx) -> Outcome:
            """May run twice: what the first run wrote to the history is then found there, and not written again."""
            decided = decide(chain, AgentActivity(chain))
            self._ledger.refuse_secrets(decided[1] if decided else {})
            events: tuple[EventDraft, ...] = ()
            if decided is not None:
                _refuse_if_disabled(chain, call, agent_id)
                change = chain.record_change(*_spread(decided, agent_id), by=call.agent or call.user)
                events = (EventDraft("ledger_agent", change.op, agent_id, after_hash=change.hash),)
            answer = {"chain_key": chain.key, "agent": AgentActivity(chain).record(agent_id)}
            return Outcome(cast(Answer, answer), events)

        return cast(OneAgent, self._effects.commit(call, work))


def _refuse_if_disabled(chain: Chain, call: Call, agent_id: str) -> None:
    """Who was disabled does not enable itself, and changes nothing else of its record either."""
    known = chain.registry.agents.get(agent_id)
    if known is not None and known.status == "revoked" and call.agent == agent_id and not call.operator:
        raise Forbidden(
            f"{agent_id!r} is disabled and cannot change its own record",
            hint="Another agent, or the operator, enables it: mentisdb_upsert_agent with status active.",
        )


def _spread(decided: tuple[Op, dict[str, Any]], agent_id: str) -> tuple[Op, str, dict[str, Any]]:
    return decided[0], agent_id, decided[1]
