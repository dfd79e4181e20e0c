"""Sessions: undertakings that can be left, taken up again and kept apart."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from lithos.core.call import Call
from lithos.core.clock import micros, rfc3339
from lithos.core.ids import Ids
from lithos.core.names import agent_name, one_line
from lithos.core.part import Part
from lithos.errors import Conflict, CursorExpired, Forbidden, InvalidInput, NotFound
from lithos.sessions import store
from lithos.sessions.answers import (
    ContextShown,
    ContextUpdated,
    SessionChanged,
    SessionChanges,
    SessionCreated,
    SessionPage,
    SessionShown,
    SessionStats,
)
from lithos.sessions.context import parse_changes, write_context
from lithos.sessions.model import (
    DONE,
    LONGEST_BRANCH,
    ClaimLimits,
    Session,
    SessionConfig,
    SessionState,
    Verb,
    closing_text,
    need_open,
    need_writable,
    next_state,
    session_name,
    session_of,
)
from lithos.sessions.rules import event, existing, may_join, need_agent, need_member, new_session, not_a_member
from lithos.sessions.store import JOURNAL, Membership
from lithos.sessions.visibility import PUBLIC, Viewer
from lithos.storage import Database, Effects, Followers, JournalHead, Moment, NewEntry, Outcome, Tx

LONGEST_WAIT_S = 55  # clients give up a call after a minute
LARGEST_PAGE = 500
PROMOTIONS = "session promotions"  # the channel of their changes
LOOK = "look"  # the operator read what is private
Ended = Callable[[Tx, Call, Session], int]  # promotes what a completed session learned; how many entries


@dataclass(frozen=True, slots=True)
class NewSession:
    name: str
    base_branch: str | None = None
    branch_name: str | None = None
    config: Mapping[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)


class Sessions(Part):
    def __init__(
        self,
        database: Database,
        effects: Effects,
        ids: Ids,
        *,
        store_id: str = "",
        defaults: SessionConfig | None = None,
    ) -> None:
        self.store_id = store_id  # promotions are of this data directory's chains
        self._promoted: dict[str, dict[int, str]] | None = None
        self._stop_promotions = database.listen(PROMOTIONS, self.forget_promotions)
        self._database = database
        self._effects = effects
        self._ids = ids
        self.defaults = defaults or SessionConfig()
        self.followers = Followers(database, JOURNAL)
        self.on_change: Callable[[Tx, Sequence[NewEntry]], None] = lambda tx, entries: None  # set by messages
        self._lock = threading.Lock()
        self._current: dict[str, Membership | None] = {}  # by agent; dropped with every change of the topic
        self._active: set[str] = set()  # sessions in which something happened since the last look at time-outs
        self._known: set[str] = set()  # ids that have a row; a session is never deleted
        self._stop_listening = database.listen(JOURNAL.channel, self.forget_members)

    def close(self) -> None:
        self._stop_promotions()
        self._stop_listening()
        self.followers.close()

    # -- lifecycle

    def create(self, call: Call, new: NewSession) -> SessionCreated:
        """In the state created; its maker owns it."""
        name, agent = session_name(new.name), need_agent(call)
        config = self.defaults.with_changes(new.config)
        branch = None if new.base_branch is None else one_line(new.base_branch, "base_branch", LONGEST_BRANCH)
        change = parse_changes({"metadata": {"add": dict(new.metadata)}} if new.metadata else {})

        def work(tx: Tx) -> Outcome:
            head = JOURNAL.lock(tx)()
            session_id = self._ids.sortable()
            seq = self.announce(tx, head, NewEntry("created", session_id, agent))
            session = new_session(session_id, seq, name, agent, config, head.now, bound=call.bound)
            session = replace(session, scalars={**session.scalars, "base_branch": branch})
            store.insert(tx, session)
            store.put_agent(tx, session_id, agent, "owner", head.now, bound=call.bound, here=False)
            if change:
                write_context(tx, session_id, {"version": 0, "bytes": 0}, change)
            answer = {"session_id": session_id, "state": session.state, "name": name, "config": config.as_dict()}
            return Outcome(answer, (event("create", session_id, name=name),))

        return cast(SessionCreated, self._commit(call, work))

    def activate(self, call: Call, session_id: str) -> SessionChanged:
        return self._begin(call, session_id, "activate")

    def resume(self, call: Call, session_id: str) -> SessionChanged:
        """Of two at once one wins and the other joins: to resume an active session is to join it."""
        return self._begin(call, session_id, "resume")

    def _begin(self, call: Call, session_id: str, verb: Verb) -> SessionChanged:
        agent = need_agent(call)

        def work(tx: Tx) -> Outcome:
            head, session, member = self._hold(tx, session_id, agent)
            may_join(session, member, call)
            joined = member is None or not member.joined
            if not (verb == "resume" and session.state == "active" and session.closed_at is None):
                state = next_state(session, verb)
                store.set_state(tx, session_id, state, head.now)
                self.announce(tx, head, NewEntry(DONE[verb], session_id, agent))
            elif joined:
                self.announce(tx, head, NewEntry("joined", session_id, agent))
            self._enter(tx, session, member, call, agent, head.now)
            answer = {"session_id": session_id, "state": "active"} | ({"joined": True} if joined else {})
            return Outcome(answer, (event(verb, session_id),))

        return cast(SessionChanged, self._commit(call, work))

    def suspend(self, call: Call, session_id: str) -> SessionChanged:
        return self._end(call, session_id, "suspend")

    def complete(self, call: Call, session_id: str, summary: str | None, ended: Ended | None = None) -> SessionChanged:
        """`ended` promotes in the same transaction."""
        return self._end(call, session_id, "complete", ended, summary=closing_text(summary, "summary"))

    def fail(self, call: Call, session_id: str, reason: str) -> SessionChanged:
        why = closing_text(reason, "reason")
        if why is None:
            raise InvalidInput("reason is empty", hint="Say why the session failed.")
        return self._end(call, session_id, "fail", reason=why)

    def _end(
        self, call: Call, session_id: str, verb: Verb, ended: Ended | None = None, **columns: str | None
    ) -> SessionChanged:
        agent = need_agent(call)

        def work(tx: Tx) -> Outcome:
            head, session, member = self._hold(tx, session_id, agent)
            need_member(session, member, call)
            state = next_state(session, verb)
            store.set_state(tx, session_id, state, head.now, **columns)
            if state != "suspended":
                store.send_away(tx, session_id)
                store.drop_locks(tx, session_id)
            self.announce(tx, head, NewEntry(DONE[verb], session_id, agent))
            answer: dict[str, Any] = {"session_id": session_id, "state": state}
            if ended is not None:
                answer["promoted"] = ended(tx, call, session)
            return Outcome(answer, (event(verb, session_id),))

        return cast(SessionChanged, self._commit(call, work))

    def close_session(self, call: Call, session_id: str) -> SessionChanged:
        """Archive it: read-only from now on, and out of lists unless asked for. An active one is suspended first."""
        agent = need_agent(call)

        def work(tx: Tx) -> Outcome:
            head, session, member = self._hold(tx, session_id, agent)
            need_member(session, member, call)
            need_open(session, "close")
            state = self._archive(tx, head, session, agent)
            return Outcome({"session_id": session_id, "state": state}, (event("close", session_id),))

        return cast(SessionChanged, self._commit(call, work))

    def close_all(self, call: Call) -> SessionChanged:
        """Archive every session; for the operator."""
        agent = call.agent or call.user or "operator"

        def work(tx: Tx) -> Outcome:
            head = JOURNAL.lock(tx)
            rows = tx.all("SELECT * FROM sessions WHERE closed_at IS NULL ORDER BY seq")
            begun = head()
            for number, row in enumerate(rows):
                store.lock(tx, row["id"])
                self._archive(tx, replace(begun, seq=begun.seq + number), session_of(row), agent)
            answer = {"session_id": "", "state": "closed", "closed": len(rows)}
            return Outcome(answer, tuple(event("close", row["id"]) for row in rows))

        return cast(SessionChanged, self._commit(call, work))

    def _archive(self, tx: Tx, head: JournalHead, session: Session, agent: str) -> SessionState:
        state: SessionState = "suspended" if session.state == "active" else session.state
        if state != session.state:
            store.set_state(tx, session.id, state, head.now)
        store.touch(tx, session.id, head.now, closed_at=micros(head.now.wall))
        store.send_away(tx, session.id)
        store.drop_locks(tx, session.id)
        self.announce(tx, head, NewEntry("closed", session.id, agent))
        return state

    # -- agents

    def join(self, call: Call, session_id: str) -> SessionChanged:
        """Become a member; the session becomes the agent's current one."""
        agent = need_agent(call)

        def work(tx: Tx) -> Outcome:
            head, session, member = self._hold(tx, session_id, agent)
            need_open(session, "join")
            may_join(session, member, call)
            self._enter(tx, session, member, call, agent, head.now)
            self.announce(tx, head, NewEntry("joined", session_id, agent))
            return Outcome(
                {"session_id": session_id, "state": session.state, "joined": True}, (event("join", session_id),)
            )

        return cast(SessionChanged, self._commit(call, work))

    def leave(self, call: Call, session_id: str) -> SessionChanged:
        """No longer there, and no longer a member; the owner stays one."""
        agent = need_agent(call)

        def work(tx: Tx) -> Outcome:
            head, session, member = self._hold(tx, session_id, agent)
            need_member(session, member, call)
            if member is None:
                raise Conflict(f"{agent} is not in this session", hint=store.UNKNOWN)
            if member.role == "owner":
                store.send_away(tx, session_id, agent)
            else:
                tx.put("DELETE FROM session_agents WHERE session_id = ? AND agent = ?", session_id, agent)
            self.announce(tx, head, NewEntry("left", session_id, agent))
            return Outcome({"session_id": session_id, "state": session.state}, (event("leave", session_id),))

        return cast(SessionChanged, self._commit(call, work))

    def invite(self, call: Call, session_id: str, agents: Sequence[str]) -> SessionChanged:
        """Let these agents join; the owner alone may."""
        names, agent = [agent_name(each, "agents") for each in agents], need_agent(call)

        def work(tx: Tx) -> Outcome:
            head, session, member = self._hold(tx, session_id, agent)
            need_open(session, "invite")
            need_member(session, member, call)
            if not call.operator and (member is None or member.role != "owner"):
                raise Forbidden(f"only the owner, {session.owner}, invites", hint="Ask the owner.")
            for name in names:
                if store.membership(store.ask_member(tx, session_id, name)) is None:
                    store.put_agent(tx, session_id, name, "invited", head.now, bound=False, here=False)
            invited = event("invite", session_id, agents=names)
            return Outcome({"session_id": session_id, "state": session.state}, (invited,))

        return cast(SessionChanged, self._commit(call, work))

    def switch(self, call: Call, session_id: str) -> SessionChanged:
        """Go to another session, which is activated or resumed if need be. The one that is left is suspended only if no
        other agent is in it."""
        agent = need_agent(call)

        def work(tx: Tx) -> Outcome:
            head, session, member = self._hold(tx, session_id, agent)
            left = store.membership(store.ask_current(tx, agent))
            may_join(session, member, call)
            need_open(session, "switch")
            answer: dict[str, Any] = {"session_id": session_id, "state": session.state}
            entries: list[NewEntry] = []
            if left is not None and left.session_id != session_id:
                answer["left"] = left.session_id
                store.lock(tx, left.session_id)
                before = session_of(store.found(store.ask(tx, left.session_id), left.session_id))
                if before.state == "active" and not store.others_here(tx, left.session_id, agent):
                    store.set_state(tx, left.session_id, "suspended", head.now)
                    entries.append(NewEntry("suspended", left.session_id, agent))
                    answer["suspended"] = left.session_id
            if session.state != "active":
                verb: Verb = "activate" if session.state == "created" else "resume"
                answer["state"] = next_state(session, verb)
                store.set_state(tx, session_id, "active", head.now)
                entries.append(NewEntry(DONE[verb], session_id, agent))
            elif member is None or not member.here:
                entries.append(NewEntry("joined", session_id, agent))
            self._enter(tx, session, member, call, agent, head.now)
            if entries:
                self.announce(tx, head, *entries)
            return Outcome(answer, (event("switch", session_id, left=answer.get("left")),))

        return cast(SessionChanged, self._commit(call, work))

    def _enter(self, tx: Tx, session: Session, member: Membership | None, call: Call, agent: str, now: Moment) -> None:
        role: store.Role = "owner" if member is not None and member.role == "owner" else "member"
        bound = call.bound or (member is not None and member.bound)
        store.put_agent(tx, session.id, agent, role, now, bound=bound, here=True)

    # -- context

    def update_context(
        self, call: Call, session_id: str, changes: Mapping[str, Any], if_match: int | None = None
    ) -> ContextUpdated:
        """Durable when this returns. No audit event: a session of work makes thousands of these."""
        agent, change = need_agent(call), parse_changes(changes)

        def work(tx: Tx) -> Outcome:
            store.lock(tx, session_id)
            now, asked = tx.ask_now(), store.ask(tx, session_id)
            asked_member = store.ask_member(tx, session_id, agent)
            row = store.found(asked, session_id)
            session = session_of(row)
            need_member(session, store.membership(asked_member), call)
            need_writable(session, "context_update")
            if if_match is not None and if_match != session.version:
                raise Conflict(
                    f"the context has version {session.version}, not {if_match}; nothing was changed",
                    hint="Read it with lithos_session_context, then decide again.",
                    version=session.version,
                )
            size = write_context(tx, session_id, row, change)
            store.touch(tx, session_id, now())
            return Outcome({"session_id": session_id, "version": session.version + 1, "bytes": size})

        return cast(ContextUpdated, self._effects.commit(call, work))

    def context(self, call: Call, session_id: str) -> ContextShown:
        """For members; an operator's look leaves an event."""

        def read(tx: Tx) -> ContextShown:
            session = self._private(tx, call, session_id)
            context = store.context_of(session, store.context_items(tx, session_id))
            return {
                "session_id": session_id,
                "state": session.state,
                "version": session.version,
                "bytes": session.bytes,
                "context": context,
            }

        shown = self._database.read(read)
        self._note_look(call, session_id)
        return shown

    # -- reading

    def get(self, call: Call, session_id: str) -> SessionShown:
        """All of it for members, the public part for others."""

        def read(tx: Tx) -> SessionShown:
            session = session_of(store.found(store.ask(tx, session_id), session_id))
            if call.operator or self._is_member(tx, call, session_id):
                return store.show_whole(tx, session)
            return store.show(session, member=False)

        shown = self._database.read(read)
        self._note_look(call, session_id)
        return shown

    def whole(self, call: Call, session_id: str) -> SessionShown:
        """All of it; Forbidden for those who are not members."""

        def read(tx: Tx) -> SessionShown:
            return store.show_whole(tx, self._private(tx, call, session_id))

        shown = self._database.read(read)
        self._note_look(call, session_id)
        return shown

    def list(
        self, call: Call, *, state: str | None = None, closed: bool = False, limit: int = 100, cursor: str | None = None
    ) -> SessionPage:
        """Newest first, without what is private."""
        size = min(limit, LARGEST_PAGE)

        def read(tx: Tx) -> SessionPage:
            found, total, more = store.page(tx, state=state, closed=closed, limit=size, cursor=cursor)
            mine = store.member_ids(tx, call.agent, call.bound, [each.id for each in found])
            shown = [store.show(each, member=each.id in mine) for each in found]
            return {"sessions": shown, "total": total, "next_cursor": more}

        page = self._database.read(read)
        current = self.current(call)
        return page if current is None else {**page, "current": current}

    def stats(self) -> SessionStats:
        return self._database.read(store.stats)

    async def wait(self, cursor: int | None, seconds: float, session_id: str | None = None) -> SessionChanges:
        """Lifecycle entries after `cursor`, as soon as there are some."""
        subjects = None if session_id is None else (session_id,)
        try:
            page = await self.followers.wait(cursor, min(seconds, LONGEST_WAIT_S), subjects)
        except CursorExpired as expired:
            return {"changes": [], "cursor": expired.details["cursor"], "missed": True}
        shown = [
            {
                "seq": each.seq,
                "kind": each.kind,
                "session_id": each.subject,
                "agent": each.agent,
                "at": rfc3339(each.at),
            }
            for each in page.entries
        ]
        return cast(SessionChanges, {"changes": shown, "cursor": page.cursor})

    # -- who is where

    def current(self, call: Call) -> str | None:
        """The session that the calling agent is in; a token's membership counts for its token alone."""
        here = None if call.agent is None else self._here(call.agent)
        return here.session_id if here is not None and (call.bound or not here.bound) else None

    def chosen(self, call: Call, session_id: str | None) -> str:
        """The named session, or the agent's current one."""
        found = session_id or self.current(call)
        if found is None:
            raise InvalidInput(
                "session_id is missing, and the agent is in no session",
                hint="Pass session_id, or join one: lithos_session_list shows them.",
            )
        return found

    def viewer(self, call: Call) -> Viewer:
        current = self.current(call)
        return PUBLIC if current is None else Viewer(current)

    def members_only(self, call: Call, session_id: str) -> Session:
        """Forbidden unless the caller belongs to the session. An operator may look, and leaves an event."""
        session = self._database.read(lambda tx: self._private(tx, call, session_id))
        self._note_look(call, session_id)
        return session

    def known(self, session_ids: Collection[str]) -> set[str]:
        """Those that have a row: only these scope anything."""
        likely = {each for each in session_ids if len(each) == 36}
        missing = [*(likely - self._known)]
        if missing:
            self._known |= self._database.read(lambda tx: existing(tx, missing))
        return likely & self._known

    def promoted(self, chain_key: str) -> Mapping[int, str]:
        """Index → session, of the promoted thoughts of a chain."""
        found = self._promoted
        if found is None:
            found = self._promoted = self._database.read(self._load_promotions)
        return found.get(chain_key, {})

    def forget_promotions(self) -> None:
        """Promotions changed, here or on another host."""
        self._promoted = None

    def _load_promotions(self, tx: Tx) -> dict[str, dict[int, str]]:
        found: dict[str, dict[int, str]] = {}
        for row in tx.all("SELECT chain, place, session_id FROM session_promotions WHERE store = ?", self.store_id):
            found.setdefault(row["chain"], {})[row["place"]] = row["session_id"]
        return found

    def scope_of_entry(self, call: Call, session_id: str | None) -> str | None:
        """The session that a new thought belongs to: the named one or the agent's current one. A session takes entries
        of its members, while it runs. An id that is no session scopes nothing; from within a session it is refused,
        since a typing error would make a private entry public. An empty one is none."""
        named, current = session_id.casefold() if session_id and session_id.strip() else None, self.current(call)
        if named is not None and not self.is_session(named):
            if current is None:
                return session_id
            raise NotFound(f"there is no session {named[:80]!r}", hint=f"You are in {current}: leave session_id out.")
        chosen = named or current
        if chosen is not None:
            self._database.read(lambda tx: need_writable(self._private(tx, call, chosen), "entry"))
            self.seen(chosen)
        return chosen

    def is_session(self, session_id: str | None) -> bool:
        return session_id is not None and bool(self.known((session_id,)))

    def _here(self, agent: str) -> Membership | None:
        with self._lock:
            if agent in self._current:
                return self._current[agent]
            changes = self._current
        found = self._database.read(lambda tx: store.membership(store.ask_current(tx, agent)))
        with self._lock:
            if changes is self._current:  # else something changed meanwhile
                self._current[agent] = found
        return found

    def forget_members(self) -> None:
        """Who is where changed, here or on another host."""
        with self._lock:
            self._current = {}

    # -- limits and time-outs

    def ask_limits(self, tx: Tx, call: Call) -> Callable[[], ClaimLimits | None]:
        """The limits of the active session that the agent is in; queued like `Tx.ask`."""
        asked = tx.ask(store.CURRENT_SESSION, call.agent or "")

        def limits() -> ClaimLimits | None:
            row = asked.one()
            if row is None or (row["member_bound"] and not call.bound) or row["state"] != "active":
                return None
            self.seen(row["id"])
            return session_of(row).claim_limits

        return limits

    def limits_of(self, tx: Tx, session_id: str) -> ClaimLimits | None:
        row = store.ask(tx, session_id).one()
        return None if row is None else session_of(row).claim_limits

    def seen(self, session_id: str) -> None:
        """Something happened in the session; written with the next look at the time-outs."""
        with self._lock:
            self._active.add(session_id)

    def expire(self) -> Sequence[str]:
        """Suspend sessions in which nothing happened for `auto_suspend_after`, fail those above `session_timeout`.
        Measured on the lease clock, so that no change of the wall clock ends one. The ids concerned."""
        with self._lock:
            active, self._active = self._active, set()
        if active:
            self._database.write(lambda tx: store.touch_all(tx, sorted(active)))
        rows, now = self._database.read(
            lambda tx: (tx.all("SELECT * FROM sessions WHERE state = 'active' AND closed_at IS NULL"), tx.now())
        )
        due = [(each, verb) for each in map(session_of, rows) if (verb := each.due(now)) is not None]
        for session, verb in due:
            self._time_out(session, verb)
        return [session.id for session, _ in due]

    def _time_out(self, session: Session, verb: Verb) -> None:
        call = Call("session time-outs", agent="lithos", operator=True)

        def work(tx: Tx) -> Outcome:
            head, current, _ = self._hold(tx, session.id, "lithos")
            if current.due(head.now) != verb:  # an agent came back meanwhile
                return Outcome({}, refused=True)
            reason = {"reason": "session_timeout has passed"} if verb == "fail" else {}
            store.set_state(tx, session.id, next_state(current, verb), head.now, **reason)
            if verb == "fail":
                store.send_away(tx, session.id)
                store.drop_locks(tx, session.id)
            self.announce(tx, head, NewEntry(DONE[verb], session.id, "lithos"))
            return Outcome({"session_id": session.id}, (event(verb, session.id, reason="timeout"),))

        self._commit(call, work)

    # -- steps of transactions

    def _hold(self, tx: Tx, session_id: str, agent: str) -> tuple[JournalHead, Session, Membership | None]:
        # The journal first, always: a switch holds two sessions, and must meet no one who waits the other way round.
        head = JOURNAL.lock(tx)
        store.lock(tx, session_id)
        asked, member = store.ask(tx, session_id), store.ask_member(tx, session_id, agent)
        return head(), session_of(store.found(asked, session_id)), store.membership(member)

    def announce(self, tx: Tx, head: JournalHead, *entries: NewEntry) -> int:
        """Append changes to the journal, and to the topics of messages; the number of the last one."""
        self.on_change(tx, entries)
        return JOURNAL.append(tx, head, *entries)

    def _commit(self, call: Call, work: Callable[[Tx], Outcome]) -> dict[str, Any]:
        answer = self._effects.commit(call, work)
        self.forget_members()  # before the answer: the caller's next question must find where it is
        return answer

    def _is_member(self, tx: Tx, call: Call, session_id: str) -> bool:
        return bool(store.member_ids(tx, call.agent, call.bound, [session_id]))

    def _private(self, tx: Tx, call: Call, session_id: str) -> Session:
        session = session_of(store.found(store.ask(tx, session_id), session_id))
        if not call.operator and not self._is_member(tx, call, session_id):
            raise not_a_member(session)
        return session

    def _note_look(self, call: Call, session_id: str) -> None:
        """An operator may look anywhere; it leaves an event unless it is a member."""
        if not call.operator or call.reads_only:
            return
        if self._database.read(lambda tx: self._is_member(tx, call, session_id)):
            return
        self.looked(call, session_id)

    def looked(self, call: Call, thing: str, **details: Any) -> None:
        """The event of an operator's look at what is private."""
        done = Outcome({}, (event(LOOK, thing, tool=call.tool, **details),))
        self._effects.commit(replace(call, idempotency_key=None, delivery=None), lambda tx: done)
