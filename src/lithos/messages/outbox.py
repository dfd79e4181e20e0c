"""Outbox: sends of calls, those that wait together in one round of statements, and sends of Lithos itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lithos.core.call import Call
from lithos.errors import LithosError
from lithos.messages import store
from lithos.messages.inboxes import ReaderIn
from lithos.messages.model import LITHOS, Message, MessageDraft, Sender
from lithos.messages.sending import Posting, PostRules, Refused, Thread, posting, send, send_all, thread_of
from lithos.storage import Answer, Effects, Outcome, Tx

ITSELF = Sender(LITHOS, bound=True, part=True)


class Outbox:
    def __init__(self, effects: Effects, rules: PostRules) -> None:
        self._rules = rules
        self._sends = effects.shared(self._send_all)

    def send(self, call: Call, reader: ReaderIn, post: Posting) -> Answer:
        return self._sends.commit(call, (reader, post))

    def post(self, tx: Tx, draft: MessageDraft, sender: Sender = ITSELF, thread: Thread | None = None) -> Answer:
        """Send within the transaction of the change that causes it; for parts. Raises `Refused`."""
        return send(tx, posting(draft, sender, thread or Thread(draft.correlation_id, draft.parent_id)), self._rules)

    def _send_all(self, tx: Tx, calls: Sequence[tuple[ReaderIn, Posting]]) -> list[Outcome | LithosError]:
        """Those that continue a conversation are sent one by one: they may wait for each other."""
        new = [post for _, post in calls if not _continues(post.draft)]
        sent = iter(send_all(tx, new, self._rules) if new else ())
        return [
            _outcome(self._continued(tx, reader, post) if _continues(post.draft) else next(sent))
            for reader, post in calls
        ]

    def _continued(self, tx: Tx, reader: ReaderIn, post: Posting) -> Answer | Refused | LithosError:
        try:
            return send(tx, replace(post, thread=_thread(tx, reader, post.draft)), self._rules)
        except (Refused, LithosError) as error:
            return error


def _continues(draft: MessageDraft) -> bool:
    return draft.parent_id is not None or draft.correlation_id is not None


def _outcome(result: Answer | Refused | LithosError) -> Outcome | LithosError:
    if isinstance(result, Refused):
        return Outcome(result.answer, refused=True)
    return result if isinstance(result, LithosError) else Outcome(result)


def _thread(tx: Tx, reader: ReaderIn, draft: MessageDraft) -> Thread:
    parent = None
    if draft.parent_id is not None:
        parent = reader(tx).message(draft.parent_id)
    elif draft.correlation_id is not None:
        sql = "SELECT * FROM messages WHERE correlation_id = ? ORDER BY seq LIMIT 1"
        first = tx.one(sql, draft.correlation_id)
        if first is not None and not reader(tx).sees(Message(first)):
            raise store.unknown(draft.correlation_id)
    return thread_of(tx, parent, draft.correlation_id)
