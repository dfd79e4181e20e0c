"""Messages in one derived collection, and their contribution to recall: each found by those who may see it.

The filter acts inside the engines: a message carries its parties (sender, receiver, session) as a keyword.
"""

from __future__ import annotations

from collections.abc import Collection as Group
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from lithos.messages import Message, Messages
from lithos.recall.followed_index import FollowedIndex
from lithos.recall.kind import Changed, ChangesQuery, FinishKind, KindHits, Question
from lithos.search import Collection, Document, DocumentChange, Hit, JournalFeed, Remove, Where
from lithos.storage import JournalEntry

MESSAGE_KEYWORDS = ("party", "type")
ANYONE = "*"  # the party of what was sent to a topic in no session
AT_ONCE = 500


class MessageFeed(JournalFeed):
    def __init__(self, messages: Messages) -> None:
        super().__init__(messages.followers)
        self._messages = messages

    def _missing(self, known: dict[str, str]) -> Iterator[Sequence[DocumentChange]]:
        there = self._messages.ids()
        yield [Remove(each) for each in known if each not in there]
        missing = [each for each in there if each not in known]
        for start in range(0, len(missing), AT_ONCE):
            yield self._documents(missing[start : start + AT_ONCE])

    def _changed(self, entries: Sequence[JournalEntry]) -> Sequence[DocumentChange]:
        return self._documents([str(each.details["message_id"]) for each in entries if each.kind in ("sent", "queued")])

    def _documents(self, ids: Sequence[str]) -> Sequence[DocumentChange]:
        return [document_of(each) for each in self._messages.rows(ids)] if ids else []


class MessageIndex(FollowedIndex):
    def __init__(self, collection: Collection, messages: Messages) -> None:
        super().__init__("messages", collection, MessageFeed(messages))
        self._messages = messages

    def prune(self) -> int:
        """Drop old messages, here and in their table."""
        gone = self._messages.prune()
        if gone:
            self._projector.resume()
        return gone

    def purge(self, message_id: str) -> None:
        self._projector.purge([message_id])


class MessageKind:
    name = "message"

    def __init__(self, index: MessageIndex, messages: Messages) -> None:
        self._index = index
        self._messages = messages

    def begin(self, question: Question) -> FinishKind:
        where = question.query.where
        call = question.call
        any_of: dict[str, tuple[str, ...]] = {}
        if not call.operator:
            session = self._messages.current_session(call)
            names = map(agent_party, self._messages.names_of(call))
            any_of["party"] = tuple(sorted({ANYONE, *names, *([session_party(session)] if session else [])}))
        closed = tuple(map(session_party, sorted(self._messages.closed_sessions(call))))
        none_of = {"party": closed} if closed else {}
        own_where = Where(tags=where.tags, author=where.author, any_of=any_of, none_of=none_of)
        begun = self._index.begin(replace(question.query, where=own_where))
        return lambda least=0.0: KindHits(begun(least), _shown)

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
