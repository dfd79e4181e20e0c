"""Find the `Caller` of a message from what its transport attached to it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Protocol

from mcp.server.context import ServerRequestContext
from mcp_types import RequestId
from starlette.requests import Request

from lithos.tools.caller import Caller, stand_in
from lithos.tools.dispatch.dispatch import beside

SESSION_HEADER = "mcp-session-id"  # of clients that initialize
SSE_SESSION = "session_id"
CLIENT_INFO = "io.modelcontextprotocol/clientInfo"  # with every request of the stateless revision
SCOPE_KEY = "lithos.caller"  # where the HTTP guard leaves the caller in the ASGI scope


class Connection(Protocol):
    """The `request_context` that the host attaches: one guest, and a delivery for each request id."""

    def caller(self, request_id: RequestId | None) -> Caller: ...


def caller_of(context: ServerRequestContext[Any, Any], default: Caller) -> Caller:
    """HTTP: the guard's. Guest: from its hello. In process: the default of the start."""
    base = context.lifespan_context if isinstance(context.lifespan_context, Caller) else None
    request = context.request
    if request is None:
        return base or default
    if not isinstance(request, Request):
        connection: Connection = request
        return connection.caller(context.request_id)
    caller: Caller = request.scope.get(SCOPE_KEY, default)
    caller = replace(caller, attributed=stand_in(_client_name(context), _connection_id(request, caller)))
    if base is None:
        return caller
    # An SSE client states its options when it opens the stream; each of its messages is a request without them.
    read_only = caller.read_only or base.read_only
    return replace(caller, toolsets=base.toolsets, agent=caller.agent or base.agent, read_only=read_only)


def _client_name(context: ServerRequestContext[Any, Any]) -> str | None:
    client = context.session.client_params
    if client is not None:
        return client.client_info.name
    stated = ((context.params or {}).get("_meta") or {}).get(CLIENT_INFO)
    name = stated.get("name") if isinstance(stated, Mapping) else None
    return name if isinstance(name, str) else None


def _connection_id(request: Request, caller: Caller) -> str:
    """The session; in the stateless revision, where a request is all there is, the address, user and program that it
    comes from. That outlives a reconnect; two windows of one program share it, which is why it is no right."""
    session = request.headers.get(SESSION_HEADER) or request.query_params.get(SSE_SESSION)
    if session:
        return session
    address = request.client.host if request.client else ""
    program = request.headers.get("user-agent", "")
    return hashlib.sha256("\0".join((address, caller.user or "", program)).encode()).hexdigest()


def traced(caller: Caller, context: ServerRequestContext[Any, Any]) -> Caller:
    """Add what the request's `_meta` says: correlation ids, and the key of a retry."""
    meta = (context.params or {}).get("_meta")
    return beside(caller, meta) if isinstance(meta, Mapping) else caller
