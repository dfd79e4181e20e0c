"""`lithos uninstall`: take Lithos out of clients and system; the knowledge stays."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from lithos.cli.terminal import Terminal, verb


def join(root: typer.Typer) -> None:
    root.command("uninstall")(uninstall)


@verb
def uninstall(
    terminal: Terminal,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show it, change nothing.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Stop the host, remove the service, and take Lithos out of every client. The memory and its backups stay."""
    from lithos.cli.service import removed
    from lithos.cli.setup import removal_edits
    from lithos.clients.changes import apply, preview

    edits = removal_edits(terminal)
    planned = [outcome for outcome in map(preview, edits) if outcome.changed or outcome.problem]
    if not (dry_run or yes or terminal.as_json) and sys.stdin.isatty():
        print("\n".join(f"{each.what}: {each.path}" for each in planned))
        if not typer.confirm("Take Lithos out of these and stop it?", default=True):
            raise typer.Exit(1)
    done = planned if dry_run else [each for each in map(apply, edits) if each.changed or each.problem]
    service = removed(terminal, dry_run)
    stopped = None if dry_run else _stopped(terminal)
    lines = [
        f"{each.what}: {each.problem or ('would change ' if dry_run else 'changed ') + str(each.path)}" for each in done
    ]
    lines += [*service, *([f"The host, pid {stopped}, has ended."] if stopped else [])]
    if terminal.folder.exists():
        lines.append(f"{terminal.folder} stays: it is your knowledge. Delete it yourself if you want to.")
    lines.append(_last_step())
    files = [{"what": each.what, "path": str(each.path), "problem": each.problem or None} for each in done]
    terminal.tell(
        {"files": files, "service": service, "stopped": stopped, "kept": str(terminal.folder)}, "\n".join(lines)
    )


def _stopped(terminal: Terminal) -> int | None:
    from lithos.host.client import stop_host
    from lithos.host.host_lock import HostLock

    return stop_host(HostLock(str(terminal.folder)))


def _last_step() -> str:
    how = (
        "pipx uninstall"
        if "pipx" in sys.prefix
        else "uv tool uninstall"
        if "/uv/tools/" in sys.prefix
        else "pip uninstall"
    )
    return f"Last step: {how} lithos-memory"
