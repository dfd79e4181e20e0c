"""`lithos board`: who works on what, live."""

from __future__ import annotations

import sys
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lithos.cli.terminal import Terminal, verb

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

SHOWN = 50
REFRESH_S = 2.0  # the time left moves even when nothing on the board does


def join(root: typer.Typer) -> None:
    root.command("board")(board)


@verb
def board(
    terminal: Terminal,
    once: Annotated[bool, typer.Option("--once", help="Print the table and end.")] = False,
) -> None:
    """Show the open tasks with their claims and the time left, and follow what changes (Ctrl-C ends)."""
    from rich.console import Console

    console = Console()
    if once or terminal.as_json or not sys.stdout.isatty():
        page = terminal.ask("lithos_task_status", {"limit": SHOWN})
        terminal.tell(page, lambda found: console.print(_table(found)))
        return
    try:
        _follow(terminal, console)
    except KeyboardInterrupt:
        return


def _follow(terminal: Terminal, console: Console) -> None:
    """Only as long as there is a host: without one nothing changes, and waiting here would keep one from starting."""
    from rich.live import Live

    from lithos.host.client import describe_host
    from lithos.host.host_lock import HostLock

    host_lock = HostLock(str(terminal.folder))
    cursor = terminal.ask("lithos_board_wait", {"timeout": 0})["cursor"]
    with Live(console=console, auto_refresh=False) as live:
        while True:
            live.update(_table(terminal.ask("lithos_task_status", {"limit": SHOWN})), refresh=True)
            if describe_host(host_lock) is None:
                break
            cursor = terminal.ask("lithos_board_wait", {"since": cursor, "timeout": REFRESH_S})["cursor"]
    console.print("No host serves this memory: nothing changes until a client starts one.")


def _table(page: dict[str, Any]) -> Table:
    from rich.table import Table

    shown = f"{len(page['tasks'])} of {page['total']} open tasks"
    table = Table(title=shown, title_justify="left", show_edge=False)
    for column in ("priority", "task", "state", "aspect", "agent", "left"):
        table.add_column(column, overflow="fold")
    for task in page["tasks"]:
        for row in rows_of(task, _now()):
            table.add_row(*row)
    return table


def rows_of(task: dict[str, Any], now: datetime) -> list[tuple[str, ...]]:
    """One row per claim; one for a task without claims."""
    from rich.markup import escape

    state = "blocked" if task["blocked"] else "held" if task["claims"] else "ready"
    head = (str(task["priority"]), escape(task["title"]), state)
    if not task["claims"]:
        return [(*head, "", "", "")]
    rows: list[tuple[str, ...]] = []
    for each in task["claims"]:
        claim = (escape(each["aspect"]), escape(each["agent"]), _left(each["expires_at"], now))
        rows.append((*(head if not rows else ("", "", "")), *claim))
    return rows


def _left(expires_at: str, now: datetime) -> str:
    from lithos.core.clock import parse_time

    seconds = max(0, int((parse_time(expires_at) - now).total_seconds()))
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


def _now() -> datetime:
    from lithos.core.clock import SystemClock

    return SystemClock().now()
