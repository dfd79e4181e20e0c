"""Who belongs to a session, asked within a transaction."""

from __future__ import annotations

from lithos.core.call import Call
from lithos.sessions import store
from lithos.storage import Tx


def is_member(tx: Tx, call: Call, session_id: str) -> bool:
    return bool(store.member_ids(tx, call.agent, call.bound, [session_id]))


def proved_sessions(tx: Tx, call: Call, agent: str) -> frozenset[str]:
    """Sessions that the agent belongs to by a token which this caller does not have: closed to the mere name."""
    if call.bound or call.operator:
        return frozenset()
    rows = tx.all("SELECT session_id FROM session_agents WHERE agent = ? AND bound = 1", agent)
    return frozenset(row["session_id"] for row in rows)
