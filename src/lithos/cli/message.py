"""`lithos message`, `lithos inbox`, `lithos dead-letter`: write to agents, read what they wrote."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from lithos.cli.terminal import Terminal, ago, join_noun, table, verb

MessageId = Annotated[str, typer.Argument(help="The message's id.")]
Agent = Annotated[str | None, typer.Option("--agent", help="Whose inbox.  [default: yours, the operator's]")]
Limit = Annotated[int, typer.Option("--limit", min=1, max=200, help="At most so many.")]
Cursor = Annotated[str | None, typer.Option("--cursor", help="Where the page before ended.")]


def join(root: typer.Typer) -> None:
    join_noun(
        root,
        "message",
        "Messages between agents and people.",
        send=send,
        list=list_messages,
        show=show_message,
        trace=trace,
        status=status,
        forget=forget,
    )
    root.command("inbox")(inbox)
    join_noun(
        root,
        "dead-letter",
        "Messages that could not be delivered or handled.",
        list=list_dead_letters,
        replay=replay,
        drop=drop,
    )


@verb
def send(
    terminal: Terminal,
    target: Annotated[str, typer.Argument(help="The agent or person; with --topic, the topic.")],
    body: Annotated[str, typer.Argument(help="The text.")],
    topic: Annotated[bool, typer.Option("--topic", help="Send to everyone who follows this topic.")] = False,
    session: Annotated[str | None, typer.Option("--session", help="The session it belongs to.")] = None,
    priority: Annotated[str | None, typer.Option("--priority", help="background, low, normal, high, critical.")] = None,
    reply_to: Annotated[str | None, typer.Option("--reply-to", help="The message that this one answers.")] = None,
) -> None:
    """Write to an agent as a person; prints the message's id."""
    wanted = {"topic" if topic else "target": target, "body": body, "session_id": session, "priority": priority}
    answer = terminal.ask("lithos_message_send", {**wanted, "parent_id": reply_to})
    conclude(terminal, answer, answer.get("message_id", ""))


