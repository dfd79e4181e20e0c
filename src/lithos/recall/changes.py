"""Changes: one list over notes by any hand, tasks, claims, findings, thoughts and skills.

The audit has every change through Lithos, in the order of commits; the catalogue has what people saved; the ledger has
thoughts. A cursor is a place in all three, so that a change which was in flight while a list was read is in the next:
the position in each audit chain, the moment of what people saved, and the number of thoughts in each chain.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any, Literal, NotRequired

import orjson
from typing_extensions import TypedDict

from lithos.board import Board
from lithos.core.clock import Clock, from_micros, micros, parse_time, rfc3339
from lithos.core.cursor import pack, unpack
from lithos.core.relative import prefix as beginning
from lithos.core.since import HINT, parse_since
from lithos.errors import InvalidInput, LithosError
from lithos.ledger import Filter, Ledger, Thought
from lithos.notes import Notes
from lithos.sessions import ALL, PUBLIC, Viewer
from lithos.storage import EVENTS_CHANNEL, Database, Event, Events

_log = logging.getLogger(__name__)

ChangeKind = Literal["note", "task", "claim", "finding", "thought", "skill"]
KINDS: tuple[ChangeKind, ...] = ("note", "task", "claim", "finding", "thought", "skill")
MOST_READ = 2_000  # changes of one answer before they are grouped; older ones are counted as more
LONGEST_LINE = 156  # bytes: under 40 tokens
BULK = 6  # so many of one hand at once are one line: a checkout, an import
AT_ONCE = timedelta(minutes=1)
LAST_VISIT = ("my last visit", "last visit", "my_last_visit")
_CLAIMS = frozenset({"claim", "release"})
_SILENT = frozenset({"renew", "snapshot"})
MOST_COUNTED = 40  # chains in a cursor, the ones appended to last; 20 bytes each
LONGEST_CURSOR = 4_000
LATE = timedelta(days=1)  # how late a thought may appear on a chain that a cursor does not count


@dataclass(frozen=True, slots=True)
class Change:
    kind: ChangeKind
    id: str
    at: datetime
    what: str
    title: str = ""
    path: str = ""
    agent: str | None = None  # None: a person
    saved: datetime | None = None  # the file's own time, when it is not the time it was seen
    event: str | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """How far one has read. Chains of the audit and of the ledger go by tags; None: everything since the moment."""

    audit: Mapping[str, int] | None
    moment: int  # of what people saved
    thoughts: Mapping[str, int] | None = None  # chain → how many
    others: int = 0  # thoughts on the chains that are not counted

    def encoded(self) -> str:
        return "c" + pack([self.audit, self.moment, self.thoughts, self.others])


@dataclass(frozen=True, slots=True)
class ChangesRequest:
    since: str
    kinds: Sequence[ChangeKind] = ()
    path_prefix: str | None = None
    agent: str | None = None
    limit: int = 50
    cursor: str | None = None
    asked_by: str | None = None
    viewer: Viewer = PUBLIC
    rows: bool = False  # the lines as fields too

    def fingerprint(self) -> str:
        wanted = [sorted(self.kinds), self.path_prefix, self.agent]
        return hashlib.sha256(orjson.dumps(wanted)).hexdigest()[:10]


class ChangeRow(TypedDict):
    at: str
    kind: ChangeKind
    id: str
    what: str
    title: str
    path: str
    agent: str | None  # None: a person, in the file itself
    count: int  # changes in this row
    things: int  # above 1: so many things at once, of which `id` names the newest


class ChangesAnswer(TypedDict):
    since: str
    changes: dict[str, list[str]]
    rows: NotRequired[list[ChangeRow]]
    total: int
    cursor: str
    next_cursor: NotRequired[str]
    truncated: NotRequired[bool]
    confirmed: NotRequired[bool]
    inbox: NotRequired[str]


@dataclass(frozen=True, slots=True)
class Line:
    kind: ChangeKind
    at: datetime
    text: str
    changes: tuple[Change, ...]

    def row(self) -> ChangeRow:
        first = self.changes[0]
        return {
            "at": rfc3339(first.at),
            "kind": first.kind,
            "id": first.id,
            "what": first.what,
            "title": first.title,
            "path": first.path,
            "agent": first.agent,
            "count": len(self.changes),
            "things": len({each.id for each in self.changes}),
        }


@dataclass(frozen=True, slots=True)
class Found:
    changes: list[Change]
    place: Place  # to go on from
    cut: bool = False


@dataclass
class Changes:
    database: Database
    events: Events
    notes: Notes
    board: Board
    ledger: Ledger
    clock: Clock
    last_visit: Callable[[str], str | None] = field(default=lambda agent: None)  # a cursor or a time

    def answer(self, request: ChangesRequest) -> ChangesAnswer:
        """Grouped by kind, newest first, a line each."""
        page = _Page.parse(request.cursor, request) if request.cursor else None
        start = page.start if page else self.start(request.since, request.asked_by)
        found = self.read(start, request)
        if page:
            found = replace(found, place=page.end, changes=[each for each in found.changes if each.at <= page.until])
        lines = lines_of(found.changes)
        offset = page.offset if page else 0
        shown = lines[offset : offset + request.limit]
        answer: ChangesAnswer = {
            "since": _said(start),
            "changes": _grouped(shown),
            "total": len(lines),
            "cursor": found.place.encoded(),
        }
        if request.rows:
            answer["rows"] = [each.row() for each in shown]
        if offset + request.limit < len(lines):
            until = page.until if page else max((each.at for each in found.changes), default=self.clock.now())
            rest = _Page(start, found.place, until, offset + request.limit)
            answer["next_cursor"] = rest.encoded(request)
        if found.cut:
            answer["truncated"] = True
        return answer

    def start(self, since: str, agent: str | None) -> Place:
        """Where to read from; raises on what is no time, no cursor and no visit."""
        said = since.strip()
        if said.lower() in LAST_VISIT:
            if agent is None:
                raise InvalidInput("since: no agent is named whose last visit this was", hint=f"Pass agent, or: {HINT}")
            known = self.last_visit(agent)
            return self.start(known, None) if known else Place(None, 0)
        if said.startswith("c") and len(said) > 8:
            return parse_place(said)
        moment = micros(parse_since(said, self.clock.now())) // 1_000_000 * 1_000_000  # that second is included
        return Place(None, moment - 1)

    def listen(self, wake: Callable[[], None]) -> Callable[[], None]:
        """Call `wake` (quick, from any thread) whenever there may be something new; returns how to stop."""
        stops = (
            self.database.listen(EVENTS_CHANNEL, wake),
            self.notes.index.changed.add(wake),
            self.ledger.appended.add(wake),
        )

        def stop() -> None:
            for each in stops:
                each()

        return stop

    def read(self, start: Place, request: ChangesRequest) -> Found:
        wanted = frozenset(request.kinds or KINDS)
        since = max(start.moment + 1, 0)
        after = self._positions(start.audit)
        rows, heads = self.database.read(
            lambda tx: self.events.committed(tx, after=after, since=since, most=MOST_READ + 1)
        )
        found = [each for event in rows[:MOST_READ] if (each := self._of_event(event)) is not None]
        moment, cut = start.moment, len(rows) > MOST_READ
        if "note" in wanted and request.agent is None:
            people, moment, more = self.notes.changes.by_people(start.moment, _folder(request.path_prefix))
            cut = cut or more
            found += [
                Change("note", each.id, each.at, each.what, each.title, each.path, None, each.saved) for each in people
            ]
        ledger = _Thoughts(self.ledger, start, request.viewer)
        if "thought" in wanted and request.path_prefix is None:
            found += ledger.new()
        chosen = [each for each in found if _fits(each, wanted, request)]
        titled = self._titled(sorted(chosen, key=lambda each: each.at, reverse=True))
        place = Place({tag_of(store): length for store, length in heads.items()}, moment, *ledger.counted())
        return Found(titled, place, cut)

    def _positions(self, audit: Mapping[str, int] | None) -> dict[str, int] | None:
        """By store; one that the cursor does not know has come since."""
        if audit is None:
            return None
        stores = self.database.read(lambda tx: tx.all("SELECT store FROM event_heads"))
        return {row["store"]: audit.get(tag_of(row["store"]), 0) for row in stores}

    def _of_event(self, event: Event) -> Change | None:
        kind = _kind_of(event)
        if kind is None or (kind == "note" and not self.notes.index.allows_note(event["path"] or "")):
            return None
        what = event["op"]
        if kind == "finding":
            what = "finding"
        path, at = event["path"] or "", parse_time(event["at"])
        return Change(kind, event["thing"], at, what, "", path, event["agent"], None, event["id"])

    def _titled(self, changes: list[Change]) -> list[Change]:
        tasks = self.board.titles({each.id for each in changes if each.kind in ("task", "claim", "finding")})
        notes = self.notes.reader.titles({each.id for each in changes if each.kind == "note" and not each.title})

        def title(each: Change) -> str:
            if each.kind == "note":
                return each.title or notes.get(each.id) or each.path.rpartition("/")[2].removesuffix(".md")
            return each.id if each.kind == "skill" else each.title or tasks.get(each.id, "")

        named = ((each, title(each)) for each in changes)
        return [each if each.title == text else replace(each, title=text) for each, text in named]


class _Thoughts:
    """The thoughts after a place: by their number on each chain, so that two of one moment, or one that was appended
    late, are not missed; by time where the place is a time, or does not count the chain."""

    def __init__(self, ledger: Ledger, start: Place, viewer: Viewer) -> None:
        self._ledger = ledger
        self._viewer = viewer
        self._start = start
        self._counts: dict[str, int] = {}
        for key in ledger.keys():  # noqa: SIM118 - not a mapping
            with suppress(LithosError):  # damaged: the place stays before it, and doctor names it
                self._counts[key] = ledger.chain(key).size

    def new(self) -> Iterator[Change]:
        for key, count in self._counts.items():
            for each in self._of_chain(key, count):
                title = f"{each['thought_type']}: {each['content']}"
                at = parse_time(each["timestamp"])
                yield Change("thought", each["id"], at, f"#{each['index']} {key}", title, "", each["agent_id"])

    def _of_chain(self, key: str, count: int) -> list[Thought]:
        known = self._start.thoughts
        try:
            if known is not None and tag_of(key) in known:
                return self._ledger.between(key, max(known[tag_of(key)], count - MOST_READ), count, self._viewer)
            if known is not None and sum(self._uncounted(known)) == self._start.others:
                return []
            since = from_micros(max(self._start.moment + 1, 0))
            chosen = Filter(since=since - LATE if known is not None else since)
            found = self._ledger.search(key, chosen, MOST_READ, self._viewer)
            return found["thoughts"]
        except LithosError as error:
            _log.warning("changes leave out the chain %s: %s", key, error.message)
            return []

    def _uncounted(self, counted: Mapping[str, int]) -> Iterator[int]:
        return (count for key, count in self._counts.items() if tag_of(key) not in counted)

    def counted(self) -> tuple[dict[str, int], int]:
        """The chains appended to last with their numbers of thoughts, and the thoughts of the others."""
        keys = list(self._counts)
        if len(keys) > MOST_COUNTED:
            keys.sort(key=self._newest, reverse=True)
        counts = {tag_of(key): self._counts[key] for key in keys[:MOST_COUNTED]}
        return counts, sum(self._counts[key] for key in keys[MOST_COUNTED:])

    def _newest(self, key: str) -> str:
        count = self._counts[key]
        try:
            return self._ledger.between(key, count - 1, count, ALL)[0]["timestamp"] if count else ""
        except LithosError:
            return ""


def tag_of(name: str) -> str:
    """A store or a chain in a cursor."""
    return hashlib.sha256(name.encode()).hexdigest()[:8]


@dataclass(frozen=True, slots=True)
class _Page:
    """A place within one answer: what it began at, what it ended at, and how many lines were given."""

    start: Place
    end: Place
    until: datetime
    offset: int

    def encoded(self, request: ChangesRequest) -> str:
        parts = [self.start.encoded(), self.end.encoded(), micros(self.until), self.offset, request.fingerprint()]
        return "p" + pack(parts)

    @classmethod
    def parse(cls, text: str, request: ChangesRequest) -> _Page:
        try:
            start, end, until, offset, filters = _unpack(text, "p")
            page = cls(parse_place(start), parse_place(end), from_micros(int(until)), int(offset))
        except (ValueError, TypeError, AttributeError, OverflowError):
            raise InvalidInput("cursor: this is none of ours", hint="Pass next_cursor unchanged.") from None
        if filters != request.fingerprint():
            raise InvalidInput(
                "cursor: it belongs to a list with other filters",
                hint="Repeat kinds, path_prefix and agent of the first page, or leave cursor out.",
            )
        return page


def parse_place(text: str) -> Place:
    """The place of a cursor that `Place.encoded` made."""
    try:
        audit, moment, thoughts, others = _unpack(text, "c")
        place = Place(_counts(audit), int(moment), _counts(thoughts), int(others))
    except (ValueError, TypeError, AttributeError):
        raise InvalidInput(
            f"since: {text[:40]!r} is no cursor of ours", hint=f"Pass `cursor` of an earlier answer, or: {HINT}"
        ) from None
    numbers = (*(place.audit or {}).values(), *(place.thoughts or {}).values(), place.moment, place.others)
    if any(not -(2**62) < number < 2**62 for number in numbers):
        raise InvalidInput("since: this cursor points nowhere", hint="Pass `cursor` of an earlier answer.")
    return place


def _counts(given: Any) -> dict[str, int] | None:
    return None if given is None else {str(name): int(count) for name, count in given.items()}


def _unpack(text: str, mark: str) -> list[Any]:
    if not text.startswith(mark) or len(text) > LONGEST_CURSOR:
        raise ValueError(text[:20])
    return unpack(text[1:])


def _folder(prefix: str | None) -> str:
    return beginning(prefix) or ""


def _kind_of(event: Event) -> ChangeKind | None:
    if event["op"] in _SILENT:
        return None
    if event["type"] == "note":
        return "note"
    if event["type"] == "skill":
        return "skill"
    if event["type"] != "task":
        return None
    if event["op"] == "finding":
        return "finding"
    return "claim" if event["op"] in _CLAIMS else "task"


def _fits(each: Change, wanted: frozenset[str], request: ChangesRequest) -> bool:
    if each.kind not in wanted or request.agent not in (None, each.agent):
        return False
    return request.path_prefix is None or (bool(each.path) and each.path.startswith(_folder(request.path_prefix)))


def _said(start: Place) -> str:
    if start.audit is not None:
        return "the cursor"
    return rfc3339(from_micros(start.moment + 1)) if start.moment > 0 else "the beginning"


def mail_line(waiting: Mapping[str, int]) -> str:
    """Count and senders of an inbox."""
    total = sum(waiting.values())
    senders = ", ".join(f"{name[:40]} {count}" for name, count in [*waiting.items()][:5])
    return f"{total} message{'s' if total > 1 else ''} wait{'' if total > 1 else 's'}: {senders}"


# ------------------------------------------------------------------- lines
def lines_of(changes: Sequence[Change]) -> list[Line]:
    """A line for each change, newest first; many of one hand at once are one line, as are repeated edits."""
    lines = [line for kind in KINDS for line in _lines([each for each in changes if each.kind == kind])]
    return sorted(lines, key=lambda line: line.at, reverse=True)


def _lines(changes: Iterable[Change]) -> Iterator[Line]:
    for run in _runs(changes):
        first = run[0]
        if len(run) >= BULK and len({each.id for each in run}) >= BULK:
            yield Line(first.kind, first.at, _bulk_line(run), tuple(run))
            continue
        for _, same in groupby(run, key=lambda each: (each.id, each.what)):
            repeated = list(same)
            yield Line(first.kind, repeated[0].at, _line(repeated[0], len(repeated)), tuple(repeated))


def _runs(changes: Iterable[Change]) -> Iterator[list[Change]]:
    """Neighbours of one kind, hand and operation within a minute of each other."""
    run: list[Change] = []
    for each in changes:
        last = run[-1] if run else None
        same = last and (each.kind, each.agent, _verb(each)) == (last.kind, last.agent, _verb(last))
        if last and not (same and last.at - each.at <= AT_ONCE):
            yield run
            run = []
        run.append(each)
    if run:
        yield run


def _verb(each: Change) -> str:
    return "" if each.kind == "thought" or each.agent is None else each.what


def _line(each: Change, times: int) -> str:
    head = f"{_second(each.at)} {each.what}"
    repeated = f" ×{times}" if times > 1 else ""
    hand = f" by {each.agent}" if each.agent else " on disk" if each.kind == "note" else ""
    late = ""
    if each.saved is not None and abs(each.at - each.saved) > AT_ONCE:
        late = f", saved {_second(each.saved)}"
    name = each.path if each.kind == "note" else f"…{each.id[-8:]}" if each.id else ""
    place = "" if each.kind == "skill" else f" [{name}]"  # a skill's id is its name
    tail = f"{place}{repeated}{hand}{late}"
    room = LONGEST_LINE - len(head.encode()) - len(tail.encode()) - 1
    return _short(f"{head} {_short(each.title, max(room, 12))}{tail}", LONGEST_LINE)


def _bulk_line(run: list[Change]) -> str:
    first = run[0]
    hand = first.agent or "on disk"
    folders = sorted({each.path.rpartition("/")[0] or "/" for each in run if each.path})
    where = f" in {', '.join(folders[:3])}{', …' if len(folders) > 3 else ''}" if folders else ""
    verbs = sorted({_verb(each) or "change" for each in run})
    return _short(
        f"{_second(first.at)} {'/'.join(verbs[:2])} {len({each.id for each in run})} {first.kind}s{where} by {hand}",
        LONGEST_LINE,
    )


def _second(moment: datetime) -> str:
    return rfc3339(moment.replace(microsecond=0))


def _short(text: str, longest: int) -> str:
    flat = " ".join(text.split())
    if len(flat.encode()) <= longest:
        return flat
    return flat.encode()[: longest - 3].decode("utf-8", "ignore").rstrip() + "…"


def _grouped(lines: Sequence[Line]) -> dict[str, list[str]]:
    return {kind: texts for kind in KINDS if (texts := [each.text for each in lines if each.kind == kind])}
