"""`lithos stats`: how much there is."""

from __future__ import annotations

from typing import Any

import typer

from lithos.cli.terminal import Terminal, show, verb


def join(root: typer.Typer) -> None:
    root.command("stats")(stats)


@verb
def stats(terminal: Terminal) -> None:
    """Print how many notes, chunks, agents, tasks, claims and tags there are, and their size on disk."""
    answer = terminal.ask("lithos_stats")
    if terminal.as_json:
        show(answer)
        return
    sizes, index, problem = answer.pop("bytes", {}), answer.pop("index", {}), answer.pop("problem", None)
    answer["vectors_waiting"] = answer.pop("vectors")["waiting"]
    for name, count in _flat(answer).items():
        print(f"{name.replace('_', ' '):24} {count:12,}")
    for part, size in sizes.items():
        print(f"{part + ' (bytes)':24} {size:12,}")
    if index:
        print(_index_line(index))
    if problem:
        print(f"problem: {problem} (`lithos doctor` says what to do)")


def _flat(answer: dict[str, Any]) -> dict[str, int]:
    """Counts of a part under the part's name."""
    nested = {name: value for name, value in answer.items() if isinstance(value, dict)}
    inner = {f"{name} {key}": count for name, counts in nested.items() for key, count in counts.items()}
    return {name: value for name, value in answer.items() if name not in nested} | inner


def _index_line(index: dict[str, Any]) -> str:
    """How far people's edits have been followed, in one line."""
    done = f" {index['done']:,} of {index['total']:,} files" if index["state"] == "scanning" else ""
    since = f", as of {index['current_at'][:19]}Z" if index["current_at"] else ""
    problem = f"; {index['problem']}" if index["problem"] else ""
    return f"index {index['state']}{done}{since}{problem}"
