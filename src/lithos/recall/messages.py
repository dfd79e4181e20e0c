"""Messages in one derived collection, and their contribution to recall: each found by those who may see it.

The filter acts inside the engines: a message carries its parties (sender, receiver, session) as a keyword.
"""

from __future__ import annotations

import threading
from collections.abc import Collection as Group
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

from lithos.core.part import Part
from lithos.errors import CursorExpired
from lithos.messages import Message, Messages, names_of
from lithos.recall.kind import Changed, ChangesQuery, KindHits, Question
from lithos.search import Collection, Document, DocumentChange, Hit, Projector, Query, Remove, SearchResult, Where

MESSAGE_KEYWORDS = ("party", "type")
ANYONE = "*"  # the party of what was sent to a topic in no session
AT_ONCE = 500


class MessageFeed:
    """Reads what the collection lacks from the journal of messages; after a loss, by comparing ids."""

    def __init__(self, messages: Messages) -> None:
        self._messages = messages
        self._lock = threading.RLock()
        self._cursor: int | None = None
        self._missing: list[str] = []
        self._gone: list[str] = []

    @property
    def lock(self) -> AbstractContextManager[Any]:
        return self._lock

    def restart(self, known: Mapping[str, str]) -> bool:
        self._cursor = self._messages.followers.read(None).cursor
        there = self._messages.ids()
        self._missing = [each for each in there if each not in known]
        self._gone = [each for each in known if each not in there]
        return True

    def next_batch(self) -> Sequence[DocumentChange]:
        if self._gone:
            gone, self._gone = self._gone[:AT_ONCE], self._gone[AT_ONCE:]
            return [Remove(each) for each in gone]
        if not self._missing:
            self._missing = self._sent()
        wanted, self._missing = self._missing[:AT_ONCE], self._missing[AT_ONCE:]
        return [document_of(each) for each in self._messages.rows(wanted)] if wanted else []

    def _sent(self) -> list[str]:
        """Messages that were sent since the last look."""
        found: list[str] = []
        more = True
        while more and not found:
            try:
                page = self._messages.followers.read(self._cursor)
            except CursorExpired:
                self.restart({})
                return self._missing
            self._cursor, more = page.cursor, page.more
            sent = [each for each in page.entries if each.kind in ("sent", "queued")]
            found = [str(each.details["message_id"]) for each in sent]
        return found


class MessageIndex(Part):
    def __init__(self, collection: Collection, messages: Messages) -> None:
        self.collection = collection
        self._projector = Projector(collection, MessageFeed(messages), "messages", compares=False)
        self._messages = messages
        self._first = True

    def query(self, query: Query) -> SearchResult:
        """Catches up first: what was sent before the question is found by it."""
        if self._first:
            self._first = False
            self._projector.resume()
        else:
            self._projector.catch_up()
        return self._projector.query(query)

    def prune(self) -> int:
        """Drop old messages, here and in their table."""
        gone = self._messages.prune()
        if gone:
            self._projector.resume()
        return gone

    def purge(self, message_id: str) -> None:
        self._projector.purge([message_id])

    def busy(self) -> bool:
        return self.collection.busy()

    def sizes(self) -> dict[str, int]:
        return {"messages": self.collection.size()}

    def problem(self) -> str | None:
        return self.collection.problem()

    def close(self) -> None:
        self._projector.close()
        self.collection.close()


class MessageKind:
    name = "message"

    def __init__(self, index: MessageIndex, messages: Messages) -> None:
        self._index = index
        self._messages = messages

    def find(self, question: Question) -> KindHits:
        where = question.query.where
        call = question.call
        any_of: dict[str, tuple[str, ...]] = {}
        if not call.operator:
            session = self._messages.current_session(call)
            own = {ANYONE, *map(agent_party, names_of(call)), *([session_party(session)] if session else [])}
            any_of["party"] = tuple(sorted(own))
        closed = tuple(map(session_party, sorted(self._messages.closed_sessions(call))))
        none_of = {"party": closed} if closed else {}
        own_where = Where(tags=where.tags, author=where.author, any_of=any_of, none_of=none_of)
        return KindHits(self._index.query(replace(question.query, where=own_where)), _shown)

    def changes(self, query: ChangesQuery) -> Sequence[Changed]:
        return ()  # an answer names count and senders of what waits: `Messages.waiting_from`


def agent_party(name: str) -> str:
    return f"agent {name}"


def session_party(session_id: str) -> str:
    return f"session {session_id}"


def document_of(message: Message) -> Document:
    row = message.row
    parties = [agent_party(row["source"])]
    if row["target"]:
        parties.append(agent_party(row["target"]))
    if row["session_id"]:
        parties.append(session_party(row["session_id"]))
    elif row["topic"]:
        parties.append(ANYONE)
    return Document(
        id=row["id"],
        title=message.subject() or row["type"],
        text="\n\n".join(_texts(message.envelope(budget=2**62).get("payload", {}))),
        hash=row["id"],  # a message never changes
        author=row["source"],
        keywords={"party": tuple(parties), "type": (row["type"],)},
    )


def _texts(value: Any) -> Group[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        return [text for each in value.values() for text in _texts(each)]
    return [text for each in value for text in _texts(each)] if isinstance(value, list) else []


def _shown(hit: Hit) -> dict[str, Any]:
    row = {"id": hit.id, "title": hit.title, "heading": "", "path": "", "version": "", "author": hit.author}
    return {**row, "passage": hit.passage, "score": hit.score, "type": hit.keywords["type"][0]}
