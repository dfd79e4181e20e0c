"""`lithos reindex` and `lithos validate`: the vault as a whole."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lithos.cli.terminal import Terminal, show, verb

if TYPE_CHECKING:
    from collections.abc import Callable

POLL_SECONDS = 0.1
LONGEST_SECONDS = 24 * 3600.0
SHOWN = 20  # of one kind; --json and --all show the rest
MOST_ASKED = 1_000  # of one kind, also with --json
PROBLEMS = 1  # exit code of `validate` when there are problems


def join(root: typer.Typer) -> None:
    root.command("reindex")(reindex)
    root.command("validate")(validate)


@verb
def reindex(
    terminal: Terminal,
    clear: Annotated[bool, typer.Option("--clear", help="Rebuild every index.")] = False,
) -> None:
    """Compare all files with the index, and take in what changed."""
    with terminal.calls() as call:
        before = call("lithos_reindex", {"clear": clear})
        answer = followed(terminal, call, before["index"]["scans"])
    if terminal.as_json:
        return show(answer)
    index = answer["index"]
    print(f"{answer['documents']:,} notes, {index['unreadable']:,} files not served")
    if index["problem"]:
        print(f"lithos: {index['problem']}", file=sys.stderr)
    if index["state"] == "unreachable":
        raise typer.Exit(PROBLEMS)
    return None


def followed(terminal: Terminal, call: Callable[..., dict[str, Any]], scans: int) -> dict[str, Any]:
    """The statistics once the scan has ended; how far it is on the way there."""
    from lithos.cli.progress import Progress

    give_up = time.monotonic() + LONGEST_SECONDS
    with Progress(terminal, "files") as progress:
        while True:
            answer = call("lithos_stats")
            index = answer["index"]
            progress.total = index["total"] or None
            progress.set(index["done"])
            ended = index["scans"] > scans and index["state"] in ("current", "unreachable")
            if ended or time.monotonic() > give_up:
                return answer
            time.sleep(POLL_SECONDS)


@verb
def validate(
    terminal: Terminal,
    everything: Annotated[bool, typer.Option("--all", help="Show every problem, not the first of each kind.")] = False,
    duplicates: Annotated[bool, typer.Option("--duplicates", help="Also list notes that say nearly the same.")] = False,
) -> None:
    """Look for broken links, bad frontmatter, duplicate ids, files that are not served. Exit code 1: there are some."""
    answer = terminal.ask("lithos_validate", {"duplicates": duplicates, "limit": MOST_ASKED})
    if terminal.as_json:
        show(answer)
    else:
        _print(answer, None if everything else SHOWN)
    if not answer["ok"]:
        raise typer.Exit(PROBLEMS)


def _print(answer: dict[str, Any], most: int | None) -> None:
    from lithos.notes import KINDS

    for kind, problems in answer["problems"].items():
        print(f"{KINDS[kind]}: {answer['counts'][kind]:,}")
        for problem in problems[:most]:
            print(f"  {_line(problem)}")
        left = answer["counts"][kind] - len(problems[:most])
        if left:
            print(f"  … and {left:,} more")
    verdict = (
        "all is well" if answer["ok"] and not answer["counts"] else "nothing must be fixed" if answer["ok"] else ""
    )
    print(f"{answer['notes']:,} notes" + (f": {verdict}" if verdict else ""))


def _line(problem: dict[str, Any]) -> str:
    place = f"{problem['path']}:{problem['line']}" if "line" in problem else problem["path"]
    target = f"[[{problem['target']}]] " if "target" in problem else ""
    candidates = " " + ", ".join(problem["candidates"]) if "candidates" in problem else ""
    return f"{place}  {target}{problem['what']}{candidates}"
