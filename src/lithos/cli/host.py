"""`lithos ps` and `lithos stop`: the processes that serve a data directory."""

from __future__ import annotations

from typing import Any

import typer

from lithos.cli.terminal import Terminal, ago, styled, verb


def join(root: typer.Typer) -> None:
    root.command("ps")(ps)
    root.command("stop")(stop)


@verb
def ps(terminal: Terminal) -> None:
    """Show your hosts on this machine and their guests; with --data-dir or --config only that memory's."""
    from lithos.host.host_lock import HostLock
    from lithos.host.list_hosts import all_hosts, describe_or_error

    host_lock = HostLock(str(terminal.folder))
    hosts = list(filter(None, [describe_or_error(host_lock)])) if terminal.named else all_hosts(host_lock.data_dir)
    none = f"No host serves {host_lock.data_dir}; the next client starts one." if terminal.named else "No host runs."
    terminal.tell(hosts, _print_hosts if hosts else none)


def _print_hosts(hosts: list[dict[str, Any]]) -> None:
    for host in hosts:
        _print_host(host)


def _print_host(host: dict[str, Any]) -> None:
    print(f"{styled('host', 'bold')}   pid {host['pid']}  {host['data_dir']}")
    if "problem" in host:
        print(f"       ! {host['problem']}")
        return
    kind = "foreground" if host["foreground"] else "background"
    size = f"{host['memory_bytes'] / 1e6:.0f} MB"
    print(f"       {kind}, Lithos {host['version']}, {size}, started {ago(host['since'])}")
    if host.get("page"):
        print(f"       page {host['page']}/")
    if host["running"] or host["waiting"] or host["working"]:
        print(f"       {host['running']} calls run, {host['waiting']} wait{', indexing' if host['working'] else ''}")
    for guest in host["guests"]:
        options = f"{','.join(guest['toolsets'])}{', read-only' if guest['read_only'] else ''}"
        who = " as ".join(filter(None, [guest["client"] or "a client", guest["agent"]]))
        print(f"guest  pid {guest['pid']}  {who}  [{options}]  {guest['calls']} calls, started {ago(guest['since'])}")
        for warning in guest["warnings"]:
            print(f"       ! {warning}")


@verb
def stop(terminal: Terminal) -> None:
    """End the host of this memory: what is in flight is finished first. The next call of a client starts a new one."""
    from lithos.host.client import stop_host
    from lithos.host.host_lock import HostLock

    host_lock = HostLock(str(terminal.folder))
    pid = stop_host(host_lock)
    outcome = f"Stopped pid {pid}." if pid is not None else f"No host serves {host_lock.data_dir}."
    terminal.tell({"stopped": pid is not None, "pid": pid}, outcome)
