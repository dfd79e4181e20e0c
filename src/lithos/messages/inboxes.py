"""Inboxes: whose names are known, which are a person's, who may send under a name and take from its inbox."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lithos.agents import TOKENS_CHANNEL
from lithos.core.call import Call
from lithos.core.names import looks_like
from lithos.errors import Forbidden, NotFound
from lithos.messages import store
from lithos.messages.model import LITHOS, OPERATOR, Sender, receiver_of, sender_of
from lithos.messages.readers import Reader, names_of
from lithos.storage import Database, NewEntry, Tx

PERSONS_SECONDS = 2.0  # another host on the same PostgreSQL may have made a token
MOST_REMEMBERED = 10_000
ReaderIn = Callable[[Tx], Reader]  # of a transaction that begins later


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
        self._honest: set[str] = set()  # agents' names that look like no person's
        self.close = database.listen(TOKENS_CHANNEL, self._forget_persons)

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
        if self._database.read(lambda tx: store.ask_agent(tx, name).one()) is not None or name in self._read_persons():
            return
        near = [*self._names.near(name)]
        hint = f"Near names: {', '.join(near)}." if near else "lithos_agent_list names those that are known."
        raise NotFound(f"no agent is called {name[:80]!r}", hint=hint, candidates=near)

    def need_own(self, call: Call, name: str) -> None:
        """A person's inbox is not an agent's to claim by name."""
        if not call.by_person and name in self.persons():
            raise Forbidden(f"{name[:80]!r} is a person's inbox", hint="Take your own.")

    def sender(self, call: Call) -> Sender:
        """Who speaks. An agent with the name of a person, or of Lithos itself, would pass for it."""
        sender = sender_of(call)
        if sender.person or sender.name in self._honest:
            return sender
        shown, persons = looks_like(sender.name), self.persons()
        if any(looks_like(each) == shown for each in (*persons, LITHOS)):
            raise Forbidden(
                f"{sender.name[:80]!r} is not an agent's name: a person or Lithos itself has it",
                hint="Connect under another name, or with the token of that person.",
            )
        if len(self._honest) >= MOST_REMEMBERED:
            self._honest.clear()
        self._honest.add(sender.name)
        return sender

    def names_of(self, call: Call) -> set[str]:
        return names_of(call, self.persons())

    def reader(self, call: Call) -> ReaderIn:
        """The rule of what the caller may see; asked for before the transaction in which it is used."""
        persons = self.persons()
        return lambda tx: Reader(tx, call, names_of(call, persons))

    def own(self, call: Call) -> str | None:
        """The name of the caller's inbox; None: it has none, or may not know of it."""
        if call.agent is None and not call.by_person:
            return None
        name = receiver_of(call)
        return name if call.operator or name in self.names_of(call) else None

    def persons(self) -> set[str]:
        """Remembered until a token is made here, or for two seconds: a settlement need not ask each time."""
        until, known = self._people
        return known if time.monotonic() < until else self._read_persons()

    def _read_persons(self) -> set[str]:
        before = self._people[1]
        known = {OPERATOR, *self._names.persons()}
        if known != before:
            self._honest.clear()
        self._people = (time.monotonic() + PERSONS_SECONDS, known)
        return known

    def _forget_persons(self) -> None:
        self._people = (0.0, self._people[1])
        self._honest.clear()
