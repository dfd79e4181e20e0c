"""Messages: an inbox for every agent and person, and topics that any number follow."""

from __future__ import annotations

from lithos.messages.arrivals import Mail
from lithos.messages.inboxes import Names
from lithos.messages.messages import LONGEST_WAIT_S, Messages
from lithos.messages.model import (
    OPERATOR,
    PRIORITIES,
    DeadLetterChanged,
    DeadLetterPage,
    Envelope,
    InboxPage,
    InboxStates,
    Message,
    MessageCounts,
    MessageDraft,
    MessagePage,
    MessageShown,
    MessageStatusAnswer,
    RequestAnswer,
    Sender,
    SentAnswer,
    SettledAnswer,
    TakenAnswer,
    ThreadPage,
    TopicPage,
    TraceAnswer,
    priority_of,
    receiver_names,
    receiver_of,
    sender_of,
)
from lithos.messages.rules.limits import MessageLimits
from lithos.messages.sending import MOST_TRIES
from lithos.messages.store import HANDLED_CHANNEL as MESSAGES_HANDLED
from lithos.messages.store import JOURNAL as MESSAGES_JOURNAL
from lithos.messages.taking import LEASE_SECONDS, MOST_TAKEN, TakeRequest
from lithos.messages.types import TYPES, type_name

__all__ = [
    "LEASE_SECONDS",
    "LONGEST_WAIT_S",
    "MESSAGES_HANDLED",
    "MESSAGES_JOURNAL",
    "MOST_TAKEN",
    "MOST_TRIES",
    "OPERATOR",
    "PRIORITIES",
    "TYPES",
    "DeadLetterChanged",
    "DeadLetterPage",
    "Envelope",
    "InboxPage",
    "InboxStates",
    "Mail",
    "Message",
    "MessageCounts",
    "MessageDraft",
    "MessageLimits",
    "MessagePage",
    "MessageShown",
    "MessageStatusAnswer",
    "Messages",
    "Names",
    "RequestAnswer",
    "Sender",
    "SentAnswer",
    "SettledAnswer",
    "TakeRequest",
    "TakenAnswer",
    "ThreadPage",
    "TopicPage",
    "TraceAnswer",
    "priority_of",
    "receiver_names",
    "receiver_of",
    "sender_of",
    "type_name",
]
