"""Finding what an earlier attempt at the same append wrote. The record commits with the effect: it is the thought."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from lithos.errors import KeyReused
from lithos.ledger.chain.format import Entry
from lithos.ledger.chain.tickets import Ticket
from lithos.ledger.thoughts import Request

if TYPE_CHECKING:
    from lithos.ledger.chain.chain import Chain


def pending(tickets: Iterable[Ticket], request: Request) -> Ticket | None:
    return next((ticket for ticket in tickets if _is_repeated(ticket.entry, request)), None)


def stored(chain: Chain, request: Request, oldest: int) -> Entry | None:
    """Among the thoughts since `oldest` (microseconds): older keys are free again."""
    start = chain.columns.first_since(oldest)
    for column, scope in (("request", request.key), ("delivery", request.delivery if request.resent else None)):
        if scope is not None:
            places = chain.columns.places_of(column, scope, start)
            found = next((entry for entry in chain.entries(places) if _is_repeated(entry, request)), None)
            if found is not None:
                return found
    return None


def _is_repeated(entry: Entry, request: Request) -> bool:
    """By key with the same arguments (others are refused), or by delivery: ids of requests may be used again."""
    if request.key is not None and entry.record.get("request_key") == request.key:
        if not _same_arguments(entry.body, request):
            raise KeyReused(
                "idempotency_key was used for a thought with other arguments",
                hint="Use a new key for a new thought; repeat the same arguments to get the first answer.",
            )
        return True
    resent = request.resent and request.delivery is not None
    return resent and entry.record.get("request_delivery") == request.delivery and _same_arguments(entry.body, request)


def _same_arguments(body: dict[str, Any] | None, request: Request) -> bool:
    """A forgotten thought no longer knows its arguments; its key alone has to do."""
    return body is None or body.get("arguments") == request.arguments
