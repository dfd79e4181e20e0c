"""`lithos task`: the board from the command line."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from lithos.cli.terminal import Terminal, ago, join_noun, show, table, verb

TaskId = Annotated[str, typer.Argument(help="The task's id.")]
Aspect = Annotated[str, typer.Argument(help="The part of the task.")]
Agent = Annotated[str | None, typer.Option("--agent", help="Who acts.  [default: server.agent, or cli]")]
Minutes = Annotated[int | None, typer.Option("--minutes", help="How long the claim lasts.")]
Token = Annotated[int | None, typer.Option("--token", help="The token of your claim: refused if it was lost.")]
Tags = Annotated[list[str] | None, typer.Option("--tag", help="A tag; several are possible.")]
Needs = Annotated[list[str] | None, typer.Option("--needs", help="A task that must end first; several are possible.")]
Priority = Annotated[int | None, typer.Option("--priority", min=0, max=4, help="0 urgent, 2 usual, 4 someday.")]
Limit = Annotated[int, typer.Option("--limit", min=1, max=500, help="At most so many.")]
Cursor = Annotated[str | None, typer.Option("--cursor", help="Where the page before ended.")]
Text = Annotated[str | None, typer.Option("--description", help="What is to be done.")]

REFUSED = 4  # the exit code of a conflict


def join(root: typer.Typer) -> None:
    join_noun(
        root,
        "task",
        "Tasks, claims and findings of agents that work together.",
        list=list_tasks,
        ready=ready,
        show=show_task,
        create=create,
        update=update,
        claim=claim,
        renew=renew,
        release=release,
        complete=complete,
        cancel=cancel,
        findings=findings,
        post=post,
    )


@verb
def list_tasks(
    terminal: Terminal,
    status: Annotated[str, typer.Option("--status", help="open, completed, cancelled or all.")] = "open",
    tag: Tags = None,
    created_by: Annotated[str | None, typer.Option("--created-by", help="Only of this agent.")] = None,
    claimed_by: Annotated[str | None, typer.Option("--claimed-by", help="Only with a claim of this agent.")] = None,
    since: Annotated[str | None, typer.Option("--since", help='Only changed since: a time, "2h", "1d".')] = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> None:
    """List tasks with their claims, oldest first."""
    wanted = {"status": status, "tags": tag, "created_by": created_by, "claimed_by": claimed_by}
    page = {"since": terminal.since(since), "limit": limit, "cursor": cursor}
    answer = ask(terminal, "lithos_task_list", {**wanted, **page})
    terminal.tell(answer, print_page)


@verb
def ready(
    terminal: Terminal,
    tag: Tags = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> None:
    """List what can be taken now, the most urgent first."""
    answer = ask(terminal, "lithos_task_ready", {"tags": tag, "limit": limit, "cursor": cursor})
    terminal.tell(answer, print_page)


@verb
def show_task(terminal: Terminal, task_id: TaskId) -> None:
    """Show one task: what it is, what it waits for, who holds what."""
    from lithos.errors import NotFound

    found = ask(terminal, "lithos_task_status", {"task_id": task_id})["tasks"]
    if not found:
        raise NotFound(f"there is no task {task_id!r}", hint=_meant(terminal, task_id))
    terminal.tell(found[0], print_task)


@verb
def create(
    terminal: Terminal,
    title: Annotated[str, typer.Argument(help="What it is called.")],
    description: Text = None,
    tag: Tags = None,
    needs: Needs = None,
    priority: Priority = None,
    agent: Agent = None,
) -> None:
    """Put a task on the board; prints its id."""
    wanted = {"title": title, "description": description, "tags": tag, "priority": priority, "depends_on": needs}
    answer = ask(terminal, "lithos_task_create", wanted, agent)
    terminal.tell(answer, answer["task_id"])


@verb
def update(
    terminal: Terminal,
    task_id: TaskId,
    title: Annotated[str | None, typer.Option("--title", help="A new title.")] = None,
    description: Text = None,
    tag: Tags = None,
    needs: Needs = None,
    priority: Priority = None,
    status: Annotated[str | None, typer.Option("--status", help="open, completed or cancelled.")] = None,
    agent: Agent = None,
) -> None:
    """Change a task; what is not named stays."""
    wanted = {"title": title, "description": description, "tags": tag, "priority": priority, "depends_on": needs}
    changed = {"task_id": task_id, **wanted, "status": status}
    conclude(terminal, ask(terminal, "lithos_task_update", changed, agent), "Changed.")


@verb
def claim(
    terminal: Terminal,
    task_id: TaskId,
    aspect: Aspect,
    minutes: Minutes = None,
    agent: Agent = None,
) -> None:
    """Take an aspect of a task; prints the token and when it ends."""
    wanted = {"task_id": task_id, "aspect": aspect, "ttl_minutes": minutes}
    answer = ask(terminal, "lithos_task_claim", wanted, agent)
    conclude(terminal, answer, f"Yours until {answer.get('expires_at')}, token {answer.get('token')}.")


@verb
def renew(
    terminal: Terminal,
    task_id: TaskId,
    aspect: Aspect,
    minutes: Minutes = None,
    token: Token = None,
    agent: Agent = None,
) -> None:
    """Keep a claim longer."""
    wanted = {"task_id": task_id, "aspect": aspect, "ttl_minutes": minutes, "claim_token": token}
    answer = ask(terminal, "lithos_task_renew", wanted, agent)
    conclude(terminal, answer, f"Yours until {answer.get('new_expires_at')}.")


@verb
def release(
    terminal: Terminal,
    task_id: TaskId,
    aspect: Aspect,
    token: Token = None,
    agent: Agent = None,
) -> None:
    """Give a claim back."""
    wanted = {"task_id": task_id, "aspect": aspect, "claim_token": token}
    conclude(terminal, ask(terminal, "lithos_task_release", wanted, agent), "Released.")


@verb
def complete(
    terminal: Terminal,
    task_id: TaskId,
    token: Token = None,
    agent: Agent = None,
) -> None:
    """Mark a task done; its claims end."""
    wanted = {"task_id": task_id, "claim_token": token}
    conclude(terminal, ask(terminal, "lithos_task_complete", wanted, agent), "Completed.")


@verb
def cancel(
    terminal: Terminal,
    task_id: TaskId,
    agent: Agent = None,
) -> None:
    """Give a task up; its claims end."""
    conclude(terminal, ask(terminal, "lithos_task_cancel", {"task_id": task_id}, agent), "Cancelled.")


@verb
def findings(
    terminal: Terminal,
    task_id: TaskId,
    since: Annotated[str | None, typer.Option("--since", help="Only after this time.")] = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> None:
    """List what agents found on a task."""
    wanted = {"task_id": task_id, "since": terminal.since(since), "limit": limit, "cursor": cursor}
    answer = ask(terminal, "lithos_finding_list", wanted)
    terminal.tell(answer, _print_findings)


def _print_findings(answer: dict[str, Any]) -> None:
    for each in answer["findings"]:
        note = f"  [note {each['knowledge_id']}]" if each["knowledge_id"] else ""
        print(f"{ago(each['created_at'])}  {each['agent']}: {each['summary']}{note}")


@verb
def post(
    terminal: Terminal,
    task_id: TaskId,
    summary: Annotated[str, typer.Argument(help="What was found.")],
    note: Annotated[str | None, typer.Option("--note", help="Id of the note with the details.")] = None,
    token: Token = None,
    agent: Agent = None,
) -> None:
    """Post a finding; prints its id."""
    wanted = {"task_id": task_id, "summary": summary, "knowledge_id": note, "claim_token": token}
    answer = ask(terminal, "lithos_finding_post", wanted, agent)
    terminal.tell(answer, answer["finding_id"])


def _meant(terminal: Terminal, task_id: str) -> str:
    """Which task a mistyped id or a title may have meant."""
    from lithos.core.text import nearest

    tasks = ask(terminal, "lithos_task_list", {"status": "all", "limit": 500})["tasks"]
    ends = [task["id"] for task in tasks if task["id"].endswith(task_id) or task["id"].startswith(task_id)]
    names = {**{task["title"]: task["id"] for task in tasks}, **{task["id"]: task["id"] for task in tasks}}
    close = nearest(task_id, names)
    meant = ends[0] if len(ends) == 1 else names[close] if close else None
    title = next((task["title"] for task in tasks if task["id"] == meant), "")
    return f"Did you mean {meant} ({title})?" if meant else "`lithos task list --status all` shows all of them."


def ask(terminal: Terminal, tool: str, arguments: dict[str, Any], agent: str | None = None) -> dict[str, Any]:
    acting = agent or terminal.settings.server.agent or "cli"
    return terminal.ask(tool, {**arguments, "agent": acting})


def conclude(terminal: Terminal, answer: dict[str, Any], done: str) -> None:
    """A refusal of the board is an answer to programs and a failed command to people."""
    if terminal.as_json:
        show(answer)
    elif answer["success"]:
        print(done)
    else:
        held = f" ({answer['holder']} holds it until {answer['until']})" if "holder" in answer else ""
        print(f"lithos: {answer['reason']}{held}\n  {answer['hint']}", file=sys.stderr)
    if not answer["success"]:
        raise typer.Exit(REFUSED)


def print_page(page: dict[str, Any]) -> None:
    rows = []
    for task in page["tasks"]:
        held = ", ".join(f"{each['aspect']}: {each['agent']}" for each in task["claims"])
        state = "blocked" if task["blocked"] else task["status"]
        rows.append((task["id"], str(task["priority"]), state, f"{task['title']}{'  (' + held + ')' if held else ''}"))
    table(("task", "p", "state", "title"), rows, "No tasks.")
    if page["next_cursor"]:
        print(f"{page['total']} in all; more with --cursor {page['next_cursor']}")


def print_task(task: dict[str, Any]) -> None:
    print(f"{task['title']}\n  {task['id']}")
    state = "blocked" if task["blocked"] else task["status"]
    print(f"  {state}, priority {task['priority']}, by {task['created_by']}, {task['created_at']}")
    for name in ("tags", "depends_on", "blocked_by", "blocks"):
        if task[name]:
            print(f"  {name.replace('_', ' ')}: {', '.join(task[name])}")
    for each in task["claims"]:
        print(f"  {each['agent']} holds {each['aspect']!r} until {each['expires_at']}")
    for each in task["notes"]:
        print(f"  note: {each['title']} ({each['path']})")
    print(f"  findings: {task['findings']}")
    if task["description"]:
        print(f"\n{task['description']}")
