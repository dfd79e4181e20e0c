"""`lithos session`: undertakings from the command line."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from lithos.cli.terminal import Terminal, ago, join_noun, table, verb

SessionId = Annotated[str, typer.Argument(help="The session's id.")]
Current = Annotated[str | None, typer.Argument(help="The session's id.  [default: the agent's current one]")]
Agent = Annotated[str | None, typer.Option("--agent", help="Who acts.  [default: server.agent, or cli]")]


def join(root: typer.Typer) -> None:
    join_noun(
        root,
        "session",
        "Undertakings that can be left, taken up again and kept apart.",
        new=new,
        list=list_sessions,
        switch=switch,
        suspend=suspend,
        resume=resume,
        show=show_session,
        complete=complete,
        fail=fail,
        close=close,
        close_all=close_all,
        promote=promote,
        demote=demote,
        rollback=rollback,
        snapshot=snapshot,
        restore=restore,
        summary=summary,
    )


@verb
def new(
    terminal: Terminal,
    name: Annotated[str, typer.Argument(help="What it is called.")],
    base_branch: Annotated[str | None, typer.Option("--base-branch", help="The branch it starts from.")] = None,
    agent: Agent = None,
) -> None:
    """Create and activate a session; prints its id."""
    made = ask(terminal, "lithos_session_create", {"name": name, "base_branch": base_branch}, agent)
    answer = ask(terminal, "lithos_session_activate", {"session_id": made["session_id"]}, agent)
    terminal.tell({**made, **answer}, made["session_id"])


@verb
def list_sessions(
    terminal: Terminal,
    state: Annotated[
        str | None, typer.Option("--state", help="created, active, suspended, completed or failed.")
    ] = None,
    closed: Annotated[bool, typer.Option("--closed", help="Archived ones too.")] = False,
    limit: Annotated[int, typer.Option("--limit", min=1, max=500, help="At most so many.")] = 100,
    cursor: Annotated[str | None, typer.Option("--cursor", help="Where the page before ended.")] = None,
    agent: Agent = None,
) -> None:
    """List sessions, newest first; `*` marks the current one."""
    wanted = {"state": state, "closed": closed, "limit": limit, "cursor": cursor}
    terminal.tell(ask(terminal, "lithos_session_list", wanted, agent), print_page)


@verb
def switch(terminal: Terminal, session_id: SessionId, agent: Agent = None) -> None:
    """Go to another session; the one left is suspended if no other agent is in it."""
    changed(terminal, "lithos_session_switch", {"session_id": session_id}, agent)


@verb
def suspend(terminal: Terminal, session_id: Current = None, agent: Agent = None) -> None:
    """Pause a session."""
    changed(terminal, "lithos_session_suspend", {"session_id": session_id}, agent)


@verb
def resume(terminal: Terminal, session_id: SessionId, agent: Agent = None) -> None:
    """Take a suspended session up again."""
    changed(terminal, "lithos_session_resume", {"session_id": session_id}, agent)


@verb
def show_session(terminal: Terminal, session_id: Current = None, agent: Agent = None) -> None:
    """Show one session with its context. Looking into a session of others leaves an event."""
    terminal.tell(ask(terminal, "lithos_session_get", {"session_id": session_id}, agent), print_session)


@verb
def complete(
    terminal: Terminal,
    session_id: Current = None,
    summary: Annotated[str | None, typer.Option("--summary", help="What came of it.")] = None,
    agent: Agent = None,
) -> None:
    """End a session well; what it learned becomes everyone's."""
    changed(terminal, "lithos_session_complete", {"session_id": session_id, "summary": summary}, agent)


@verb
def fail(
    terminal: Terminal,
    reason: Annotated[str, typer.Argument(help="Why.")],
    session_id: Annotated[str | None, typer.Option("--session", help="Which one.  [default: the current]")] = None,
    agent: Agent = None,
) -> None:
    """End a session that cannot reach its goal."""
    changed(terminal, "lithos_session_fail", {"session_id": session_id, "reason": reason}, agent)


@verb
def close(terminal: Terminal, session_id: SessionId, agent: Agent = None) -> None:
    """Archive a session: read-only, and out of the list."""
    changed(terminal, "lithos_session_close", {"session_id": session_id}, agent)


