"""`lithos events`: the audit on the command line."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from lithos.cli.terminal import Terminal, ago, join_noun, show, table, verb

DAMAGED = 7  # the exit code of `damaged`, so that a script can tell a broken audit from a broken call


def join(root: typer.Typer) -> None:
    join_noun(
        root,
        "events",
        "The audit: what was changed, by whom, and whether it is whole.",
        list=list_events,
        verify=verify,
    )


@verb
def list_events(
    terminal: Terminal,
    agent: Annotated[str | None, typer.Option("--agent", help="Only of this agent.")] = None,
    user_id: Annotated[str | None, typer.Option("--user", help="Only of this user.")] = None,
    path: Annotated[str | None, typer.Option("--path", help="Only of this file.")] = None,
    type: Annotated[str | None, typer.Option("--type", help="note, task, profile_update, …")] = None,
    status: Annotated[str | None, typer.Option("--status", help="pending, committed, failed, conflict …")] = None,
    since: Annotated[str | None, typer.Option("--since", help='A time, "2h", "1d", "yesterday"; inclusive.')] = None,
    until: Annotated[str | None, typer.Option("--until", help="A time, exclusive.")] = None,
    limit: Annotated[int, typer.Option("--limit", help="Most events shown.")] = 20,
    cursor: Annotated[str | None, typer.Option("--cursor", help="Where the page before ended.")] = None,
) -> None:
    """List events, newest first."""
    wanted = {"agent": agent, "user_id": user_id, "path": path, "type": type, "status": status}
    bounds = {"since": terminal.since(since), "until": terminal.since(until), "limit": limit, "cursor": cursor}
    given = {name: value for name, value in {**wanted, **bounds}.items() if value is not None}
    answer = terminal.ask("lithos_events_query", given)
    if terminal.as_json:
        show(answer)
        return
    rows = [
        (ago(row["at"]), row["id"], row["status"], row["agent"] or "-", f"{row['type']} {row['op']}", _of(row))
        for row in answer["rows"]
    ]
    table(("when", "event", "status", "agent", "change", "of"), rows, "No events.")
    if answer["next_cursor"]:
        print(f"more: --cursor {answer['next_cursor']}")


def _of(row: dict[str, Any]) -> str:
    return str(row["path"] or row["thing"])


@verb
def verify(
    terminal: Terminal,
    head: Annotated[str | None, typer.Option("--head", help="A head that you kept elsewhere must be there.")] = None,
) -> None:
    """Check that no row of the audit was altered, removed or inserted."""
    verdict = terminal.ask("lithos_events_verify", {"head": head} if head else {})
    if terminal.as_json:
        show(verdict)
    else:
        print(f"{verdict['events']} events in {verdict['links']} links; head {verdict['head'] or '-'}")
        for problem in verdict["problems"]:
            where = f" (link {problem['position']})" if problem["position"] is not None else ""
            print(f"  {problem['kind']}: {problem['what']}{where} {problem['event_id'] or ''}".rstrip())
        print("The audit is whole." if verdict["ok"] else f"{verdict['problem_count']} problems.")
    if not verdict["ok"]:
        raise typer.Exit(DAMAGED)
