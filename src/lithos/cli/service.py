"""`lithos service`: the HTTP server as a service of the system."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lithos.cli.terminal import Terminal, join_noun, verb

if TYPE_CHECKING:
    from lithos.clients.service import ServiceFile

DryRun = Annotated[bool, typer.Option("--dry-run", help="Show it, write nothing.")]
STOPPED = 3  # as `systemctl status` reports it


def join(root: typer.Typer) -> None:
    about = "The HTTP server as a service: systemd on Linux, launchd on macOS."
    join_noun(root, "service", about, install=install, status=status, remove=remove)


@verb
def install(
    terminal: Terminal,
    port: Annotated[int | None, typer.Option("--port", help="Port to bind.  [default: 8765]")] = None,
    dry_run: DryRun = False,
) -> None:
    """Start the HTTP server now and whenever you log in."""
    from lithos.clients.changes import FileEdit, apply, preview

    service = _service(terminal, port)
    edit = FileEdit(service.path, "the service", lambda _: service.text)
    outcome = preview(edit) if dry_run else apply(edit)
    if outcome.problem:
        from lithos.errors import Forbidden

        raise Forbidden(outcome.problem, hint=outcome.hint)
    ran = [] if dry_run else _run(service.start)
    lines = [service.text.rstrip() if dry_run else f"{service.path} is written.", *_by_hand(ran)]
    if not dry_run and sys.platform != "darwin":
        lines.append("It runs while you are logged in; `loginctl enable-linger` keeps it running.")
    terminal.tell({"file": str(service.path), "text": service.text, "commands": ran}, "\n".join(lines))


@verb
def status(terminal: Terminal) -> None:
    """Show whether the service is installed and runs. Exit code 3: it does not."""
    service = _service(terminal, None)
    there = service.path.exists()
    [asked] = _run((service.state,)) if there else [{}]
    runs = asked.get("code") == 0
    text = f"{service.path}: {'runs' if runs else 'does not run'}" if there else "The service is not installed."
    answer = {"installed": there, "runs": runs, "file": str(service.path)}
    terminal.tell(answer, "\n".join([text, *_by_hand([asked] if asked and not runs else [])]))
    if not runs:
        raise typer.Exit(STOPPED)


@verb
def remove(terminal: Terminal, dry_run: DryRun = False) -> None:
    """Stop the service and remove its file; the memory stays."""
    lines = removed(terminal, dry_run)
    terminal.tell({"removed": lines}, "\n".join(lines))


def removed(terminal: Terminal, dry_run: bool) -> list[str]:
    service = _service(terminal, None)
    if not service.path.exists():
        return ["The service is not installed."]
    if dry_run:
        return [f"Would remove {service.path}."]
    failed = _by_hand(_run(service.stop))
    service.path.unlink()
    return [*failed, f"{service.path} is removed."]


def _service(terminal: Terminal, port: int | None) -> ServiceFile:
    from lithos.clients.catalogue import Where, our_command
    from lithos.clients.service import service_file

    more = ["--port", str(port)] if port is not None else []
    command, arguments = our_command(["serve", "--transport", "http", "--data-dir", str(terminal.folder), *more])
    return service_file(Where.here(), [command, *arguments], os.getuid())


def _run(commands: tuple[tuple[str, ...], ...]) -> list[dict[str, Any]]:
    """Each command with its outcome; where it is missing, a person runs it by hand."""
    ran: list[dict[str, Any]] = []
    for command in commands:
        if shutil.which(command[0]) is None:
            ran.append({"command": " ".join(command), "code": None, "said": f"there is no {command[0]} here"})
            continue
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - ours
        said = " ".join((done.stderr or done.stdout).split())
        ran.append({"command": " ".join(command), "code": done.returncode, "said": said})
    return ran


def _by_hand(ran: list[dict[str, Any]]) -> list[str]:
    return [f"Run by hand: {each['command']}  ({each['said']})" for each in ran if each["code"] != 0]