@verb
def close_all(terminal: Terminal, agent: Agent = None) -> None:
    """Archive every session."""
    answer = ask(terminal, "lithos_session_close_all", {}, agent)
    terminal.tell(answer, f"{answer['closed']} closed")


Entries = Annotated[list[str], typer.Argument(help="Ids of entries.")]
Reason = Annotated[str, typer.Option("--reason", help="Why; kept in the audit.")]


@verb
def promote(terminal: Terminal, ids: Entries, reason: Reason, agent: Agent = None) -> None:
    """Make entries of sessions everyone's."""
    answer = ask(terminal, "lithos_session_promote", {"ids": ids, "reason": reason}, agent)
    terminal.tell(answer, f"{len(answer['ids'])} promoted")


@verb
def demote(terminal: Terminal, ids: Entries, reason: Reason, agent: Agent = None) -> None:
    """Give promoted entries back to their session."""
    answer = ask(terminal, "lithos_session_demote", {"ids": ids, "reason": reason}, agent)
    terminal.tell(answer, f"{len(answer['ids'])} taken back")


@verb
def rollback(terminal: Terminal, session_id: SessionId, agent: Agent = None) -> None:
    """Take back everything that a session has promoted."""
    answer = ask(terminal, "lithos_session_rollback", {"session_id": session_id}, agent)
    terminal.tell(answer, f"{len(answer['ids'])} taken back")


@verb
def snapshot(
    terminal: Terminal,
    session_id: Current = None,
    entries: Annotated[bool, typer.Option("--entries", help="Carry its entries too.")] = False,
    agent: Agent = None,
) -> None:
    """Print a session as one JSON text, to restore it here or on another machine."""
    answer = ask(terminal, "lithos_session_snapshot", {"session_id": session_id, "with_entries": entries}, agent)
    print(answer["snapshot"])


@verb
def restore(
    terminal: Terminal,
    file: Annotated[typer.FileText, typer.Argument(help="A snapshot; - reads standard input.")],
    as_new: Annotated[bool, typer.Option("--as-new", help="Under a new id.")] = False,
    entries: Annotated[bool, typer.Option("--entries", help="Its entries too.")] = False,
    agent: Agent = None,
) -> None:
    """Bring a session back from its snapshot; prints its id."""
    given = {"snapshot": file.read(), "as_new": as_new, "with_entries": entries}
    answer = ask(terminal, "lithos_session_restore", given, agent)
    terminal.tell(answer, answer["session_id"])


@verb
def summary(terminal: Terminal, session_id: Current = None, agent: Agent = None) -> None:
    """Print what a session did, decided, learned and left open."""
    answer = ask(terminal, "lithos_session_summary", {"session_id": session_id}, agent)
    terminal.tell(answer, answer["summary"])


def ask(terminal: Terminal, tool: str, arguments: dict[str, Any], agent: str | None) -> dict[str, Any]:
    who = agent or terminal.settings.server.agent or "cli"
    return terminal.ask(tool, {**arguments, "agent": who})


def changed(terminal: Terminal, tool: str, arguments: dict[str, Any], agent: str | None) -> None:
    answer = ask(terminal, tool, arguments, agent)
    more = f", {answer['suspended']} suspended" if answer.get("suspended") else ""
    terminal.tell(answer, f"{answer['session_id']} {answer['state']}{more}")


def print_page(page: dict[str, Any]) -> None:
    rows = [
        (f"{mark} {each['id']}", each["state"], ago(each["last_active_at"]), each["name"])
        for each in page["sessions"]
        for mark in ("*" if each["id"] == page.get("current") else " ",)
    ]
    table(("  session", "state", "active", "name"), rows, "No sessions.")
    if page.get("next_cursor"):
        print(f"  more: --cursor {page['next_cursor']}")


def print_session(session: dict[str, Any]) -> None:
    for name, value in session.items():
        if name != "context" and value not in (None, "", [], {}):
            print(f"{name}: {value}")
    for name, value in session.get("context", {}).items():
        if value not in (None, "", [], {}):
            print(f"  {name}: {value}")
