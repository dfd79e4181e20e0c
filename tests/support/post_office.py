"""Messages over a real database with a clock that tests turn; on either back end."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lithos.core.call import Call
from lithos.core.canonical import canonical_hash
from lithos.core.clock import FakeClock
from lithos.core.ids import SeededIds
from lithos.messages import MessageDraft, MessageLimits, Messages, Names, TakeRequest, priority_of
from lithos.sessions import NewSession, Sessions
from lithos.storage import Effects, Events, Faults, Idempotency, Keyring
from tests.support.states import open_state


class PostOffice:
    def __init__(
        self, folder: Path, *, limits: MessageLimits | None = None, names: Names | None = None, seed: int = 0
    ) -> None:
        self.folder = folder
        self.clock = FakeClock()
        self.ids = SeededIds(seed)
        self._limits, self._names = limits, names
        self.open()

    def open(self, faults: Faults | None = None) -> None:
        self.database = open_state(self.folder, self.clock, faults, synchronous="NORMAL")
        events = Events("store-1", Keyring(self.folder / "keys"), clock=self.clock, ids=self.ids)
        self.effects = Effects(self.database, events, Idempotency(self.clock), clock=self.clock)
        self.sessions = Sessions(self.database, self.effects, self.ids)
        self.messages = Messages(
            self.database, self.effects, self.ids, self.sessions, names=self._names, limits=self._limits
        )
        self.messages.open()

    def close(self) -> None:
        self.messages.close()
        self.sessions.close()
        self.database.close()

    def reopen(self) -> None:
        self.close()
        self.open()

    def advance(self, seconds: float) -> None:
        """Time passes, and the timer does what is due."""
        self.clock.advance(seconds)
        self.messages.tick()

    def send(self, source: str, target: str, body: Any = "hello", **more: Any) -> dict[str, Any]:
        payload: Mapping[str, Any] = body if isinstance(body, dict) else {"body": body}
        priority = priority_of(more.pop("priority", None))
        key, who = more.pop("key", None), more.pop("by", None)
        draft = MessageDraft(more.pop("type", "text"), payload, (target,) if target else (), priority=priority, **more)
        return dict(self.messages.send(who or by(source, key, body=str(payload), target=target), draft))

    def take(self, inbox: str, limit: int = 1, lease_seconds: float = 60, **more: Any) -> list[dict[str, Any]]:
        answer = self.messages.take_now(by(inbox), TakeRequest(inbox, limit, lease_seconds, **more))
        return [dict(each) for each in answer["messages"]]

    def bodies(self, inbox: str, limit: int = 32, **more: Any) -> list[str]:
        return [each["message"]["payload"]["body"] for each in self.take(inbox, limit, **more)]

    def status(self, message_id: str) -> str:
        return str(self.messages.status(PERSON, message_id)["status"])

    def session(self, name: str, owner: str, *members: str, **config: Any) -> str:
        session = self.sessions.create(by(owner), NewSession(name, config=config))["session_id"]
        self.sessions.activate(by(owner), session)
        for each in members:
            self.sessions.join(by(each), session)
        return session


PERSON = Call("test", operator=True)


def by(name: str, key: str | None = None, **arguments: Any) -> Call:
    """An unbound agent, named by its connection."""
    return Call("test", agent=name, connection=name, idempotency_key=key, arguments_hash=canonical_hash(arguments))


def bound(name: str) -> Call:
    return Call("test", agent=name, connection=name, bound=True)


def run(waiting: Any) -> Any:
    return asyncio.run(waiting)
