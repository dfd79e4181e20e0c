"""`lithos garden`, `lithos history`, `lithos fs`: the garden's files on the command line."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from lithos.cli.terminal import Terminal, join_noun, show, verb

FilePath = Annotated[str, typer.Argument(help="Relative to the garden, or to the vault.")]


def join(root: typer.Typer) -> None:
    join_noun(root, "garden", "Files that agents tend within bounds.", check=check, undo=undo)
    join_noun(root, "fs", "For maintainers: what no tool may do to the garden's files.", move=move)
    root.command("history")(history)


@verb
def check(
    terminal: Terminal,
    path: FilePath,
    op: Annotated[str, typer.Option("--op", help="read, write, append, patch, patch_section, delete, move.")] = "write",
    user: Annotated[str | None, typer.Option("--user", help="Whose files.  [default: from the path]")] = None,
) -> None:
    """Explain what would happen to a path under an operation, and why. Exit code 1: it is not allowed."""
    given = {"path": path, "op": op, "user_id": user or _user_in(path)}
    answer = terminal.ask("lithos_garden_check", given)
    if terminal.as_json:
        show(answer)
    else:
        print(f"{op} {path}: {'allowed' if answer['allowed'] else 'not allowed'} ({answer['kind'] or 'outside'})")
        for reason in answer["reasons"]:
            print(f"  {reason}")
    if not answer["allowed"]:
        raise typer.Exit(1)


@verb
def undo(
    terminal: Terminal,
    event: Annotated[str, typer.Argument(help="Its id, as `lithos history PATH` shows it.")],
    why: Annotated[str, typer.Option("--why", help="Kept with the event.")] = "undone by the operator",
) -> None:
    """Take one change back: all of its files, or none if one has changed since."""
    answer = terminal.ask("lithos_garden_undo", {"event_id": event, "rationale": why})
    terminal.tell(answer, f"Undone: {', '.join(answer['files'])}")


@verb
def move(
    terminal: Terminal,
    path: FilePath,
    new_path: Annotated[str, typer.Argument(help="Where it goes; nothing may be there.")],
    why: Annotated[str, typer.Option("--why", help="Kept with the event.")] = "moved by a maintainer",
) -> None:
    """Give a file of the garden another path."""
    given = {"path": path, "new_path": new_path, "rationale": why}
    answer = terminal.ask("lithos_fs_move", given)
    terminal.tell(answer, f"{path} is now {answer['path']}")


@verb
def history(
    terminal: Terminal,
    path: FilePath,
    vault: Annotated[bool, typer.Option("--vault", help="A note's file; left out: wherever such a file is.")] = False,
    limit: Annotated[int, typer.Option("--limit", help="Most changes shown.")] = 20,
    diffs: Annotated[bool, typer.Option("--diff/--no-diff", help="Show what changed.")] = True,
) -> None:
    """Tell a file's story: who changed it, when and why, with diffs."""
    given = {"path": path, "limit": limit, **({"root": "vault"} if vault else {})}
    answer = terminal.ask("lithos_file_history", given)
    if terminal.as_json:
        show(answer)
        return
    for change in answer["changes"]:
        _tell(change, diffs)
    print(f"Now: {answer['version'] or 'not there'}")


def _tell(change: dict[str, Any], diffs: bool) -> None:
    who = change["agent"] or change["user"] or "-"
    where = f" [{change['section_anchor']}]" if change["section_anchor"] else ""
    status = "" if change["status"] == "committed" else f" ({change['status']})"
    print(f"{change['at']}  {who}  {change['op']}{where}{status}  {change['event_id']}")
    if change["rationale"]:
        print(f"  {change['rationale']}")
    for line in (change["diff"] or "").splitlines() if diffs else ():
        print(f"    {line}")


def _user_in(path: str) -> str | None:
    names = path.split("/")
    return names[1] if len(names) > 2 and names[0] == "users" else None
