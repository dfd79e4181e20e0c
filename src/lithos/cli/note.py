"""`lithos note`: one note from the command line."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from lithos.cli.options import AsJson, ConfigFile, DataDir, load, show, verb

Note = Annotated[str, typer.Argument(help="Id or path of the note.")]
Agent = Annotated[str, typer.Option("--agent", help="Who acts.")]
IfMatch = Annotated[str | None, typer.Option("--if-match", help="Refuse unless the note has this version.")]
ME = "cli"


def join(root: typer.Typer) -> None:
    noun = typer.Typer(help="Read, write, move, delete and restore notes.", no_args_is_help=True)
    verbs: dict[str, Callable[..., None]] = {
        "show": show_note,
        "write": write,
        "move": move,
        "delete": delete,
        "restore": restore,
        "history": history,
        "diff": diff,
        "revert": revert,
    }
    for name, function in verbs.items():
        noun.command(name)(function)
    root.add_typer(noun, name="note")


@verb
def show_note(note: Note, data_dir: DataDir = None, config: ConfigFile = None, as_json: AsJson = False) -> None:
    """Print a note."""
    answer = read(data_dir, config, note)
    if as_json:
        return show(answer)
    print(f"{answer['title']}  ({answer['path']})\n{answer['id']}  {answer['version']}\n\n{answer['content']}")
    return None


@verb
def write(
    title: Annotated[str | None, typer.Option("--title", help="Title; needed for a new note.")] = None,
    content: Annotated[str | None, typer.Option("--content", help="Text; `-` reads it from stdin.")] = None,
    note: Annotated[str | None, typer.Option("--note", help="Id or path of the note to update.")] = None,
    folder: Annotated[str | None, typer.Option("--folder", help="Folder of a new note.")] = None,
    tag: Annotated[list[str] | None, typer.Option("--tag", help="A tag; several are possible.")] = None,
    append: Annotated[bool, typer.Option("--append", help="Add the text at the end.")] = False,
    if_match: IfMatch = None,
    agent: Agent = ME,
    data_dir: DataDir = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Create a note, or change one."""
    text = sys.stdin.read() if content == "-" else content
    arguments = {"title": title, "content": text, "path": folder, "tags": tag, "append": append, "if_match": if_match}
    target = read(data_dir, config, note)["id"] if note else None
    answer = ask(data_dir, config, "lithos_write", {**arguments, "id": target, "agent": agent})
    if as_json:
        return show(answer)
    print(f"{answer['action']} {answer['path']}\n{answer['id']}  {answer['version']}")
    if "existing" in answer:
        print(f"There is another note of this title: {answer['existing']['path']}")
    return None


@verb
def move(
    note: Note,
    to: Annotated[str, typer.Argument(help="New folder, or the whole new path ending in .md.")],
    rewrite_links: Annotated[bool, typer.Option("--rewrite-links", help="Mend the links of other notes.")] = False,
    agent: Agent = ME,
    data_dir: DataDir = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Move or rename a note."""
    arguments = {"id": read(data_dir, config, note)["id"], "to": to, "rewrite_links": rewrite_links, "agent": agent}
    answer = ask(data_dir, config, "lithos_move", arguments)
    if as_json:
        return show(answer)
    print(f"{answer['old_path']} → {answer['path']}")
    for each in answer["rewritten"]:
        print(f"  links mended in {each['path']}")
    return None


@verb
def delete(
    note: Note,
    if_match: IfMatch = None,
    agent: Agent = ME,
    data_dir: DataDir = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Delete a note; `lithos note restore` brings it back."""
    arguments = {"id": read(data_dir, config, note)["id"], "agent": agent, "if_match": if_match}
    answer = ask(data_dir, config, "lithos_delete", arguments)
    show(answer) if as_json else print(f"deleted {answer.get('path')}")


@verb
def restore(
    note: Annotated[str, typer.Argument(help="Id or path of a deleted note.")],
    agent: Agent = ME,
    data_dir: DataDir = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Bring a deleted note back."""
    answer = ask(data_dir, config, "lithos_note_restore", {"note": note, "agent": agent})
    show(answer) if as_json else print(f"restored {answer['path']}")


@verb
def history(
    note: Note,
    limit: Annotated[int, typer.Option("--limit", min=1, max=200, help="At most so many.")] = 50,
    data_dir: DataDir = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """List who changed a note, newest first; `*` marks a replaced version that is still kept."""
    answer = ask(data_dir, config, "lithos_note_history", {"id": id_of(data_dir, config, note), "limit": limit})
    if as_json:
        return show(answer)
    for each in answer["versions"]:
        mark = "*" if each["kept"] else " "
        replaced = each["replaced_version"] or ""
        print(f"{each['at'][:19]}  {each['op']:8} {each['agent'] or '':20} {mark} {replaced}")
    return None


@verb
def diff(
    note: Note,
    old: Annotated[str | None, typer.Option("--old", help="A version; left out: the one before.")] = None,
    new: Annotated[str | None, typer.Option("--new", help="A version; left out: the note as it is.")] = None,
    data_dir: DataDir = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Print what changed between two versions."""
    arguments = {"id": id_of(data_dir, config, note), "old": old, "new": new}
    answer = ask(data_dir, config, "lithos_note_diff", arguments)
    show(answer) if as_json else print(answer["diff"], end="")


@verb
def revert(
    note: Note,
    version: Annotated[str, typer.Argument(help="The version to bring back, as `history` shows it.")],
    agent: Agent = ME,
    data_dir: DataDir = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Bring an older version back; what it replaces is kept."""
    arguments = {"id": id_of(data_dir, config, note), "version": version, "agent": agent}
    answer = ask(data_dir, config, "lithos_note_revert", arguments)
    show(answer) if as_json else print(f"reverted {answer['path']}\n{answer['version']}")


def ask(data_dir: Path | None, config: Path | None, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    from lithos.cli.reach import call_tool

    return call_tool(load(data_dir, config).config, tool, arguments)


def read(data_dir: Path | None, config: Path | None, note: str) -> dict[str, Any]:
    """By path where it looks like one, else by id, else by path."""
    from lithos.errors import NotFound

    if "/" not in note and not note.lower().endswith(".md"):
        try:
            return ask(data_dir, config, "lithos_read", {"id": note})
        except NotFound:
            pass  # a name without a folder is a path too
    return ask(data_dir, config, "lithos_read", {"path": note})


def id_of(data_dir: Path | None, config: Path | None, note: str) -> str:
    """Of a note that may be deleted: then only its id names it."""
    from lithos.errors import NotFound

    try:
        return str(read(data_dir, config, note)["id"])
    except NotFound:
        return note
