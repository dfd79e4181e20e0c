"""Mover: moves a note to another path, and rewrites the links of other notes to it."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import NamedTuple, cast

from lithos.core.call import Call
from lithos.core.canonical import version_of
from lithos.core.relative import relative
from lithos.errors import Conflict, InvalidInput
from lithos.notes.answers import Moved
from lithos.notes.format.document import Document
from lithos.notes.format.frontmatter import parse_frontmatter
from lithos.notes.format.links import WikiLink
from lithos.notes.format.naming import (
    SUFFIX,
    checked_folder,
    folder_of,
    joined,
    last_name,
    path_key,
    without_suffix,
)
from lithos.notes.format.note import Note
from lithos.notes.index import queries
from lithos.notes.lifecycle.effective_status import is_procedural
from lithos.notes.vault.loaded import ROOT, Loaded
from lithos.notes.vault.vault import Vault
from lithos.notes.vault.writing import with_fields
from lithos.storage import EventDraft, FileChange, Outcome, Plan

_NEEDS_QUOTING = re.compile(r"[\s()<>%#?\\]")


@dataclass(frozen=True, slots=True)
class Move:
    id: str
    to: str  # a folder, or the whole new path with .md
    rewrite_links: bool = False
    if_match: str | None = None


class LinkTarget(NamedTuple):
    """The note that a link leads to, and where that note is when all is done."""

    id: str
    path: str


@dataclass(frozen=True, slots=True)
class Relocation:
    """One note's change of place, as links see it."""

    id: str
    old: str
    new: str
    is_unique: bool  # no other note has the new file name

    def rewritten(self, note: Note, targets: Sequence[LinkTarget | None]) -> Document:
        """The note's text with its links leading where they led, and not a byte besides."""
        source = self.new if note.path == self.old else note.path
        document, text = note.document, note.document.text
        tail = len(text) - document.body_start  # of the text from here on, rewritten already
        for link, target in reversed(list(zip(note.links, targets, strict=True))):
            bracketed = text[link.start - 1 : link.start] == "<"
            wanted = self._wanted(link, target, source, bracketed) if target else None
            if wanted is not None:
                text = text[: link.start] + wanted + text[link.end :]
                tail += len(wanted) - (link.end - link.start) if link.start >= document.body_start else 0
        return _divided(document, text, tail)

    def _wanted(self, link: WikiLink, target: LinkTarget, source: str, bracketed: bool) -> str | None:
        """The new target of the link; None where it may stay as it is."""
        if link.markdown or link.target.startswith("."):
            return self._relative(link, target, source, bracketed)
        names_the_file = last_name(path_key(link.target)) == last_name(path_key(self.old))
        if target.id != self.id or not names_the_file:
            return None  # by id, alias or title: none of them moves
        wanted = self.new if "/" in link.target or not self.is_unique else last_name(self.new)
        return wanted if link.target.lower().endswith(SUFFIX) else without_suffix(wanted)

    def _relative(self, link: WikiLink, target: LinkTarget, source: str, bracketed: bool) -> str | None:
        folder = folder_of(source)
        if path_key(posixpath.normpath(posixpath.join(folder, link.target))) == path_key(target.path):
            return None
        path = posixpath.relpath(target.path, folder or ".")
        if not link.markdown:
            return target.path if link.target.lower().endswith(SUFFIX) else without_suffix(target.path)
        return path if bracketed else _NEEDS_QUOTING.sub(lambda match: f"%{ord(match.group()):02X}", path)


def _divided(document: Document, text: str, body: int) -> Document:
    """The document with this text, whose last `body` characters are the body. A frontmatter that would no longer be
    YAML (a quotation mark in a name) stays as it was: `validate` lists its link."""
    end = len(text) - body
    if document.front is None:
        return replace(document, body=text[end:])
    front = text[len(document.opening) : end - len(document.closing)]
    fits = parse_frontmatter(front).problem is None or front == document.front
    return replace(document, body=text[end:], front=front if fits else document.front)


