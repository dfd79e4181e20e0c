"""Snapshots: a session as one canonical JSON file, with version and hash, that another machine can restore."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NotRequired, cast

import orjson
from typing_extensions import TypedDict

from lithos.core.call import Call
from lithos.core.canonical import canonical_hash, canonical_json
from lithos.core.clock import Clock, rfc3339
from lithos.core.ids import Ids, is_uuid
from lithos.errors import Conflict, Damaged, InvalidInput, Unsupported
from lithos.ledger import Draft, EntryScope, Ledger, entry_lines, opened_line
from lithos.sessions import HISTORY, Sessions, SessionShown, kept_parts, read_session, write_session
from lithos.sessions import SESSIONS_JOURNAL as JOURNAL
from lithos.storage import Database, Effects, EventDraft, NewEntry, Outcome, Tx

FORMAT = "lithos session snapshot"
VERSION = 1
OWN = frozenset({"session", "archivalist_state", "agent_states", "created_at"})


@dataclass(frozen=True, slots=True)
class Section:
    """A part's section of a snapshot."""

    make: Callable[[str], Any]  # by session id; None: it has nothing to keep
    take: Callable[[Tx, Call, str, Any], None]  # writes what the caller may restore, or raises before it writes


class SnapshotAnswer(TypedDict):
    session_id: str
    snapshot: str  # the file
    hash: str
    entries: int


class RestoredAnswer(TypedDict):
    session_id: str
    state: str
    name: str
    entries: int
    kept_parts: NotRequired[list[str]]


class Snapshots:
    def __init__(
        self,
        database: Database,
        effects: Effects,
        sessions: Sessions,
        ledger: Ledger,
        clock: Clock,
        ids: Ids,
        sections: Mapping[str, Section] | None = None,
    ) -> None:
        self._database = database
        self._effects = effects
        self._sessions = sessions
        self._ledger = ledger
        self._clock = clock
        self._ids = ids
        self._sections = sections or {}

    def snapshot(self, call: Call, session_id: str, *, with_entries: bool = False) -> SnapshotAnswer:
        """For members. Parts that do not exist yet are absent; sections that a restore kept are passed on."""
        session = self._sessions.whole(call, session_id)
        thoughts = self._ledger.entries(HISTORY, EntryScope(sessions=(session_id,)))
        entries = entry_lines(self._ledger.chain(HISTORY), [each["index"] for each in thoughts]) if thoughts else []
        body: dict[str, Any] = {
            **self._database.read(lambda tx: kept_parts(tx, session_id)),
            **{
                name: part for name, section in self._sections.items() if (part := section.make(session_id)) is not None
            },
            "session": dict(session),
            "archivalist_state": {
                "session_id": session_id,
                "resume_state": _resume_state(session),
                "local_entry_ids": [each["id"] for each in thoughts],
                **({"entries": entries} if with_entries else {}),
            },
            "agent_states": {agent: {"here": agent in session["here"]} for agent in session["agents"]},
            "created_at": rfc3339(self._clock.now()),
        }
        text = canonical_json({"format": FORMAT, "version": VERSION, "hash": canonical_hash(body), "snapshot": body})
        return {
            "session_id": session_id,
            "snapshot": text.decode(),
            "hash": canonical_hash(body),
            "entries": len(entries) if with_entries else 0,
        }

    def restore(self, call: Call, text: str, *, as_new: bool = False, with_entries: bool = False) -> RestoredAnswer:
        """All of it or nothing. The same id is a conflict unless `as_new`."""
        body, digest = read_snapshot(text)
        lines = body["archivalist_state"].get("entries")
        if with_entries and lines is None:
            raise InvalidInput("the snapshot holds no entries", hint="Make it with with_entries, or leave it out here.")
        thoughts = _verified(lines or (), body["archivalist_state"]["local_entry_ids"]) if with_entries else []
        for each in thoughts:
            self._ledger.refuse_secrets({"content": each.body["content"] if each.body else ""})
        parts = {name: value for name, value in body.items() if name not in OWN and name not in self._sections}
        owner = call.agent or call.user or "operator"

        def work(tx: Tx) -> Outcome:
            head = JOURNAL.lock(tx)()
            new_id = self._ids.sortable() if as_new else None
            restored = read_session(body["session"], parts, head, new_id=new_id, owner=owner, bound=call.bound)
            session = restored.session
            if not is_uuid(session.id):
                raise InvalidInput("the snapshot's session has no proper id", hint="Restore it with as_new.")
            if tx.one("SELECT 1 AS yes FROM sessions WHERE id = ?", session.id) is not None:
                raise Conflict(
                    f"the session {session.id} is in this store already",
                    hint="Restore it as_new, or go on with the one that is here: lithos_session_resume.",
                    session_id=session.id,
                )
            seq = self._sessions.announce(tx, head, NewEntry("created", session.id, owner))
            write_session(tx, restored, head, seq, int(body["session"].get("version", 1)))
            for name, section in self._sections.items():
                if name in body:
                    section.take(tx, call, session.id, body[name])
            answer = {"session_id": session.id, "state": session.state, "name": session.name, "entries": len(thoughts)}
            answer |= {"kept_parts": sorted(parts)} if parts else {}
            done = EventDraft("session", "restore", thing=session.id, details={"hash": digest, "as_new": as_new})
            return Outcome(answer, (done,))

        answer = cast(RestoredAnswer, self._effects.commit(call, work))
        self._sessions.forget_members()
        self._append(call, answer["session_id"], digest, thoughts)
        return answer

    def _append(self, call: Call, session_id: str, digest: str, entries: list[Any]) -> None:
        """Each under a separate key, so that a retry after a kill goes on where it ended."""
        places: dict[int, int] = {}
        for entry in entries:
            record, body = entry.record, entry.body or {}
            known = [places[each] for each in record.get("refs", ()) if each in places]
            relations = [
                {"kind": each["kind"], "target": places[each["target"]]}
                for each in record.get("relations", ())
                if each["target"] in places
            ]
            draft = Draft(
                thought_type=record["thought_type"],
                content=body["content"],
                agent_id=record["agent_id"],
                role=record["role"],
                importance=record["importance"],
                confidence=record.get("confidence"),
                tags=body.get("tags"),
                concepts=body.get("concepts"),
                refs=known,
                relations=relations,
                session_id=session_id,
            )
            key = canonical_hash([digest, session_id, record["id"]])
            own = Call("lithos_session_restore", agent=call.agent, idempotency_key=key, arguments_hash=entry.hash)
            places[entry.index] = self._ledger.append(own, draft, chain_key=HISTORY)["thought"]["index"]


