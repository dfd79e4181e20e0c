"""`lithos stats`: how much there is."""

from __future__ import annotations

import typer

from lithos.cli.options import AsJson, ConfigFile, DataDir, load, show, verb


def join(root: typer.Typer) -> None:
    root.command("stats")(stats)


@verb
def stats(data_dir: DataDir = None, config: ConfigFile = None, as_json: AsJson = False) -> None:
    """Print how many notes, chunks, agents, tasks, claims and tags there are, and their size on disk."""
    from lithos.cli.reach import call_tool

    answer = call_tool(load(data_dir, config).config, "lithos_stats")
    if as_json:
        show(answer)
        return
    sizes = answer.pop("bytes", {})
    for name, count in answer.items():
        print(f"{name.replace('_', ' '):24} {count:12,}")
    for part, size in sizes.items():
        print(f"{part + ' (bytes)':24} {size:12,}")
