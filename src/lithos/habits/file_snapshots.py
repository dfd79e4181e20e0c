"""File snapshots: a reader that says which version it still has gets nothing twice. Tokens saved are counted.

Texts that were served are kept under `.graph/served/`, by content hash: derived, bounded, and never a reason to believe
that an agent still has them before it.
"""

from __future__ import annotations

import logging
import threading
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typing_extensions import TypedDict

from lithos.core.call import Call
from lithos.core.canonical import same_version, sha256_hex
from lithos.core.clock import Clock, rfc3339
from lithos.core.part import Part
from lithos.core.text import estimate_tokens
from lithos.errors import Damaged, LithosError
from lithos.graph.code import Code, file
from lithos.sessions import Sessions, note_read_files
from lithos.storage import Database, Tx, folder_size, read_file

_log = logging.getLogger("lithos.habits")
LARGEST_KEPT = 400_000  # bytes of one text
MOST_NOTED = 500  # files of a session between two flushes


class Savings(TypedDict):
    reads: int
    unchanged: int
    hunks: int
    tokens_saved: int


@dataclass(slots=True)
class _Saved:
    reads: int = 0
    unchanged: int = 0
    hunks: int = 0
    tokens: int = 0


class ServedTexts:
    """Texts by version in a folder; the oldest go when it is full. A missing or unreadable one is simply not known."""

    def __init__(self, folder: Path, most_bytes: int) -> None:
        self._folder = folder
        self._most = most_bytes
        self._lock = threading.Lock()
        self._known: dict[str, int] | None = None  # name → bytes, oldest first
        self._size = 0

    def get(self, version: str) -> tuple[str, bytes] | None:
        digits = version.removeprefix("sha256:").lower()
        with self._lock:
            names = [name for name in self._held() if same_version(digits, f"sha256:{name}")]
        if len(names) != 1:
            return None
        try:
            data = read_file(self._folder / names[0])
        except (OSError, Damaged):
            return None
        # Changes counted from a damaged text would be wrong ones: then the whole file is served.
        return (f"sha256:{names[0]}", data) if sha256_hex(data) == names[0] else None

    def keep(self, version: str, data: bytes) -> None:
        name = version.removeprefix("sha256:")
        if len(data) > LARGEST_KEPT:
            return
        with self._lock:
            held = self._held()
            if name in held:
                return
            try:
                self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                temporary = self._folder / f".{name}"
                temporary.write_bytes(data)
                temporary.replace(self._folder / name)
            except OSError as error:
                _log.warning("a served text was not kept: %s", error.strerror)
                return
            held[name] = len(data)
            self._size += len(data)
            while self._size > self._most and held:
                oldest = next(iter(held))
                self._size -= held.pop(oldest)
                (self._folder / oldest).unlink(missing_ok=True)

    def size(self) -> int:
        return folder_size(self._folder) if self._folder.is_dir() else 0

    def _held(self) -> dict[str, int]:
        if self._known is None:
            try:
                entries = [(each.stat().st_mtime, each) for each in self._folder.iterdir() if each.name[0] != "."]
            except OSError:
                entries = []
            self._known = {each.name: each.stat().st_size for _, each in sorted(entries)}
            self._size = sum(self._known.values())
        return self._known


class FileSnapshots(Part):
    """The one reader of files in roots."""

    def __init__(
        self, code: Code, sessions: Sessions, database: Database, clock: Clock, folder: Path, most_bytes: int
    ) -> None:
        self.texts = ServedTexts(folder, most_bytes)
        self._code = code
        self._sessions = sessions
        self._database = database
        self._clock = clock
        self._lock = threading.Lock()
        self._noted: dict[str, dict[str, dict[str, Any]]] = defaultdict(dict)
        self._saved: dict[tuple[str, str], _Saved] = defaultdict(_Saved)

    def read(
        self, call: Call, path: str, start_line: int | None, end_line: int | None, known_version: str | None
    ) -> dict[str, Any]:
        answer = file(self._code, call, path, start_line, end_line, known_version, self.texts)
        session = self._sessions.current(call) or ""
        facts = {"version": answer["version"], "at": rfc3339(self._clock.now())}
        with self._lock:
            saved = self._saved[session, call.agent or ""]
            saved.reads += 1
            if answer.get("unchanged"):
                saved.unchanged += 1
                saved.tokens += answer["token_count"]
            elif "hunks" in answer:
                saved.hunks += 1
                saved.tokens += answer["token_count"] - estimate_tokens(answer["hunks"])
            if session and len(self._noted[session]) < MOST_NOTED:
                self._noted[session][f"{answer['root']}:{answer['path']}"] = facts
        return answer

    def flush(self) -> None:
        """Write what was noted since the last time; every few seconds, and before a checkpoint."""
        with self._lock:
            noted, self._noted = self._noted, defaultdict(dict)
            saved, self._saved = self._saved, defaultdict(_Saved)
        if not noted and not saved:
            return

        def work(tx: Tx) -> None:
            for session, files in sorted(noted.items()):
                note_read_files(tx, session, files)
            for (session, agent), each in saved.items():
                tx.put(_ADD, session, agent, each.reads, each.unchanged, each.hunks, each.tokens)

        self._database.write(work)

    def savings(self, session_id: str | None = None) -> Savings:
        """Counted since the store was made, or in one session; with what is not written yet."""
        where, values = ("WHERE session_id = ?", (session_id,)) if session_id else ("", ())
        found = self._database.read(lambda tx: tx.one(f"{_SUM} {where}", *values))
        row: Mapping[str, Any] = found or {}
        with self._lock:
            new = [each for (session, _), each in self._saved.items() if session_id in (None, session)]
        return {
            "reads": int(row.get("reads") or 0) + sum(each.reads for each in new),
            "unchanged": int(row.get("unchanged") or 0) + sum(each.unchanged for each in new),
            "hunks": int(row.get("hunks") or 0) + sum(each.hunks for each in new),
            "tokens_saved": int(row.get("tokens_saved") or 0) + sum(each.tokens for each in new),
        }

    def sizes(self) -> Mapping[str, int]:
        return {"served_texts": self.texts.size()}

    def close(self) -> None:
        try:
            self.flush()
        except LithosError:  # closing goes on; what is lost is a list of files that were read
            _log.warning("reads of the last seconds were not noted", exc_info=True)


_ADD = """
INSERT INTO habit_savings (session_id, agent, reads, unchanged, hunks, tokens_saved) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (session_id, agent) DO UPDATE SET reads = habit_savings.reads + excluded.reads,
unchanged = habit_savings.unchanged + excluded.unchanged, hunks = habit_savings.hunks + excluded.hunks,
tokens_saved = habit_savings.tokens_saved + excluded.tokens_saved
"""
_SUM = """
SELECT sum(reads) AS reads, sum(unchanged) AS unchanged, sum(hunks) AS hunks, sum(tokens_saved) AS tokens_saved
FROM habit_savings
"""
