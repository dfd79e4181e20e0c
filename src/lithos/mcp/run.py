"""A server in the foreground of one process: opened, served, and stopped without losing what is in flight."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

from lithos.app import Lithos, open_lithos
from lithos.errors import ConfigInvalid
from lithos.mcp.adapter import LithosServer, build_server
from lithos.mcp.http import http_app, is_loopback
from lithos.mcp.listener import Listener, bind
from lithos.mcp.stdio import serve_stdio
from lithos.settings import LithosConfig
from lithos.tools.caller import Caller
from lithos.tools.catalogue import catalogue


def default_caller(config: LithosConfig) -> Caller:
    """Who a client is that says nothing of itself."""
    toolsets = catalogue().check_toolsets(config.server.toolsets)
    return Caller(toolsets=toolsets, agent=config.server.agent, read_only=config.server.read_only)


def set_up_log(config: LithosConfig, target: logging.Handler | None = None) -> None:
    """`target`, else stderr or a file; never stdout, which belongs to the protocol."""
    target = target or logging.StreamHandler(sys.stderr)
    if config.server.log_file is not None:
        config.server.log_file.parent.mkdir(parents=True, exist_ok=True)
        target = logging.FileHandler(config.server.log_file, encoding="utf-8")
    target.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
    # The SDK's messages quote what clients sent: they are for developers only.
    foreign = "WARNING" if config.server.log_level == "debug" else "CRITICAL"
    for name, level in (("lithos", config.server.log_level.upper()), ("mcp", foreign), ("uvicorn", "ERROR")):
        logger = logging.getLogger(name)
        logger.handlers[:] = [target]
        logger.setLevel(level)
        logger.propagate = False


def run_stdio(config: LithosConfig) -> None:
    set_up_log(config)
    with _serving(config) as (_, server):
        asyncio.run(serve_stdio(server))


def run_http(config: LithosConfig, announce: Callable[[int], None]) -> None:
    set_up_log(config)
    default = default_caller(config)
    with _serving(config) as (lithos, server):
        require_token(config, lithos)
        listening = bind(config.server.host, config.server.port)
        app = http_app(server, catalogue(), config.server, default=default, tokens=lithos.tokens, health=lithos.health)
        listener = Listener(app, listening, server.in_flight, config.server.stop_seconds)
        _run(lambda: _serve_listener(listener, announce), listener.stop)


def require_token(config: LithosConfig, lithos: Lithos) -> None:
    """An address that others can reach is opened only when there is a token to ask for."""
    if is_loopback(config.server.host) or lithos.tokens.exist():
        return
    raise ConfigInvalid(
        f"{config.server.host} can be reached from other machines, and there is no token yet",
        hint=f"Make one first: lithos token new --name my-laptop --data-dir {config.storage.data_dir}",
    )


@contextmanager
def _serving(config: LithosConfig) -> Iterator[tuple[Lithos, LithosServer]]:
    lithos = open_lithos(config)
    try:
        server = build_server(
            lithos,
            default=default_caller(config),
            output_schemas=config.server.output_schemas,
            workers=config.server.workers,
        )
        lithos.start()
        yield lithos, server
    finally:
        lithos.close()


async def _serve_listener(listener: Listener, announce: Callable[[int], None]) -> None:
    serving = asyncio.create_task(listener.serve())
    await listener.until_ready()
    if listener.ready:
        announce(listener.port)
    await serving


def _run(serve: Callable[[], Coroutine[Any, Any, None]], stop: Callable[[], None]) -> None:
    """Until `serve` ends; the first signal asks it to (`stop`), a second one of the same kind ends the process."""

    async def main() -> None:
        loop = asyncio.get_running_loop()

        def asked(number: signal.Signals) -> None:
            loop.remove_signal_handler(number)
            signal.signal(number, signal.SIG_DFL)
            stop()

        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, asked, number)
        await serve()

    asyncio.run(main())
