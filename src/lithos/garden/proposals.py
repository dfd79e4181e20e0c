"""Proposals: a diff and its lint report, kept for some days under an id until applied."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from typing import Any, cast

import orjson

from lithos.core.call import Call
from lithos.core.clock import Clock, from_micros, micros, rfc3339
from lithos.core.cursor import next_cursor, place_of
from lithos.core.ids import Ids
from lithos.errors import Conflict, Forbidden, InvalidInput, LithosError, NotFound
from lithos.garden.answers import OpenProposal, OpenProposals, Proposal, ProposalApplied, ProposalRefused
from lithos.garden.editor import Editor, EditRequest, Purpose
from lithos.garden.edits.diff import unified
from lithos.garden.edits.drafting import Current, Draft, refuse_blocked
from lithos.garden.edits.edits import Write
from lithos.garden.targets import garden_target
from lithos.storage import Database, Effects, EventDraft, EventFilter, Outcome, Row, Tx

MOST_EDITS = 50
DAYS = 7.0


@dataclass(frozen=True, slots=True)
class Proposed:
    """One file of a proposal: what it was, what it would be."""

    path: str
    before: str | None
    after: str


class Proposals:
    def __init__(self, editor: Editor, database: Database, effects: Effects, clock: Clock, ids: Ids) -> None:
        self._editor = editor
        self._database = database
        self._effects = effects
        self._clock = clock
        self._ids = ids

    def propose(self, call: Call, requests: Sequence[EditRequest]) -> Proposal:
        """Nothing is written but the proposal itself; one that the policy blocks gets no id."""
        if not 1 <= len(requests) <= MOST_EDITS:
            raise InvalidInput(f"a proposal has 1 to {MOST_EDITS} edits")
        drafts = self._drafts(call, requests)
        shown = _shown(drafts)
        if shown["blocked"]:
            return shown
        kept = [Proposed(draft.target.path, draft.before.version, draft.after) for draft in drafts]
        return self._kept(call, shown, kept)

    def _kept(self, call: Call, shown: Proposal, kept: list[Proposed]) -> Proposal:
        files = orjson.dumps([asdict(each) for each in kept]).decode()
        proposal_id = self._ids.sortable()

        def work(tx: Tx) -> Outcome:
            tx.run(
                "INSERT INTO proposals (id, at, agent, user_id, files) VALUES (?, ?, ?, ?, ?)",
                *(proposal_id, micros(self._clock.now()), call.agent, call.user, files),
            )
            return Outcome({**shown, "proposal_id": proposal_id})

        return cast(Proposal, self._effects.commit(call, work))

    def apply(self, call: Call, proposal_id: str, user_id: str | None = None) -> ProposalApplied:
        """All of its files or none; Conflict when one of them is no longer what the proposal was made for."""
        owner, kept = self._load(proposal_id, user_id)
        call = replace(call, user=owner)

        def decide() -> list[Draft]:
            self._refuse_repetition(proposal_id)
            drafts = [self._redrafted(call, each) for each in kept]
            for draft in drafts:
                refuse_blocked(draft)
            return drafts

        why = Purpose("apply_change", thing=proposal_id)
        answer = self._editor.change_all(call, decide, lambda drafts: _applied(proposal_id, drafts), why)
        return cast(ProposalApplied, answer)

    def list_open(self, call: Call, *, limit: int, cursor: str | None) -> OpenProposals:
        """Those that wait, newest first, with the diff against the files as they are now. A token of one user sees
        that user's."""
        of = ["proposals", None if call.owner else call.user]
        place = place_of(cursor, of, int, str) or [2**62, ""]
        whose, values = ("", []) if call.owner else (" AND user_id = ?", [call.user])
        sql = f"SELECT * FROM proposals WHERE (at, id) < (?, ?){whose} ORDER BY at DESC, id DESC LIMIT ?"
        rows = self._database.read(lambda tx: tx.all(sql, *place, *values, limit + 1))
        shown = [self._open(row) for row in rows[:limit] if self._applied_at(row["id"]) is None]
        answer: OpenProposals = {"proposals": shown}
        if len(rows) > limit:
            answer["next_cursor"] = next_cursor(of, [rows[limit - 1]["at"], rows[limit - 1]["id"]])
        return answer

    def _open(self, row: Row) -> OpenProposal:
        kept = [Proposed(**each) for each in orjson.loads(row["files"])]
        compared = [self._compared(row["user_id"] or "", each) for each in kept]
        return {
            "proposal_id": row["id"],
            "at": rfc3339(from_micros(row["at"])),
            "agent": row["agent"],
            "user": row["user_id"],
            "paths": [each.path for each in kept],
            "diff": "".join(diff for diff, _ in compared),
            "stale": [each.path for each, (_, fresh) in zip(kept, compared, strict=True) if not fresh],
        }

    def _compared(self, user: str, kept: Proposed) -> tuple[str, bool]:
        """The diff, and whether the file is still the one that the proposal was made for."""
        try:
            now = self._editor.current(garden_target(self._editor.policy, user, kept.path))
        except LithosError:  # the policy no longer serves this path
            return "", False
        return unified(now.text or "", kept.after, kept.path), now.version == kept.before

    def refuse(self, call: Call, proposal_id: str) -> ProposalRefused:
        """Give a proposal up; for persons and for the agent that made it."""

        def work(tx: Tx) -> Outcome:
            row = tx.one("SELECT agent, user_id FROM proposals WHERE id = ?", proposal_id)
            if row is None or not (call.owner or row["user_id"] == call.user):
                raise _unknown(proposal_id)
            if not call.by_person and row["agent"] != call.agent:
                raise Forbidden("this is another agent's proposal", hint="Its agent or a person refuses it.")
            if self._applied_at(proposal_id) is not None:
                raise Conflict("this proposal was applied already", hint="lithos_undo takes the change back.")
            tx.put("DELETE FROM proposals WHERE id = ?", proposal_id)
            draft = EventDraft("proposal", "refuse", thing=proposal_id)
            return Outcome({"proposal_id": proposal_id, "refused": True}, (draft,))

        return cast(ProposalRefused, self._effects.commit(call, work))

    def _applied_at(self, proposal_id: str) -> str | None:
        wanted = EventFilter(thing=proposal_id, op="apply_change", status="committed")
        found = self._database.read(lambda tx: self._editor.events.find(tx, wanted, limit=1))["events"]
        return found[0]["at"] if found else None

    def _refuse_repetition(self, proposal_id: str) -> None:
        if at := self._applied_at(proposal_id):
            raise Conflict(
                f"the proposal {proposal_id} was already applied at {at}; nothing was written",
                hint="Read the files as they are now; propose a further change separately.",
            )

    def prune(self) -> int:
        oldest = micros(self._clock.now() - timedelta(days=DAYS))
        return self._database.write(lambda tx: tx.run("DELETE FROM proposals WHERE at < ?", oldest))

    def _drafts(self, call: Call, requests: Sequence[EditRequest]) -> list[Draft]:
        """One draft per file, each edit on top of those before it."""
        now: dict[str, Current] = {}
        drafts: dict[str, Draft] = {}
        for request in requests:
            path = request.target.path
            before = now.setdefault(path, self._editor.current(request.target))
            over = Current(drafts[path].after, before.version) if path in drafts else before
            draft = self._editor.preview(request.target, over, request.edit, call.user)
            drafts[path] = self._editor.preview(request.target, before, Write(draft.after), call.user)
        return list(drafts.values())

    def _redrafted(self, call: Call, kept: Proposed) -> Draft:
        target = garden_target(self._editor.policy, call.user or "", kept.path)
        now = self._editor.current(target)
        if now.version != kept.before:
            raise Conflict(
                f"{kept.path!r} has changed since it was proposed; nothing was written",
                hint="Propose the change again.",
                path=kept.path,
                version=now.version,
            )
        return self._editor.draft(call, target, now, Write(kept.after))

    def _load(self, proposal_id: str, user_id: str | None) -> tuple[str | None, list[Proposed]]:
        """Whose it is, and its files; another user has no such proposal."""
        row = self._database.read(lambda tx: tx.one("SELECT * FROM proposals WHERE id = ?", proposal_id))
        if row is None or user_id not in (None, row["user_id"]):
            raise _unknown(proposal_id)
        return row["user_id"], [Proposed(**each) for each in orjson.loads(row["files"])]


