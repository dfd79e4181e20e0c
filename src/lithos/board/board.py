"""The board: shared tasks, claims that expire, findings that stay."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import cast

from lithos.board import changes, claim_rows, steps, tasks
from lithos.board.answers import (
    BoardCounts,
    Changes,
    Claimed,
    Created,
    FindingPage,
    FindingPosted,
    FindingShown,
    NoteRef,
    Refusable,
    Renewed,
    TaskPage,
    TaskRef,
    TaskShown,
)
from lithos.board.inputs import NewTask, TaskEdit, aspect_of, minutes_of, summary_of
from lithos.board.lists import Page, TaskFilter, list_findings, list_ready, list_tasks
from lithos.board.rules import (
    Duration,
    Refusal,
    clamp,
    decide_claim,
    decide_status,
    near_miss,
    need_open,
    task_time_left,
)
from lithos.board.tasks import BoardText
from lithos.board.values import Claim, TaskStatus
from lithos.core.call import Call
from lithos.core.clock import micros
from lithos.core.ids import Ids
from lithos.core.names import agent_name
from lithos.core.part import Part
from lithos.core.references import Candidate
from lithos.errors import CursorExpired, NotFound
from lithos.sessions import Sessions
from lithos.storage import Database, Effects, Followers, Outcome, Tx, lease_from

LONGEST_WAIT_S = 55  # clients give up a call after a minute
MOST_WAITED = 100  # changes of one answer: about 4,000 tokens


@dataclass(frozen=True, slots=True)
class Terms:
    """Durations of claims."""

    default_minutes: float = 60
    max_minutes: float = 480
    reboot_grace_s: float = 120


@dataclass(frozen=True, slots=True)
class Notes:
    """Queries to the vault, injected by `app`."""

    exists: Callable[[str], bool] = lambda note_id: True
    of_task: Callable[[str], Sequence[NoteRef]] = lambda task_id: ()


class Board(Part):
    def __init__(
        self,
        database: Database,
        effects: Effects,
        ids: Ids,
        *,
        terms: Terms | None = None,
        notes: Notes | None = None,
        sessions: Sessions | None = None,
    ) -> None:
        self._sessions = sessions
        self._database = database
        self._effects = effects
        self._ids = ids
        self._terms = terms or Terms()
        self._notes = notes or Notes()
        self.followers = Followers(database, changes.JOURNAL)

    def open(self) -> None:
        """Give the leases of an earlier boot their grace."""
        self._database.write(lambda tx: claim_rows.carry_over_claims(tx, self._terms.reboot_grace_s))

    def close(self) -> None:
        self.followers.close()

    # Tasks

    def create(self, call: Call, new: NewTask) -> Created:
        wanted = new.checked()

        def work(tx: Tx) -> Outcome:
            board = steps.lock(tx)
            steps.need_known(tx, wanted.depends_on)
            task_id = self._ids.sortable()
            seq = changes.record(tx, board.head, "created", task_id, wanted.agent)
            tasks.insert(tx, steps.new_task(task_id, seq, wanted, board.now), board.now)
            tasks.set_dependencies(tx, task_id, wanted.depends_on)
            return Outcome({"task_id": task_id}, (steps.event("create", task_id),))

        return cast(Created, self._effects.commit(call, work))

    def update(self, call: Call, task_id: str, agent: str, edit: TaskEdit) -> Refusable:
        wanted, agent = edit.checked(), agent_name(agent)

        def work(tx: Tx) -> Outcome:
            board = steps.lock(tx, task_id)
            task = decide_status(board.task, wanted.status)
            if isinstance(task, Refusal):
                return steps.refused(task)
            before = steps.replaced(tx, board.task or task, wanted)
            if steps.is_equal(wanted, before):
                return Outcome({"success": True})
            steps.edit(tx, task, wanted, board.now)
            return steps.turn(tx, board, task, agent, before)

        return cast(Refusable, self._effects.commit(call, work))

    def complete(self, call: Call, task_id: str, agent: str, token: int | None = None) -> Refusable:
        """End the task and every claim on it. With a token only its holder may: one that has expired is refused."""
        return self._end(call, task_id, agent_name(agent), "completed", token)

    def cancel(self, call: Call, task_id: str, agent: str) -> Refusable:
        return self._end(call, task_id, agent_name(agent), "cancelled", None)

    def _end(self, call: Call, task_id: str, agent: str, status: TaskStatus, token: int | None) -> Refusable:
        def work(tx: Tx) -> Outcome:
            board = steps.lock(tx, task_id)
            task = need_open(board.task)
            if not isinstance(task, Refusal) and token is not None:
                task = steps.holding(tx, task, token, agent, board.now)
            if isinstance(task, Refusal):
                return steps.refused(task)
            return steps.turn(tx, board, replace(task, status=status), agent)

        return cast(Refusable, self._effects.commit(call, work))

    # Claims

    def claim(self, call: Call, task_id: str, aspect: str, agent: str, ttl_minutes: float | None = None) -> Claimed:
        """One holder per (task, aspect). The holder's own claim is renewed and keeps its token."""
        aspect, agent, duration = aspect_of(aspect), agent_name(agent), self._duration(ttl_minutes)

        def work(tx: Tx) -> Outcome:
            asked = self._sessions.ask_limits(tx, call) if self._sessions else None
            board = steps.lock(tx, task_id, aspect)
            task = need_open(board.task)
            if isinstance(task, Refusal):
                return steps.refused(task)
            limits = asked() if asked else None
            allowed = steps.within_limits(tx, board, limits, task_id, agent, duration)
            if isinstance(allowed, Refusal):
                return steps.refused(allowed)
            lease = decide_claim(board.held, agent, allowed.seconds, board.now)
            if isinstance(lease, Refusal):
                return steps.refused(lease)
            session = limits.session_id if limits else None
            claim, renewed = steps.take(tx, board, Claim(0, task_id, aspect, agent, lease, session))
            answer = steps.granted("expires_at", claim, allowed) | {"renewed": renewed}
            if task.blocked:
                answer["blocked_by"] = tasks.ids(tasks.needed_by(tx, task_id), "open")
            if board.near and not renewed:
                answer["hint"] = " ".join(map(near_miss, board.near))
            return Outcome(answer, (steps.claim_event("claim", claim),))

        return cast(Claimed, self._effects.commit(call, work))

    def renew(
        self,
        call: Call,
        task_id: str,
        aspect: str,
        agent: str,
        ttl_minutes: float | None = None,
        token: int | None = None,
    ) -> Renewed:
        """`ttl_minutes` from now on. An expired claim is lost, even if no other agent has taken it: claim again."""
        aspect, agent, duration = aspect_of(aspect), agent_name(agent), self._duration(ttl_minutes)

        def work(tx: Tx) -> Outcome:
            board = steps.lock(tx, task_id, aspect)
            held = steps.holder(tx, board, aspect, agent, token)
            if isinstance(held, Refusal):
                return steps.refused(held)
            limits = self._sessions.limits_of(tx, held.session_id) if self._sessions and held.session_id else None
            allowed = task_time_left(held, limits, duration, board.now)
            if isinstance(allowed, Refusal):
                return steps.refused(allowed)
            renewed = replace(held, lease=lease_from(board.now, allowed.seconds))
            claim_rows.renew(tx, renewed.token, renewed.lease)
            return Outcome(steps.granted("new_expires_at", renewed, allowed), (steps.claim_event("renew", renewed),))

        return cast(Renewed, self._effects.commit(call, work))

    def release(self, call: Call, task_id: str, aspect: str, agent: str, token: int | None = None) -> Refusable:
        aspect, agent = aspect_of(aspect), agent_name(agent)

        def work(tx: Tx) -> Outcome:
            board = steps.lock(tx, task_id, aspect)
            held = steps.holder(tx, board, aspect, agent, token)
            if isinstance(held, Refusal):
                return steps.refused(held)
            claim_rows.drop(tx, task_id, aspect)
            changes.record(tx, board.head, "released", task_id, agent, aspect=aspect)
            return Outcome({"success": True}, (steps.claim_event("release", held),))

        return cast(Refusable, self._effects.commit(call, work))

    # Findings

    def post_finding(
        self,
        call: Call,
        task_id: str,
        agent: str,
        summary: str,
        knowledge_id: str | None = None,
        token: int | None = None,
    ) -> FindingPosted:
        """A completed task still accepts findings, which often come late; a cancelled one does not."""
        agent, summary = agent_name(agent), summary_of(summary)
        if knowledge_id is not None and not self._notes.exists(knowledge_id):
            raise NotFound(f"there is no note {knowledge_id[:80]!r}", hint="lithos_write answers with the note's id.")

        def work(tx: Tx) -> Outcome:
            board = steps.lock(tx, task_id)
            steps.need_finding_allowed(tx, board, agent, token)
            finding_id = self._ids.sortable()
            seq = changes.record(tx, board.head, "finding", task_id, agent)
            tx.put(
                "INSERT INTO findings (id, seq, task_id, agent, summary, knowledge_id, created_at)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                *(finding_id, seq, task_id, agent, summary, knowledge_id, micros(board.now.wall)),
            )
            return Outcome({"finding_id": finding_id}, (steps.event("finding", task_id, finding=finding_id),))

        return cast(FindingPosted, self._effects.commit(call, work))

    def findings(self, task_id: str, since: str | None = None, page: Page | None = None) -> FindingPage:
        return self._database.read(lambda tx: list_findings(tx, page or Page(), task_id=task_id, since=since))

    def findings_of_note(self, note_id: str, limit: int = 20) -> list[FindingShown]:
        """The findings that link to a note."""
        return self._database.read(lambda tx: list_findings(tx, Page(limit), note_id=note_id)["findings"])

    # Reading

    def status(self, task_id: str | None = None, page: Page | None = None) -> TaskPage:
        """One task in full, or a page of the open ones; an unknown task is an empty list."""
        if task_id is None:
            return self.list(TaskFilter(), page)
        shown = self.show(task_id)
        return {"tasks": [shown] if shown else [], "total": 1 if shown else 0, "next_cursor": None}

    def show(self, task_id: str) -> TaskShown | None:
        shown = self._database.read(lambda tx: steps.show(tx, task_id))
        if shown:
            shown["notes"] = list(self._notes.of_task(task_id))
        return shown

    def texts(self, task_ids: Collection[str] | None = None) -> list[BoardText]:
        """Tasks and their findings as texts to be found by; None: all of them."""
        return self._database.read(lambda tx: tasks.texts(tx, task_ids))

    def finding_text(self, finding_id: str) -> BoardText | None:
        return self._database.read(lambda tx: tasks.finding_text(tx, finding_id))

    def candidates(self, name: str | None) -> list[Candidate]:
        """Tasks that a name could mean: by id, title or a part of the id; None: the newest of all."""
        rows = self._database.read(lambda tx: tasks.candidates(tx, name))
        return [Candidate(row["id"], row["title"]) for row in rows]

    def titles(self, task_ids: Collection[str]) -> dict[str, str]:
        """Of those that exist."""

        def work(tx: Tx) -> dict[str, str]:
            found = {}
            for task_id in task_ids:
                if (task := tasks.task_in(tasks.ask(tx, task_id))) is not None:
                    found[task_id] = task.title
            return found

        return self._database.read(work)

    def in_session(self, session_id: str, limit: int) -> builtins.list[str]:
        """Open tasks that a session works on: title, who and which aspect."""

        def read(tx: Tx) -> builtins.list[str]:
            rows = claim_rows.of_session(tx, session_id, tx.now())
            found = {row.task_id: tasks.task_in(tasks.ask(tx, row.task_id)) for row in rows}
            return [f"{task.title} ({row.agent}: {row.aspect})" for row in rows[:limit] if (task := found[row.task_id])]

        return self._database.read(read)

    def named(self, source: str) -> TaskRef | None:
        """The task that a note's `source` names, if it is one."""
        task = self._database.read(lambda tx: tasks.task_in(tasks.ask(tx, source)))
        return {"id": task.id, "title": task.title, "status": task.status} if task else None

    def list(self, wanted: TaskFilter | None = None, page: Page | None = None) -> TaskPage:
        return self._database.read(lambda tx: list_tasks(tx, wanted or TaskFilter(), page or Page(), tx.now()))

    def ready(self, page: Page | None = None, *, tags: Sequence[str] = (), claimed: bool = False) -> TaskPage:
        """Tasks that can be claimed now."""
        return self._database.read(lambda tx: list_ready(tx, page or Page(), tx.now(), tags=tags, claimed=claimed))

    def changes(self, since: int | None = None, task_id: str | None = None) -> Changes:
        """Changes after `since`, and the cursor to go on from; without `since` only the cursor of now."""
        try:
            return changes.shown(self.followers.read(since, _subjects(task_id)))
        except CursorExpired as expired:
            return _missed(expired)

    async def wait(self, since: int | None, seconds: float, task_id: str | None = None) -> Changes:
        """`changes`, as soon as there are some; empty after `seconds`."""
        try:
            return changes.shown(await self.followers.wait(since, seconds, _subjects(task_id)), MOST_WAITED)
        except CursorExpired as expired:
            return _missed(expired)

    def counts(self) -> BoardCounts:
        return self._database.read(steps.counts)

    def _duration(self, minutes: float | None) -> Duration:
        return clamp(minutes_of(minutes, self._terms.default_minutes), self._terms.max_minutes)


def _subjects(task_id: str | None) -> tuple[str, ...] | None:
    return None if task_id is None else (task_id,)


def _missed(expired: CursorExpired) -> Changes:
    """The board answers instead of raising: its clients know `missed` from the first version."""
    return {"changes": [], "cursor": expired.details["cursor"], "missed": True}
