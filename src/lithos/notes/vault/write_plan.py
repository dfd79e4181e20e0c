"""A write decided without I/O: the request and the facts that the vault gathered become a plan of file changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from lithos.core.canonical import version_of
from lithos.core.clock import rfc3339
from lithos.core.relative import relative
from lithos.core.secrets import field_warnings
from lithos.core.secrets import find as find_secrets
from lithos.core.text import with_article
from lithos.errors import Conflict, InvalidInput, SecretRefused
from lithos.notes.answers import Existing, Similar, Written
from lithos.notes.format.document import Document
from lithos.notes.format.naming import checked_folder, folder_of, name_key, path_key
from lithos.notes.lifecycle.decisions import Action, trusted
from lithos.notes.lifecycle.effective_status import status_of
from lithos.notes.vault.loaded import ROOT, Loaded
from lithos.notes.vault.writing import WriteRequest, changed_note, marked_note, new_note
from lithos.storage import EventDraft, FileChange, Outcome, Plan


@dataclass(frozen=True, slots=True)
class WriteFacts:
    """Everything outside the request that a write depends on, read under the locks of the notes concerned."""

    id: str
    path: str
    action: Action
    now: datetime
    largest: int
    current: Loaded | None = None  # the note that changes; None: a new one is made
    replaced: Loaded | None = None  # the note that it supersedes
    successor: Loaded | None = None  # the note that supersedes it
    source_trust: Sequence[float] = ()  # of the notes that it is derived from
    existing: Existing | None = None  # another note with the file name that the title asks for
    similar: Sequence[Similar] = ()
    refuse_secrets: bool = False


def plan_write(request: WriteRequest, facts: WriteFacts) -> Plan | Outcome:
    warnings = check_secrets(request, refuse=facts.refuse_secrets)
    request, warning = _with_limited_trust(request, facts)
    warnings += [warning] if warning else []
    if facts.current is None:
        return _plan_new(request, facts, warnings)
    return _plan_update(request, facts, facts.current, warnings)


def _plan_new(request: WriteRequest, facts: WriteFacts, warnings: list[str]) -> Plan:
    old = facts.replaced
    if old is not None:
        request = replace(request, fields={**request.fields, "supersedes": old.id})
    data = new_note(request, facts.id, facts.now).encode()
    answer: Written = {
        "id": facts.id,
        "path": facts.path,
        "version": version_of(data),
        "replaced_version": old.note.version if old else None,
        "action": facts.action,
        "superseded_ids": [old.id] if old else [],
    }
    if facts.existing and (old is None or facts.existing["id"] != old.id):
        answer["existing"] = facts.existing
    _add_notices(answer, facts, warnings)
    details = {"supersedes": old.id} if old else {}
    verb = "supersede" if old else "create"
    event = EventDraft("note", verb, facts.id, facts.path, after_hash=answer["version"], details=details)
    changes = [FileChange(ROOT, facts.path, None, data), *([_retired(old, facts.id, facts.now)] if old else [])]
    return Plan(tuple(changes), event, dict(answer))


def _plan_update(request: WriteRequest, facts: WriteFacts, found: Loaded, warnings: list[str]) -> Plan | Outcome:
    old, heir = facts.replaced, facts.successor
    if old and status_of(found.note) == "superseded":
        raise InvalidInput("a superseded note cannot supersede another", hint="Let its successor do that.")
    request = replace(request, fields={**request.fields, **_succession(request, found, heir, facts.now)})
    document = changed_note(found.note, request, found.id, facts.now)
    data = None if document is None else document.encode()
    answer: Written = {
        "id": found.id,
        "path": found.path,
        "version": found.note.version if data is None else version_of(data),
        "replaced_version": found.note.version,
        "action": facts.action,
        "superseded_ids": [each.id for each in (old, heir and found) if each],
    }
    if request.folder is not None and not _is_at(found.path, request.folder):
        warnings.append("path is for new notes: this one stays where it is; lithos_move moves it")
    _add_notices(answer, facts, warnings)
    if data is None:
        return Outcome({**answer, "action": "unchanged"})
    if len(data) > facts.largest:
        raise InvalidInput(f"the note would have {len(data)} bytes; {facts.largest} is the most", hint="Split it.")
    verb = "append" if request.append else "merge" if facts.action == "merged" else "update"
    event = EventDraft("note", verb, found.id, found.path, None, found.note.version, answer["version"])
    changes = [FileChange(ROOT, found.path, found.note.version, data)]
    changes += [_retired(old, found.id, facts.now)] if old else []
    changes += [_marked(heir, {"supersedes": found.id}, facts.now)] if heir and not heir.note.text("supersedes") else []
    return Plan(tuple(changes), event, dict(answer))


def _add_notices(answer: Written, facts: WriteFacts, warnings: list[str]) -> None:
    """Add what the writer should know: warnings, and candidates for near-duplicates."""
    if warnings:
        answer["warnings"] = warnings
    known = {*answer["superseded_ids"], answer.get("existing", {}).get("id")}
    if similar := [each for each in facts.similar if each["id"] not in known]:
        answer["similar"] = similar


def _retired(old: Loaded, successor: str, now: datetime) -> FileChange:
    fields = {"status": "superseded", "superseded_by": successor, "superseded_at": rfc3339(now)}
    return _marked(old, fields, now)


def _marked(found: Loaded, fields: Mapping[str, Any], now: datetime) -> FileChange:
    document: Document = marked_note(found.note, fields, found.id, now)
    return FileChange(ROOT, found.path, found.note.version, document.encode())


def _succession(request: WriteRequest, found: Loaded, heir: Loaded | None, now: datetime) -> dict[str, Any]:
    """The fields of a note that gets its successor."""
    now_by = found.note.text("superseded_by") if status_of(found.note) == "superseded" else None
    if heir is None:
        if request.fields.get("status") == "superseded" and now_by is None:
            raise InvalidInput("superseded by which note?", hint="Give superseded_by too, or status deprecated.")
        return {}
    if now_by not in (None, heir.id):
        raise already_superseded(found, now_by)
    at = {} if now_by else {"superseded_at": rfc3339(now)}
    return {"status": "superseded", "superseded_by": heir.id, **at}


def already_superseded(found: Loaded, successor_id: str | None) -> Conflict:
    return Conflict(
        f"{found.path!r} is superseded already", hint="Supersede its successor instead.", successor_id=successor_id
    )


def _with_limited_trust(request: WriteRequest, facts: WriteFacts) -> tuple[WriteRequest, str | None]:
    """The request with no more confidence than its least trusted source has, and a warning if that is less."""
    said = facts.current.note.number("confidence") if facts.current else None
    own = request.fields.get("confidence", said)
    own = 1.0 if own is None else own
    most = trusted(own, facts.source_trust)
    if most == own:
        return request, None
    limited = replace(request, fields={**request.fields, "confidence": most})
    return limited, f"confidence is {most}, that of its least trusted source, and not {own}"


def check_secrets(request: WriteRequest, *, refuse: bool) -> list[str]:
    """A warning for each thing that looks like a credential in any stored field, never with its value; or a refusal."""
    found = find_secrets(request.content or "")
    warnings = [f"line {each.line} holds what looks like {with_article(each.kind)}" for each in found]
    named = {"agent": request.agent, "title": request.title, "path": request.folder, "tags": request.tags}
    named |= request.fields
    warnings += field_warnings(named)
    if warnings and refuse:
        raise SecretRefused(
            f"the note was not stored: {warnings[0]}",
            hint="Take it out; name where it is kept instead.",
            found=warnings,
        )
    return warnings


def _is_at(path: str, place: str) -> bool:
    """Whether `place` is the note's own path, or its folder."""
    if path_key(relative(place)) == path_key(path):
        return True
    return name_key(checked_folder(place)) == name_key(folder_of(path))
