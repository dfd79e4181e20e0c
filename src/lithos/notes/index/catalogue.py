"""Catalogue: the derived SQLite index of every file, note and link. `Index` alone changes it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import orjson

from lithos.core.clock import Clock
from lithos.errors import ReadOnly, StorageFull
from lithos.notes.fields import COLUMNS, NoteField
from lithos.notes.format.naming import last_name, name_key, path_key, without_suffix
from lithos.notes.format.note import Note
from lithos.notes.index import queries
from lithos.notes.index.link_names import NOT_CALLED, all_called, called_by, refresh_called
from lithos.notes.index.schema import FINGERPRINT, MIGRATIONS
from lithos.notes.lifecycle.effective_status import ends
from lithos.notes.vault.resolving import Named, Names
from lithos.storage import Database, RebuildableDatabase, Row, Tx, derived_folder, discard, open_database

T = TypeVar("T")
_NAMES_AT_ONCE = 2_000  # links are resolved in portions, so that a first index of 100,000 notes needs little memory
_UNSETTLED = "unsettled"
FOLDER = ".catalogue"
FORMER_FOLDER = ".graph"

_FORGET = "UPDATE files SET mtime_ns = -1, version = ''"  # a look at such a file reads it
_FILE = "INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_LINK = "INSERT INTO links VALUES (?, ?, ?, ?, ?, NULL, 'broken', ?, ?)"
_OWN_COLUMNS = 21  # of `notes` besides those of the frontmatter fields
_NOTE = f"INSERT INTO notes VALUES ({', '.join('?' * (_OWN_COLUMNS + len(COLUMNS)))})"


class KnownFile(NamedTuple):
    """A file as the catalogue last saw it; `reason` says why it is no note."""

    path: str
    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int
    device: int
    version: str
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class ReadFile:
    """A file that was read: a note under an id, or none with a reason in `seen`."""

    seen: KnownFile
    note: Note | None = None
    id: str = ""
    effective_status: str = "active"
    minhash: bytes | None = None
    changed: int = 0  # when, in microseconds
    edited: bool = False  # it was known with other bytes, under another path, or before it was deleted
    arrived: bool = False  # it is new, in a catalogue that has seen all files before
    by_us: bool = False  # a call through Lithos made the change, not an editor, git or a sync tool


@dataclass(slots=True)
class CatalogueChanges:
    """The effects of one update on notes and ids."""

    gone: list[str] = field(default_factory=list)  # ids
    again: list[str] = field(default_factory=list)  # files to be read again, because an id is free now
    moved: dict[str, str] = field(default_factory=dict)  # former path → id
    called: dict[str, str] = field(default_factory=dict)  # path → `notes.called`, where it is another than before


def open_catalogue(data_dir: Path, clock: Clock) -> Catalogue:
    """The catalogue. One that is damaged, now or later, is moved aside and starts empty."""
    folder = derived_folder(data_dir / FOLDER)
    _move_former(data_dir / FORMER_FOLDER, folder)
    path = folder / f"catalogue-{FINGERPRINT}.db"
    for other in folder.glob("catalogue-*"):
        if not other.name.startswith(path.name):
            discard(other)

    def open_it() -> Database:
        return open_database(path, MIGRATIONS, synchronous="NORMAL", clock=clock, reserve_bytes=0)

    return Catalogue(RebuildableDatabase(path, open_it))


def _move_former(former: Path, folder: Path) -> None:
    """Until 0.1 the catalogue was in `.graph`, which now belongs to the graph: only our own files leave it."""
    ours = sorted(former.glob("catalogue-*"))
    for path in (*ours, *(former.glob("damaged.db*") if ours else ())):  # without a catalogue it is the graph's
        if not (folder / path.name).exists():
            path.replace(folder / path.name)


class Catalogue:
    def __init__(self, database: RebuildableDatabase) -> None:
        self._database = database
        self._filled_after = 0  # restarts before the last whole scan

    @property
    def is_rebuilding(self) -> bool:
        """Whether damage made it start empty, and no scan has filled it since."""
        return self._filled_after < self._database.restarts

    @property
    def restarts(self) -> int:
        """How often damage made it start empty."""
        return self._database.restarts

    def filled(self, restarts: int) -> None:
        """A scan that began after so many restarts has read every file."""
        self._filled_after = max(self._filled_after, restarts)

    def on_lost(self, tell: Callable[[], None]) -> None:
        """Call `tell` when damage made it start empty: every file must be read again."""
        self._database.lost = tell

    def close(self) -> None:
        self._database.close()

    def read(self, work: Callable[[Tx], T]) -> T:
        """One snapshot for several of the functions in `queries`."""
        return self._database.read(work)

    def files(self, beneath: str | None = None) -> dict[str, KnownFile]:
        return self.read(lambda tx: {each[0]: KnownFile._make(each) for each in queries.files(tx, beneath)})

    def apply(self, found: Sequence[ReadFile], gone: Sequence[str], *, settle: bool = True) -> CatalogueChanges:
        """Take in files that were read and forget those that are gone. Without `settle` the links stay open until
        `settle` is called: during a scan each would otherwise be resolved once per portion."""
        return self._database.write(lambda tx: _Update(tx, found, gone).run(settle))

    def touch(self, seen: Iterable[KnownFile]) -> None:
        """The same bytes under a new date."""
        rows = list(seen)

        def work(tx: Tx) -> None:
            tx.many(_FILE, rows)
            dates = [(each.mtime_ns // 1000, each.path) for each in rows]
            tx.many("UPDATE notes SET updated = ? WHERE path = ? AND undated", dates)

        if rows:
            with suppress(StorageFull, ReadOnly):  # then the next scan reads these files again
                self._database.write(work)

    def is_settled(self) -> bool:
        """Whether every link was resolved after the last scan."""
        return not self.read(lambda tx: queries.mark(tx, _UNSETTLED))

    def settle(self) -> list[str]:
        """Resolve every link again, if a scan (also one that was killed) left any open. Returns the paths of the notes
        that links call otherwise than before."""
        if self.is_settled():
            return []
        names = self.read(lambda tx: [row["name"] for row in tx.all("SELECT DISTINCT name FROM links ORDER BY name")])
        for portion in portions(names, _NAMES_AT_ONCE):
            self._database.write(lambda tx, portion=portion: resolve(tx, portion))  # type: ignore[misc]
        called: list[str] = []
        for numbers in portions(self.read(all_called), _NAMES_AT_ONCE):
            called += self._database.write(lambda tx, numbers=numbers: refresh_called(tx, numbers))  # type: ignore[misc]
        self._database.write(lambda tx: tx.run("DELETE FROM marks WHERE name = ?", _UNSETTLED))
        return called

    def is_complete(self) -> bool:
        """Whether a scan has ended here before: what is new from now on is a change."""
        known = self.read(lambda tx: tx.one("SELECT 1 AS one FROM files LIMIT 1"))
        return known is not None and self.is_settled()

    def last_change(self) -> int:
        """When the newest change was seen, in microseconds."""
        row = self.read(lambda tx: tx.one("SELECT max(changed) AS last FROM notes"))
        return int(row["last"] or 0) if row else 0

    def forget(self) -> None:
        """Have the next scan read every file again; what is known is served until then."""
        self._database.write(lambda tx: tx.run(_FORGET))


class _Update:
    """One transaction: rows of the files and notes concerned go, new ones come, and links find their notes."""

    def __init__(self, tx: Tx, found: Sequence[ReadFile], gone: Sequence[str]) -> None:
        self._tx = tx
        self._files = [each.seen for each in found]
        self._notes = [each for each in found if each.note is not None]
        self._gone = list(gone)
        self._paths = [*gone, *(each.seen.path for each in found)]

    def run(self, settle: bool) -> CatalogueChanges:
        old = self._old()
        new = self._numbered(old)
        touched = _changed_names(old, new)
        freed = [row["id"] for row in old if row["number"] not in new]
        renamed: set[int] = set()
        if old:
            numbers = [row["number"] for row in old]
            renamed = called_by(self._tx, numbers)
            self._remove(numbers)
            self._read_again([row["path"] for row in old])
        self._insert(new)
        called: dict[str, str] = {}
        if not settle:
            self._tx.run("INSERT OR REPLACE INTO marks VALUES (?, '1')", _UNSETTLED)
        else:
            renamed |= resolve(self._tx, sorted(touched), sorted(new))
            called = refresh_called(self._tx, renamed.union(new))
        kept = {each.id for each in new.values()}
        moved = {row["path"]: row["id"] for row in old if row["number"] in new and _has_moved(row, new[row["number"]])}
        return CatalogueChanges([each for each in freed if each not in kept], self._again(freed), moved, called)

    def _old(self) -> list[Row]:
        """The notes that these files or ids had; two notes that trade ids are both among them."""
        ids = orjson.dumps([each.id for each in self._notes]).decode()
        paths = orjson.dumps(self._paths).decode()
        return self._tx.all(
            "SELECT number, id, path, title, aliases, version, changed, edited, arrived, by_us FROM notes"
            " WHERE path IN (SELECT value FROM json_each(?))"
            " OR id IN (SELECT value FROM json_each(?))",
            *(paths, ids),
        )

    def _numbered(self, old: list[Row]) -> dict[int, ReadFile]:
        """A note that stays keeps its number, and with it the links that lead to it."""
        known = {row["id"]: row for row in old}
        last = self._tx.one("SELECT max(number) AS last FROM notes")
        fresh = ((last or {}).get("last") or 0) + 1
        numbered = {}
        for offset, each in enumerate(self._notes):
            row = known.get(each.id)
            if row:
                same = (row["version"], row["path"]) == (each.seen.version, each.seen.path)
                changed, by_us = (row["changed"], bool(row["by_us"])) if same else (each.changed, each.by_us)
                edited, arrived = bool(row["edited"]) or not same, bool(row["arrived"])
                each = replace(each, changed=changed, by_us=by_us, edited=edited, arrived=arrived)
            numbered[row["number"] if row else fresh + offset] = each
        return numbered

    def _remove(self, numbers: list[int]) -> None:
        listed = orjson.dumps(numbers).decode()
        for table, column in (("notes", "number"), ("tags", "number"), ("names", "number"), ("links", "source")):
            self._tx.run(f"DELETE FROM {table} WHERE {column} IN (SELECT value FROM json_each(?))", listed)

    def _read_again(self, paths: list[str]) -> None:
        """A file that lost its id to the one it was renamed to may be back: have it read again."""
        lost = [(path,) for path in set(paths).difference(self._paths)]
        if lost:
            self._tx.many(f"{_FORGET} WHERE path = ?", lost)

    def _insert(self, new: dict[int, ReadFile]) -> None:
        rows: dict[str, Iterable[tuple[Any, ...]]] = {
            "DELETE FROM files WHERE path = ?": [(path,) for path in self._gone],
            _FILE: self._files,
            _NOTE: [_note_row(number, each) for number, each in new.items()],
            "INSERT INTO tags VALUES (?, ?)": chain.from_iterable(map(_tag_rows, new, new.values())),
            "INSERT INTO names VALUES (?, ?)": chain.from_iterable(map(_name_rows, new, new.values())),
            _LINK: chain.from_iterable(map(_link_rows, new, new.values())),
        }
        for sql, each in rows.items():
            if listed := list(each):
                self._tx.many(sql, listed)

    def _again(self, freed: list[str]) -> list[str]:
        """Files that name an id which another file had until now: the first of each may have it."""
        if not freed:
            return []
        rows = self._tx.all(
            "SELECT min(path) AS path FROM notes WHERE own_id IN (SELECT value FROM json_each(?)) AND own_id <> id"
            " GROUP BY own_id ORDER BY own_id",
            orjson.dumps(freed).decode(),
        )
        return [row["path"] for row in rows]


def resolve(tx: Tx, names: Sequence[str], sources: Sequence[int] = ()) -> set[int]:
    """Let the links that use one of these last names, and those of these notes, find their notes. Returns the notes
    that gained or lost a link which gives them a name."""
    links = queries.links_to_resolve(tx, names, sources)
    if not links:
        return set()
    known = Names.of(Named(*row) for row in queries.named(tx, sorted({link[4] for link in links})))
    changed = []
    renamed: set[int | None] = set()
    for source, position, target, markdown, _, note, status, path, attachment, calls in links:
        found = known.resolve(target, path, bool(markdown))
        now = "attachment" if attachment and found.status == "broken" else found.status
        if found.number != note or now != status:
            changed.append((found.number, now, source, position))
            renamed |= {note, found.number} if calls is not None else set()
    if changed:
        tx.many("UPDATE links SET note = ?, status = ? WHERE source = ? AND position = ?", changed)
    return {number for number in renamed if number is not None}


def portions(items: Iterable[T], size: int) -> Iterator[list[T]]:
    rest = iter(items)
    while portion := list(islice(rest, size)):
        yield portion


def _has_moved(row: Row, found: ReadFile) -> bool:
    return bool(row["path"] != found.seen.path)


def _note_row(number: int, found: ReadFile) -> tuple[Any, ...]:
    note, seen = found.note, found.seen
    assert note is not None
    updated = note.updated(seen.mtime_ns)
    return (
        *(number, found.id, note.own_id, note.path, path_key(note.path), note.title),
        *(updated, int(note.moment("updated_at") is None), found.changed),
        *(int(found.edited), int(found.arrived), int(found.by_us)),
        note.version,
        *(note.front.problem, int(note.document.front is None)),
        *(orjson.dumps(note.tags).decode(), orjson.dumps(note.aliases).decode(), NOT_CALLED),
        *(_column(note, each) for each in COLUMNS),
        *(found.effective_status, ends(note, updated), found.minhash),
    )


def _column(note: Note, field: NoteField) -> Any:
    if field.type == "time":
        return note.moment(field.name)
    if field.type == "number":
        return note.number(field.name)
    if field.type == "texts":
        value = note.fields.get(field.name)
        return None if value is None else orjson.dumps(value).decode()
    return note.text(field.name)


def _tag_rows(number: int, found: ReadFile) -> Iterator[tuple[int, str]]:
    return ((number, tag) for tag in found.note.tags) if found.note else iter(())


def _name_rows(number: int, found: ReadFile) -> Iterator[tuple[int, str]]:
    if found.note is None:
        return iter(())
    names = link_names(found.id, found.note.path, found.note.title, found.note.aliases)
    return ((number, name) for name in {last_name(each) for each in names})


def _link_rows(number: int, found: ReadFile) -> Iterator[tuple[int, int, str, int, str, int, str | None]]:
    for position, link in enumerate(found.note.links if found.note else ()):
        name = last_name(name_key(without_suffix(link.target.rstrip("/"))))
        yield number, position, link.target, int(link.markdown), name, int(link.attachment), link.calls


def link_names(note_id: str, path: str, title: str, aliases: Iterable[str]) -> set[str]:
    """Everything that a link to this note may be resolved by."""
    return {name for _, name in _ways(note_id, path, title, aliases)}


def _ways(note_id: str, path: str, title: str, aliases: Iterable[str]) -> set[tuple[str, str]]:
    """Each name with its kind: a Markdown link asks for the path and never for the title."""
    return {
        ("id", note_id),
        ("path", path_key(path)),
        ("title", name_key(title)),
        *(("alias", name_key(alias)) for alias in aliases),
    }


def _changed_names(old: Sequence[Row], new: dict[int, ReadFile]) -> set[str]:
    """The last names whose links may lead elsewhere than before."""
    before = {row["number"]: _ways(row["id"], row["path"], row["title"], orjson.loads(row["aliases"])) for row in old}
    after = {
        number: _ways(each.id, each.note.path, each.note.title, each.note.aliases)
        for number, each in new.items()
        if each.note is not None
    }
    changed: set[tuple[str, str]] = set()
    for number in before.keys() | after.keys():
        changed |= before.get(number, set()) ^ after.get(number, set())
    return {last_name(name) for _, name in changed}
