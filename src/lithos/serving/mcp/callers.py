"""From what a transport attached to a message to the `Caller` that the registry knows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Protocol

from mcp.server.context import ServerRequestContext
from mcp_types import RequestId
from starlette.requests import Request

from lithos.tools.caller import Caller, stand_in
from lithos.tools.dispatch import beside

SESSION_HEADER = "mcp-session-id"  # of clients that initialize; the stateless revision has no connection to name
SCOPE_KEY = "lithos.caller"  # where the HTTP guard leaves the caller in the ASGI scope


class Connection(Protocol):
    """What the host puts into `request_context`: it knows its guest, and makes a delivery of each request id."""

    def caller(self, request_id: RequestId | None) -> Caller: ...


def caller_of(context: ServerRequestContext[Any, Any], default: Caller) -> Caller:
    """HTTP: what the guard found; host: the guest's hello; in process: the default of the start."""
    base = context.lifespan_context if isinstance(context.lifespan_context, Caller) else None
    request = context.request
    if request is None:
        return base or default
    if not isinstance(request, Request):
        connection: Connection = request
        return connection.caller(context.request_id)
    caller: Caller = request.scope.get(SCOPE_KEY, default)
    if (session := request.headers.get(SESSION_HEADER)) is not None:
        told = context.session.client_params
        caller = replace(caller, attributed=stand_in(told.client_info.name if told else None, session))
    # An SSE client names its toolsets when it opens the stream; its messages come in requests of their own.
    return replace(caller, toolsets=base.toolsets) if base else caller


def traced(caller: Caller, context: ServerRequestContext[Any, Any]) -> Caller:
    """With what the request's `_meta` says: the ids of the caller's own trace, the key of a retry."""
    meta = (context.params or {}).get("_meta")
    return beside(caller, meta) if isinstance(meta, Mapping) else caller
