"""Preferences of a user: what a person said, what was observed, what holds for one session only.

The words are thoughts of the chain `preferences` (correctable by a newer one, forgettable). Rows say which of them
count and whether a person was behind them: anybody may append a thought, and a preference is a lasting instruction.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NotRequired, cast

from typing_extensions import TypedDict

from lithos.core.call import Call
from lithos.core.clock import from_micros, micros, parse_time, rfc3339
from lithos.core.names import folded, one_line, plain_text
from lithos.errors import Forbidden, InvalidInput
from lithos.ledger import Draft, Ledger
from lithos.sessions import ALL, Sessions
from lithos.storage import Database, Effects, EventDraft, Outcome, Row, Tx

CHAIN = "preferences"
NEW, ACCEPTED, REJECTED, LEAST, MOST = 0.6, 0.1, 0.2, 0.6, 1.0
MOST_EVIDENCE = 20
LONGEST_CATEGORY = 80
LONGEST_PREFERENCE = 2_000
EVERYONE = "*"  # the user of a project's preferences
LOCAL = "local"  # a person whom neither a token, nor the caller, nor the system names
Scope = Literal["user", "project", "session"]
Response = Literal["accepted", "rejected"]


class StoredPreference(TypedDict):
    stored: bool
    id: str
    category: str
    counts_as: Literal["explicit", "implicit", "session_override"]
    user: str
    note: NotRequired[str]


class ExplicitPreference(TypedDict):
    value: str
    set_by: str
    at: str
    scope: NotRequired[str]
    id: str


class ImplicitPreference(TypedDict):
    value: str
    confidence: float
    evidence: list[str]
    observed_at: str
    set_by: str
    applies: bool
    id: str


class Preferences(TypedDict):
    user: str
    explicit: dict[str, ExplicitPreference]
    implicit: dict[str, ImplicitPreference]
    session_overrides: dict[str, ExplicitPreference]
    effective: dict[str, str]


class PreferenceLearned(TypedDict):
    category: str
    value: str
    confidence: float
    removed: NotRequired[bool]
    user: str
    id: str


@dataclass(slots=True)
class _Observed:
    value: str
    confidence: float
    at: str
    by: str
    id: str
    evidence: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Folded:
    """The state that a user's updates add up to, in their order."""

    own: dict[str, ExplicitPreference] = field(default_factory=dict)
    project: dict[str, ExplicitPreference] = field(default_factory=dict)
    overrides: dict[str, ExplicitPreference] = field(default_factory=dict)
    by_person: set[str] = field(default_factory=set)  # categories whose override a person set
    observed: dict[str, _Observed] = field(default_factory=dict)

    @property
    def explicit(self) -> dict[str, ExplicitPreference]:
        """The user's own word before the project's."""
        return {**self.project, **self.own}


