"""Pending messages as a section of a session's snapshot, and the way back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import orjson

from lithos.core.call import Call
from lithos.core.ids import Ids
from lithos.core.names import agent_name
from lithos.core.validators import label
from lithos.errors import InvalidInput
from lithos.messages import store
from lithos.messages.inboxes import Inboxes
from lithos.messages.model import CRITICAL, HIGH, LITHOS, Message, MessageDraft, Sender, priority_of, sender_of
from lithos.messages.rules.limits import MessageLimits
from lithos.messages.sending import Thread, checked_draft
from lithos.messages.types import may_send, type_name
from lithos.storage import Answer, Database, Row, Tx

Post = Callable[[Tx, MessageDraft, Sender, Thread], Answer]


class PendingMessages:
    def __init__(self, database: Database, inboxes: Inboxes, ids: Ids, limits: MessageLimits, post: Post) -> None:
        self._database = database
        self._inboxes = inboxes
        self._ids = ids
        self._limits = limits
        self._post = post

    def section(self, session_id: str) -> list[dict[str, Any]] | None:
        """Of a session's snapshot; None: nothing waits."""
        sql = "SELECT * FROM messages WHERE session_id = ? AND status IN ('queued', 'processing') ORDER BY seq"
        rows = self._database.read(lambda tx: tx.all(sql, session_id))
        return [dict(Message(row).envelope(budget=2**62)) for row in rows] or None

    def restore(self, tx: Tx, call: Call, session_id: str, section: Any) -> None:
        """Queue what a snapshot held, as new messages of their correlations.

        A file can be written by hand, so an agent brings back only what an agent may send, and in its own name what
        this store does not know.
        """
        try:
            found = [(each, _draft(each, session_id)) for each in section]
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
            raise InvalidInput(
                "pending_messages of the snapshot are not messages", hint="Make a new snapshot."
            ) from None
        reserved = set() if call.by_person else {LITHOS, *self._inboxes.persons()}
        correlations = dict.fromkeys(label(str(each["correlation_id"])[:100], "correlation_id") for each, _ in found)
        threads = {each: self._free_correlation(tx, each) for each in correlations}
        for envelope, given in found:
            source = agent_name(envelope["source"], "source")
            if source in reserved or not (call.by_person or may_send(given.type, person=False)):
                continue
            sender = Sender(source, part=True)  # the session is not active yet
            draft = checked_draft(given, sender, self._limits)
            if not call.by_person:
                draft = replace(draft, priority=HIGH if draft.priority >= CRITICAL else draft.priority)
                if source != (call.agent or call.connection) and not _is_original(tx, envelope):
                    sender = Sender(sender_of(call).name, part=True)
                    draft = replace(draft, metadata={**draft.metadata, "said_to_be_from": source})
            self._post(tx, draft, sender, Thread(threads[str(envelope["correlation_id"])[:100]]))

    def _free_correlation(self, tx: Tx, correlation_id: str) -> str:
        """Another where this store has the conversation already: a copy must not wait for the original."""
        known = tx.one("SELECT 1 AS yes FROM messages WHERE correlation_id = ? LIMIT 1", correlation_id)
        return correlation_id if known is None else self._ids.sortable()


def _is_original(tx: Tx, envelope: dict[str, Any]) -> bool:
    """Whether the message in the file is one that this store has, unchanged."""
    row: Row | None = store.ask(tx, str(envelope["id"])).one()
    same = ("source", "target", "type", "session_id")
    return (
        row is not None
        and all(row[name] == envelope.get(name) for name in same)
        and orjson.loads(row["payload"]) == envelope["payload"]
    )


def _draft(envelope: dict[str, Any], session_id: str) -> MessageDraft:
    """Of a message in a snapshot. Raises as reading a wrong object does."""
    return MessageDraft(
        type_name(envelope["type"]),
        envelope["payload"],
        targets=(agent_name(envelope["target"], "target"),),
        session_id=session_id,
        priority=priority_of(int(envelope["priority"])),
        ttl_seconds=float(envelope["ttl"]),
        max_attempts=int(envelope["max_attempts"]),
        metadata={"restored_from": label(str(envelope["id"])[:100], "id")},  # what else a file says may be made up
    )
