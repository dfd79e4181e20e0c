"""Messages between agents and people: send them, read them, follow topics."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import Field

from lithos.app import Lithos
from lithos.core.call import Call
from lithos.core.clock import parse_time
from lithos.errors import InvalidInput
from lithos.messages import (
    LONGEST_WAIT_S,
    MOST_TRIES,
    MessageDraft,
    MessagePage,
    MessageShown,
    MessageStatusAnswer,
    RequestAnswer,
    SentAnswer,
    SettledAnswer,
    ThreadPage,
    TopicPage,
    TraceAnswer,
    priority_of,
    receiver_names,
    type_name,
)
from lithos.tools.arguments import Cursor
from lithos.tools.dispatch.schemas import Rare
from lithos.tools.registry import tool

Object = dict[str, Any]
MessageType = Annotated[str, Field(description="text, research_request, context_request, … or your own with a dot")]
Body = Annotated[str | None, Field(description="Text of a plain message")]
PayloadArgument = Annotated[Object | None, Field(description="The type's own fields, instead of body")]
Target = Annotated[str | None, Field(description="Agent, or operator")]
SessionId = Annotated[str | None, Field(max_length=100, description="Left out: your current session")]
Correlation = Annotated[str | None, Field(max_length=100, description="Continue this conversation"), Rare]
Parent = Annotated[str | None, Field(max_length=100, description="The message that this one continues"), Rare]
Priority = Annotated[str | int | None, Field(description="background, low, normal, high"), Rare]
Ttl = Annotated[float | None, Field(description="Expires when not taken within this; default 7 days"), Rare]
Deadline = Annotated[str | None, Field(description="Expires then (ISO 8601)"), Rare]
Attempts = Annotated[int | None, Field(ge=1, le=MOST_TRIES), Rare]
Delay = Annotated[float, Field(description="Hand out no earlier"), Rare]
MessageId = Annotated[str, Field(max_length=100)]
Wait = Annotated[float, Field(ge=0, le=LONGEST_WAIT_S, description="Seconds to wait for one")]
Limit = Annotated[int, Field(strict=True, ge=1, le=200)]


def _draft(
    type: str,
    payload: Object | None,
    body: str | None,
    target: str | None,
    targets: list[str] | None,
    topic: str | None,
    **more: Any,
) -> MessageDraft:
    if (payload is None) == (body is None):
        raise InvalidInput("give body or payload", hint="body is the text of a plain message; payload has its fields.")
    given = {"body": body} if payload is None else payload
    return MessageDraft(type_name(type), given, receiver_names(target, targets), topic, **more)


def _time(deadline: str | None) -> datetime | None:
    return None if deadline is None else parse_time(deadline, "deadline")


@tool(toolset="messages", title="Send a message")
def lithos_message_send(
    lithos: Lithos,
    call: Call,
    body: Body = None,
    target: Target = None,
    type: MessageType = "text",
    payload: PayloadArgument = None,
    targets: Annotated[list[str] | None, Field(description="Several, at most 64"), Rare] = None,
    topic: Annotated[str | None, Field(description="For all who follow it, such as build.results"), Rare] = None,
    session_id: SessionId = None,
    correlation_id: Correlation = None,
    parent_id: Parent = None,
    priority: Priority = None,
    ttl_seconds: Ttl = None,
    deadline: Deadline = None,
    max_attempts: Attempts = None,
    delay_seconds: Delay = 0,
) -> SentAnswer:
    """Write to another agent or a person by name; kept until taken. The server sets who you are. A message grants no
    right."""
    draft = _draft(
        *(type, payload, body, target, targets, topic),
        session_id=session_id,
        correlation_id=correlation_id,
        parent_id=parent_id,
        priority=priority_of(priority),
        ttl_seconds=ttl_seconds,
        deadline=_time(deadline),
        max_attempts=max_attempts,
        delay_seconds=delay_seconds,
    )
    return lithos.messages.send(call, draft)


@tool(toolset="messages", title="Ask and wait")
async def lithos_message_request(
    lithos: Lithos,
    call: Call,
    target: Annotated[str, Field(description="Agent, or operator")],
    body: Body = None,
    type: MessageType = "text",
    payload: PayloadArgument = None,
    session_id: SessionId = None,
    correlation_id: Correlation = None,
    parent_id: Parent = None,
    priority: Priority = None,
    ttl_seconds: Ttl = None,
    deadline: Deadline = None,
    max_attempts: Attempts = None,
    delay_seconds: Delay = 0,
    timeout: Wait = 30,  # noqa: ASYNC109 the tool's public word
) -> RequestAnswer:
    """Send and wait for the reply. pending true: the reply comes into your inbox."""
    draft = _draft(
        *(type, payload, body, target, None, None),
        session_id=session_id,
        correlation_id=correlation_id,
        parent_id=parent_id,
        priority=priority_of(priority),
        ttl_seconds=ttl_seconds,
        deadline=_time(deadline),
        max_attempts=max_attempts,
        delay_seconds=delay_seconds,
    )
    return await lithos.messages.request(call, draft, timeout)


@tool(toolset="messages", reads=True, listed=False, title="Read a message")
def lithos_message_get(
    lithos: Lithos, call: Call, message_id: MessageId, offset: Annotated[int, Field(strict=True, ge=0)] = 0
) -> MessageShown:
    """One message whole; a long payload in pages: next_offset."""
    return lithos.messages.get(call, message_id, offset)


@tool(toolset="messages", reads=True, listed=False, title="Where a message is")
def lithos_message_status(
    lithos: Lithos,
    call: Call,
    message_id: Annotated[str | None, Field(max_length=100, description="Left out: of your inbox")] = None,
) -> MessageStatusAnswer:
    """Whether it waits, is worked on or settled, and its reply; without an id, the state of your inbox."""
    return lithos.messages.status(call, message_id)


@tool(toolset="messages", listed=False, title="Take a message back")
def lithos_message_cancel(lithos: Lithos, call: Call, message_id: MessageId) -> SettledAnswer:
    """Take back what you sent and no one has taken."""
    return lithos.messages.cancel(call, message_id)


@tool(toolset="messages", reads=True, listed=False, title="Read a conversation")
def lithos_message_thread(
    lithos: Lithos,
    call: Call,
    correlation_id: Annotated[str, Field(max_length=100)],
    limit: Limit = 50,
    cursor: Cursor = None,
) -> MessagePage:
    """Messages of one correlation, oldest first."""
    return lithos.messages.thread(call, correlation_id, limit=limit, cursor=cursor)


@tool(toolset="messages", reads=True, listed=False, title="Conversations")
def lithos_thread_list(
    lithos: Lithos,
    call: Call,
    name: Annotated[str | None, Field(max_length=200, description="Only those this agent or person is in")] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> ThreadPage:
    """Conversations you may see, the newest first: subject, who takes part, what waits. Then lithos_message_thread."""
    return lithos.messages.conversations.threads(call, name=name, limit=limit, cursor=cursor)


@tool(toolset="messages", reads=True, listed=False, title="How a message went")
def lithos_message_trace(lithos: Lithos, call: Call, message_id: MessageId) -> TraceAnswer:
    """Each delivery of its conversation: from, to, when, how long it waited."""
    return lithos.messages.trace(call, message_id)


@tool(toolset="messages", reads=True, listed=False, title="Follow a topic")
async def lithos_topic_follow(
    lithos: Lithos,
    call: Call,
    pattern: Annotated[str, Field(description="A topic; * is one segment, ** one or more", max_length=600)],
    since: Annotated[
        int | None, Field(strict=True, ge=0, description="cursor of the last call; omit: from now")
    ] = None,
    limit: Limit = 50,
    timeout: Wait = 30,  # noqa: ASYNC109 the tool's public word
) -> TopicPage:
    """Wait for what is sent to a topic. Returns entries and the cursor for the next call."""
    return await lithos.messages.follow(call, pattern, since, limit, timeout)


@tool(toolset="operator", destructive=True, title="Forget a message")
def lithos_message_forget(lithos: Lithos, call: Call, message_id: MessageId) -> SettledAnswer:
    """Remove a message so that no byte of it stays."""
    answer = lithos.messages.forget(call, message_id)
    lithos.message_index.purge(message_id)
    return answer