class Mover:
    def __init__(self, vault: Vault) -> None:
        self._vault = vault
        self._catalogue = vault.catalogue

    def move(self, call: Call, wanted: Move) -> Moved:
        """One audited change: the file and, on request, every note whose links name it."""
        return cast(Moved, self._vault.act(call, lambda held: self._decide(wanted, held)))

    def _decide(self, wanted: Move, held: ExitStack) -> Plan | Outcome:
        found, sources = self._load(wanted, held)
        self._vault.check_version(found, wanted.if_match, replaces=False)
        place = self._relocation(found, wanted.to)
        changed = {each.id: self._rewritten(each, place) for each in (found, *sources)} if wanted.rewrite_links else {}
        answer: Moved = {
            "id": found.id,
            "path": place.new,
            "old_path": place.old,
            "version": found.note.version,
            "rewritten": [],
        }
        changes = [self._own_change(found, place, changed.get(found.id), answer)]
        for source in sources:
            data = changed[source.id].encode()
            if data != source.note.document.encode():
                changes.append(FileChange(ROOT, source.path, source.note.version, data))
                answer["rewritten"].append({"id": source.id, "path": source.path, "version": version_of(data)})
        if place.old == place.new:
            return Outcome(dict(answer))
        details = {"from": place.old, "rewritten": [each["path"] for each in answer["rewritten"]]}
        versions = (found.note.version, answer["version"])
        event = EventDraft("note", "move", found.id, place.new, None, *versions, details=details)
        return Plan(tuple(changes), event, dict(answer))

    def _load(self, wanted: Move, held: ExitStack) -> tuple[Loaded, list[Loaded]]:
        """The note and those that link to it, all under their locks."""
        number = self._vault.find(wanted.id).row["number"]
        ids = {wanted.id}
        if wanted.rewrite_links:
            ids |= {row["id"] for row in self._catalogue.read(lambda tx: queries.sources_of(tx, number))}
        self._vault.hold(ids, held)
        # An approved text changes by a new promotion alone, so that links in procedures stay as they are.
        found = [self._vault.find(each) for each in sorted(ids - {wanted.id})]
        sources = [source for source in found if not is_procedural(source.path)]
        for source in sources:
            self._vault.check_version(source, None, replaces=True)
        return self._vault.find(wanted.id), sources

    def _relocation(self, found: Loaded, to: str) -> Relocation:
        new = self._vault.checked_place(self._new_path(found.path, to))
        taken = self._catalogue.read(lambda tx: queries.notes_by_key(tx, path_key(new)))
        others = [row for row in taken if row["id"] != found.id]
        if others or (new != found.path and self._vault.root.exists(new)):
            details = {"id": others[0]["id"], "path": others[0]["path"]} if others else {"path": new}
            raise Conflict(f"{new!r} is taken", hint="Choose another name or folder.", **details)
        stem = last_name(path_key(new))
        named = self._catalogue.read(lambda tx: queries.named(tx, [stem]))
        namesakes = [
            path for _, note_id, path, *_ in named if last_name(path_key(path)) == stem and note_id != found.id
        ]
        return Relocation(found.id, found.path, new, not namesakes)

    def _new_path(self, old: str, to: str) -> str:
        if not to.strip().lower().endswith(SUFFIX):
            return joined(self._vault.folder(to), last_name(old))
        folder, name = folder_of(relative(to)), last_name(to.strip())
        if name.startswith(".") or len(name) <= len(SUFFIX):
            raise InvalidInput(f"{name!r} is no name for a note", hint='Give a path such as "projects/plan.md".')
        return joined(self._vault.folder(checked_folder(folder)), name)

    def _rewritten(self, source: Loaded, place: Relocation) -> Document:
        rows = self._catalogue.read(lambda tx: queries.links_of(tx, source.row["number"]))
        targets = [
            LinkTarget(row["id"], place.new if row["id"] == place.id else row["path"]) if row["id"] else None
            for row in rows
        ]
        return place.rewritten(source.note, targets) if len(targets) == len(source.note.links) else source.note.document

    def _own_change(self, found: Loaded, place: Relocation, document: Document | None, answer: Moved) -> FileChange:
        """A file that only moves is recognised by its bytes; one that is rewritten needs its id recorded first."""
        if document is None or document == found.note.document:
            return FileChange(ROOT, place.old, found.note.version, None, place.new)
        if found.note.own_id is None:
            self._vault.index.expect(place.new, found.id)
            if found.note.front.problem is None and not found.note.has_id:
                document = with_fields(document, {"id": found.id})
        data = document.encode()
        answer["version"] = version_of(data)
        return FileChange(ROOT, place.old, found.note.version, data, place.new)
