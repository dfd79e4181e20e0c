"""Editor: the one way in which the garden changes files: read, draft, check, saga, read back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from lithos.core.call import Call
from lithos.core.canonical import same_version
from lithos.core.clock import Clock, rfc3339
from lithos.errors import Conflict, Forbidden, NotFound, TooLarge
from lithos.garden.edits.drafting import Current, Draft, check_untouched, drafted, refuse_blocked
from lithos.garden.edits.edits import Edit, Write
from lithos.garden.edits.hashing import checked_version
from lithos.garden.reading import text_of
from lithos.garden.rules.policy import Policy
from lithos.garden.targets import GARDEN_TYPES, VAULT, NoteFiles, Target, one_line, writer_of
from lithos.storage import (
    Answer,
    Database,
    Effects,
    Event,
    EventDraft,
    EventFilter,
    Events,
    Outcome,
    Plan,
    Recovered,
    Root,
    Tx,
)

_CHANGES = {"changes", "part_of", "moved"}  # one of them is in the details of every event that changed a file
_LOOKED_BACK = 20  # events of one path in which a retry, or the agents' last word, is looked for


@dataclass(frozen=True, slots=True)
class EditRequest:
    """One edit of one file, as asked for."""

    target: Target
    edit: Edit
    if_match: str | None = None


@dataclass(frozen=True, slots=True)
class Purpose:
    """The reason for a change and its event; several files share one."""

    op: str | None = None  # None: the edit's own
    type: str | None = None
    thing: str | None = None


class Editor:
    def __init__(
        self,
        roots: Mapping[str, Root],
        policy: Policy,
        database: Database,
        events: Events,
        effects: Effects,
        clock: Clock,
        notes: NoteFiles | None,
    ) -> None:
        self.roots = roots
        self.policy = policy
        self.notes = notes
        self._database = database
        self.events = events
        self._effects = effects
        self._clock = clock
        for event_type in GARDEN_TYPES:
            effects.on_recovered(event_type, lambda tx, recovered: tell_after_recovery(tx, events, recovered))

    def change(self, call: Call, request: EditRequest, answer: Callable[[Draft], Answer]) -> Answer:
        """Carry out one request; `answer` makes the answer from its draft."""
        writer_of(call)
        if_match = checked_version(request.if_match)
        one_line(call.rationale)
        moved_on: list[str] = []

        def decide() -> Plan | Outcome:
            now = self.current(request.target)
            known = self._retry(call, request.target, if_match, now)
            if known is not None:
                return Outcome(known, refused=True)
            self._check_match(request, if_match, now)
            draft = self.draft(call, request.target, now, request.edit)
            refuse_blocked(draft)
            return self._plan(call, [draft], answer(draft), Purpose(), moved_on)

        note = request.target.thing if request.target.root == VAULT else None
        return _told(self._applied(call, decide, note), moved_on)

    def change_all(
        self,
        call: Call,
        draft: Callable[[], list[Draft]],
        answer: Callable[[list[Draft]], Answer],
        why: Purpose,
    ) -> Answer:
        """Carry out several drafts, all or nothing."""
        writer_of(call)
        moved_on: list[str] = []

        def decide() -> Plan | Outcome:
            drafts = draft()
            return self._plan(call, drafts, answer(drafts), why, moved_on)

        return _told(self._applied(call, decide), moved_on)

    def _applied(self, call: Call, decide: Callable[[], Plan | Outcome], note: str | None = None) -> Answer:
        if note is not None and self.notes is not None:
            return self.notes.apply(call, note, decide)
        return self._effects.apply(call, decide).answer

    def _read_back(self, drafts: Sequence[Draft], moved_on: list[str]) -> None:
        """Hold what is on the disk against what was promised, before the change counts.

        A person may have saved over it already: that stays, and the answer says so (`moved_on`).
        """
        for draft in drafts:
            try:
                found = self.roots[draft.target.root].read(draft.target.path)
            except (NotFound, Forbidden, TooLarge):
                moved_on.append(draft.target.path)
                continue
            if found.version == draft.version:
                check_untouched(draft, found.data.decode())
            else:
                moved_on.append(draft.target.path)

    def current(self, target: Target) -> Current:
        root = self.roots[target.root]
        if not root.exists(target.path):
            return Current()
        file = root.read(target.path)
        return Current(text_of(file.data, target.path), file.version)

    def preview(self, target: Target, now: Current, edit: Edit, user: str | None) -> Draft:
        """As `draft`, without a reason yet: no line in the Change Log."""
        return drafted(target, now, edit, self.policy, user if target.kind is not None else None)

    def draft(self, call: Call, target: Target, now: Current, edit: Edit) -> Draft:
        line = f"{rfc3339(self._clock.now().replace(microsecond=0))} {call.agent}: {one_line(call.rationale)}"
        user = call.user if target.kind is not None else None
        return drafted(target, now, edit, self.policy, user, line)

    def _plan(
        self, call: Call, drafts: Sequence[Draft], answer: Answer, why: Purpose, moved_on: list[str]
    ) -> Plan | Outcome:
        changed = [draft for draft in drafts if not draft.unchanged]
        if not changed:
            return Outcome({**answer, "unchanged": True}, refused=True)
        first = changed[0]
        event = EventDraft(
            why.type or first.target.event_type,
            why.op or first.op,
            why.thing or first.target.thing,
            first.target.path,
            first.section if len(changed) == 1 else None,
            first.before.version,
            first.version,
            one_line(call.rationale),
            _lint_of(changed),
            {"changes": [draft.facts() for draft in changed], "scope": call.arguments_hash, "answer": answer},
        )
        return Plan(
            tuple(draft.change() for draft in changed),
            event,
            answer,
            after=lambda tx: tell_of_the_others(tx, self.events, call, event),
            check=lambda: self._read_back(changed, moved_on),
        )

    def _check_match(self, request: EditRequest, if_match: str | None, now: Current) -> None:
        path = request.target.path
        if if_match is not None and not same_version(if_match, now.version):
            raise _stale(path, now.version)
        unseen = isinstance(request.edit, Write) and if_match is None and now.version is not None
        if unseen and not self._left_so(request.target, now.version):
            raise Conflict(
                f"{path!r} is there, and not as agents left it; writing it whole would lose what is in it",
                hint="Read it, and send its version as if_match; or change only a part of it.",
                path=path,
                version=now.version,
            )

    def _retry(self, call: Call, target: Target, if_match: str | None, now: Current) -> Answer | None:
        """The first answer, for a call without a key that was carried out already and whose result is still there."""
        if if_match is None or call.idempotency_key is not None or now.version is None:
            return None
        if same_version(if_match, now.version):
            return None
        for event in self._events_of(target.path):
            same = (event["tool"], event["agent"], event["user"]) == (call.tool, call.agent, call.user)
            states = same_version(if_match, event["before_hash"]) and event["after_hash"] == now.version
            if same and states and event["details"].get("scope") == call.arguments_hash:
                answer: Answer = event["details"]["answer"]
                return answer
        return None

    def _left_so(self, target: Target, version: str | None) -> bool:
        """Whether the file is what the last change through Lithos made of it."""
        newest = next((event for event in self._events_of(target.path) if _CHANGES & event["details"].keys()), None)
        return newest is not None and newest["after_hash"] == version

    def _events_of(self, path: str) -> list[Event]:
        wanted = EventFilter(path=path, status="committed")
        return self._database.read(lambda tx: self.events.find(tx, wanted, limit=_LOOKED_BACK))["events"]


def _told(answer: Answer, moved_on: list[str]) -> Answer:
    return {**answer, "changed_since": moved_on} if moved_on else answer


def tell_of_the_others(tx: Tx, events: Events, call: Call, event: EventDraft) -> None:
    """An event names one path; the other files of the same change get separate events, tied by `thing`."""
    for facts in event.details["changes"][1:]:
        part = replace(
            event,
            type=facts["type"],
            path=facts["path"],
            before_hash=facts["before"],
            after_hash=facts["after"],
            lint=None,
            details={"part_of": event.thing},
        )
        events.append(tx, call, part)


def tell_after_recovery(tx: Tx, events: Events, recovered: Recovered) -> None:
    """Does the work of `Plan.after` for a change that a crash interrupted."""
    event = recovered.event
    draft = EventDraft(
        event["type"], event["op"], event["thing"], rationale=event["rationale"], details=event["details"]
    )
    tell_of_the_others(tx, events, recovered.call, draft)


def _lint_of(drafts: Sequence[Draft]) -> dict[str, object]:
    lint: dict[str, object] = {"warnings": [each for draft in drafts for each in draft.report.warnings]}
    caps = [each for draft in drafts for each in draft.report.caps_exceeded]
    return {**lint, "override": caps} if caps else lint


def _stale(path: str, version: str | None) -> Conflict:
    return Conflict(
        f"{path!r} is no longer at the version that you read; nothing was written",
        hint="Read it again, apply your change to what is there now, and send the new version.",
        path=path,
        version=version,
    )
