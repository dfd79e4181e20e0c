"""Locks on files and folders of a shared working tree: many readers or one writer, as leases with fencing tokens."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NotRequired, cast

from typing_extensions import TypedDict

from lithos.core.call import Call
from lithos.core.clock import micros, rfc3339
from lithos.core.names import one_line
from lithos.core.part import Part
from lithos.errors import InvalidInput
from lithos.sessions.rules import need_agent
from lithos.storage import (
    ALIVE_SQL,
    LEASE_COLUMNS,
    Database,
    Effects,
    EventDraft,
    Journal,
    Lease,
    Moment,
    NewEntry,
    Outcome,
    Row,
    Tx,
    carry_over,
    lease_from,
    lease_of,
    prolong,
)

LockMode = Literal["read", "write"]
JOURNAL = Journal("files")
LONGEST_PATH = 1_000
WHOLE = "."  # everything


class FileLocked(TypedDict):
    success: bool
    path: str
    mode: NotRequired[str]
    token: NotRequired[int]
    expires_at: NotRequired[str]
    renewed: NotRequired[bool]
    clamped: NotRequired[bool]
    reason: NotRequired[str]
    hint: NotRequired[str]
    holder: NotRequired[str]
    held_path: NotRequired[str]
    until: NotRequired[str]


@dataclass(frozen=True, slots=True)
class FileLock:
    token: int
    path: str
    mode: LockMode
    agent: str
    lease: Lease


@dataclass(frozen=True, slots=True)
class LockTerms:
    default_minutes: float = 60
    max_minutes: float = 480
    reboot_grace_s: float = 120


class FileLocks(Part):
    def __init__(self, database: Database, effects: Effects, terms: LockTerms | None = None) -> None:
        self._database = database
        self._effects = effects
        self._terms = terms or LockTerms()

    def open(self) -> None:
        """Give the leases of an earlier boot their grace."""

        def work(tx: Tx) -> None:
            head = JOURNAL.lock(tx)()
            carry_over(tx, "file_locks", head.last_era, head.last_steady, head.now, self._terms.reboot_grace_s)
            JOURNAL.record_clock(tx, head)

        self._database.write(work)

    def lock(
        self, call: Call, path: str, mode: LockMode, session_id: str | None = None, ttl_minutes: float | None = None
    ) -> FileLocked:
        """Take or renew a lock. A folder's lock covers everything beneath it."""
        name, agent = lock_path(path), need_agent(call)
        minutes = self._terms.default_minutes if ttl_minutes is None else ttl_minutes
        if not minutes > 0:
            raise InvalidInput(f"ttl_minutes is {minutes}", hint="A lock lasts at least one minute.")
        clamped = minutes > self._terms.max_minutes
        seconds = min(minutes, self._terms.max_minutes) * 60

        def work(tx: Tx) -> Outcome:
            head = JOURNAL.lock(tx)()
            tx.put(f"DELETE FROM file_locks WHERE NOT ({ALIVE_SQL})", head.now.era, head.now.steady)
            held = [each for each in _overlapping(tx, name) if each.lease.alive(head.now)]
            other = next((each for each in held if each.agent != agent and "write" in (each.mode, mode)), None)
            if other is not None:
                return Outcome(_refused(name, other, head.now), refused=True)
            mine = next((each for each in held if each.agent == agent and each.path == name), None)
            lease = lease_from(head.now, seconds)
            renewed = mine is not None and mine.mode == mode
            if mine is not None and renewed:
                token = mine.token
                prolong(tx, "file_locks", token, lease)
            else:
                token = JOURNAL.append(tx, head, NewEntry("locked", name, agent, {"mode": mode}))
                tx.put("DELETE FROM file_locks WHERE path = ? AND agent = ?", name, agent)
                row = (token, name, mode, session_id, agent, micros(head.now.wall), *lease.values())
                tx.put(_INSERT, *row)
            answer = {"success": True, "path": name, "mode": mode, "token": token, "renewed": renewed}
            answer |= {"expires_at": rfc3339(lease.expires_at)} | ({"clamped": True} if clamped else {})
            return Outcome(answer, (EventDraft("file_lock", "lock", thing=str(token), details={"mode": mode}),))

        return cast(FileLocked, self._effects.commit(call, work))

    def unlock(self, call: Call, path: str, token: int | None = None) -> FileLocked:
        name, agent = lock_path(path), need_agent(call)

        def work(tx: Tx) -> Outcome:
            head = JOURNAL.lock(tx)()
            row = tx.one("SELECT * FROM file_locks WHERE path = ? AND agent = ?", name, agent)
            lock = None if row is None else _lock(row)
            if lock is None or not lock.lease.alive(head.now) or token not in (None, lock.token):
                reason = "lock_lost" if token is not None else "not_locked"
                hint = (
                    "Read what others did meanwhile, then lock again."
                    if token is not None
                    else "You hold no such lock."
                )
                return Outcome({"success": False, "path": name, "reason": reason, "hint": hint}, refused=True)
            tx.put("DELETE FROM file_locks WHERE id = ?", lock.token)
            JOURNAL.append(tx, head, NewEntry("unlocked", name, agent))
            done = EventDraft("file_lock", "unlock", thing=str(lock.token))
            return Outcome({"success": True, "path": name, "token": lock.token}, (done,))

        return cast(FileLocked, self._effects.commit(call, work))


def lock_path(path: str) -> str:
    """One spelling per file: relative to the working tree or absolute, `/` between folders, no `.`, `..` or blanks."""
    text = unicodedata.normalize("NFC", one_line(path, "path", LONGEST_PATH)).replace("\\", "/")
    parts = [each for each in text.split("/") if each not in ("", ".")]
    if ".." in parts:
        raise InvalidInput("path contains ..", hint="Name the file by its path from the top of the repository.")
    joined = "/".join(parts)
    return (f"/{joined}" if text.startswith("/") else joined) or WHOLE


def ancestors(path: str) -> list[str]:
    """Folders that contain it, itself included."""
    parts = path.split("/")
    found = ["/".join(parts[:count]) for count in range(len(parts), 0, -1)]
    return [each or "/" for each in found] + ([] if path.startswith("/") or path == WHOLE else [WHOLE])


def _overlapping(tx: Tx, path: str) -> list[FileLock]:
    """Locks on the path, on folders above it and on everything beneath it."""
    above = ancestors(path)
    marks = ", ".join("?" * len(above))
    if path == WHOLE:
        rows = tx.all("SELECT * FROM file_locks WHERE path NOT LIKE '/%' ORDER BY id")
    else:
        beneath = path.rstrip("/")
        rows = tx.all(
            f"SELECT * FROM file_locks WHERE path IN ({marks}) OR (path >= ? AND path < ?) ORDER BY id",
            *(*above, f"{beneath}/", f"{beneath}0"),  # "0" follows "/"
        )
    return [_lock(row) for row in rows]


def _lock(row: Row) -> FileLock:
    return FileLock(row["id"], row["path"], row["mode"], row["agent"], lease_of(row))


def _refused(path: str, other: FileLock, now: Moment) -> dict[str, object]:
    return {
        "success": False,
        "path": path,
        "reason": "locked",
        "hint": "Work on another file, or wait until the lock ends.",
        "holder": other.agent,
        "held_path": other.path,
        "until": rfc3339(other.lease.shown_until(now)),
    }


_COLUMNS: Sequence[str] = ("id", "path", "mode", "session_id", "agent", "taken_at", *LEASE_COLUMNS)
_INSERT = f"INSERT INTO file_locks ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})"
