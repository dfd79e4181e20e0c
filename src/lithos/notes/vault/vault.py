"""Vault: the folder of notes, as agents use it. It gathers under locks, has the change decided, and stores it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any, cast

from lithos.core.call import Call
from lithos.core.canonical import same_version
from lithos.core.clock import Clock
from lithos.core.ids import Ids
from lithos.core.keyed_lock import KeyedLock
from lithos.core.secrets import find as find_secrets
from lithos.core.text import with_article
from lithos.errors import Conflict, InvalidInput, NotFound, SecretRefused, Unsupported
from lithos.notes.answers import Deleted, Existing, Similar, Written
from lithos.notes.fields import ENDED
from lithos.notes.format.document import Unreadable
from lithos.notes.format.naming import checked_folder, file_names, folder_of, joined, name_key, path_key
from lithos.notes.format.note import Note, read_note
from lithos.notes.index import queries
from lithos.notes.index.catalogue import Catalogue
from lithos.notes.index.index import Index
from lithos.notes.lifecycle.decisions import WriteStep, decide, key_taken
from lithos.notes.lifecycle.effective_status import is_procedural, status_of
from lithos.notes.lifecycle.lineage import source_ids, trust_of
from lithos.notes.vault.loaded import ROOT, Loaded
from lithos.notes.vault.write_plan import WriteFacts, already_superseded, plan_write
from lithos.notes.vault.writing import WriteRequest, checked_request, merging
from lithos.storage import Effects, EventDraft, FileChange, Outcome, Plan, Recovered, Root, Row, Tx

_TRIES = 8  # each needs a person's save, or another file of the same name, within the same milliseconds

Decide = Callable[[ExitStack], Plan | Outcome]
CheckToken = Callable[[Tx, int, str | None], None]


@dataclass(frozen=True, slots=True)
class WriteChecks:
    """Checks before a write, and the near-duplicate lookup for its answer."""

    firewall: Callable[[Note], None] = lambda note: None  # raises for a procedure whose text was not approved
    use_promotion: Callable[[Tx, Note], None] = lambda tx, note: None  # records that its promotion serves this note
    similar: Callable[[str, str, str | None], list[Similar]] = lambda title, content, own_id: []
    refuse_secrets: bool = False


class Vault:
    def __init__(
        self,
        root: Root,
        catalogue: Catalogue,
        index: Index,
        effects: Effects,
        *,
        clock: Clock,
        ids: Ids,
        largest: int,
        check_token: CheckToken | None = None,
        checks: WriteChecks | None = None,
    ) -> None:
        self.root = root
        self.catalogue = catalogue
        self.index = index
        self._effects = effects
        self._clock = clock
        self._ids = ids
        self._largest = largest
        self._check_token = check_token
        self._locks = KeyedLock()
        self.checks = checks or WriteChecks()
        effects.on_recovered("note", self._after_recovery)

    # Writing

    def write(self, call: Call, request: WriteRequest) -> Written:
        checked = checked_request(request, self._largest)
        return cast(Written, self.act(call, lambda held: self._plan(checked, held), retries=checked.is_repeatable))

    def act(self, call: Call, decide: Decide, *, retries: bool = False) -> dict[str, Any]:
        """Carry out what `decide` plans. The locks that it takes on the stack are held until the index has followed.
        With `retries` it decides again on a text that was just saved."""
        left = _TRIES if retries else 1
        while True:
            left -= 1
            with ExitStack() as held:
                try:
                    applied = self._effects.apply(call, partial(self._decided, decide, held))
                except Conflict as conflict:
                    path = conflict.details.get("path")
                    if path is not None:
                        self.index.refresh([path])
                    if left:
                        continue
                    if path is not None:
                        conflict.details |= self._copies([path])
                    raise
                return {**applied.answer, **self._follow(applied.plan)}

    def _decided(self, decide: Decide, held: ExitStack) -> Plan | Outcome:
        planned = decide(held)
        if not isinstance(planned, Plan):
            return planned
        if self.checks.refuse_secrets:
            self._refuse_new_secrets(planned)
        return self._with_promotions_used(planned, held)

    def _refuse_new_secrets(self, plan: Plan) -> None:
        """By whichever tool: a text gains nothing that looks like a credential."""
        for change in plan.changes:
            if change.root != ROOT or change.after is None:
                continue
            old = self.root.read(change.path).data if change.before is not None else b""
            known = Counter(each.kind for each in find_secrets(old.decode(errors="replace")))
            found = find_secrets(change.after.decode(errors="replace"))
            if more := Counter(each.kind for each in found) - known:
                raise SecretRefused(
                    f"the note was not stored: it would hold what looks like {with_article(min(more))}",
                    hint="Take it out; name where it is kept instead.",
                )

    def _follow(self, plan: Plan | None) -> dict[str, list[str]]:
        """Bring the index to what was written; the conflict copies beside it, for the answer."""
        changes = plan.changes if plan is not None else ()
        if paths := dict.fromkeys(path for each in changes for path in (each.path, each.move_to) if path):
            self.index.refresh(paths, changes)
        return self._copies([change.path for change in changes if change.before is not None])

    def _with_promotions_used(self, plan: Plan, held: ExitStack) -> Plan:
        """No tool makes or changes a procedure whose title and text were not approved for this note."""
        rules = [rule for change in plan.changes if (rule := self._changed_rule(change)) is not None]
        for note, old_path in rules:
            self.checks.firewall(note)
            self._check_one_use(note, old_path, held)
        if not rules:
            return plan

        def after(tx: Tx) -> None:
            if plan.after is not None:
                plan.after(tx)
            for note, _ in rules:
                self.checks.use_promotion(tx, note)

        return replace(plan, after=after)

    def _changed_rule(self, change: FileChange) -> tuple[Note, str] | None:
        """The procedure that a change makes or rewrites, and where it was before."""
        path = change.move_to or change.path
        if change.root != ROOT or not is_procedural(path) or (change.after is None and change.move_to is None):
            return None
        old = read_note(change.path, self.root.read(change.path).data) if change.before is not None else None
        new = read_note(path, change.after) if change.after is not None else old
        if not isinstance(new, Note):
            return None
        new = replace(new, path=path)
        if isinstance(old, Note) and is_procedural(change.path):
            if change.path == path and _same_rule(old, new):
                return None
            if old.title != new.title and old.text("provenance") == new.text("provenance"):
                raise InvalidInput(
                    f"{change.path!r} was approved under the title {old.title!r}; nothing was written",
                    hint="A new title needs a new promotion: lithos_promote, then title and provenance together.",
                )
        return new, change.path

    def _after_recovery(self, tx: Tx, recovered: Recovered) -> None:
        """Record what `_with_promotions_used` would have, had the process not ended before."""
        for step in recovered.steps:
            if step.root == ROOT and is_procedural(step.target) and step.after is not None:
                note = read_note(step.target, step.data or self.root.read(step.target).data)
                if isinstance(note, Note):
                    self.checks.use_promotion(tx, note)

    def _check_one_use(self, note: Note, old_path: str, held: ExitStack) -> None:
        """One promotion, one procedure."""
        provenance = note.text("provenance") or ""
        held.enter_context(self._locks.hold(f"promotion {provenance}"))
        rows = self.catalogue.read(lambda tx: queries.procedures_from(tx, provenance))
        others = [row for row in rows if row["path"] not in (note.path, old_path)]
        if others:
            raise Conflict(
                f"{others[0]['path']!r} was written under this promotion already",
                hint="One promotion is good for one note: lithos_promote records another.",
                id=others[0]["id"],
                path=others[0]["path"],
            )

    def _copies(self, paths: list[str]) -> dict[str, list[str]]:
        """The conflict copies beside these notes, of now or earlier, for the answer."""
        if fresh := self.root.new_conflict_copies():
            self.index.follow(fresh)
        copies = self.catalogue.read(lambda tx: queries.conflict_copies(tx, paths)) if paths else []
        return {"conflict_copies": copies} if copies else {}

    def _plan(self, request: WriteRequest, held: ExitStack) -> Plan | Outcome:
        """Gather under locks, then decide without I/O."""
        step = self._step(request, held)
        if step.action == "merged":
            request = merging(request)
        makes_new = step.target is None or step.action == "superseded"
        gather = self._gather_new if makes_new else self._gather_update
        plan = plan_write(request, gather(request, step, held))
        token, check = request.claim_token, self._check_token
        if token is None or check is None or not isinstance(plan, Plan):
            return plan
        return replace(plan, before=lambda tx: check(tx, token, request.agent))

    def _step(self, request: WriteRequest, held: ExitStack) -> WriteStep:
        """The step of this write, decided under the lock of its merge key: of two with a new key one comes second."""
        supersedes = request.fields.get("supersedes")
        key = request.fields.get("merge_key")
        if key is None and request.id and request.fields.get("status") == "active":
            key = self.find(request.id).note.text("merge_key")
        holder = self._holder(key, held) if key else None
        step = decide(request.id, key, request.on_conflict, holder)
        if not supersedes or request.id is not None:
            return step
        if holder not in (None, supersedes):
            raise key_taken(key, holder, "Supersede that note, or give another merge_key.")
        return WriteStep("superseded", supersedes)

    def _holder(self, merge_key: str, held: ExitStack) -> str | None:
        """The active note with this key, as the files are now."""
        held.enter_context(self._locks.hold(f"key {merge_key}"))
        saved: set[str] = set()
        for _ in range(_TRIES):
            rows = self.catalogue.read(lambda tx: queries.active_holders(tx, merge_key))
            unseen = {row["path"] for row in rows if not self._is_seen(row["id"])}
            if not unseen:
                break
            saved |= unseen
            self.index.refresh(unseen)
        if rows and rows[0]["path"] in saved:
            raise Conflict(
                f"the note with the merge_key {merge_key!r} was just saved by someone else",
                hint="Nothing was written. Read it, then call again.",
                active_id=rows[0]["id"],
            )
        return rows[0]["id"] if rows else None

    def _is_seen(self, note_id: str) -> bool:
        try:
            return self.find(note_id).seen
        except NotFound:
            return False

    def _gather_new(self, request: WriteRequest, step: WriteStep, held: ExitStack) -> WriteFacts:
        if request.append or (request.if_match is not None and step.target is None):
            raise InvalidInput("if_match and append are for a note that exists", hint="Give its id too.")
        if request.superseded_by or request.fields.get("status") == "superseded":
            raise InvalidInput("a new note is not superseded yet", hint="Give the id of the note that is.")
        note_id = self._ids.note()
        old = self._load_replaced(step.target, note_id, request.if_match, held) if step.target else None
        folder = self.folder(request.folder) if request.folder is not None or old is None else folder_of(old.path)
        path, existing = self._free_path(folder, request.title or "", note_id, held)
        facts = WriteFacts(
            note_id, path, step.action, self._clock.now(), self._largest, replaced=old, existing=existing
        )
        return self._with_lookups(facts, request)

    def _gather_update(self, request: WriteRequest, step: WriteStep, held: ExitStack) -> WriteFacts:
        note_id = step.target or ""
        replaced = request.fields.get("supersedes") if step.action == "updated" else None
        if replaced == note_id:
            raise InvalidInput("a note cannot supersede itself", hint="Leave out supersedes.")
        old = self._load_replaced(replaced, note_id, None, held) if replaced else None
        heir = self._load_successor(request.superseded_by, note_id, held) if request.superseded_by else None
        found = self.find(note_id) if old or heir else self.load(note_id, held)
        self.check_version(found, request.if_match, replaces=request.content is not None and not request.append)
        now = self._clock.now()
        facts = WriteFacts(found.id, found.path, step.action, now, self._largest, found, old, heir)
        return self._with_lookups(facts, request)

    def _with_lookups(self, facts: WriteFacts, request: WriteRequest) -> WriteFacts:
        """With the trust of its sources, where the write concerns it, and the notes that say nearly the same."""
        trust: list[float] = []
        if {"derived_from", "confidence"} & set(request.fields):
            known = facts.current.note.fields.get("derived_from") if facts.current else None
            sources = source_ids(request.fields.get("derived_from", known))
            trust = self.catalogue.read(lambda tx: [trust_of(tx, each) for each in sources]) if sources else []
        replaces = request.content is not None and not request.append
        similar = self.checks.similar(request.title or "", request.content or "", facts.id) if replaces else []
        return replace(facts, source_trust=trust, similar=similar, refuse_secrets=self.checks.refuse_secrets)

    def _load_replaced(self, note_id: str, successor: str, if_match: str | None, held: ExitStack) -> Loaded:
        """The note that is to be superseded, under its lock and its successor's: readers wait for both."""
        self.hold([note_id, successor], held)
        old = self.find(note_id)
        self.check_version(old, if_match, replaces=True)
        other = old.note.text("superseded_by")
        if status_of(old.note) == "superseded" and other not in (None, successor):
            raise already_superseded(old, other)
        return old

    def _load_successor(self, heir_id: str, note_id: str, held: ExitStack) -> Loaded:
        """The note that supersedes another, under both their locks."""
        if heir_id == note_id:
            raise InvalidInput("a note cannot supersede itself", hint="Leave out superseded_by.")
        self.hold([note_id, heir_id], held)
        heir = self.find(heir_id)
        if status_of(heir.note) == "superseded":
            raise Conflict(
                f"{heir.path!r} is superseded itself",
                hint="Name its successor instead.",
                successor_id=heir.note.text("superseded_by"),
            )
        return heir

    def check_key(self, note: Note | Unreadable, note_id: str, held: ExitStack) -> None:
        """Refuse a second active note of the same merge key. Called before any lock of a note is taken."""
        key = note.text("merge_key") if isinstance(note, Note) and status_of(note) not in ENDED else None
        holder = self._holder(key, held) if key else None
        if holder not in (None, note_id):
            raise key_taken(key, holder, "Supersede or deprecate that note first.")

    def delete(self, call: Call, note_id: str, if_match: str | None = None) -> Deleted:
        return cast(Deleted, self.act(call, lambda held: self._decide_delete(note_id, if_match, held)))

    def _decide_delete(self, note_id: str, if_match: str | None, held: ExitStack) -> Plan | Outcome:
        try:
            found = self.load(note_id, held)
        except NotFound:
            hint = "lithos_search or lithos_list finds notes; lithos_note_restore brings a deleted one back."
            return Outcome({"success": False, "reason": "not_found", "hint": hint}, refused=True)
        self.check_version(found, if_match, replaces=True)
        answer: Deleted = {"success": True, "path": found.path, "version": found.note.version}
        event = EventDraft("note", "delete", found.id, found.path, before_hash=found.note.version)
        return Plan((FileChange(ROOT, found.path, found.note.version, None),), event, dict(answer))

    def now(self) -> datetime:
        return self._clock.now()

    # Loading

    def load(self, note_id: str, held: ExitStack) -> Loaded:
        """The note under its lock: no other call changes it until the stack is closed."""
        self.hold([note_id], held)
        return self.find(note_id)

    def hold(self, ids: Iterable[str], held: ExitStack) -> None:
        held.enter_context(self._locks.hold(*(f"note {note_id}" for note_id in ids)))

    def hold_path(self, path: str, held: ExitStack) -> None:
        held.enter_context(self._locks.hold(f"path {path_key(path)}"))

    def find(self, note_id: str) -> Loaded:
        """By id; a file that moved or went since the index looked is followed once."""
        for _ in range(2):
            row = self.catalogue.read(lambda tx: queries.note_by_id(tx, note_id))
            if row is None:
                break
            try:
                return self._loaded(row)
            except NotFound:
                self.index.reconcile()  # renamed or deleted by a person: only a scan of all files can say which
        raise NotFound(f"there is no note {note_id[:80]!r}", hint="lithos_search or lithos_list finds notes.")

    def _loaded(self, row: Row) -> Loaded:
        if not self.index.allows_note(row["path"]):  # the settings changed since the index saw it
            raise NotFound(f"{row['path']!r} is not served")
        note = read_note(row["path"], self.root.read(row["path"]).data)
        if isinstance(note, Unreadable):
            raise Unsupported(
                f"{row['path']!r} is no longer a text that can be read: {note.reason}",
                hint="A person must look at the file.",
            )
        return Loaded(row["id"], note, row)

    def check_version(self, found: Loaded, if_match: str | None, *, replaces: bool) -> None:
        """Refuse a lost update: a version that is not the current one, or a save that the caller cannot know of."""
        if if_match is not None and same_version(if_match, found.note.version):
            return
        if if_match is None and (found.seen or not replaces):
            return
        self.index.refresh([found.path])
        what = "is not the version you name" if if_match is not None else "was just saved by someone else"
        raise Conflict(
            f"{found.path!r} {what}; nothing was written",
            hint="Read it again, apply your change to what is there now, and send the new version as if_match.",
            id=found.id,
            path=found.path,
            version=found.note.version,
        )

    # Names

    def folder(self, path: str | None) -> str:
        """The folder as it is spelled on the disk, where one exists whose name differs only in case or form."""
        wanted = checked_folder(path)
        if not wanted or self.root.exists(wanted):
            return wanted
        found = ""
        for name in wanted.split("/"):
            here = joined(found, name)
            known = None if self.root.exists(here) else self._spelled(here)
            found = known or here
        return found

    def _spelled(self, folder: str) -> str | None:
        """How the folder of some note is spelled that has the same key."""
        row = self.catalogue.read(lambda tx: queries.first_beneath(tx, name_key(folder)))
        return "/".join(row["path"].split("/")[: folder.count("/") + 1]) if row else None

    def _free_path(self, folder: str, title: str, note_id: str, held: ExitStack) -> tuple[str, Existing | None]:
        """The first free name, under its lock; and the note that has the name which the title asks for."""
        existing: Existing | None = None
        for name in file_names(title, note_id):
            path = self.checked_place(joined(folder, name))
            with ExitStack() as lock:
                self.hold_path(path, lock)
                taken = self._namesakes(path)
                if not taken and not self.root.exists(path):
                    held.push(lock.pop_all())
                    return path, existing
            if taken and existing is None:
                existing = {"id": taken[0]["id"], "path": taken[0]["path"], "title": taken[0]["title"]}
        raise AssertionError("file_names ends by itself")

    def checked_place(self, path: str) -> str:
        """The path, if a note there would be served: no write may hide what it writes."""
        if self.index.allows_note(path):
            return path
        raise InvalidInput(
            f"{path[:200]!r} would not be served as a note",
            hint="notes.ignore, names that begin with a dot and conflict copies are left alone: choose another place.",
        )

    def _namesakes(self, path: str) -> list[Row]:
        return self.catalogue.read(lambda tx: queries.notes_by_key(tx, path_key(path)))


def _same_rule(old: Note, new: Note) -> bool:
    return (old.title, old.content, old.text("provenance")) == (new.title, new.content, new.text("provenance"))
