"""`lithos hook`: what a client's hooks run; `lithos setup --hooks` installs them."""

from __future__ import annotations

from typing import Annotated

import typer

from lithos.cli.terminal import Terminal, verb
from lithos.errors import InvalidInput


def join(root: typer.Typer) -> None:
    root.command("hook")(hook)


@verb
def hook(
    terminal: Terminal,
    event: Annotated[str, typer.Argument(help="session-start, pre-compact, session-end or stop.")],
    agent: Annotated[str | None, typer.Option("--agent", help="Whose claims are shown.")] = None,
) -> None:
    """Run one hook of Claude Code: its event comes as JSON on stdin, its answer goes to stdout.

    Adds under 500 tokens, waits 0.25 s at most for the host, and ends with 0 also when Lithos is down.
    """
    from lithos.clients.hook import EVENTS, main

    if event not in EVENTS:
        raise InvalidInput(f"there is no hook {event!r}", hint=f"Known: {', '.join(EVENTS)}.")
    main(event, str(terminal.folder), agent or terminal.settings.server.agent)
