"""`lithos log`, `lithos undo` and `lithos brief`: what happened, taking it back, and where things are."""

from __future__ import annotations

import sys
import time
from typing import Annotated, Any

import typer

from lithos.cli.terminal import Terminal, ago, styled, verb

FOLLOW_SECONDS = 1.0
MOST_LINES = 500  # of one call


def join(root: typer.Typer) -> None:
    root.command("log")(log)
    root.command("undo")(undo)
    root.command("brief")(brief)


@verb
def log(
    terminal: Terminal,
    since: Annotated[str, typer.Option("--since", help='A time, "2h", "1d", "yesterday", or a cursor.')] = "1d",
    kind: Annotated[list[str] | None, typer.Option("--kind", help="Only this kind; several are joined.")] = None,
    path: Annotated[str | None, typer.Option("--path", help="Only notes below this folder.")] = None,
    agent: Annotated[str | None, typer.Option("--agent", help="Only changes of this agent.")] = None,
    limit: Annotated[int, typer.Option("--limit", help="At most so many lines.", min=1, max=500)] = 100,
    follow: Annotated[bool, typer.Option("-f", "--follow", help="Go on printing what comes.")] = False,
) -> None:
    """Print what changed, by agents and people: notes, tasks, claims, findings, thoughts, skills; oldest first."""
    wanted: dict[str, Any] = {"kinds": kind or None, "path_prefix": path, "agent": agent, "limit": limit}
    answer = terminal.ask("lithos_changes", {"since": since, **wanted})
    terminal.tell(answer, _print)
    if not (answer["total"] or follow or terminal.as_json) and sys.stdout.isatty():
        print(f"Nothing changed since {since}." if since else "Nothing changed.")
    while follow:
        time.sleep(FOLLOW_SECONDS)
        answer = _everything(terminal, {**wanted, "since": answer["cursor"], "limit": MOST_LINES})
        if answer["total"]:
            terminal.tell(answer, _print)


def _everything(terminal: Terminal, wanted: dict[str, Any]) -> dict[str, Any]:
    """All pages as one answer: who follows misses nothing."""
    whole = page = terminal.ask("lithos_changes", wanted)
    while "next_cursor" in page:
        page = terminal.ask("lithos_changes", {**wanted, "cursor": page["next_cursor"]})
        for kind, lines in page["changes"].items():
            whole["changes"].setdefault(kind, []).extend(lines)
    return {name: value for name, value in whole.items() if name != "next_cursor"}


def _print(answer: dict[str, Any]) -> None:
    lines = [(line, kind) for kind, lines in answer["changes"].items() for line in lines]
    for line, kind in sorted(lines):
        when = f"{ago(line[:20]):12}" if sys.stdout.isatty() else line[:20]
        print(f"{styled(when, 'dim')} {kind:8}{line[20:]}", flush=True)
    if "next_cursor" in answer:
        print(f"({answer['total']} lines; --limit shows more)")


@verb
def undo(
    terminal: Terminal,
    event: Annotated[str | None, typer.Argument(help="Event; left out: the last change of --agent.")] = None,
    agent: Annotated[str | None, typer.Option("--agent", help="Whose last change.  [default: yours]")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be taken back.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Take back one change: a note's text, section, move or deletion, a task, several files at once. Shows it first."""
    who = agent or (None if event else terminal.settings.server.agent or "cli")
    planned = terminal.ask("lithos_undo_preview", {"event": event, "agent": who})
    if dry_run or not terminal.as_json:
        diff = f"\n{planned['diff'].rstrip()}" if planned["diff"] else ""
        terminal.tell(planned, f"{planned['op']} of {_what(planned)}\nUndo will {planned['will']}.{diff}")
    if dry_run:
        return
    if not (yes or terminal.as_json) and sys.stdin.isatty() and not typer.confirm("Take it back?", default=True):
        raise typer.Exit(1)
    answer = terminal.ask("lithos_undo", {"event": planned["event"], "agent": who})
    terminal.tell(answer, f"{answer['did']}: {answer['undone']['op']} of {_what(answer['undone'])}")


def _what(event: dict[str, Any]) -> str:
    by = f" by {event['agent']}" if event.get("agent") else ""
    return f"{event.get('path') or event['thing']}{by}, {ago(event['at'])}"


@verb
def brief(
    terminal: Terminal,
    topic: Annotated[str | None, typer.Argument(help="What you are about to do.")] = None,
    tier: Annotated[str, typer.Option("--tier", help="micro, standard or full.")] = "standard",
    agent: Annotated[str | None, typer.Option("--agent", help="For whom: their claims, their last visit.")] = None,
) -> None:
    """Print a briefing: claims, ready tasks, changes since the last visit, notes that matter, conflicts."""
    answer = terminal.ask("lithos_get_briefing", {"topic": topic, "tier": tier, "agent": agent})
    terminal.tell(answer, str(answer["briefing"]))
