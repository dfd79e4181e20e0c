"""Scratchpad: working notes of an agent in its session. Durable, private, bounded, and part of snapshots."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NotRequired, cast

from rapidfuzz import process
from typing_extensions import TypedDict

from lithos.core.call import Call
from lithos.core.clock import Clock, from_micros, micros, rfc3339
from lithos.core.names import one_line, plain_text
from lithos.errors import InvalidInput, TooLarge
from lithos.sessions import Sessions
from lithos.storage import Database, Effects, Outcome, Row, Tx

LONGEST_KEY = 120
LARGEST_NOTE = 64 * 1024  # bytes
LARGEST_PAD = 1024 * 1024  # bytes of a session, or of an agent outside any
LONGEST_TTL = 525_600.0  # minutes: a year
NEAR_SCORE = 60
SHOWN_WHOLE, SHOWN_HEAD = 4_000, 100  # characters of all notes together; above it, of each
ALL = "all"
RefuseSecrets = Callable[[Mapping[str, Any]], None]


class ScratchNote(TypedDict):
    content: str
    updated_at: str
    shared: NotRequired[bool]
    expires_at: NotRequired[str]


class Scratched(TypedDict):
    stored: bool
    key: str
    session_id: NotRequired[str]
    expires_at: NotRequired[str]
    bytes_left: int


class ScratchpadRead(TypedDict):
    exists: bool
    content: NotRequired[str]
    updated_at: NotRequired[str]
    shared: NotRequired[bool]
    expires_at: NotRequired[str]
    near: NotRequired[list[str]]
    notes: NotRequired[dict[str, ScratchNote]]


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose notes: a session's agent, or '' for what all agents of the session share."""

    session_id: str
    agent: str
    bound: bool

    @property
    def shared(self) -> Owner:
        return Owner(self.session_id, "", False)

    @property
    def key(self) -> tuple[str, str, int]:
        return self.session_id, self.agent, int(self.bound)