def read_snapshot(text: str) -> tuple[dict[str, Any], str]:
    """The body and its hash. A changed, cut or newer file is refused whole."""
    data = text.strip().encode("utf-8", "replace")
    try:
        whole = orjson.loads(data)
    except orjson.JSONDecodeError:
        raise InvalidInput("this is no snapshot, or not all of one: it is not JSON", hint=_AGAIN) from None
    if not isinstance(whole, dict) or whole.get("format") != FORMAT:
        raise InvalidInput("this is no snapshot of a session", hint=_AGAIN)
    version = whole.get("version")
    if not isinstance(version, int) or version < 1:
        raise InvalidInput("the snapshot has no version", hint=_AGAIN)
    if version > VERSION:
        raise Unsupported(
            f"the snapshot has version {version}; this Lithos reads up to {VERSION}", hint="Update Lithos here."
        )
    body = whole.get("snapshot")
    if not isinstance(body, dict) or canonical_json(whole) != data or canonical_hash(body) != whole.get("hash"):
        raise InvalidInput("the snapshot was changed: its hash does not fit", hint=_AGAIN)
    _check_shape(body)
    return body, str(whole["hash"])


def _check_shape(body: Mapping[str, Any]) -> None:
    state = body.get("archivalist_state")
    ids = state.get("local_entry_ids") if isinstance(state, dict) else None
    if not isinstance(body.get("session"), dict) or not isinstance(ids, list):
        raise InvalidInput("the snapshot lacks its session or its entries' ids", hint=_AGAIN)


def _verified(lines: Any, ids: list[str]) -> list[Any]:
    """The entries, each checked by its own hash; all of those that the snapshot names, and no other."""
    try:
        entries = [opened_line(each) for each in lines]
    except (Damaged, AttributeError, TypeError, ValueError):
        raise InvalidInput("an entry of the snapshot is not what its hash says", hint=_AGAIN) from None
    if [each.record["id"] for each in entries] != ids:
        raise InvalidInput("the snapshot's entries are not those that it names", hint=_AGAIN)
    return [each for each in entries if each.body is not None]


def _resume_state(session: SessionShown) -> dict[str, Any]:
    names = ("current_objective", "current_task", "current_step", "next_steps", "blockers")
    return {name: session["context"][name] for name in names}


_AGAIN = "Make it again with lithos_session_snapshot, and pass the file unchanged."
