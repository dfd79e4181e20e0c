"""Inboxes: whose names are known, which are a person's, and who may take from them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lithos.core.call import Call
from lithos.errors import Forbidden, NotFound
from lithos.messages import store
from lithos.messages.model import OPERATOR
from lithos.storage import Database, NewEntry, Tx

PERSONS_SECONDS = 2.0
MOST_REMEMBERED = 10_000


@dataclass(frozen=True, slots=True)
class Names:
    """Questions about who there is, injected by `app`."""

    knows: Callable[[str], bool] = lambda name: True
    near: Callable[[str], Sequence[str]] = lambda name: ()
    persons: Callable[[], set[str]] = set


class Inboxes:
    def __init__(self, database: Database, names: Names) -> None:
        self._database = database
        self._names = names
        self._entered: set[str] = set()
        self._people: tuple[float, set[str]] = (0.0, set())

    def enter(self, name: str) -> None:
        """Make the name of one that sends or takes known for good, before its first answer.

        The registry of agents writes down who called later: a killed host would forget who waits for an answer.
        """
        if name in self._entered:
            return

        def work(tx: Tx) -> None:
            change = store.Change(tx, announces=True)
            if tx.run("INSERT INTO message_agents (name) VALUES (?) ON CONFLICT (name) DO NOTHING", name):
                change.append(NewEntry("registered", store.PUBLIC_TOPIC, name, {"topic": "agents.registry"}))

        if self._database.read(lambda tx: store.ask_agent(tx, name).one()) is None:
            self._database.write(work)
        if len(self._entered) >= MOST_REMEMBERED:
            self._entered.clear()
        self._entered.add(name)

    def need_known(self, name: str) -> None:
        """NotFound, with near names, for a receiver that never called."""
        if name in self._entered or self._names.knows(name) or name in self.persons():
            return
        if self._database.read(lambda tx: store.ask_agent(tx, name).one()) is not None:
            return
        near = [*self._names.near(name)]
        hint = f"Near names: {', '.join(near)}." if near else "lithos_agent_list names those that are known."
        raise NotFound(f"no agent is called {name[:80]!r}", hint=hint, candidates=near)

    def need_own(self, call: Call, name: str) -> None:
        """A person's inbox is not an agent's to claim by name."""
        if not call.by_person and name in self.persons():
            raise Forbidden(f"{name[:80]!r} is a person's inbox", hint="Take your own.")

    def persons(self) -> set[str]:
        """Read again after two seconds, as tokens are: a settlement need not ask each time."""
        until, known = self._people
        if time.monotonic() >= until:
            known = {OPERATOR, *self._names.persons()}
            self._people = (time.monotonic() + PERSONS_SECONDS, known)
        return known
