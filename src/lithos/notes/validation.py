"""Validator: lists the problems of a vault by kind. It changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from lithos.core.text import nearest
from lithos.errors import InvalidInput, LithosError
from lithos.notes.answers import Problem, Similar, Validation
from lithos.notes.format.note import Note, read_note
from lithos.notes.index import queries
from lithos.notes.index.identities import Identities
from lithos.notes.lifecycle.problems import KINDS as LIFECYCLE_KINDS
from lithos.notes.lifecycle.problems import lifecycle_problems, text_problems
from lithos.notes.vault.resolving import Named, Names, is_by_title
from lithos.notes.vault.vault import Vault
from lithos.storage import Row, Tx

KINDS = {
    "broken_links": "Links that lead nowhere",
    "ambiguous_links": "Links that could mean several notes",
    "links_by_title": "Links that name a title and no file: a new title breaks them",
    "stale_references": "Links to a name that a note had before it was renamed",
    "broken_frontmatter": "Frontmatter that is not valid YAML",
    "missing_frontmatter": "Notes without frontmatter",
    "duplicate_ids": "Files that name an id which another file has",
    "name_clashes": "Names that differ only in case or Unicode form",
    "conflict_copies": "Edits that were kept aside because two came at once",
    "unreadable_files": "Files that are not served",
    **LIFECYCLE_KINDS,
    "duplicates": "Notes that say nearly the same",
}
# A vault that was never meant for agents has no frontmatter: worth knowing, no reason for an alarm.
NOTICES = ("missing_frontmatter", "links_by_title", "duplicates")
MOST_SHOWN = 1_000
USUALLY_SHOWN = 3  # of each kind; a model that wants to fix one kind names it
SHOWN_OF_ONE_KIND = 50


class Validator:
    def __init__(
        self, vault: Vault, identities: Identities, clusters: Callable[[], list[list[Similar]]] = list
    ) -> None:
        self._vault = vault
        self._identities = identities
        self._clusters = clusters  # of near-duplicates
        # What the texts said at their versions, so that a second look reads only what changed: 10,000 notes cost 4 s of
        # CPU. By a hash: a path and a version of 100,000 notes would be 20 MB.
        self._said: dict[int, tuple[tuple[str, Problem], ...]] = {}

    def validate(
        self, *, duplicates: bool = False, kind: str | None = None, limit: int | None = None, offset: int = 0
    ) -> Validation:
        """All counts, and the first problems of each kind, or of `kind` from `offset` on. `duplicates` also compares
        the notes with each other, which takes seconds in a large vault."""
        if kind is not None and kind not in KINDS:
            near = nearest(kind, KINDS)
            raise InvalidInput(
                f"there is no kind of problem {kind[:40]!r}" + (f", did you mean {near!r}?" if near else ""),
                hint="Without `kind`, `counts` names the kinds that there are.",
            )
        found = self._found(duplicates=duplicates or kind == "duplicates")
        counts = {each: len(problems) for each, problems in found.items() if problems}
        most = limit or (SHOWN_OF_ONE_KIND if kind else USUALLY_SHOWN)
        chosen = [each for each in counts if kind in (None, each)]
        answer: Validation = {
            "ok": not any(each not in NOTICES for each in counts),
            "notes": self._vault.catalogue.read(queries.counts)["notes"],
            "counts": counts,
            "problems": {each: found[each][offset : offset + most] for each in chosen},
        }
        if any(counts[each] > offset + most for each in chosen):
            answer["truncated"] = True
            if kind:
                answer["next_offset"] = offset + most
            else:
                answer["more"] = 'kind="broken_links" lists one kind, limit and offset page through it'
        return answer

    def _found(self, *, duplicates: bool) -> dict[str, list[Problem]]:
        found = self._vault.catalogue.read(self._problems)
        for kind, problem in self._texts():
            found[kind].append(problem)
        if duplicates:
            found["duplicates"] = [_cluster(each) for each in self._clusters()]
        return found

    def _problems(self, tx: Tx) -> dict[str, list[Problem]]:
        found: dict[str, list[Problem]] = {kind: [] for kind in KINDS}
        for kind, problem in (*self._links(tx), *self._links_by_title(tx)):
            found[kind].append(problem)
        for kind, problem in (*_notes(tx), *_files(tx), *lifecycle_problems(tx)):
            found[kind].append(problem)
        return found

    def _texts(self) -> Iterator[tuple[str, Problem]]:
        said: dict[int, tuple[tuple[str, Problem], ...]] = {}
        for path, version, *_ in sorted(self._vault.catalogue.read(queries.versions).values()):
            key = hash((path, version))
            problems = self._said.get(key)
            if problems is None:
                note = self._read(path)
                problems = tuple(text_problems(note)) if note else ()
                if note is None or note.version != version:  # the file is newer than the catalogue
                    yield from problems
                    continue
            said[key] = problems
            yield from problems
        self._said = said

    def _read(self, path: str) -> Note | None:
        try:
            note = read_note(path, self._vault.root.read(path).data)
        except LithosError:
            return None
        return note if isinstance(note, Note) else None

    def _links(self, tx: Tx) -> Iterator[tuple[str, Problem]]:
        rows = queries.unresolved(tx)
        names = sorted({row["name"] for row in rows})
        known = [Named(*row) for row in queries.named(tx, names)]
        paths = {each.number: each.path for each in known}
        lines = self._lines({row["path"] for row in rows[: 2 * MOST_SHOWN]})
        now, (before, whereabouts) = Names.of(known), self._former(tx)
        for row in rows:
            problem: Problem = {"path": row["path"], "target": row["target"], "what": "no note of this name"}
            line = lines.get(row["path"], {}).get(row["position"])
            if line is not None:
                problem["line"] = line
            if row["status"] == "ambiguous":
                numbers = now.resolve(row["target"], row["path"], bool(row["markdown"])).candidates
                problem["candidates"] = sorted(paths[number] for number in numbers)
                problem["what"] = "could mean any of these"
                yield "ambiguous_links", problem
                continue
            moved = before.resolve(row["target"], row["path"], bool(row["markdown"]))
            if moved.number is None:
                yield "broken_links", problem
            else:
                problem["what"] = f"was renamed to {whereabouts[moved.number]}"
                yield "stale_references", problem

    def _links_by_title(self, tx: Tx) -> Iterator[tuple[str, Problem]]:
        rows = queries.links_by_other_names(tx)
        found = [row for row in rows if is_by_title(row["target"], row["id"], row["leads_to"], row["title"])]
        lines = self._lines({row["path"] for row in found[:MOST_SHOWN]})
        for row in found:
            what = f"by its title to {row['leads_to']}"
            problem: Problem = {"path": row["path"], "target": row["target"], "what": what}
            line = lines.get(row["path"], {}).get(row["position"])
            if line is not None:
                problem["line"] = line
            yield "links_by_title", problem

    def _former(self, tx: Tx) -> tuple[Names, list[str]]:
        """The notes under the paths that they had, and where each is now."""
        former = self._identities.former()
        owners = queries.owners(tx, sorted(set(former.values())))
        alive = [(path, owners[note_id]) for path, note_id in former.items() if note_id in owners]
        names = Names.of(Named(number, "", path, "") for number, (path, _) in enumerate(alive))
        return names, [now for _, now in alive]

    def _lines(self, paths: set[str]) -> dict[str, dict[int, int]]:
        """path → position of a link → its line in the file."""
        return {path: dict(self._lines_of(path)) for path in sorted(paths)}

    def _lines_of(self, path: str) -> Iterator[tuple[int, int]]:
        if note := self._read(path):
            for position, link in enumerate(note.links):
                yield position, note.document.text.count("\n", 0, link.start) + 1


def _notes(tx: Tx) -> Iterator[tuple[str, Problem]]:
    for row in tx.all("SELECT path, problem FROM notes WHERE problem IS NOT NULL ORDER BY path"):
        yield "broken_frontmatter", {"path": row["path"], "what": row["problem"]}
    for row in tx.all("SELECT path FROM notes WHERE bare ORDER BY path"):
        yield "missing_frontmatter", {"path": row["path"], "what": "no frontmatter"}
    for row in tx.all("SELECT path, own_id FROM notes WHERE own_id IS NOT NULL AND own_id <> id ORDER BY path"):
        owner = queries.owners(tx, [row["own_id"]]).get(row["own_id"], "another file")
        yield "duplicate_ids", {"path": row["path"], "what": f"{owner} has the id {row['own_id']}"}
    for row in tx.all("SELECT path_key FROM notes GROUP BY path_key HAVING count(*) > 1 ORDER BY path_key"):
        yield "name_clashes", _clash(queries.notes_by_key(tx, row["path_key"]))


def _cluster(alike: list[Similar]) -> Problem:
    return {
        "path": alike[0]["path"],
        "what": "says nearly the same as " + ", ".join(each["path"] for each in alike[1:]),
    }


def _clash(rows: list[Row]) -> Problem:
    return {"path": rows[0]["path"], "what": "the same name as " + ", ".join(row["path"] for row in rows[1:])}


def _files(tx: Tx) -> Iterator[tuple[str, Problem]]:
    for row in tx.all("SELECT path, reason FROM files WHERE reason IS NOT NULL ORDER BY path"):
        kind = "conflict_copies" if row["reason"] == "a conflict copy" else "unreadable_files"
        yield kind, {"path": row["path"], "what": row["reason"]}
