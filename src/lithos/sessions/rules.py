"""Steps that every change of a session shares: who may do it, the new row, the event."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lithos.core.call import Call
from lithos.errors import Forbidden, InvalidInput
from lithos.sessions.model import SCALARS, Session, SessionConfig
from lithos.sessions.store import Membership
from lithos.storage import EventDraft, Moment, Tx


def new_session(
    session_id: str, seq: int, name: str, owner: str, config: SessionConfig, now: Moment, *, bound: bool
) -> Session:
    return Session(
        id=session_id,
        seq=seq,
        name=name,
        state="created",
        owner=owner,
        owner_bound=bound,
        created_at=now.wall,
        activated_at=None,
        suspended_at=None,
        completed_at=None,
        closed_at=None,
        last_active_at=now.wall,
        summary=None,
        reason=None,
        scalars=dict.fromkeys(SCALARS),
        config=config,
        version=0,
        bytes=0,
        era=now.era,
        steady=now.steady,
    )


def need_agent(call: Call) -> str:
    agent = call.agent or (call.user if call.operator else None)
    if agent is None:
        raise InvalidInput("no agent is named", hint="Pass agent with your name.")
    return agent


def need_member(session: Session, member: Membership | None, call: Call) -> None:
    if call.operator:
        return
    if member is None or not member.joined or (member.bound and not call.bound):
        raise not_a_member(session)


def not_a_member(session: Session) -> Forbidden:
    invited = session.owner_bound
    hint = f"{session.owner} can invite you; then lithos_session_join." if invited else "lithos_session_join first."
    return Forbidden("only members of the session may do this", hint=hint, session_id=session.id)


def may_join(session: Session, member: Membership | None, call: Call) -> None:
    """Where tokens say who calls, joining needs the owner's invitation."""
    if call.operator:
        return
    if member is not None and member.bound and not call.bound:
        raise Forbidden(f"{member.agent} belongs to a token", hint="Call with the token of that agent.")
    if member is None and (call.bound or session.owner_bound):
        raise Forbidden(
            f"this session needs an invitation of its owner, {session.owner}",
            hint="The owner calls lithos_session_invite.",
            session_id=session.id,
        )


def event(op: str, session_id: str, **details: Any) -> EventDraft:
    return EventDraft("session", op, thing=session_id, details={k: v for k, v in details.items() if v is not None})


def existing(tx: Tx, session_ids: Sequence[str]) -> set[str]:
    found: set[str] = set()
    for start in range(0, len(session_ids), 500):
        some = session_ids[start : start + 500]
        rows = tx.all(f"SELECT id FROM sessions WHERE id IN ({', '.join('?' * len(some))})", *some)
        found |= {row["id"] for row in rows}
    return found