class UserPreferences:
    def __init__(self, database: Database, effects: Effects, sessions: Sessions, ledger: Ledger, store: str) -> None:
        self._database = database
        self._effects = effects
        self._sessions = sessions
        self._ledger = ledger
        self._store = store

    def set(
        self,
        call: Call,
        category: str,
        preference: str,
        scope: Scope = "user",
        session_id: str | None = None,
        user_id: str | None = None,
    ) -> StoredPreference:
        """A person's word is explicit. An agent's is an observation, which no one can check."""
        name, value = _category(category), _value(preference)
        user = EVERYONE if scope == "project" else self.user(call, user_id)
        session = self._sessions.chosen(call, session_id) if scope == "session" else ""
        if session:
            self._sessions.members_only(call, session)
        if scope == "project" and not (call.by_person or call.agent):
            raise InvalidInput("agent is missing", hint="Say who sets it.")
        thought = self._append(call, user, name, value, "set", scope, session)
        counts = "session_override" if scope == "session" else "explicit" if call.by_person else "implicit"
        answer: dict[str, Any] = {
            "stored": True,
            "id": thought["id"],
            "category": name,
            "counts_as": counts,
            "user": user,
        }
        if counts == "implicit":
            answer["note"] = "Set by an agent, so it counts as observed. The user makes it explicit: lithos call."
        self._record(call, thought, user, session, scope, name, "set", answer)
        return cast(StoredPreference, answer)

    def feedback(
        self, call: Call, category: str, suggestion: str, response: Response, user_id: str | None = None
    ) -> PreferenceLearned:
        """The user accepted or rejected a suggestion."""
        name, value, user = _category(category), _value(suggestion), self.user(call, user_id)
        thought = self._append(call, user, name, value, response, "user", "")
        row = {"thought_id": thought["id"], "category": name, "kind": response, "by_person": 0}
        state = self._folded(user, "")
        _take(state, {**row, "scope": "user", "agent": call.agent, "at": micros(_now(thought))}, value)
        learned = state.observed.get(name)
        same = learned is not None and folded(learned.value) == folded(value)
        answer: dict[str, Any] = {
            "category": name,
            "value": value,
            "confidence": round(learned.confidence, 2) if learned is not None and same else 0.0,
            "user": user,
            "id": thought["id"],
        }
        if not same:
            answer["removed"] = True
        self._record(call, thought, user, "", "user", name, response, answer)
        return cast(PreferenceLearned, answer)

    def get(self, call: Call, category: str = "all", user_id: str | None = None) -> Preferences:
        """Explicit, observed and session's own; `effective` says which holds."""
        user = self.user(call, user_id)
        state = self._folded(user, self._sessions.current(call) or "")
        wanted = None if category.strip() in ("", "all") else _category(category)

        def chosen(names: Mapping[str, Any]) -> dict[str, Any]:
            return {name: names[name] for name in sorted(names) if wanted is None or _within(name, wanted)}

        return {
            "user": user,
            "explicit": chosen(state.explicit),
            "implicit": chosen({name: _implicit(each) for name, each in state.observed.items()}),
            "session_overrides": chosen(state.overrides),
            "effective": chosen(_effective(state)),
        }

    def user(self, call: Call, user_id: str | None) -> str:
        """Bound by a token, else named, else the login of the calling process."""
        named = None if user_id is None else one_line(user_id, "user_id", LONGEST_CATEGORY)
        if call.user_bound and call.user is not None:
            if named is not None and named != call.user:
                raise Forbidden(f"this token is {call.user}'s", hint="Leave user_id out.")
            return call.user
        return named or (call.user if call.user_named and call.user else None) or call.login or LOCAL

    # -- steps

    def _append(
        self, call: Call, user: str, category: str, value: str, kind: str, scope: str, session: str
    ) -> Mapping[str, Any]:
        draft = Draft(
            thought_type="PreferenceUpdate",
            content=f"{category}: {value}",
            agent_id=call.agent or user,
            confidence=1.0 if call.by_person and kind == "set" else NEW,
            tags=["preference", f"category:{category}", f"user:{user}", f"scope:{scope}", kind],
            session_id=session or None,
        )
        return self._ledger.append(call, draft, chain_key=CHAIN)["thought"]

    def _record(
        self,
        call: Call,
        thought: Mapping[str, Any],
        user: str,
        session: str,
        scope: str,
        category: str,
        kind: str,
        answer: dict[str, Any],
    ) -> None:
        person = int(call.by_person)
        at = micros(_now(thought))
        row = (thought["id"], self._store, thought["index"], user, session, scope, category, kind, call.agent, person)
        details = {"category": category, "user": user, "scope": scope, "kind": kind, "by_person": bool(person)}

        def work(tx: Tx) -> Outcome:
            tx.put(_INSERT, *row, at)
            return Outcome(answer, (EventDraft("preference", kind, thing=thought["id"], details=details),))

        self._effects.commit(call, work)

    def _folded(self, user: str, session: str) -> _Folded:
        rows = self._database.read(lambda tx: tx.all(_ROWS, self._store, user, EVERYONE, session))
        state = _Folded()
        for row, value in self._worded(rows):
            _take(state, row, value)
        return state

    def _worded(self, rows: list[Row]) -> Iterable[tuple[Row, str]]:
        """Each update with its words; one whose thought was forgotten does not count any more."""
        for row in rows:
            thought = self._ledger.thought(CHAIN, thought_index=row["place"], viewer=ALL)["thought"]
            if thought is not None and not thought.get("forgotten") and thought["id"] == row["thought_id"]:
                yield row, thought["content"].partition(": ")[2]


