"""`lithos serve`: serve a data directory to MCP clients."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from lithos.cli.banner import banner
from lithos.cli.memory import is_memory, offer
from lithos.cli.terminal import Terminal, verb
from lithos.errors import InvalidInput

if TYPE_CHECKING:
    from lithos.host.options import ServeOptions
    from lithos.settings import LithosConfig


def join(root: typer.Typer) -> None:
    root.command("serve")(serve)


@verb
def serve(
    terminal: Terminal,
    context: typer.Context,
    transport: Annotated[str | None, typer.Option("--transport", help="stdio, http or sse.  [default: stdio]")] = None,
    host: Annotated[str | None, typer.Option("--host", help="Address to bind.  [default: 127.0.0.1]")] = None,
    port: Annotated[int | None, typer.Option("--port", help="Port to bind.  [default: 8765]")] = None,
    no_watch: Annotated[bool, typer.Option("--no-watch", help="Do not follow changes of files.")] = False,
    toolsets: Annotated[str | None, typer.Option("--toolsets", help="Tools to show, commas between.")] = None,
    agent: Annotated[str | None, typer.Option("--agent", help="Agent for calls that name none.")] = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="Refuse every change.")] = False,
    standalone: Annotated[bool, typer.Option("--standalone", help="Be the host, or stop if there is one.")] = False,
) -> None:
    """Serve the memory to MCP clients: over stdin and stdout, or over HTTP."""
    loaded = terminal.load(
        server__transport=transport,
        server__host=host,
        server__port=port,
        server__watch_files=False if no_watch else None,
        server__toolsets=toolsets,
        server__agent=agent,
        server__read_only=read_only or None,
    )
    if loaded.origins["storage.data_dir"] == "default" and not is_memory(terminal.folder) and (older := offer()):
        print(f"lithos: a new memory is made in {terminal.folder}. {older}", file=sys.stderr)
    _serve(loaded.config, context.find_root().obj)


def _serve(config: LithosConfig, arguments: list[str]) -> None:
    from lithos.host.options import parse_serve

    options = parse_serve(arguments[1:], os.environ)
    if options is None:
        raise InvalidInput(
            "options may not be abbreviated here", hint="Write them as `lithos serve --help` shows them."
        )
    if config.server.transport == "stdio":
        raise typer.Exit(_be_a_guest(config, options))
    gc.disable()  # imports create thousands of lasting objects: collecting in between costs 0.1 s
    from lithos.serving import set_up_log  # isort: skip - first: it imports less of the SDK than the SDK would
    from lithos.host.server.foreground import serve_http

    gc.freeze()
    gc.enable()
    set_up_log(config)
    serve_http(config, options, announce=lambda port: print(banner(config, port), file=sys.stderr, flush=True))
    with contextlib.suppress(OSError):  # the terminal may be gone
        print("Lithos has stopped.", file=sys.stderr, flush=True)


def _be_a_guest(config: LithosConfig, options: ServeOptions) -> int:
    """A guest of 40 MB instead of 11: no helper process could read the settings for it (`cli.entry`)."""
    from lithos.host.serve_stdio import main

    return main(options, str(config.storage.data_dir.expanduser().resolve()))
