"""`lithos note`: one note from the command line."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from lithos.cli.terminal import Terminal, join_noun, verb

Note = Annotated[str, typer.Argument(help="Id or path of the note.")]
Agent = Annotated[str, typer.Option("--agent", help="Who acts.")]
IfMatch = Annotated[str | None, typer.Option("--if-match", help="Refuse unless the note has this version.")]
ME = "cli"


def join(root: typer.Typer) -> None:
    join_noun(
        root,
        "note",
        "Read, write, move, delete and restore notes.",
        show=show_note,
        write=write,
        move=move,
        delete=delete,
        restore=restore,
        history=history,
        diff=diff,
        revert=revert,
    )


@verb
def show_note(terminal: Terminal, note: Note) -> None:
    """Print a note."""
    answer = read(terminal, note)
    head = f"{answer['title']}  ({answer['path']})\n{answer['id']}  {answer['version']}"
    terminal.tell(answer, f"{head}\n\n{answer['content']}")


@verb
def write(
    terminal: Terminal,
    title: Annotated[str | None, typer.Option("--title", help="Title; needed for a new note.")] = None,
    content: Annotated[str | None, typer.Option("--content", help="Text; `-` reads it from stdin.")] = None,
    note: Annotated[str | None, typer.Option("--note", help="Id or path of the note to update.")] = None,
    folder: Annotated[str | None, typer.Option("--folder", help="Folder of a new note.")] = None,
    tag: Annotated[list[str] | None, typer.Option("--tag", help="A tag; several are possible.")] = None,
    append: Annotated[bool, typer.Option("--append", help="Add the text at the end.")] = False,
    if_match: IfMatch = None,
    agent: Agent = ME,
) -> None:
    """Create a note, or change one."""
    text = sys.stdin.read() if content == "-" else content
    arguments = {"title": title, "content": text, "path": folder, "tags": tag, "append": append, "if_match": if_match}
    target = read(terminal, note)["id"] if note else None
    answer = terminal.ask("lithos_write", {**arguments, "id": target, "agent": agent})
    terminal.tell(answer, _print_written)


def _print_written(answer: dict[str, Any]) -> None:
    print(f"{answer['action']} {answer['path']}\n{answer['id']}  {answer['version']}")
    if "existing" in answer:
        print(f"There is another note of this title: {answer['existing']['path']}")


@verb
def move(
    terminal: Terminal,
    note: Note,
    to: Annotated[str, typer.Argument(help="New folder, or the whole new path ending in .md.")],
    rewrite_links: Annotated[bool, typer.Option("--rewrite-links", help="Update the links of other notes.")] = False,
    agent: Agent = ME,
) -> None:
    """Move or rename a note."""
    arguments = {"id": read(terminal, note)["id"], "to": to, "rewrite_links": rewrite_links, "agent": agent}
    answer = terminal.ask("lithos_move", arguments)
    updated = [f"  links updated in {each['path']}" for each in answer["rewritten"]]
    terminal.tell(answer, "\n".join([f"{answer['old_path']} → {answer['path']}", *updated]))


@verb
def delete(
    terminal: Terminal,
    note: Note,
    if_match: IfMatch = None,
    agent: Agent = ME,
) -> None:
    """Delete a note; `lithos note restore` brings it back."""
    arguments = {"id": read(terminal, note)["id"], "agent": agent, "if_match": if_match}
    answer = terminal.ask("lithos_delete", arguments)
    terminal.tell(answer, f"deleted {answer.get('path')}")


@verb
def restore(
    terminal: Terminal,
    note: Annotated[str, typer.Argument(help="Id or path of a deleted note.")],
    agent: Agent = ME,
) -> None:
    """Bring a deleted note back."""
    answer = terminal.ask("lithos_note_restore", {"note": note, "agent": agent})
    terminal.tell(answer, f"restored {answer['path']}")


@verb
def history(
    terminal: Terminal,
    note: Note,
    limit: Annotated[int, typer.Option("--limit", min=1, max=200, help="At most so many.")] = 50,
) -> None:
    """List who changed a note, newest first; `*` marks a replaced version that is still kept."""
    answer = terminal.ask("lithos_note_history", {"id": id_of(terminal, note), "limit": limit})
    terminal.tell(answer, _print_history)


def _print_history(answer: dict[str, Any]) -> None:
    for each in answer["versions"]:
        mark = "*" if each["kept"] else " "
        replaced = each["replaced_version"] or ""
        print(f"{each['at'][:19]}  {each['op']:8} {each['agent'] or '':20} {mark} {replaced}")


@verb
def diff(
    terminal: Terminal,
    note: Note,
    old: Annotated[str | None, typer.Option("--old", help="A version; left out: the one before.")] = None,
    new: Annotated[str | None, typer.Option("--new", help="A version; left out: the note as it is.")] = None,
) -> None:
    """Print what changed between two versions."""
    arguments = {"id": id_of(terminal, note), "old": old, "new": new}
    answer = terminal.ask("lithos_note_diff", arguments)
    terminal.tell(answer, answer["diff"].removesuffix("\n"))


@verb
def revert(
    terminal: Terminal,
    note: Note,
    version: Annotated[str, typer.Argument(help="The version to bring back, as `history` shows it.")],
    agent: Agent = ME,
) -> None:
    """Bring an older version back; what it replaces is kept."""
    arguments = {"id": id_of(terminal, note), "version": version, "agent": agent}
    answer = terminal.ask("lithos_note_revert", arguments)
    terminal.tell(answer, f"reverted {answer['path']}\n{answer['version']}")


def read(terminal: Terminal, note: str) -> dict[str, Any]:
    """By path where it looks like one, else by id, else by path."""
    from lithos.errors import NotFound

    if "/" not in note and not note.lower().endswith(".md"):
        try:
            return terminal.ask("lithos_read", {"id": note})
        except NotFound:
            pass  # a name without a folder is a path too
    return terminal.ask("lithos_read", {"path": note})


def id_of(terminal: Terminal, note: str) -> str:
    """Of a note that may be deleted: then only its id names it."""
    from lithos.errors import NotFound

    try:
        return str(read(terminal, note)["id"])
    except NotFound:
        return note
