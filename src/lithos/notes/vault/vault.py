"""Vault: the folder of notes, as agents use it. It loads, asks what is to be done, and stores."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, cast

from lithos.core.call import Call
from lithos.core.canonical import version_of
from lithos.core.clock import Clock, rfc3339
from lithos.core.ids import Ids
from lithos.core.keyed_lock import KeyedLock
from lithos.errors import Conflict, InvalidInput, NotFound, Unsupported
from lithos.notes.answers import Deleted, Existing, Similar, Written
from lithos.notes.format.document import Unreadable
from lithos.notes.format.naming import checked_folder, file_names, folder_of, joined, name_key, path_key
from lithos.notes.format.note import Note, read_note
from lithos.notes.index import queries
from lithos.notes.index.catalogue import Catalogue
from lithos.notes.index.index import Index
from lithos.notes.lifecycle.decisions import Step, decide
from lithos.notes.lifecycle.effective_status import ENDED, is_procedural, status_of
from lithos.notes.lifecycle.lifecycle_fields import NO_LIFE, Life, check_secrets, limited_trust, merging
from lithos.notes.lifecycle.lineage import source_ids, trust_of
from lithos.notes.vault.writing import Request, changed_note, checked_request, marked_note, new_note
from lithos.storage import Effects, EventDraft, FileChange, Outcome, Plan, Root, Row, Tx

ROOT = "vault"  # the name under which `app` gives the root to the effects
_TRIES = 8  # each needs a person's save, or another file of the same name, within the same milliseconds

Decide = Callable[[ExitStack], Plan | Outcome]
CheckToken = Callable[[Tx, int, str | None], None]


@dataclass(frozen=True, slots=True)
class Write:
    """One call of `lithos_write`: where, and under which conditions, `request` is to be carried out."""

    request: Request
    id: str | None = None
    folder: str | None = None
    if_match: str | None = None
    claim_token: int | None = None
    life: Life = NO_LIFE


@dataclass(frozen=True, slots=True)
class Gates:
    """Checks before a write, and the near-duplicate lookup for its answer."""

    firewall: Callable[[Note], None] = lambda note: None  # raises for a procedure whose text was not approved
    similar: Callable[[str, str, str | None], list[Similar]] = lambda title, content, own_id: []
    refuse_secrets: bool = False


@dataclass(frozen=True, slots=True)
class Loaded:
    """A note as it lies on the disk now, and what the catalogue knows of it."""

    id: str
    note: Note
    row: Row

    @property
    def path(self) -> str:
        return self.note.path

    @property
    def seen(self) -> bool:
        """False: somebody saved the file and the index has not seen it yet."""
        return bool(self.row["version"] == self.note.version)


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
        gates: Gates | None = None,
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
        self.gates = gates or Gates()

    # Writing

    def write(self, call: Call, wanted: Write) -> Written:
        request = checked_request(wanted.request, self._largest)
        request = replace(request, fields={**request.fields, **wanted.life.fields()})
        wanted = replace(wanted, request=request)
        return cast(Written, self.act(call, lambda held: self._decide_write(wanted, held), retries=_repeats(wanted)))

    def act(self, call: Call, decide: Decide, *, retries: bool = False) -> dict[str, Any]:
        """Carry out what `decide` plans. With `retries`, it decides anew on what somebody else has just saved."""
        for _ in range(_TRIES - 1 if retries else 0):
            try:
                return self._act_once(call, decide)
            except Conflict:
                continue
        return self._act_once(call, decide)

    def _act_once(self, call: Call, decide: Decide) -> dict[str, Any]:
        """The turns that `decide` takes on the stack are held until the index has followed."""
        planned: list[Plan | Outcome] = []
        with ExitStack() as held:

            def decided() -> Plan | Outcome:
                planned.append(decide(held))
                self._check_procedures(planned[0], held)
                return planned[0]

            try:
                answer = self._effects.apply(call, decided)
            except Conflict as conflict:
                self._follow(planned, written=False)
                if "path" in conflict.details:
                    conflict.details |= self._copies([conflict.details["path"]])
                raise
            changes = self._follow(planned, written=True)
            return {**answer, **self._copies([change.path for change in changes if change.before is not None])}

    def _check_procedures(self, planned: Plan | Outcome, held: ExitStack) -> None:
        """No way in changes or makes a procedure whose text was not approved; whoever planned it."""
        for change in planned.changes if isinstance(planned, Plan) else ():
            path = change.move_to or change.path
            if change.root != ROOT or not is_procedural(path) or (change.after is None and change.move_to is None):
                continue
            old = read_note(change.path, self.root.read(change.path).data) if change.before is not None else None
            new = read_note(path, change.after) if change.after is not None else old
            if isinstance(new, Note) and not (change.path == path and isinstance(old, Note) and _same_rule(old, new)):
                new = replace(new, path=path)
                self.gates.firewall(new)
                self._check_one_use(new, change.path, held)

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

    def _follow(self, planned: list[Plan | Outcome], *, written: bool) -> list[FileChange]:
        changes = [change for each in planned if isinstance(each, Plan) for change in each.changes]
        paths = dict.fromkeys(path for each in changes for path in (each.path, each.move_to) if path)
        if paths:
            self.index.refresh(paths, changes if written else ())
        return changes

    def _copies(self, paths: list[str]) -> dict[str, list[str]]:
        """What lies beside these notes because two saves met, now or earlier, for the answer."""
        if fresh := self.root.new_conflict_copies():
            self.index.follow(fresh)
        copies = self.catalogue.read(lambda tx: queries.conflict_copies(tx, paths)) if paths else []
        return {"conflict_copies": copies} if copies else {}

    def _decide_write(self, wanted: Write, held: ExitStack) -> Plan | Outcome:
        step = self._step(wanted, held)
        if step.target is None:
            return self._decide_new(wanted, held)
        if step.action == "superseded":
            return self._decide_new(wanted, held, step.target)
        if step.action == "merged":
            wanted = replace(wanted, request=merging(wanted.request))
        return self._decide_update(wanted, step, step.target, held)

    def _step(self, wanted: Write, held: ExitStack) -> Step:
        """What this write means, decided under the turn of its merge key: of two with a new key one comes second."""
        life = wanted.life
        key = life.merge_key or (self._own_key(wanted.id) if wanted.id and life.status == "active" else None)
        holder = self._holder(key, held) if key else None
        step = decide(replace(life.wish(wanted.id), merge_key=key), holder)
        if not life.supersedes or wanted.id is not None:
            return step
        if holder not in (None, life.supersedes):
            raise Conflict(
                f"an active note already holds the merge_key {key!r}",
                hint="Supersede that note, or give another merge_key.",
                active_id=holder,
            )
        return Step("superseded", life.supersedes)

    def _own_key(self, note_id: str) -> str | None:
        return self.find(note_id).note.text("merge_key")

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
                f"the note with the merge_key {merge_key!r} was saved by somebody else a moment ago",
                hint="Nothing was written. Read it, then call again.",
                active_id=rows[0]["id"],
            )
        return rows[0]["id"] if rows else None

    def _is_seen(self, note_id: str) -> bool:
        try:
            return self.find(note_id).seen
        except NotFound:
            return False

    def _decide_new(self, wanted: Write, held: ExitStack, replaced: str | None = None) -> Plan:
        if wanted.request.append or (wanted.if_match is not None and replaced is None):
            raise InvalidInput("if_match and append are for a note that exists", hint="Give its id too.")
        if wanted.life.superseded_by or wanted.life.status == "superseded":
            raise InvalidInput("a new note is not superseded yet", hint="Give the id of the note that is.")
        note_id = self._ids.note()
        old = self._load_replaced(replaced, note_id, wanted.if_match, held) if replaced else None
        fields, warnings = self._fields(wanted.request, None)
        request = replace(wanted.request, fields={**fields, **({"supersedes": old.id} if old else {})})
        data = new_note(request, note_id, self._clock.now()).encode()
        folder = self.folder(wanted.folder) if wanted.folder is not None or old is None else folder_of(old.path)
        path, existing = self._free_path(folder, request.title or "", note_id, held)
        answer: Written = {
            "id": note_id,
            "path": path,
            "version": version_of(data),
            "replaced_version": old.note.version if old else None,
            "action": "superseded" if old else "inserted",
            "superseded_ids": [old.id] if old else [],
        }
        if existing and (old is None or existing["id"] != old.id):
            answer["existing"] = existing
        self._tell(answer, request, warnings)
        verb = "supersede" if old else "create"
        details = {"supersedes": old.id} if old else {}
        event = EventDraft("note", verb, note_id, path, after_hash=answer["version"], details=details)
        changes = [FileChange(ROOT, path, None, data), *([self._retired(old, note_id)] if old else [])]
        return Plan(tuple(changes), event, dict(answer), before=self._token_check(wanted))

    def _load_replaced(self, note_id: str, successor: str, if_match: str | None, held: ExitStack) -> Loaded:
        """The note that is to be superseded, under its turn and its successor's: readers wait for both."""
        self.hold([note_id, successor], held)
        old = self.find(note_id)
        self.check_version(old, if_match, replaces=True)
        other = old.note.text("superseded_by")
        if status_of(old.note) == "superseded" and other not in (None, successor):
            raise Conflict(
                f"{old.path!r} is superseded already", hint="Supersede its successor instead.", successor_id=other
            )
        return old

    def _retired(self, old: Loaded, successor: str) -> FileChange:
        now = self._clock.now()
        fields = {"status": "superseded", "superseded_by": successor, "superseded_at": rfc3339(now)}
        document = marked_note(old.note, fields, old.id, now)
        return FileChange(ROOT, old.path, old.note.version, document.encode())

    def _load_heir(self, heir_id: str, note_id: str, held: ExitStack) -> Loaded:
        """The note that supersedes another, under both their turns."""
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

    def _succession(self, wanted: Write, found: Loaded, heir: Loaded | None) -> dict[str, Any]:
        """The fields of a note that gets its successor; nothing is superseded by nothing."""
        now_by = found.note.text("superseded_by") if status_of(found.note) == "superseded" else None
        if heir is None:
            if wanted.life.status == "superseded" and now_by is None:
                raise InvalidInput("superseded by which note?", hint="Give superseded_by too, or status deprecated.")
            return {}
        if now_by not in (None, heir.id):
            raise Conflict(
                f"{found.path!r} is superseded already", hint="Supersede its successor instead.", successor_id=now_by
            )
        at = {} if now_by else {"superseded_at": rfc3339(self._clock.now())}
        return {"status": "superseded", "superseded_by": heir.id, **at}

    def _crowned(self, heir: Loaded, note_id: str) -> FileChange:
        document = marked_note(heir.note, {"supersedes": note_id}, heir.id, self._clock.now())
        return FileChange(ROOT, heir.path, heir.note.version, document.encode())

    def check_key(self, note: Note | Unreadable, note_id: str, held: ExitStack) -> None:
        """Conflict, if this note would come beside another active one of its merge key. Before any turn of a note."""
        key = note.text("merge_key") if isinstance(note, Note) and status_of(note) not in ENDED else None
        holder = self._holder(key, held) if key else None
        if holder not in (None, note_id):
            raise Conflict(
                f"an active note already holds the merge_key {key!r}",
                hint="Supersede or deprecate that note first.",
                active_id=holder,
            )

    def _decide_update(self, wanted: Write, step: Step, note_id: str, held: ExitStack) -> Plan | Outcome:
        replaced = wanted.life.supersedes if step.action == "updated" else None
        if replaced == note_id:
            raise InvalidInput("a note cannot supersede itself", hint="Leave out supersedes.")
        old = self._load_replaced(replaced, note_id, None, held) if replaced else None
        heir = self._load_heir(wanted.life.superseded_by, note_id, held) if wanted.life.superseded_by else None
        found = self.find(note_id) if old or heir else self.load(note_id, held)
        self.check_version(
            found, wanted.if_match, replaces=wanted.request.content is not None and not wanted.request.append
        )
        if old and status_of(found.note) == "superseded":
            raise InvalidInput("a superseded note cannot supersede another", hint="Let its successor do that.")
        fields, warnings = self._fields(wanted.request, found.note)
        request = replace(wanted.request, fields={**fields, **self._succession(wanted, found, heir)})
        document = changed_note(found.note, request, found.id, self._clock.now())
        data = None if document is None else document.encode()
        answer: Written = {
            "id": found.id,
            "path": found.path,
            "version": found.note.version if data is None else version_of(data),
            "replaced_version": found.note.version,
            "action": step.action,
            "superseded_ids": [each.id for each in (old, heir and found) if each],
        }
        if wanted.folder is not None and not _is_at(found.path, wanted.folder):
            warnings.append("path is for new notes: this one stays where it is; lithos_move moves it")
        self._tell(answer, request, warnings)
        if data is None:
            return Outcome(dict(answer))
        if len(data) > self._largest:
            raise InvalidInput(f"the note would have {len(data)} bytes; {self._largest} is the most", hint="Split it.")
        verb = "append" if request.append else "merge" if step.action == "merged" else "update"
        versions = (found.note.version, answer["version"])
        event = EventDraft("note", verb, found.id, found.path, None, *versions)
        changes = [FileChange(ROOT, found.path, found.note.version, data)]
        changes += [self._retired(old, found.id)] if old else []
        changes += [self._crowned(heir, found.id)] if heir and not heir.note.text("supersedes") else []
        return Plan(tuple(changes), event, dict(answer), before=self._token_check(wanted))

    def _fields(self, request: Request, note: Note | None) -> tuple[dict[str, Any], list[str]]:
        """The fields with no more confidence than their sources allow; and what is to be told."""
        warnings = check_secrets(request.content or "", refuse=self.gates.refuse_secrets)
        named = request.fields.get("derived_from", note.fields.get("derived_from") if note else None)
        if not named or not {"derived_from", "confidence"} & set(request.fields):
            return dict(request.fields), warnings
        own = request.fields.get("confidence", note.number("confidence") if note else None)
        sources = self.catalogue.read(lambda tx: [trust_of(tx, each) for each in source_ids(named)])
        fields, told = limited_trust(request.fields, 1.0 if own is None else own, sources)
        return fields, [*warnings, *([told] if told else [])]

    def _tell(self, answer: Written, request: Request, warnings: list[str]) -> None:
        """What the writer should know; candidates only, nothing is done about them."""
        if warnings:
            answer["warnings"] = warnings
        if request.content is not None and not request.append:
            similar = self.gates.similar(request.title or "", request.content, answer["id"])
            known = {*answer["superseded_ids"], answer.get("existing", {}).get("id")}
            if found := [each for each in similar if each["id"] not in known]:
                answer["similar"] = found

    def _token_check(self, wanted: Write) -> Callable[[Tx], None] | None:
        token, check = wanted.claim_token, self._check_token
        if token is None or check is None:
            return None
        return lambda tx: check(tx, token, wanted.request.agent)

    def delete(self, call: Call, note_id: str, if_match: str | None = None) -> Deleted:
        return cast(Deleted, self.act(call, lambda held: self._decide_delete(note_id, if_match, held)))

    def _decide_delete(self, note_id: str, if_match: str | None, held: ExitStack) -> Plan | Outcome:
        try:
            found = self.load(note_id, held)
        except NotFound:
            return Outcome({"success": False, "reason": "not_found"}, refused=True)
        self.check_version(found, if_match, replaces=True)
        answer: Deleted = {"success": True, "path": found.path, "version": found.note.version}
        event = EventDraft("note", "delete", found.id, found.path, before_hash=found.note.version)
        return Plan((FileChange(ROOT, found.path, found.note.version, None),), event, dict(answer))

    def now(self) -> datetime:
        return self._clock.now()

    # Loading

    def load(self, note_id: str, held: ExitStack) -> Loaded:
        """The note under its turn: nobody else changes it through us until the stack is closed."""
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
                self.index.reconcile()  # renamed or deleted by a person: only a look at all files tells which
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
        """Lost updates cannot happen silently: neither the caller's own mistake nor a save it cannot know of."""
        if if_match is not None and if_match == found.note.version:
            return
        if if_match is None and (found.seen or not replaces):
            return
        self.index.refresh([found.path])
        what = "is not the version you name" if if_match is not None else "was saved by somebody else a moment ago"
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
        """The first name that nobody has, taken under its turn; and who has the name that the title asks for."""
        existing: Existing | None = None
        for name in file_names(title, note_id):
            path = self.checked_place(joined(folder, name))
            with ExitStack() as turn:
                self.hold_path(path, turn)
                taken = self._namesakes(path)
                if not taken and not self.root.exists(path):
                    held.push(turn.pop_all())
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
    return old.content == new.content and old.text("provenance") == new.text("provenance")


def _is_at(path: str, place: str) -> bool:
    """Whether `place` is the note's own path, or its folder."""
    return path_key(place.strip().strip("/")) == path_key(path) or name_key(checked_folder(place)) == name_key(
        folder_of(path)
    )


def _repeats(wanted: Write) -> bool:
    """A new name can be found, and an addition made, on whatever is there; a replacement is the caller's to decide."""
    if wanted.life.merge_key or wanted.life.supersedes or wanted.life.superseded_by:
        return False  # it may replace a note that somebody has just saved
    return wanted.if_match is None and (wanted.id is None or wanted.request.append or wanted.request.content is None)
