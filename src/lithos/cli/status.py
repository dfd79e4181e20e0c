"""`lithos status`: one screen: what runs, how big, how current, what is wrong."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lithos.cli.progress import Progress
from lithos.cli.terminal import Terminal, ago, styled, verb

if TYPE_CHECKING:
    from lithos.host.client import CallTool

POLL_SECONDS = 0.5


def join(root: typer.Typer) -> None:
    root.command("status")(status)


@verb
def status(
    terminal: Terminal,
    follow: Annotated[bool, typer.Option("-f", "--follow", help="Show progress until everything is indexed.")] = False,
) -> None:
    """Show on one screen what runs, how big the memory is, how current its search is, and problems."""
    with terminal.calls() as call:  # one connection: without a host each one opens the whole memory
        stats = _followed(terminal, call) if follow else call("lithos_stats")
        answer = {"data_dir": str(terminal.folder), "host": _host(terminal), **_work(terminal, call), **stats}
    answer["problems"] = list(_problems(answer))
    answer["backup"] = _newest_backup(terminal)
    terminal.tell(answer, _print)


def _host(terminal: Terminal) -> dict[str, Any] | None:
    from lithos.host.host_lock import HostLock
    from lithos.host.list_hosts import describe_or_error

    return describe_or_error(HostLock(str(terminal.folder)))


def _work(terminal: Terminal, call: CallTool) -> dict[str, Any]:
    me = terminal.settings.server.agent or "cli"
    roots = call("lithos_code_list", {})["roots"]
    return {
        "ready_tasks": call("lithos_task_ready", {"limit": 1, "agent": me})["total"],
        "changes_today": call("lithos_changes", {"since": "1d", "limit": 500})["total"],
        "active_sessions": call("lithos_session_list", {"state": "active", "limit": 1, "agent": me})["total"],
        "waiting_messages": call("lithos_inbox_list", {"unread": True, "limit": 1})["waiting"],
        "code_roots": {each["name"]: each["state"] for each in roots},
    }


def _newest_backup(terminal: Terminal) -> str | None:
    from lithos.backup import SUFFIX
    from lithos.from_settings import backup_folder

    found = sorted(backup_folder(terminal.settings).glob(f"*{SUFFIX}"))
    if not found:
        return None
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(found[-1].stat().st_mtime))


def _problems(answer: dict[str, Any]) -> list[str]:
    index, host = answer["index"], answer["host"] or {}
    found = [index["problem"], host.get("problem")]
    if index["unreadable"]:
        found.append(f"{index['unreadable']:,} files are not served: `lithos validate` says why")
    return [each for each in found if each]


def _followed(terminal: Terminal, call: CallTool) -> dict[str, Any]:
    """Until all files are read and all passages have their vectors."""
    with Progress(terminal, "vectors") as progress:
        stats = call("lithos_stats")
        progress.already = stats["vectors"]["embedded"]
        if stats["vectors"]["waiting"]:  # without a host, vectors are made from the first question by meaning on
            call("lithos_semantic", {"query": "status", "limit": 1})
            stats = call("lithos_stats")
        while True:
            vectors, index = stats["vectors"], stats["index"]
            progress.total = vectors["embedded"] + vectors["waiting"]
            progress.set(vectors["embedded"])
            if not vectors["waiting"] and index["state"] in ("current", "unreachable"):
                return stats
            time.sleep(POLL_SECONDS)
            stats = call("lithos_stats")


def _print(answer: dict[str, Any]) -> None:
    host = answer["host"]
    if host is None:
        runs = "no host: the next client starts one"
    elif "problem" in host:
        runs = f"pid {host['pid']}, and does not answer"
    else:
        size = f"{host['memory_bytes'] / 1e6:.0f} MB"
        runs = f"pid {host['pid']}, {len(host['guests'])} clients, {size}, started {ago(host['since'])}"
    vectors, index = answer["vectors"], answer["index"]
    waiting = f", {vectors['waiting']:,} passages wait for vectors (--follow)" if vectors["waiting"] else ""
    scanned = f"{index['done']:,} of {index['total']:,} files read" if index["state"] == "scanning" else index["state"]
    size = sum(answer["bytes"].values()) / 1e6
    rows = {
        "memory": f"{answer['data_dir']}, {size:,.0f} MB",
        "host": runs,
        "notes": f"{answer['documents']:,} with {answer['tags']:,} tags",
        "search": f"{scanned}{waiting}",
        "board": f"{answer['ready_tasks']:,} tasks ready, {answer['open_claims']:,} claims held",
        "sessions": f"{answer['active_sessions']:,} active",
        "inbox": f"{answer['waiting_messages']:,} messages wait for you (`lithos inbox`)",
        "code": ", ".join(f"{name} {state}" for name, state in answer["code_roots"].items()),
        "today": f"{answer['changes_today']:,} changes by {answer['agents']:,} known agents",
        "backup": f"the newest is of {ago(answer['backup'])}" if answer["backup"] else "none yet: `lithos backup`",
        "problems": "; ".join(answer["problems"]) or "none seen; `lithos doctor` looks closer",
    }
    for name, text in rows.items():
        if text:
            wrong = name == "problems" and answer["problems"]
            print(f"{styled(f'{name:9}', 'bold')} {styled(text, 'red') if wrong else text}")
