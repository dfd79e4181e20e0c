"""Messages: conversations, inboxes, dead letters; a person writes and answers. (`/messages` is MCP's old transport.)"""

from __future__ import annotations

import asyncio
import json
from typing import Any
from urllib.parse import urlencode

from starlette.responses import Response

from lithos.errors import Forbidden, NotFound
from lithos.serving.web.page import Page, PageRoute
from lithos.serving.web.refusals import need_success
from lithos.serving.web.templates import path as segment

THREADS = 40
MOST_READ = 32  # messages that one press of "Mark all as read" takes
PRIORITIES = ("low", "normal", "high")
TEXTS = ("subject", "body")  # fields of a payload that are shown as a letter; others as JSON


async def mail(page: Page) -> Response:
    name = page.given("name").strip()
    threads, inboxes, own, dead = await asyncio.gather(
        page.call("lithos_thread_list", name=name or None, limit=THREADS, cursor=page.given("cursor") or None),
        page.try_call("lithos_inbox_overview"),
        own_inbox(page),
        page.try_call("lithos_dead_letter_list", limit=1),
    )
    more = {"name": name} if name else {}
    cursor = threads.get("next_cursor")
    return page.show(
        "mail.html",
        threads=threads["threads"],
        more=urlencode({**more, "cursor": cursor}) if cursor else "",
        name=name,
        me=page.inbox,
        own=own,
        inboxes=(inboxes or {}).get("inboxes", ()),
        dead=(dead or {}).get("total", 0),
    )


async def own_inbox(page: Page) -> dict[str, Any] | None:
    if not page.visitor.signed_in:
        return None
    return await page.try_call("lithos_inbox_list", agent=page.inbox, unread=True, limit=20)


async def thread(page: Page) -> Response:
    cursor = page.given("cursor") or None
    try:
        found = await page.call("lithos_message_thread", correlation_id=page.part("id"), limit=100, cursor=cursor)
    except NotFound:  # the id of a later message, as dead letters name them
        one = await page.call("lithos_message_get", message_id=page.part("id"))
        return page.go(f"/mail/thread/{one['message']['correlation_id']}#message-{page.part('id')}")
    letters = [_letter(each) for each in found["messages"]]
    trace = await page.try_call("lithos_message_trace", message_id=letters[-1]["id"]) if letters else None
    return page.show(
        "thread.html",
        id=page.part("id"),
        letters=letters,
        me=page.inbox,
        other=_other(letters, page.inbox),
        more=found.get("next_cursor", ""),
        hops=(trace or {}).get("hops", ()),
    )


def _letter(message: dict[str, Any]) -> dict[str, Any]:
    """The message with its payload as text: the subject and body of a letter, or JSON."""
    payload = message.get("payload")
    if payload is None:
        head = message.get("payload_head", "")
        return {**message, "subject": "", "text": f"{head}…", "is_json": True}
    if isinstance(payload.get("body"), str) and set(payload) <= {*TEXTS, "refs", "ack_required"}:
        return {**message, "subject": str(payload.get("subject") or ""), "text": payload["body"], "is_json": False}
    return {**message, "subject": "", "text": json.dumps(payload, indent=2, ensure_ascii=False), "is_json": True}


def _other(letters: list[dict[str, Any]], me: str) -> str:
    """Who gets an answer: the last one in the conversation that is not the visitor."""
    for each in reversed(letters):
        for name in (each["source"], each["target"]):
            if name and name != me:
                return str(name)
    return ""


async def write(page: Page) -> Response:
    return page.show("mail_write.html", to=page.given("to"), me=page.inbox, priorities=PRIORITIES)


async def send(page: Page) -> Response:
    fields = await page.form()
    subject = fields.get("subject", "").strip()
    body = fields.get("body", "")
    to = fields.get("to", "").strip()
    topic = to.removeprefix("topic:").strip() if to.startswith("topic:") else None
    answer = await page.call(
        "lithos_message_send",
        payload={"body": body, **({"subject": subject} if subject else {})},
        target=None if topic else to,
        topic=topic,
        parent_id=fields.get("parent") or None,
        priority=fields.get("priority") or None,
        idempotency_key=fields.get("key"),
    )
    need_success(answer)
    return page.go(f"/mail/thread/{answer['correlation_id']}")


async def read_all(page: Page) -> Response:
    """Take and acknowledge what waits for the visitor, as `lithos inbox --take` does."""
    if not page.visitor.person:
        raise Forbidden("an agent's messages are for the agent to take", hint="Sign in as a person.")
    me = page.inbox
    taken = need_success(await page.call("lithos_inbox_take", agent=me, limit=MOST_READ))
    for each in taken["messages"]:
        await page.call("lithos_inbox_ack", agent=me, message_id=each["message"]["id"], token=each["token"])
    return page.go("/mail")


async def cancel(page: Page) -> Response:
    fields = await page.form()
    need_success(
        await page.call("lithos_message_cancel", message_id=page.part("id"), idempotency_key=fields.get("key"))
    )
    return page.go(f"/mail/thread/{segment(fields.get('thread', page.part('id')))}")


async def dead_letters(page: Page) -> Response:
    found = await page.call("lithos_dead_letter_list", limit=100, cursor=page.given("cursor") or None)
    return page.show("dead_letters.html", letters=found["dead_letters"], more=found.get("next_cursor", ""))


async def replay(page: Page) -> Response:
    fields = await page.form()
    need_success(
        await page.call("lithos_dead_letter_replay", message_id=page.part("id"), idempotency_key=fields.get("key"))
    )
    return page.go("/mail/dead")


async def drop(page: Page) -> Response:
    fields = await page.form()
    need_success(
        await page.call("lithos_dead_letter_drop", message_id=page.part("id"), idempotency_key=fields.get("key"))
    )
    return page.go("/mail/dead")


ROUTES = (
    PageRoute("/mail", mail),
    PageRoute("/mail/write", write, writes=True),
    PageRoute("/mail/write", send, "POST"),
    PageRoute("/mail/read", read_all, "POST"),
    PageRoute("/mail/dead", dead_letters),
    PageRoute("/mail/dead/{id}/replay", replay, "POST"),
    PageRoute("/mail/dead/{id}/drop", drop, "POST"),
    PageRoute("/mail/thread/{id}", thread),
    PageRoute("/mail/message/{id}/cancel", cancel, "POST"),
)