class Scratchpads:
    def __init__(
        self, database: Database, effects: Effects, sessions: Sessions, clock: Clock, refuse_secrets: RefuseSecrets
    ) -> None:
        self._refuse_secrets = refuse_secrets
        self._database = database
        self._effects = effects
        self._sessions = sessions
        self._clock = clock

    def owner(self, call: Call, session_id: str | None = None) -> Owner:
        """The caller in the named session, which it must be a member of, or in its current one."""
        if call.agent is None:
            raise InvalidInput("agent is missing", hint="Say who you are: the notes are yours alone.")
        if session_id is not None:
            self._sessions.members_only(call, session_id)
        return Owner(session_id or self._sessions.current(call) or "", call.agent, call.bound)

    def write(
        self,
        call: Call,
        key: str,
        note: str,
        ttl_minutes: float | None = None,
        session_id: str | None = None,
        shared: bool = False,
    ) -> Scratched:
        """Durable when this returns; the same key replaces. An empty note removes it."""
        name, text = _key(key), plain_text(note, "note", LARGEST_NOTE)
        size = len(text.encode())
        if size > LARGEST_NOTE:
            raise TooLarge(f"note has {size} bytes; {LARGEST_NOTE} is the most", hint="Put long text into a note.")
        if ttl_minutes is not None and not 0 < ttl_minutes <= LONGEST_TTL:
            raise InvalidInput(f"ttl_minutes is {ttl_minutes}", hint="Minutes above 0; leave it out to keep the note.")
        self._refuse_secrets({"key": name, "note": text})
        mine = self.owner(call, session_id)
        if shared and not mine.session_id:
            raise InvalidInput("shared: the agent is in no session", hint="Join one first: lithos_session_join.")
        owner = mine.shared if shared else mine
        now = micros(self._clock.now())
        expires = None if ttl_minutes is None else now + int(ttl_minutes * 60_000_000)

        def work(tx: Tx) -> Outcome:
            tx.lock(f"scratchpad {mine.session_id or mine.agent}")
            used = _used(tx, mine, now) - _size_of(tx, owner, name)
            left = LARGEST_PAD - used - (size + len(name.encode()) if text else 0)
            if left < 0:
                raise TooLarge(
                    f"the scratchpad would have {LARGEST_PAD - left} bytes; {LARGEST_PAD} is the most",
                    hint="Remove notes with an empty note, or keep long text in a note of the vault.",
                )
            _put(tx, owner, name, text, now, expires)
            answer: dict[str, Any] = {"stored": bool(text), "key": name, "bytes_left": left}
            answer |= {"session_id": mine.session_id} if mine.session_id else {}
            return Outcome(answer | ({} if expires is None or not text else {"expires_at": _time(expires)}))

        if mine.session_id:
            self._sessions.seen(mine.session_id)
        return cast(Scratched, self._effects.commit(call, work))

    def read(self, call: Call, key: str, session_id: str | None = None) -> ScratchpadRead:
        """One note of the caller, else the session's shared one; `all` of both. Unknown: near keys."""
        mine = self.owner(call, session_id)
        notes = self.notes(mine)
        if key.strip() == ALL:
            heads = beginnings({name: note["content"] for name, note in notes.items()}, SHOWN_WHOLE)
            shown = {name: cast(ScratchNote, {**note, "content": heads[name]}) for name, note in notes.items()}
            return {"exists": bool(notes), "notes": shown}
        name = _key(key)
        if name in notes:
            return cast(ScratchpadRead, {"exists": True, **notes[name]})
        near = [match for match, score, _ in process.extract(name, list(notes), limit=3) if score >= NEAR_SCORE]
        return {"exists": False, "near": near} if near else {"exists": False}

    def notes(self, owner: Owner) -> dict[str, ScratchNote]:
        """The notes that the owner sees: the session's shared notes, and its own in their place."""
        now = micros(self._clock.now())
        rows = self._database.read(lambda tx: _rows(tx, owner, now))
        return {row["key"]: _shown(row) for row in sorted(rows, key=lambda row: (row["agent"] != "", row["key"]))}

    def restore(self, call: Call, owner: Owner, notes: Mapping[str, str]) -> list[str]:
        """Bring notes of a checkpoint back; those that are there already stay as they are. The keys that came back."""
        if not notes:
            return []
        now = micros(self._clock.now())

        def work(tx: Tx) -> list[str]:
            tx.lock(f"scratchpad {owner.session_id or owner.agent}")
            here = {row["key"] for row in _rows(tx, owner, now)}
            left = LARGEST_PAD - _used(tx, owner, now)
            back: list[str] = []
            for key, text in notes.items():
                left -= len(text.encode()) + len(key.encode())
                if key not in here and left >= 0:
                    _put(tx, owner, key, text, now, None)
                    back.append(key)
            return back

        return self._database.write(work)

    # -- snapshots of sessions

    def section(self, session_id: str) -> dict[str, Any] | None:
        """All notes of a session, for its snapshot."""
        now = micros(self._clock.now())
        rows = self._database.read(lambda tx: tx.all(_OF_SESSION, session_id, now))
        if not rows:
            return None
        names = ("agent", "key", "content", "created_at", "updated_at", "expires_at")
        return {"notes": [{name: row[name] for name in names} for row in rows]}

    def take_section(self, tx: Tx, call: Call, session_id: str, section: Any) -> None:
        """Write what a snapshot holds; a restored note belongs to the agent's name, not to a token of another store."""
        for each in _checked(section):
            row = (session_id, each["agent"], 0, each["key"], each["content"])
            tx.put(_INSERT, *row, each["created_at"], each["updated_at"], each["expires_at"])

    def prune(self, days: float) -> int:
        """Drop what expired, and notes not touched for `days` outside open sessions."""
        now = micros(self._clock.now())
        old = now - int(days * 86_400_000_000)
        return self._database.write(lambda tx: tx.run(_PRUNE, now, old))


def beginnings(notes: Mapping[str, str], whole: int) -> dict[str, str]:
    """Notes as they are while they are few; else their beginnings: each can be read by its key."""
    if sum(map(len, notes.values())) <= whole:
        return dict(notes)
    more = "… ({} characters: lithos_scratchpad_read)"
    return {
        key: f"{text[:SHOWN_HEAD]}{more.format(len(text))}" if len(text) > SHOWN_HEAD else text
        for key, text in notes.items()
    }


def _key(text: str) -> str:
    name = one_line(text, "key", LONGEST_KEY, hint='For example "current_task".')
    if name == ALL:
        raise InvalidInput('key is "all", which reads every note', hint="Choose another key.")
    return name


