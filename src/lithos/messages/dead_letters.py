"""Dead letters: messages that could not be delivered or handled, for a person to send again or to drop."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import orjson

from lithos.core.call import Call
from lithos.errors import Conflict, Forbidden
from lithos.messages import reading
from lithos.messages.inboxes import Inboxes, ReaderIn
from lithos.messages.model import DeadLetterChanged, DeadLetterPage, Message, MessageDraft, Sender
from lithos.messages.sending import Refused, Thread
from lithos.storage import Answer, Database, Effects, EventDraft, Outcome, Tx

Post = Callable[[Tx, MessageDraft, Sender, Thread], Answer]


class DeadLetters:
    def __init__(self, database: Database, effects: Effects, inboxes: Inboxes, post: Post) -> None:
        self._database = database
        self._effects = effects
        self._inboxes = inboxes
        self._post = post

    def list(self, call: Call, *, limit: int, cursor: str | None) -> DeadLetterPage:
        reader = self._inboxes.reader(call)
        return self._database.read(
            lambda tx: reading.list_dead_letters(tx, reader(tx).sees, limit=limit, cursor=cursor)
        )

    def replay(self, call: Call, message_id: str) -> DeadLetterChanged:
        """Send a dead letter again, as a new message that names the old."""
        reader = self._readable(call)

        def work(tx: Tx) -> Outcome:
            message = _dead(tx, reader, message_id)
            row = message.row
            metadata = {**(orjson.loads(row["metadata"]) if row["metadata"] else {}), "replay_of": message_id}
            metadata.pop("poison", None)
            draft = MessageDraft(
                row["type"],
                orjson.loads(row["payload"]),
                targets=(row["target"],),
                session_id=row["session_id"] or None,
                priority=row["priority"],
                max_attempts=row["max_attempts"],
                metadata=metadata,
            )
            sender = Sender(row["source"], bound=bool(row["bound"]), person=bool(row["person"]), part=True)
            try:
                sent = self._post(tx, draft, sender, Thread(parent_id=message_id))
            except Refused as refused:
                return Outcome({"message_id": message_id, **refused.answer}, refused=True)
            tx.put("DELETE FROM message_dead_letters WHERE message_id = ?", message_id)
            answer = {"success": True, "message_id": message_id, "replayed_as": sent["message_id"]}
            return Outcome(answer, (EventDraft("message", "replay", thing=message_id),))

        return cast(DeadLetterChanged, self._effects.commit(call, work))

    def drop(self, call: Call, message_id: str) -> DeadLetterChanged:
        """Give a dead letter up; the message itself stays in its thread until it is pruned."""
        reader = self._readable(call)

        def work(tx: Tx) -> Outcome:
            _dead(tx, reader, message_id)
            tx.put("DELETE FROM message_dead_letters WHERE message_id = ?", message_id)
            answer = {"success": True, "message_id": message_id, "dropped": True}
            return Outcome(answer, (EventDraft("message", "drop", thing=message_id),))

        return cast(DeadLetterChanged, self._effects.commit(call, work))

    def _readable(self, call: Call) -> ReaderIn:
        if not call.by_person:
            raise Forbidden("dead letters are for persons", hint="Ask the operator: lithos dead-letter replay.")
        return self._inboxes.reader(call)


def _dead(tx: Tx, reader: ReaderIn, message_id: str) -> Message:
    message = reader(tx).message(message_id)
    if tx.one("SELECT 1 AS yes FROM message_dead_letters WHERE message_id = ?", message_id) is None:
        raise Conflict("this message is no dead letter", hint="lithos dead-letter list shows them.")
    return message