def _take(state: _Folded, row: Mapping[str, Any], value: str) -> None:
    category, by = row["category"], row["agent"] or "a person"
    at = rfc3339(from_micros(row["at"]))
    if row["kind"] == "set" and (row["scope"] == "session" or row["by_person"]):
        stated: ExplicitPreference = {
            "value": value,
            "set_by": "a person" if row["by_person"] else by,
            "at": at,
            "id": row["thought_id"],
        }
        if row["scope"] == "session":
            state.overrides[category] = stated
            (state.by_person.add if row["by_person"] else state.by_person.discard)(category)
        elif row["scope"] == "project":
            state.project[category] = {**stated, "scope": "project"}
        else:
            state.own[category] = stated
        return
    known = state.observed.get(category)
    same = known is not None and folded(known.value) == folded(value)
    if row["kind"] == "rejected":
        if known is not None and same:
            known.confidence = round(max(known.confidence - REJECTED, 0.0), 6)
            _remember(known, f"rejected ({by}, {at[:10]})")
            if known.confidence <= 0:
                del state.observed[category]
        return
    said = f"{row['kind'] if row['kind'] != 'set' else 'stated'} ({by}, {at[:10]})"
    if known is not None and same:
        known.confidence = round(min(known.confidence + ACCEPTED, MOST), 6)
        _remember(known, said)
    else:
        state.observed[category] = _Observed(value, NEW, at, by, row["thought_id"], [said])


def _remember(known: _Observed, said: str) -> None:
    known.evidence = [*known.evidence, said][-MOST_EVIDENCE:]


def _implicit(each: _Observed) -> ImplicitPreference:
    return {
        "value": each.value,
        "confidence": round(each.confidence, 2),
        "evidence": each.evidence,
        "observed_at": each.at,
        "set_by": each.by,
        "applies": each.confidence >= LEAST,
        "id": each.id,
    }


def _effective(state: _Folded) -> dict[str, str]:
    """Override before explicit before implicit. An agent's override does not beat what a person said."""
    held = {name: each.value for name, each in state.observed.items() if each.confidence >= LEAST}
    held |= {name: each["value"] for name, each in state.overrides.items()}
    held |= {name: each["value"] for name, each in state.explicit.items()}
    return held | {name: state.overrides[name]["value"] for name in state.by_person}


def _category(text: str) -> str:
    name = one_line(text, "category", LONGEST_CATEGORY, hint='For example "code_style" or "code_style.quotes".')
    return "_".join(name.casefold().split())


def _value(text: str) -> str:
    value = " ".join(plain_text(text, "preference", LONGEST_PREFERENCE).split())
    return one_line(value, "preference", LONGEST_PREFERENCE)


def _within(name: str, wanted: str) -> bool:
    return name == wanted or name.startswith(f"{wanted}.")


def _now(thought: Mapping[str, Any]) -> Any:
    return parse_time(thought["timestamp"])


_ROWS = """
SELECT * FROM preference_updates WHERE store = ? AND user_id IN (?, ?)
AND (session_id = '' OR session_id = ?) ORDER BY at, place
"""
_INSERT = """
INSERT INTO preference_updates
(thought_id, store, place, user_id, session_id, scope, category, kind, agent, by_person, at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (thought_id) DO NOTHING
"""
