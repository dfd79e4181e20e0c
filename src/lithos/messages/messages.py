"""Messages: an inbox for every agent and person, topics that any number follow, and nothing lost between them.

A message grants no right. Approvals and completions happen in their own tools, which send it in their transaction.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, cast

from lithos.core.call import Call
from lithos.core.clock import micros
from lithos.core.ids import Ids
from lithos.core.part import Part
from lithos.core.validators import text_block
from lithos.errors import CursorExpired, Forbidden, InvalidInput, LithosError, NotFound
from lithos.messages import reading, store, taking, upkeep
from lithos.messages.arrivals import Arrivals, Arrived, Mail, arrived_since
from lithos.messages.conversations import Conversations
from lithos.messages.dead_letters import DeadLetters
from lithos.messages.inboxes import Inboxes, Names
from lithos.messages.model import (
    FENCE,
    LONGEST_ERROR,
    InboxPage,
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
    TopicPage,
    TraceAnswer,
    person_of,
    receiver_of,
)
from lithos.messages.outbox import Outbox
from lithos.messages.pending import PendingMessages
from lithos.messages.rules.breaker import breaker_of
from lithos.messages.rules.health import BEAT_SECONDS
from lithos.messages.rules.limits import MessageLimits
from lithos.messages.rules.refusals import refusal
from lithos.messages.sending import PostRules, Refused, checked_draft, posting, thread_of
from lithos.messages.taking import Held, Settlement, TakeRequest
from lithos.messages.timer import Timer
from lithos.messages.topics import TopicPatterns
from lithos.messages.types import check_payload, refuse_controls, reply_type, text_field
from lithos.sessions import SESSIONS_JOURNAL, Sessions, is_member, proved_sessions
from lithos.storage import (
    Answer,
    Database,
    Effects,
    EventDraft,
    Followers,
    Outcome,
    Row,
    Tx,
    carry_over,
    scrub,
)

LONGEST_WAIT_S = 55  # clients give up a call after a minute
REBOOT_GRACE_S = 120.0
_TIMER = Call("messages", agent="lithos")
_log = logging.getLogger(__name__)


class Messages(Part):
    def __init__(
        self,
        database: Database,
        effects: Effects,
        ids: Ids,
        sessions: Sessions,
        *,
        names: Names | None = None,
        limits: MessageLimits | None = None,
    ) -> None:
        self._database = database
        self._effects = effects
        self._sessions = sessions
        self._inboxes = Inboxes(database, names or Names())
        self.limits = limits or MessageLimits()
        self._outbox = Outbox(effects, PostRules(ids, self.limits))
        self.post = self._outbox.post
        self.host = ids.sortable()  # of the leases that workers of this process take
        self.followers = Followers(database, store.JOURNAL)
        self._timer = Timer(self._timed)
        self._beat_at = 0.0
        self._arrivals = Arrivals(self.followers)
        self.conversations = Conversations(database, self._inboxes)
        self.dead_letters = DeadLetters(database, effects, self._inboxes, self.post)
        self.pending = PendingMessages(database, self._inboxes, ids, self.limits, self.post)
        sessions.on_change = upkeep.announce_sessions
        self._stops = [
            self._inboxes.close,
            database.listen(store.JOURNAL.channel, self._arrivals.changed),
            database.listen(store.DUE_CHANNEL, self._timer.look),
            database.listen(SESSIONS_JOURNAL.channel, self._timer.look),
        ]

    # -- part

    def open(self) -> None:
        """Give the leases of an earlier boot their grace, and do what fell due without a host."""

        def work(tx: Tx) -> Outcome:
            head = store.JOURNAL.lock(tx)()
            carry_over(tx, "messages", head.last_era, head.last_steady, head.now, REBOOT_GRACE_S)
            store.JOURNAL.record_clock(tx, head)
            alone = self._database.dialect.name == "sqlite"
            change = store.Change(tx)
            upkeep.bury_hosts(change, self.limits, self.host, alone=alone)
            done = upkeep.tick(tx, self.limits, self.host)
            return Outcome(done.answer, (*change.events, *done.events))

        if self._effects.commit(_TIMER, work, audited=False)["wait"] == 0.0:
            self.tick()

    def start(self) -> None:
        self._timer.start()

    def problem(self) -> str | None:
        return "messages that are due cannot be handled, the log says why" if self._timer.failing else None

    def close(self) -> None:
        for stop in self._stops:
            stop()
        self._timer.close()
        self.followers.close()
        if self._beat_at:
            self._leave()

    def _leave(self) -> None:
        try:
            self._database.write(lambda tx: upkeep.leave(tx, self.host), reserve=True)
        except LithosError as error:  # the next host finds it as it finds a dead one's
            _log.warning("leases of this host could not be given back: %s", error.message)

    def tick(self) -> float:
        """Handle everything that is due; the seconds until the next."""
        wait = 0.0
        while wait == 0.0:
            answer = self._effects.commit(_TIMER, lambda tx: upkeep.tick(tx, self.limits, self.host), audited=False)
            wait = answer["wait"]
        return wait

    def _timed(self) -> float:
        if time.monotonic() - self._beat_at >= BEAT_SECONDS:
            self.beat()
        return min(self.tick(), BEAT_SECONDS)

    def beat(self) -> None:
        """This host lives, and so do the workers in it."""
        self._database.write(lambda tx: upkeep.beat(tx, self.host))
        self._beat_at = time.monotonic()

    def prune(self) -> int:
        """Drop old rows, some thousand in one transaction; how many went."""
        total = 0
        while gone := self._database.write(lambda tx: upkeep.prune(tx, self.limits)):
            total += gone
        return total

    # -- sending

    def send(self, call: Call, draft: MessageDraft) -> SentAnswer:
        """To one receiver, to several, or to a topic."""
        sender = self._inboxes.sender(call)
        try:
            checked = checked_draft(self._in_session(call, draft), sender, self.limits)
        except Refused as refused:
            return cast(SentAnswer, refused.answer)
        if not sender.person:
            self._inboxes.enter(sender.name)
        for target in checked.targets:
            self._inboxes.need_known(target)

        return cast(SentAnswer, self._outbox.send(call, self._inboxes.reader(call), posting(checked, sender)))

    async def request(self, call: Call, draft: MessageDraft, seconds: float) -> RequestAnswer:
        """Send, and wait for the reply; without one in time it comes into the inbox."""
        if len(draft.targets) != 1:
            raise InvalidInput("a request goes to one target", hint="Give target.")
        if (refused := await asyncio.to_thread(self._circuit_open, call, draft)) is not None:
            return cast(RequestAnswer, refused)
        cursor = (await asyncio.to_thread(self.followers.read, None)).cursor
        sent = cast(RequestAnswer, await asyncio.to_thread(self.send, call, draft))
        if not sent["success"]:
            return sent
        me, until = sent["source"], time.monotonic() + seconds
        while True:
            reply = await asyncio.to_thread(self._take_reply, me, draft.targets[0], sent["message_id"])
            if reply is not None:
                self._arrivals.taken(me, [reply.row["seq"]])
                return {**sent, "reply": reply.envelope(), "fence": FENCE}
            left = until - time.monotonic()
            if left <= 0:
                return {**sent, "pending": True}
            page = await self.followers.wait(cursor, left, (store.inbox(me),))
            cursor = page.cursor

    def _circuit_open(self, call: Call, draft: MessageDraft) -> Answer | None:
        """A request to a receiver whose breaker is open fails at once."""
        sender = self._inboxes.sender(call)
        if draft.priority >= 100 and sender.trusted:
            return None

        def look(tx: Tx) -> bool:
            return breaker_of(store.ask_agent(tx, draft.targets[0]).one()).at(tx.now()).breaker == "open"

        if not self._database.read(look):
            return None
        return refusal("circuit_open", f"{draft.targets[0]} failed several times in a row. Ask another, or send later.")

    def _take_reply(self, me: str, other: str, parent_id: str) -> Message | None:
        """The reply to a request, settled: it is not handed out a second time."""

        def find(tx: Tx) -> Row | None:
            row = tx.one(reading.REPLY, parent_id, other, me)
            return row if row is not None and self._hands_out(tx, row["session_id"]) else None

        def work(tx: Tx) -> Message | None:
            row = find(tx)
            if row is None:
                return None
            if row["status"] == "queued":
                change = store.Change(tx)
                row |= {"taken_at": change.wall}
                tx.put("UPDATE messages SET taken_at = ? WHERE seq = ?", change.wall, row["seq"])
                store.settle(change, Message(row), "completed")
            return Message({**row, "status": "completed"})

        return None if self._database.read(find) is None else self._database.write(work)

    def _hands_out(self, tx: Tx, session_id: str) -> bool:
        row = tx.one("SELECT state, closed_at FROM sessions WHERE id = ?", session_id) if session_id else None
        return not session_id or (row is not None and row["state"] == "active" and row["closed_at"] is None)

    def _in_session(self, call: Call, draft: MessageDraft) -> MessageDraft:
        """The named session, else the sender's current one. Another's session is unknown to the sender."""
        own, named = self.current_session(call), draft.session_id
        if named is None:
            return draft if own is None else replace(draft, session_id=own)
        if named == own or call.operator:
            return draft
        if not self._database.read(lambda tx: is_member(tx, _as_connected(call), named)):
            raise NotFound(f"there is no session {named[:80]!r} of yours", hint="lithos_session_list shows them.")
        return draft

    # -- receiving

    async def take(self, call: Call, request: TakeRequest, seconds: float) -> TakenAnswer:
        """Hand out what waits; without anything, as soon as something comes within `seconds`."""
        self._inboxes.need_own(call, request.inbox)
        until = time.monotonic() + seconds
        cursor = (await asyncio.to_thread(self.followers.read, None)).cursor
        while True:
            answer = await asyncio.to_thread(self.take_now, call, request)
            left = until - time.monotonic()
            if answer["messages"] or not answer["success"] or left <= 0:
                return answer
            page = await self.followers.wait(cursor, left, (store.inbox(request.inbox),))
            cursor = page.cursor

    def take_now(self, call: Call, request: TakeRequest) -> TakenAnswer:
        self._inboxes.need_own(call, request.inbox)
        self._inboxes.enter(request.inbox)

        def work(tx: Tx) -> Outcome:
            refused = self._not_active(tx, call, request)
            if refused is not None:
                return Outcome(refused, refused=True)
            answer = taking.take(tx, request, lambda: proved_sessions(tx, call, request.inbox))
            return Outcome(answer, refused=not answer["messages"])  # an empty answer occupies no key

        answer = cast(TakenAnswer, self._effects.commit(call, work, audited=False))
        if answer["messages"]:
            self._arrivals.taken(request.inbox, [taking.number_of(each["token"]) for each in answer["messages"]])
        return answer

    def _not_active(self, tx: Tx, call: Call, request: TakeRequest) -> Answer | None:
        """The state of a session is for its members and those who have mail in it; for others it does not exist."""
        session_id = request.session_id
        if session_id is None:
            return None
        row = tx.one("SELECT state, closed_at FROM sessions WHERE id = ?", session_id)
        if row is not None and not (call.operator or self._has_part(tx, call, request.inbox, session_id)):
            row = None
        if row is not None and row["state"] == "active" and row["closed_at"] is None:
            return None
        state = "unknown" if row is None else row["state"]
        hint = f"The session is {state}; lithos_session_resume takes a suspended one up."
        return {"messages": [], "waiting": 0, **refusal("session_not_active", hint)}

    def _has_part(self, tx: Tx, call: Call, inbox: str, session_id: str) -> bool:
        if is_member(tx, _as_connected(call), session_id):
            return True
        mail = tx.one("SELECT 1 AS yes FROM messages WHERE session_id = ? AND target = ? LIMIT 1", session_id, inbox)
        return mail is not None and session_id not in proved_sessions(tx, call, inbox)

    def ack(self, call: Call, message_id: str, token: int) -> SettledAnswer:
        own = self._settlement(call, message_id, token)
        return self._settle(call, lambda tx: taking.complete(tx, own))

    def renew(self, call: Call, message_id: str, token: int, seconds: float) -> SettledAnswer:
        own = self._settlement(call, message_id, token)
        return self._settle(call, lambda tx: taking.renew(tx, own, seconds))

    def fail(self, call: Call, message_id: str, token: int, error: str, *, retry: bool) -> SettledAnswer:
        why, own = text_block(error, "error", LONGEST_ERROR), self._settlement(call, message_id, token)
        return self._settle(call, lambda tx: taking.fail(tx, own, why, self.limits, retry=retry))

    def reply(self, call: Call, message_id: str, token: int, payload: dict[str, Any]) -> SettledAnswer:
        """Acknowledge and answer the sender alone, in one transaction; late, it is kept in the trace."""
        own = self._settlement(call, message_id, token)
        refuse_controls(payload)  # also of a late one, which the trace keeps

        def then(tx: Tx, held: Held) -> dict[str, Any]:
            row = held.message.row
            kind = reply_type(row["type"])
            check_payload(kind, payload)
            draft = MessageDraft(
                kind,
                payload,
                targets=(row["source"],),
                session_id=row["session_id"] or None,
                priority=row["priority"],
                pipeline_id=row["pipeline_id"],
            )
            person = row["target"] == person_of(call)
            speaker = Sender(row["target"], bound=call.bound or person, person=person)
            thread = replace(thread_of(tx, held.message, None), replies=True)
            answer = self.post(tx, draft, speaker, thread)
            return {"reply_id": answer["message_id"]}

        def work(tx: Tx) -> Outcome:
            try:
                return taking.complete(tx, own, then)
            except Refused as refused:
                return Outcome({"message_id": message_id, **refused.answer}, refused=True)

        answer = self._settle(call, work)
        if answer.get("reason") in ("claim_lost", "settled"):
            self._database.write(lambda tx: taking.keep_late_reply(tx, message_id, token, payload))
        return answer

    def reply_payload(self, message_id: str, body: str | None, payload: dict[str, Any] | None) -> dict[str, Any]:
        """A plain answer as the payload of the type that the reply will have."""
        if payload is not None:
            return payload
        row = self._database.read(lambda tx: store.ask(tx, message_id).one())
        kind = reply_type(row["type"]) if row is not None else "text"
        return {text_field(kind): body}

    def _settle(self, call: Call, work: Callable[[Tx], Outcome]) -> SettledAnswer:
        return cast(SettledAnswer, self._effects.commit(call, work, audited=False))

    def _settlement(self, call: Call, message_id: str, token: int) -> Settlement:
        reader, persons = self._inboxes.reader(call), self._inboxes.persons()

        def allow(tx: Tx, message: Message) -> None:
            target = message.row["target"]
            foreign = call.bound and target != call.agent
            persons_own = target in persons and not call.operator and target != person_of(call)
            if foreign or persons_own or (store.token_of(message.row) != token and not reader(tx).sees(message)):
                raise store.unknown(message_id)

        return Settlement(message_id, token, allow)

    def cancel(self, call: Call, message_id: str) -> SettledAnswer:
        """Take back what waits; for its sender, or the operator."""
        reader, sender = self._inboxes.reader(call), self._inboxes.sender(call)

        def work(tx: Tx) -> Outcome:
            change = store.Change(tx)
            message = reader(tx).message(message_id)
            if not call.operator and message.row["source"] != sender.name:
                raise Forbidden("only its sender takes a message back", hint="Ask the sender.")
            if message.row["status"] != "queued":
                reason = "settled" if not message.is_open else "claim_lost"
                hint = "It is settled already." if reason == "settled" else "It is being worked on."
                return Outcome({"message_id": message_id, **refusal(reason, hint)}, refused=True)
            store.settle(change, message, "cancelled")
            return Outcome({"success": True, "message_id": message_id, "status": "cancelled"})

        return cast(SettledAnswer, self._effects.commit(call, work))

    # -- reading

    def inbox(self, call: Call, *, unread: bool, limit: int, cursor: str | None) -> InboxPage:
        name = receiver_of(call)
        self._inboxes.need_own(call, name)
        closed = self._database.read(lambda tx: proved_sessions(tx, call, name))
        self._arrivals.pop(name, lambda: closed)
        query = reading.InboxQuery(name, unread, limit, cursor, closed)
        return self._database.read(lambda tx: reading.list_inbox(tx, query))

    def get(self, call: Call, message_id: str, offset: int = 0) -> MessageShown:
        reader = self._inboxes.reader(call)
        message = self._database.read(lambda tx: reader(tx).message(message_id))
        return reading.show_message(message, offset)

    def status(self, call: Call, message_id: str | None) -> MessageStatusAnswer:
        if message_id is None:
            name = receiver_of(call)
            self._inboxes.need_own(call, name)
            return self._database.read(lambda tx: reading.agent_status(tx, name, proved_sessions(tx, call, name)))
        reader = self._inboxes.reader(call)
        return self._database.read(lambda tx: reading.status_of(tx, reader(tx).message(message_id)))

    def thread(self, call: Call, correlation_id: str, *, limit: int, cursor: str | None) -> MessagePage:
        reader = self._inboxes.reader(call)
        page = self._database.read(
            lambda tx: reading.list_thread(tx, correlation_id, reader(tx).sees, limit=limit, cursor=cursor)
        )
        if not page["messages"] and cursor is None:
            raise store.unknown(correlation_id)
        return page

    def trace(self, call: Call, message_id: str) -> TraceAnswer:
        reader_in = self._inboxes.reader(call)

        def read(tx: Tx) -> TraceAnswer:
            reader, since = reader_in(tx), micros(tx.now().wall) - int(self.limits.hop_days * upkeep.DAY)
            return reading.trace(tx, reader.message(message_id), reader.sees, since)

        return self._database.read(read)

    async def follow(self, call: Call, pattern: str, since: int | None, limit: int, seconds: float) -> TopicPage:
        """Entries of matching topics after a cursor; without any, as soon as some come within `seconds`."""
        patterns = TopicPatterns([pattern])
        until = time.monotonic() + seconds
        cursor = since
        while True:
            left = max(0.0, until - time.monotonic())
            try:
                page = await self.followers.wait(cursor, left)
            except CursorExpired as expired:
                raise await asyncio.to_thread(self._oldest, expired) from None
            found = await asyncio.to_thread(self._topic_page, call, page, patterns, limit)
            cursor = found["cursor"]
            if found["entries"] or (not page.more and time.monotonic() >= until):
                return found

    def _topic_page(self, call: Call, page: Any, patterns: TopicPatterns, limit: int) -> TopicPage:
        reader = self._inboxes.reader(call)
        return self._database.read(lambda tx: reading.topic_page(tx, page, patterns, reader(tx).sees, limit))

    def _oldest(self, expired: CursorExpired) -> CursorExpired:
        row = self._database.read(lambda tx: tx.one("SELECT min(seq) AS seq FROM journal WHERE topic = 'messages'"))
        oldest = (row["seq"] - 1) if row and row["seq"] is not None else expired.details["cursor"]
        return CursorExpired(
            "the entries after this cursor are no longer kept",
            hint=f"The oldest cursor is {oldest}; go on from there.",
            cursor=oldest,
        )

    def arrivals(self, call: Call) -> int:
        """Messages that came for the calling agent since an answer last said so."""
        name = call.agent
        if name is None or call.by_person or name not in self._inboxes.names_of(call):
            return 0
        return self._arrivals.pop(name, lambda: self._database.read(lambda tx: proved_sessions(tx, call, name)))

    def arrived_since(self, cursor: int | None) -> Arrived:
        """Whose inboxes something came into after a cursor, for subscriptions."""
        return arrived_since(self.followers, cursor)

    def reached(self, calls: Sequence[Call], mail: Sequence[Mail]) -> list[bool]:
        """For each call, whether some of this mail came into its inbox and is not closed to it."""
        names = [self._inboxes.own(call) for call in calls]
        sessions: dict[str, set[str]] = {}
        for each in mail:
            sessions.setdefault(each.receiver, set()).add(each.session_id)

        def read(tx: Tx) -> list[bool]:
            return [
                name in sessions and bool(sessions[name] - proved_sessions(tx, call, name))
                for name, call in zip(names, calls, strict=True)
            ]

        return self._database.read(read)

    def names_of(self, call: Call) -> set[str]:
        """The names under which the caller sends and receives."""
        return self._inboxes.names_of(call)

    def current_session(self, call: Call) -> str | None:
        return self._sessions.current(_as_connected(call))

    def closed_sessions(self, call: Call) -> frozenset[str]:
        """Sessions of which the caller has a member's name and not its token."""
        names = sorted(self.names_of(call))

        def read(tx: Tx) -> frozenset[str]:
            return frozenset().union(*(proved_sessions(tx, call, name) for name in names))

        return self._database.read(read)

    def ids(self) -> set[str]:
        return {row["id"] for row in self._database.read(lambda tx: tx.all("SELECT id FROM messages"))}

    def rows(self, ids: Sequence[str]) -> list[Message]:
        """Those that exist, for search."""
        marks = ", ".join("?" * len(ids))
        sql = f"SELECT * FROM messages WHERE id IN ({marks}) ORDER BY seq"
        return [Message(row) for row in self._database.read(lambda tx: tx.all(sql, *ids))]

    def waiting_from(self, call: Call) -> dict[str, int]:
        """Senders of what waits for the caller, for briefings."""
        name = self._inboxes.own(call)
        if name is None:
            return {}
        return self._database.read(lambda tx: reading.waiting_from(tx, name, proved_sessions(tx, call, name)))

    def counts(self) -> MessageCounts:
        return self._database.read(reading.counts)

    def miscounted(self) -> int:
        """Lanes whose counters differ from their messages: something would wait unseen. 0 unless there is a bug."""
        return len(self._database.read(upkeep.miscounted))

    def recount(self) -> int:
        return self._database.write(upkeep.recount)

    # -- forgetting

    def forget(self, call: Call, message_id: str) -> SettledAnswer:
        """For the operator: leave no byte of it, nor of the answers that mention it."""

        def work(tx: Tx) -> Outcome:
            change = store.Change(tx)
            message = store.found(store.ask(tx, message_id), message_id)
            if message.is_open:
                store.settle(change, message, "cancelled")
            for table, column in _OF_MESSAGE.items():
                tx.put(f"DELETE FROM {table} WHERE {column} = ?", message_id)
            return Outcome(
                {"success": True, "message_id": message_id}, (EventDraft("message", "forget", thing=message_id),)
            )

        answer = self._effects.commit(call, work)
        scrub(self._database, message_id)
        return cast(SettledAnswer, answer)

    # -- pipelines

    def close_pipeline(self, tx: Tx, pipeline_id: str) -> tuple[EventDraft, ...]:
        """It takes no more messages; what waits in it becomes dead letters, with events for the caller's outcome."""
        change = store.Change(tx)
        sql = "INSERT INTO message_pipelines (id, closed_at) VALUES (?, ?) ON CONFLICT (id) DO NOTHING"
        tx.put(sql, pipeline_id, change.wall)
        rows = tx.all("SELECT id FROM messages WHERE pipeline_id = ? AND status = 'queued' ORDER BY seq", pipeline_id)
        for row in rows:
            message = store.found(store.ask(tx, row["id"]), row["id"])
            if message.row["status"] == "queued":
                store.bury(change, message, "unroutable", "its pipeline is closed")
        return tuple(change.events)


def _as_connected(call: Call) -> Call:
    """A call that names no agent is its connection's."""
    return call if call.agent is not None else replace(call, agent=call.connection)


_OF_MESSAGE = {
    "message_dead_letters": "message_id",
    "message_hops": "message_id",
    "messages": "id",
}