def _rows(tx: Tx, owner: Owner, now: int) -> list[Row]:
    shared = owner.shared
    both = (*owner.key, *shared.key, now) if owner.session_id else (*owner.key, *owner.key, now)
    return tx.all(_VISIBLE, *both)


def _used(tx: Tx, owner: Owner, now: int) -> int:
    sql, values = (_SIZE_SESSION, (owner.session_id,)) if owner.session_id else (_SIZE_AGENT, owner.key)
    row = tx.one(sql, *values, now)
    return int(row["size"] or 0) if row is not None else 0


def _size_of(tx: Tx, owner: Owner, key: str) -> int:
    row = tx.one(
        "SELECT content FROM scratchpad WHERE session_id = ? AND agent = ? AND bound = ? AND key = ?", *owner.key, key
    )
    return 0 if row is None else len(row["content"].encode()) + len(key.encode())


def _put(tx: Tx, owner: Owner, key: str, text: str, now: int, expires: int | None) -> None:
    if text:
        tx.put(_INSERT, *owner.key, key, text, now, now, expires)
    else:
        tx.put(f"DELETE FROM scratchpad {_ONE}", *owner.key, key)


def _shown(row: Row) -> ScratchNote:
    note: ScratchNote = {"content": row["content"], "updated_at": _time(row["updated_at"])}
    if row["agent"] == "":
        note["shared"] = True
    if row["expires_at"] is not None:
        note["expires_at"] = _time(row["expires_at"])
    return note


def _time(at: int) -> str:
    return rfc3339(from_micros(at))


def _checked(section: Any) -> list[dict[str, Any]]:
    notes = section.get("notes") if isinstance(section, Mapping) else None
    if not isinstance(notes, list):
        raise InvalidInput("the snapshot's scratchpad has no notes", hint="Make it again with lithos_session_snapshot.")
    found: list[dict[str, Any]] = []
    for each in notes:
        try:
            row = {name: str(each[name]) for name in ("agent", "key", "content")}
            times = {name: each[name] for name in ("created_at", "updated_at", "expires_at")}
        except (KeyError, TypeError):
            raise InvalidInput(
                "a note of the snapshot's scratchpad is not whole", hint="Make the snapshot again."
            ) from None
        if any(value is not None and not isinstance(value, int) for value in times.values()):
            raise InvalidInput("a time of the snapshot's scratchpad is no number", hint="Make the snapshot again.")
        found.append({**row, **times})
    if sum(len(each["content"].encode()) for each in found) > LARGEST_PAD:
        raise TooLarge(f"the snapshot's scratchpad has more than {LARGEST_PAD} bytes")
    return found


_ONE = "WHERE session_id = ? AND agent = ? AND bound = ? AND key = ?"
_ALIVE = "(expires_at IS NULL OR expires_at > ?)"
_VISIBLE = f"""
SELECT * FROM scratchpad WHERE ((session_id = ? AND agent = ? AND bound = ?)
OR (session_id = ? AND agent = ? AND bound = ?)) AND {_ALIVE} ORDER BY key
"""
_SIZE_SESSION = (
    f"SELECT sum(octet_length(content) + octet_length(key)) AS size FROM scratchpad WHERE session_id = ? AND {_ALIVE}"
)
_SIZE_AGENT = f"""
SELECT sum(octet_length(content) + octet_length(key)) AS size FROM scratchpad
WHERE session_id = ? AND agent = ? AND bound = ? AND {_ALIVE}
"""
_OF_SESSION = f"SELECT * FROM scratchpad WHERE session_id = ? AND {_ALIVE} ORDER BY agent, key, bound"
_INSERT = """
INSERT INTO scratchpad (session_id, agent, bound, key, content, created_at, updated_at, expires_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (session_id, agent, bound, key)
DO UPDATE SET content = excluded.content, updated_at = excluded.updated_at, expires_at = excluded.expires_at
"""
_PRUNE = """
DELETE FROM scratchpad WHERE expires_at <= ? OR (updated_at < ? AND session_id NOT IN
(SELECT id FROM sessions WHERE state IN ('created', 'active', 'suspended') AND closed_at IS NULL))
"""