def _unknown(proposal_id: str) -> NotFound:
    hint = f"Proposals are kept {DAYS:.0f} days; propose again."
    return NotFound(f"there is no proposal {proposal_id[:80]!r}", hint=hint)


def _shown(drafts: Sequence[Draft]) -> Proposal:
    blocked = [each for draft in drafts for each in draft.report.blocked_reasons]
    warnings = [each for draft in drafts for each in draft.report.warnings]
    return {
        "proposal_id": None,
        "diff": "".join(unified(draft.before.text or "", draft.after, draft.target.path) for draft in drafts),
        "safety_report": _report(drafts, blocked, warnings),
        "requires_approval": False,
        "warnings": warnings,
        "blocked": bool(blocked),
        "blocked_reasons": blocked,
    }


def _report(drafts: Sequence[Draft], blocked: list[str], warnings: list[str]) -> str:
    caps = [each for draft in drafts for each in draft.report.caps_exceeded]
    rows = [f"Blocked: {each}." for each in blocked] or ["Nothing blocks this change."]
    rows += [f"Warning: {each}." for each in warnings]
    return "\n".join([*rows, "Over a cap: say why in the rationale."] if caps else rows)


def _applied(proposal_id: str, drafts: Sequence[Draft]) -> dict[str, Any]:
    return {
        "proposal_id": proposal_id,
        "files": [
            {
                "path": draft.target.path,
                "before_hash": draft.before_hash,
                "after_hash": draft.after_hash,
                "version": draft.version,
            }
            for draft in drafts
        ],
        "warnings": [each for draft in drafts for each in draft.report.warnings],
    }
