"""Idempotency of appends: find what an earlier attempt wrote. The thought itself is the record of its key."""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from typing import TYPE_CHECKING

from lithos.errors import KeyReused
from lithos.ledger.chain.format import ThoughtEntry
from lithos.ledger.chain.tickets import Ticket
from lithos.ledger.thoughts import Request

if TYPE_CHECKING:
    from lithos.ledger.chain.chain import Chain


def pending(chain: Chain, tickets: Iterable[Ticket], request: Request) -> Ticket | None:
    return next((ticket for ticket in tickets if _is_repeated(chain, ticket.entry, request)), None)


def stored(chain: Chain, request: Request, oldest: int) -> ThoughtEntry | None:
    """Among the thoughts since `oldest` (microseconds): older keys are free again."""
    start = chain.columns.first_since(oldest)
    for column, scope in (("request", request.key), ("delivery", request.delivery if request.resent else None)):
        if scope is not None:
            places = chain.columns.places_of(column, scope, start)
            found = next((entry for entry in chain.entries(places) if _is_repeated(chain, entry, request)), None)
            if found is not None:
                return found
    return None


def _is_repeated(chain: Chain, entry: ThoughtEntry, request: Request) -> bool:
    """By key with the same arguments (others are refused), or by delivery: ids of requests may be used again."""
    if request.key is not None and entry.record.get("request_key") == request.key:
        if not _same_arguments(chain, entry, request):
            raise KeyReused(
                "idempotency_key was used for a thought with other arguments",
                hint="Use a new key for a new thought; repeat the same arguments to get the first answer.",
            )
        return True
    resent = request.resent and request.delivery is not None
    same = resent and entry.record.get("request_delivery") == request.delivery
    return same and _same_arguments(chain, entry, request)


def _same_arguments(chain: Chain, entry: ThoughtEntry, request: Request) -> bool:
    """Of a forgotten thought only the record of its forgetting holds a hash, keyed so that it reveals nothing."""
    if entry.body is not None:
        return bool(entry.body.get("arguments") == request.arguments)
    record = chain.forgetting_record(entry.index)
    kept = record.body.get("arguments") if record is not None and record.body is not None else None
    return kept is None or hmac.compare_digest(kept, chain.keyed_hash(request.arguments))
