"""Conversations and inboxes as a person looks at them: lists over all messages that the reader may see."""

from __future__ import annotations

from dataclasses import dataclass

from lithos.core.call import Call
from lithos.messages import reading
from lithos.messages.inboxes import Inboxes
from lithos.messages.model import InboxStates, ThreadPage
from lithos.storage import Database


@dataclass(frozen=True)
class Conversations:
    database: Database
    known: Inboxes

    def threads(self, call: Call, *, name: str | None, limit: int, cursor: str | None) -> ThreadPage:
        reader = self.known.reader(call)
        return self.database.read(
            lambda tx: reading.list_threads(tx, reader(tx).sees, name=name, limit=limit, cursor=cursor)
        )

    def inboxes(self) -> InboxStates:
        """For the operator."""
        return {"inboxes": self.database.read(reading.list_inboxes)}
