"""Bearer tokens for HTTP clients: stored as hashes, limited by scope, bound to an agent or a user."""

from __future__ import annotations

import secrets
import threading
from dataclasses import replace
from typing import Literal

from typing_extensions import TypedDict

from lithos.core.call import Call
from lithos.core.canonical import sha256_hex
from lithos.core.clock import Clock, from_micros, micros, rfc3339
from lithos.core.names import agent_name
from lithos.core.part import Part
from lithos.errors import InvalidInput, NotFound
from lithos.storage import Database, Effects, EventDraft, Outcome, Row, Tx

Scope = Literal["read", "full", "workshop"]  # workshop: full, and commands may be run

MARK = "lithos_"  # lets a scanner of leaked secrets, ours too, know one at sight
REMEMBERED_SECONDS = 2.0  # how long a revocation by another host on the same PostgreSQL may take
MOST_REMEMBERED = 1000
TOKENS_CHANNEL = "tokens"  # wakes those who remember whose tokens there are
LONGEST_NAME = 100


class Token(TypedDict):
    id: str
    name: str
    scope: Scope
    agent: str | None
    user: str | None
    created_at: str
    last_used_at: str | None


class NewToken(Token):
    token: str


class TokenList(TypedDict):
    tokens: list[Token]


class Revoked(TypedDict):
    success: bool


_USED = "UPDATE tokens SET last_used_at = ? WHERE id = ? AND coalesce(last_used_at, 0) < ?"


class Tokens(Part):
    def __init__(self, database: Database, effects: Effects, clock: Clock) -> None:
        self._database = database
        self._effects = effects
        self._clock = clock
        self._lock = threading.Lock()
        self._known: dict[str, tuple[float, Token]] = {}  # hash → until when (since boot), token
        self._used: dict[str, int] = {}

    def new(
        self, call: Call, name: str, scope: Scope = "full", agent: str | None = None, user: str | None = None
    ) -> NewToken:
        """Create a token. This answer alone contains the secret; only its hash is stored."""
        secret = MARK + secrets.token_urlsafe(32)
        row: Row = {
            "id": secrets.token_hex(4),
            "name": _checked_name(name),
            "scope": "full" if scope == "workshop" else scope,
            "workshop": int(scope == "workshop"),
            "agent": None if agent is None else agent_name(agent),
            "user_id": None if user is None else agent_name(user, "user"),
            "created_at": micros(self._clock.now()),
            "last_used_at": None,
        }

        def work(tx: Tx) -> Outcome:
            kept = {**row, "secret_hash": sha256_hex(secret.encode())}
            tx.put(f"INSERT INTO tokens ({', '.join(kept)}) VALUES ({', '.join('?' * len(kept))})", *kept.values())
            tx.notify(TOKENS_CHANNEL)
            facts = {each: row[each] for each in ("name", "agent", "user_id")} | {"scope": scope}
            return Outcome({"id": row["id"]}, (EventDraft("token", "create", row["id"], details=facts),))

        # Not under the caller's keys: what `once` remembers would have to contain the secret.
        self._effects.commit(replace(call, idempotency_key=None, delivery=None), work)
        return {**_token(row), "token": secret}

    def list(self) -> TokenList:
        rows = self._database.read(
            lambda tx: tx.all("SELECT * FROM tokens WHERE revoked_at IS NULL ORDER BY created_at, id")
        )
        return {"tokens": [_token(row) for row in rows]}

    def revoke(self, call: Call, id: str) -> Revoked:
        now = micros(self._clock.now())

        def work(tx: Tx) -> Outcome:
            if not tx.run("UPDATE tokens SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL", now, id):
                raise NotFound(f"there is no token {id[:80]!r}", hint="`lithos token list` shows their ids.")
            return Outcome({"success": True}, (EventDraft("token", "revoke", id),))

        self._effects.commit(call, work)
        with self._lock:
            self._known.clear()
        return {"success": True}

    def users(self) -> set[str]:
        """People that a token belongs to."""
        rows = self._database.read(lambda tx: tx.all("SELECT DISTINCT user_id FROM tokens WHERE user_id IS NOT NULL"))
        return {row["user_id"] for row in rows}

    def owners(self) -> set[str]:
        """Agents and people that a valid token belongs to."""
        return {name for token in self.list()["tokens"] for name in (token["agent"], token["user"]) if name is not None}

    def exist(self) -> bool:
        found = self._database.read(lambda tx: tx.one("SELECT 1 AS yes FROM tokens WHERE revoked_at IS NULL LIMIT 1"))
        return found is not None

    def remembered(self, secret: str) -> Token | None:
        """The token from the cache of `find`; no I/O."""
        hashed = sha256_hex(secret.encode())
        with self._lock:
            until, token = self._known.get(hashed, (0.0, None))
        return token if self._clock.since_boot() < until else None

    def find(self, secret: str) -> Token | None:
        """The token of this secret. Looked up by hash, so that no comparison leaks how close a guess was."""
        hashed = sha256_hex(secret.encode())
        row = self._database.read(
            lambda tx: tx.one("SELECT * FROM tokens WHERE secret_hash = ? AND revoked_at IS NULL", hashed)
        )
        if row is None:
            return None
        token = _token(row)
        with self._lock:
            if len(self._known) >= MOST_REMEMBERED:
                self._known.clear()
            self._known[hashed] = (self._clock.since_boot() + REMEMBERED_SECONDS, token)
            self._used[token["id"]] = micros(self._clock.now())
        return token

    def flush(self) -> None:
        """Write when each token was last used, in the background."""
        with self._lock:
            used, self._used = self._used, {}
        if used:
            rows = [(at, id, at) for id, at in sorted(used.items())]
            self._database.write(lambda tx: tx.many(_USED, rows))

    def close(self) -> None:
        self.flush()


def _checked_name(name: str) -> str:
    text = " ".join(name.split())
    if not text or len(text) > LONGEST_NAME:
        raise InvalidInput(f"a token's name has 1 to {LONGEST_NAME} characters", hint="Say who it is for.")
    return text


def _token(row: Row) -> Token:
    return {
        "id": row["id"],
        "name": row["name"],
        "scope": "workshop" if row["workshop"] else row["scope"],
        "agent": row["agent"],
        "user": row["user_id"],
        "created_at": rfc3339(from_micros(row["created_at"])),
        "last_used_at": None if row["last_used_at"] is None else rfc3339(from_micros(row["last_used_at"])),
    }
