"""`lithos ps` and `lithos stop`: the processes behind a memory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from lithos.cli.options import AsJson, ConfigFile, DataDir, load, show, verb

if TYPE_CHECKING:
    from lithos.host.place import Place


def join(root: typer.Typer) -> None:
    root.command("ps")(ps)
    root.command("stop")(stop)


@verb
def ps(
    data_dir: DataDir = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Show your hosts on this machine and their guests; with --data-dir or --config only that memory's."""
    from lithos.host.census import all_hosts
    from lithos.host.client import describe_host

    place = _place(data_dir, config)
    hosts = list(filter(None, [describe_host(place)])) if data_dir or config else all_hosts(place.data_dir)
    if as_json:
        show(hosts)
        return
    if not hosts:
        print(
            f"No host serves {place.data_dir}; the next client starts one." if data_dir or config else "No host runs."
        )
    for host in hosts:
        _print_host(host)


def _print_host(host: dict[str, Any]) -> None:
    kind = "foreground" if host["foreground"] else "background"
    size = f"{host['memory_bytes'] / 1e6:.0f} MB"
    print(f"host   pid {host['pid']}  {host['data_dir']}")
    print(f"       {kind}, Lithos {host['version']}, {size}, since {host['since']}")
    if host["running"] or host["waiting"] or host["working"]:
        print(f"       {host['running']} calls run, {host['waiting']} wait{', indexing' if host['working'] else ''}")
    for guest in host["guests"]:
        wishes = f"{','.join(guest['toolsets'])}{', read-only' if guest['read_only'] else ''}"
        who = " as ".join(filter(None, [guest["client"] or "a client", guest["agent"]]))
        print(f"guest  pid {guest['pid']}  {who}  [{wishes}]  {guest['calls']} calls, since {guest['since']}")
        for warning in guest["warnings"]:
            print(f"       ! {warning}")


@verb
def stop(data_dir: DataDir = None, config: ConfigFile = None, as_json: AsJson = False) -> None:
    """End the host of this memory: what is in flight is finished first. The next call of a client starts a new one."""
    from lithos.host.client import stop_host

    place = _place(data_dir, config)
    pid = stop_host(place)
    if as_json:
        show({"stopped": pid is not None, "pid": pid})
    else:
        print(f"Stopped pid {pid}." if pid is not None else f"No host serves {place.data_dir}.")


def _place(data_dir: Path | None, config: Path | None) -> Place:
    from lithos.host.place import Place

    return Place(str(load(data_dir, config).config.storage.data_dir.expanduser()))