@verb
def list_messages(
    terminal: Terminal,
    correlation: Annotated[str | None, typer.Argument(help="A conversation: the id of its first message.")] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> None:
    """List the conversations, newest first; or show one, oldest message first."""
    wanted = {"limit": limit, "cursor": cursor}
    if correlation is None:
        terminal.tell(terminal.ask("lithos_thread_list", wanted), print_threads)
        return
    terminal.tell(terminal.ask("lithos_message_thread", {"correlation_id": correlation, **wanted}), print_thread)


@verb
def show_message(terminal: Terminal, message_id: MessageId) -> None:
    """Show one message whole."""
    pages = [terminal.ask("lithos_message_get", {"message_id": message_id})]
    while offset := pages[-1].get("next_offset"):
        pages.append(terminal.ask("lithos_message_get", {"message_id": message_id, "offset": offset}))
    message = pages[0]["message"]
    if "payload_text" in pages[0]:
        shown = {name: value for name, value in message.items() if name not in ("payload_head", "payload_bytes")}
        message = {**shown, "payload": json.loads("".join(each["payload_text"] for each in pages))}
    terminal.tell({"message": message, "fence": pages[0]["fence"]}, lambda answer: print_message(answer["message"]))


@verb
def trace(terminal: Terminal, message_id: MessageId) -> None:
    """Show each delivery of a message's conversation."""
    terminal.tell(terminal.ask("lithos_message_trace", {"message_id": message_id}), print_trace)


@verb
def status(
    terminal: Terminal,
    message_id: Annotated[str | None, typer.Argument(help="The message's id.  [default: the inbox]")] = None,
    agent: Agent = None,
) -> None:
    """Show where a message is, or the state of an inbox."""
    answer = terminal.ask("lithos_message_status", {"message_id": message_id, "agent": agent})
    terminal.tell(answer, lambda found: print(", ".join(f"{name} {value}" for name, value in found.items())))


@verb
def forget(terminal: Terminal, message_id: MessageId) -> None:
    """Remove a message so that no byte of it stays."""
    conclude(terminal, terminal.ask("lithos_message_forget", {"message_id": message_id}), "Forgotten.")


@verb
def inbox(
    terminal: Terminal,
    take: Annotated[bool, typer.Option("--take", help="Show the texts and mark them as read.")] = False,
    unread: Annotated[bool, typer.Option("--unread", help="Only what waits.")] = False,
    agent: Agent = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> None:
    """Show who wrote to you, newest first."""
    if not take:
        wanted = {"unread": unread, "limit": limit, "cursor": cursor, "agent": agent}
        terminal.tell(terminal.ask("lithos_inbox_list", wanted), print_inbox)
        return
    answer = terminal.ask("lithos_inbox_take", {"limit": min(limit, 32), "agent": agent})
    for each in answer["messages"]:
        token = {"message_id": each["message"]["id"], "token": each["token"], "agent": agent}
        terminal.ask("lithos_inbox_ack", token)
    terminal.tell(answer, print_taken)


@verb
def list_dead_letters(terminal: Terminal, limit: Limit = 50, cursor: Cursor = None) -> None:
    """List dead letters, newest first."""
    terminal.tell(terminal.ask("lithos_dead_letter_list", {"limit": limit, "cursor": cursor}), print_dead_letters)


@verb
def replay(terminal: Terminal, message_id: MessageId) -> None:
    """Send a dead letter again; prints the new message's id."""
    answer = terminal.ask("lithos_dead_letter_replay", {"message_id": message_id})
    conclude(terminal, answer, answer.get("replayed_as", ""))


@verb
def drop(terminal: Terminal, message_id: MessageId) -> None:
    """Give a dead letter up."""
    conclude(terminal, terminal.ask("lithos_dead_letter_drop", {"message_id": message_id}), "Dropped.")


def conclude(terminal: Terminal, answer: dict[str, Any], text: str) -> None:
    """A refusal is an error at the keyboard."""
    from lithos.errors import Conflict

    if answer.get("success") is False:
        raise Conflict(f"refused: {answer['reason']}", hint=answer.get("hint", ""))
    terminal.tell(answer, text)


def print_inbox(page: dict[str, Any]) -> None:
    rows = [
        (
            each["id"],
            each["status"],
            each["source"] if each["bound"] else f"{each['source']}?",
            each["subject"] or each["type"],
        )
        for each in page["messages"]
    ]
    table(("message", "status", "from", "subject"), rows)
    print(f"{page['waiting']} waiting" if page["messages"] else "Nothing here.")
    if page.get("next_cursor"):
        print(f"More: --cursor {page['next_cursor']}")


def print_taken(answer: dict[str, Any]) -> None:
    for each in answer["messages"]:
        print_message(each["message"])
    if not answer["messages"]:
        print("Nothing waits.")


def print_message(message: dict[str, Any]) -> None:
    sender = f"{message['source']}{'' if message['bound'] else ' (name not proved)'}"
    print(f"{message['id']}  {message['timestamp']}  {message['status']}")
    print(f"  from {sender} to {message['target'] or message.get('topic')}: {message['type']}")
    payload = message.get("payload", message.get("payload_head"))
    if isinstance(payload, dict) and set(payload) <= {"body", "subject"}:
        payload = "\n".join(str(value) for value in payload.values())
    for line in str(payload).splitlines():
        print(f"  | {line}")
    if "payload_bytes" in message:
        print(f"  | … {message['payload_bytes']:,} bytes: lithos message show {message['id']}")


def print_threads(page: dict[str, Any]) -> None:
    rows = [
        (
            each["correlation_id"],
            ago(each["last_at"]),
            each.get("topic") or ", ".join(each["names"]),
            f"{each['messages']}, {each['waiting']} waiting" if each["waiting"] else str(each["messages"]),
            each["subject"] or each["type"],
        )
        for each in page["threads"]
    ]
    table(("conversation", "last", "between", "messages", "subject"), rows)
    if not page["threads"]:
        print("No messages.")
    if page.get("next_cursor"):
        print(f"More: --cursor {page['next_cursor']}")


def print_thread(page: dict[str, Any]) -> None:
    for each in page["messages"]:
        print_message(each)
    if page.get("next_cursor"):
        print(f"More: --cursor {page['next_cursor']}")


def print_trace(answer: dict[str, Any]) -> None:
    print(f"{answer['message_id']}: {answer['status']}")
    rows = [
        (ago(hop["at"]), f"{hop['from']} → {hop['to']}", hop["what"], f"{hop['ms']} ms", hop["message_id"])
        for hop in answer["hops"]
    ]
    table(("at", "way", "what", "after", "message"), rows)
    if answer.get("left_out"):
        print(f"{answer['left_out']} older deliveries are not shown.")


def print_dead_letters(page: dict[str, Any]) -> None:
    rows = [
        (each["message_id"], each["reason"], f"{each['source']} → {each['target']}", each["type"], each["error"] or "")
        for each in page["dead_letters"]
    ]
    table(("message", "reason", "way", "type", "error"), rows)
    if not page["dead_letters"]:
        print("No dead letters.")
    if page.get("next_cursor"):
        print(f"More: --cursor {page['next_cursor']}")
