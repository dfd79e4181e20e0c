"""Reader: what agents ask of a vault without changing it."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import ExitStack
from typing import Literal, get_args

import orjson

from lithos.core.clock import from_micros, micros, parse_time, rfc3339
from lithos.core.cursor import next_cursor, place_of
from lithos.core.references import Candidate, bare_name, is_part_of_id
from lithos.core.relative import is_absolute, prefix, relative
from lithos.core.text import cut
from lithos.errors import InvalidInput, LithosError, NotFound, Unsupported
from lithos.notes.answers import (
    Ancestor,
    Completeness,
    LinkedNote,
    ListedNote,
    Neighbouring,
    NoteGraph,
    NoteLink,
    NoteLinks,
    NoteList,
    ReadNote,
    Tags,
)
from lithos.notes.format.naming import SUFFIX, last_name, path_key
from lithos.notes.index import queries
from lithos.notes.index.queries import Direction, NoteFilter, Reached
from lithos.notes.lifecycle.decisions import successor
from lithos.notes.lifecycle.effective_status import UNAPPROVED, effective_status, is_procedural, status_of
from lithos.notes.lifecycle.lineage import ancestors, trust_of
from lithos.notes.lifecycle.search_scope import StatusFilter
from lithos.notes.lifecycle.standing import NoteStanding, standing, versions
from lithos.notes.vault.loaded import Loaded
from lithos.notes.vault.resolving import Named, Names, is_by_title
from lithos.notes.vault.vault import Vault
from lithos.storage import Row, Tx

MOST_TAGS = 5_000
LARGEST_PAGE = 1_000
MOST_IN_GRAPH = 20_000
DEEPEST = 3
LONGEST_NAME = 1_000


class Reader:
    """Reads through the catalogue, and the file itself where its text is asked for: that is never out of date."""

    def __init__(self, vault: Vault, neighbours: Callable[[str], list[Neighbouring]] = lambda note_id: []) -> None:
        self._vault = vault
        self._catalogue = vault.catalogue
        self._neighbours = neighbours  # notes of nearly the same meaning

    def read(self, note_id: str | None = None, path: str | None = None, max_length: int | None = None) -> ReadNote:
        if (note_id is None) == (path is None):
            raise InvalidInput("give either id or path", hint="id is what lithos_write and the searches return.")
        found = self._find(note_id) if note_id is not None else self.find_path(path or "")
        if not found.seen:
            self._wait_for(found.id)
            self._vault.index.refresh([found.path])
            found = self.find_path(found.path)
        return self._shown(found, max_length)

    def _find(self, note_id: str) -> Loaded:
        """A note that is just being written is waited for: what names it as its successor may be readable already."""
        try:
            return self._vault.find(note_id)
        except NotFound:
            self._wait_for(note_id)
            return self._vault.find(note_id)

    def _wait_for(self, note_id: str) -> None:
        with ExitStack() as held:
            self._vault.hold([note_id], held)

    def sources(self, column: str | None = None, value: str = "") -> list[Row]:
        """Catalogue rows of outside sources; with a column those that have this value in it."""
        return self._catalogue.read(lambda tx: queries.sources(tx, column, value))

    def standing(self, note_ids: Collection[str]) -> dict[str, NoteStanding]:
        """Of those that exist: what decides how far each is to be trusted."""
        return self._catalogue.read(lambda tx: standing(tx, list(note_ids)))

    def content(self, note_id: str) -> str:
        """Its text alone, without what is computed for a reader."""
        return self._find(note_id).note.content

    def versions(self) -> dict[str, str]:
        """Id → version of every note."""
        return self._catalogue.read(versions)

    def exists(self, note_id: str) -> bool:
        return self._catalogue.read(lambda tx: queries.note_by_id(tx, note_id)) is not None

    def named(self, name: str, *, exact: bool) -> list[Candidate]:
        """The notes that a caller means by an id, a path, a title, an alias, a link or a part of an id. `exact`: only
        as it is spelled."""
        wanted = bare_name(name)
        by_id = self._catalogue.read(lambda tx: queries.note_by_id(tx, wanted))
        if by_id is not None:
            return [_candidate(by_id)]
        if not wanted or len(wanted) > LONGEST_NAME:
            return []
        named = [
            Named(*row) for row in self._catalogue.read(lambda tx: queries.named(tx, [last_name(path_key(wanted))]))
        ]
        found = Names.of(named).resolve(wanted, "")
        numbers = found.candidates if found.number is None else (found.number,)
        meant = [each for each in named if each.number in numbers]
        if is_absolute(wanted):  # a place of the machine names no file here; a title may well look like one
            meant = [each for each in named if wanted in (each.title, *each.aliases)]
        if exact:
            meant = [each for each in meant if _is_spelled(each, wanted)]
        if meant:
            return [Candidate(each.id, each.title, each.path) for each in meant]
        if not is_part_of_id(wanted):
            return []
        rows = self._catalogue.read(lambda tx: queries.by_part_of_id(tx, wanted.lower(), 4))
        return [_candidate(row) for row in rows]

    def all_titles(self, most: int = 5_000) -> list[Candidate]:
        """Of the notes changed last: for a guess at what a wrong name meant."""
        return [_candidate(row) for row in self._catalogue.read(lambda tx: queries.newest(tx, most))]

    def titles(self, note_ids: Collection[str]) -> dict[str, str]:
        """Of those that exist."""

        def work(tx: Tx) -> dict[str, str]:
            rows = (queries.note_by_id(tx, each) for each in note_ids)
            return {row["id"]: row["title"] for row in rows if row is not None}

        return self._catalogue.read(work)

    def of_task(self, task_id: str, limit: int = 100) -> list[LinkedNote]:
        """The notes that name this task as their source."""
        rows = self._catalogue.read(lambda tx: queries.notes_from(tx, task_id, limit))
        return [{"id": row["id"], "title": row["title"], "path": row["path"]} for row in rows]

    def find_path(self, path: str) -> Loaded:
        """With or without `.md`, in any case; a file that the index has not seen yet is taken in first."""
        wanted = relative(path)
        for attempt in (wanted, wanted + SUFFIX):
            if attempt.lower().endswith(SUFFIX) and self._is_new(attempt):
                self._vault.index.refresh([attempt])
        rows = self._catalogue.read(lambda tx: queries.notes_by_key(tx, path_key(wanted)))
        exact = [row for row in rows if row["path"] in (wanted, wanted + SUFFIX)]
        if not exact and len(rows) != 1:
            self._refuse_unreadable(wanted)
            raise NotFound(f"there is no note at {path[:200]!r}", hint="lithos_list with path_prefix shows a folder.")
        return self._vault.find((exact or rows)[0]["id"])

    def _refuse_unreadable(self, wanted: str) -> None:
        """A file that is there and is no note: say why, instead of that there is none."""
        for path in (wanted, wanted + SUFFIX):
            if not self._is_new(path):
                continue
            seen = self._catalogue.files(path).get(path)
            reason = seen.reason if seen and seen.reason else "it may not be read"
            raise Unsupported(
                f"{path!r} cannot be read as a note: {reason}",
                hint="A person must look at the file; lithos_validate lists all such files.",
            )

    def _is_new(self, path: str) -> bool:
        if not self._vault.index.allows_note(path):
            return False
        if self._catalogue.read(lambda tx: queries.note_by_path(tx, path)) is not None:
            return False
        try:
            return self._vault.root.exists(path)
        except LithosError:
            return False

    def _shown(self, found: Loaded, max_length: int | None) -> ReadNote:
        note = found.note
        content = note.content if max_length is None else cut(note.content, max_length)
        answer: ReadNote = {
            "id": found.id,
            "title": note.title,
            "content": content,
            "metadata": dict(note.fields),
            "links": self._links(found),
            "truncated": content != note.content,
            "path": found.path,
            "version": note.version,
        }
        if note.front.problem:
            answer["problem"] = f"frontmatter: {note.front.problem}"
        self._add_lifecycle(found, answer)
        if copies := self._catalogue.read(lambda tx: queries.conflict_copies(tx, [found.path])):
            answer["conflict_copies"] = copies
        return answer

    def _add_lifecycle(self, found: Loaded, answer: ReadNote) -> None:
        """Add its successor, its lineage with their trust, and its near-duplicates."""
        note = found.note
        if is_procedural(found.path) and effective_status(note, self._vault.index.is_promoted) == UNAPPROVED:
            answer["problem"] = "not a procedure: it is under procedural/ without a promotion"
        if status_of(note) == "superseded":
            answer["successor"] = self._catalogue.read(lambda tx: _successor(tx, found))
        if note.fields.get("derived_from"):
            answer["lineage"], answer["trust"] = self._catalogue.read(lambda tx: _lineage(tx, found.row))
        if neighbours := self._neighbours(found.id):
            answer["similar"] = neighbours

    def _links(self, found: Loaded) -> list[NoteLink]:
        links = found.note.links
        if not links:
            return []
        rows = self._catalogue.read(lambda tx: queries.links_of(tx, found.row["number"]))
        if len(rows) != len(links):  # saved again between the two looks
            rows = [{"id": None, "status": "attachment" if each.attachment else "broken", "name": ""} for each in links]
        shown: list[NoteLink] = []
        for link, row in zip(links, rows, strict=True):
            if row["status"] == "attachment":
                continue
            each: NoteLink = {
                "target": link.target + link.heading,
                "display": link.display,
                "id": row["id"],
                "status": row["status"],
            }
            if row["status"] == "ambiguous":
                each["candidates"] = self.candidates(link.target, row["name"], found.path, link.markdown)
            elif row["id"] and not link.markdown and is_by_title(link.target, row["id"], row["path"], row["title"]):
                each["resolved_by"] = "title"
            shown.append(each)
        return shown

    def candidates(self, target: str, name: str, source: str, markdown: bool) -> list[str]:
        """The paths that an ambiguous link could mean."""
        named = [Named(*row) for row in self._catalogue.read(lambda tx: queries.named(tx, [name]))]
        numbers = Names.of(named).resolve(target, source, markdown).candidates
        return sorted(each.path for each in named if each.number in numbers)

    def list(
        self,
        path_prefix: str | None = None,
        tags: list[str] | None = None,
        author: str | None = None,
        since: str | None = None,
        limit: int = 50,
        offset: int = 0,
        status: StatusFilter | None = None,
        cursor: str | None = None,
    ) -> NoteList:
        moment = None if since is None else micros(parse_time(since, "since"))
        beneath = prefix(path_prefix)
        filters = ["lithos_list", beneath, tags, author, since, status]
        after = place_of(cursor, filters, int, str)
        effective_status = None if status == "all" else status or "active"
        current_at = micros(self._vault.now()) if status is None else None
        wanted = NoteFilter(
            beneath, tuple(tag.removeprefix("#") for tag in tags or ()), author, moment, effective_status, current_at
        )
        place = None if after is None else (after[0], after[1])
        rows, total = self._catalogue.read(lambda tx: queries.list_notes(tx, wanted, limit + 1, offset, place))
        answer: NoteList = {"items": [_listed(row) for row in rows[:limit]], "total": total, "degraded": False}
        self._add_completeness(answer)
        if len(rows) > limit:
            answer["next_cursor"] = next_cursor(filters, [rows[limit - 1]["updated"], rows[limit - 1]["path"]])
        return answer

    def graph(self, path_prefix: str | None, tags: Collection[str], limit: int) -> NoteGraph:
        """The notes that count now and the links between them."""
        chosen = tuple(tag.removeprefix("#") for tag in tags)
        wanted = NoteFilter(
            prefix(path_prefix), chosen, effective_status="active", current_at=micros(self._vault.now())
        )
        notes, links, total = self._catalogue.read(lambda tx: queries.graph(tx, wanted, limit))
        place = {row[0]: at for at, row in enumerate(notes)}
        known: dict[str, int] = {}
        answer: NoteGraph = {
            "ids": [row[1] for row in notes],
            "titles": [row[2] for row in notes],
            "paths": [row[3] for row in notes],
            "tagged": [[known.setdefault(tag, len(known)) for tag in orjson.loads(row[4])] for row in notes],
            "tags": list(known),
            "links": [
                each
                for source, target in links
                if source != target and source in place and target in place
                for each in (place[source], place[target])
            ],
            "total": total,
            "degraded": False,
        }
        self._add_completeness(answer)
        return answer

    def links(
        self,
        note_id: str,
        direction: Direction = "both",
        depth: int = 1,
        limit: int = LARGEST_PAGE,
        cursor: str | None = None,
    ) -> NoteLinks:
        """At most `limit` each way, nearest first."""
        if direction not in get_args(Direction) or not 1 <= depth <= DEEPEST:
            raise InvalidInput(f"direction is one of {', '.join(get_args(Direction))}, depth 1 to {DEEPEST}")
        filters = ["lithos_links", note_id, direction, depth]
        place = place_of(cursor, filters, int, str, int, str) or [-1, "", -1, ""]
        number = self._number(note_id)

        def work(tx: Tx) -> tuple[list[Reached], list[Reached]]:
            ways: tuple[Literal["outgoing", "incoming"], ...] = ("outgoing", "incoming")
            out, into = (queries.reach(tx, number, way, depth) if direction in (way, "both") else [] for way in ways)
            return out, into

        outgoing, incoming = self._catalogue.read(work)
        after_out = [each for each in outgoing if each.place > (place[0], place[1])]
        after_in = [each for each in incoming if each.place > (place[2], place[3])]
        answer: NoteLinks = {
            "outgoing": [each.shown() for each in after_out[:limit]],
            "incoming": [each.shown() for each in after_in[:limit]],
            "total": len(outgoing) + len(incoming),
            "degraded": False,
        }
        self._add_completeness(answer)
        if len(after_out) > limit or len(after_in) > limit:
            # The end of a shorter way: the last place that its page gave, or the one before it.
            last_out = after_out[:limit][-1].place if after_out else (place[0], place[1])
            last_in = after_in[:limit][-1].place if after_in else (place[2], place[3])
            answer["truncated"], answer["next_cursor"] = True, next_cursor(filters, [*last_out, *last_in])
        return answer

    def _add_completeness(self, answer: Completeness) -> None:
        """Say so where files are not read or links not resolved yet."""
        if behind := self._vault.index.progress.behind:
            answer["degraded"], answer["degraded_reason"] = True, behind

    def _number(self, note_id: str) -> int:
        row = self._catalogue.read(lambda tx: queries.note_by_id(tx, note_id))
        if row is None:
            raise NotFound(f"there is no note {note_id[:80]!r}", hint="lithos_search or lithos_list finds notes.")
        number: int = row["number"]
        return number

    def tags(self, prefix: str = "", limit: int = MOST_TAGS, cursor: str | None = None) -> Tags:
        """The most used first."""
        filters = ["lithos_tags", prefix]
        after = place_of(cursor, filters, int, str)
        counts = self._catalogue.read(lambda tx: queries.tag_counts(tx, prefix.removeprefix("#"), limit + 1, after))
        answer: Tags = {"tags": dict(counts[:limit]), "degraded": False}
        self._add_completeness(answer)
        if len(counts) > limit:
            tag, notes = counts[limit - 1]
            answer["truncated"], answer["next_cursor"] = True, next_cursor(filters, [notes, tag])
        return answer


def _candidate(row: Row) -> Candidate:
    return Candidate(row["id"], row["title"], row["path"])


def _is_spelled(note: Named, name: str) -> bool:
    path = note.path.removesuffix(SUFFIX)
    return name in (note.path, path, path.rpartition("/")[2], note.title, *note.aliases)


def _successor(tx: Tx, found: Loaded) -> LinkedNote | None:
    """The living end of its chain of successors; None where it leads nowhere or in a circle."""
    first = found.note.text("superseded_by")

    def after(note_id: str) -> str | None:
        if note_id == found.id:
            return first
        row = queries.note_by_id(tx, note_id)
        return row["superseded_by"] if row and row["status"] == "superseded" else None

    end = successor(found.id, after)
    row = queries.note_by_id(tx, end) if end else None
    return {"id": row["id"], "title": row["title"], "path": row["path"]} if row else None


def _lineage(tx: Tx, row: Row) -> tuple[list[Ancestor], float]:
    return ancestors(tx, row), trust_of(tx, row["id"])


def _listed(row: Row) -> ListedNote:
    return {
        "id": row["id"],
        "title": row["title"],
        "path": row["path"],
        "updated": rfc3339(from_micros(row["updated"])),
        "tags": orjson.loads(row["tags"]),
    }
