"""HTTP of a host: the application over its memory, for `lithos serve --transport http` and for `lithos open`."""

from __future__ import annotations

import socket

from lithos.app import Lithos
from lithos.errors import ConfigInvalid
from lithos.serving import ConnectionLimits, Listener, LithosServer, bind, default_caller, http_app, is_loopback
from lithos.settings import LithosConfig
from lithos.tools.catalogue import catalogue

LOOPBACK = "127.0.0.1"


def http_listener(config: LithosConfig, listening: socket.socket, lithos: Lithos, server: LithosServer) -> Listener:
    app = http_app(
        server,
        catalogue(),
        config.server,
        default=default_caller(config),
        tokens=lithos.tokens,
        health=lithos.health,
        config=config,
    )
    limits = ConnectionLimits(config.server.header_seconds, config.server.idle_seconds)
    return Listener(app, listening, server.in_flight, config.server.stop_seconds, limits)


def loopback_listener(config: LithosConfig, lithos: Lithos, server: LithosServer) -> Listener:
    """For the page of a host that serves no HTTP. One port above the usual one, which `lithos serve` may want later."""
    private = config.model_copy(update={"server": config.server.model_copy(update={"host": LOOPBACK})})
    try:
        listening = bind(LOOPBACK, config.server.port + 1 if 0 < config.server.port < 65535 else 0)
    except ConfigInvalid:  # another memory's page, or another program
        listening = bind(LOOPBACK, 0)
    return http_listener(private, listening, lithos, server)


def page_address(bound: str, port: int) -> str:
    """Where a browser on this machine finds it."""
    every = bound in ("0.0.0.0", "::")  # noqa: S104 - compared only
    name = LOOPBACK if every or (is_loopback(bound) and bound != "::1") else f"[{bound}]" if ":" in bound else bound
    return f"http://{name}:{port}"
