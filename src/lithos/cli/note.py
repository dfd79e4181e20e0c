"""`lithos note`: one note from the command line."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lithos.cli.terminal import Terminal, ago, join_noun, table, verb

if TYPE_CHECKING:
    from lithos.errors import NotFound

Note = Annotated[str, typer.Argument(help="Id, path or title of the note.")]
Agent = Annotated[str, typer.Option("--agent", help="Who acts.")]
IfMatch = Annotated[str | None, typer.Option("--if-match", help="Refuse unless the note has this version.")]
ME = "cli"
SHORTEST_VERSION = 4
_HASH = "sha256:"
MOST_COMPARED = 500  # names that a mistyped one is compared with


def join(root: typer.Typer) -> None:
    join_noun(
        root,
        "note",
        "Read, write, move, delete and restore notes.",
        show=show_note,
        list=list_notes,
        write=write,
        edit=edit,
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
def list_notes(
    terminal: Terminal,
    folder: Annotated[str | None, typer.Option("--folder", "--path", help="Only below this folder.")] = None,
    tag: Annotated[list[str] | None, typer.Option("--tag", help="Only with this tag; several: all of them.")] = None,
    author: Annotated[str | None, typer.Option("--author", help="Only of this author.")] = None,
    since: Annotated[str | None, typer.Option("--since", help='Only changed since: a time, "2h", "1d".')] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=500, help="At most so many.")] = 50,
    cursor: Annotated[str | None, typer.Option("--cursor", help="Where the page before ended.")] = None,
) -> None:
    """List notes, the newest first."""
    wanted = {"path_prefix": folder, "tags": tag, "author": author, "since": terminal.since(since)}
    answer = terminal.ask("lithos_list", {**wanted, "limit": limit, "cursor": cursor})
    terminal.tell(answer, _print_list)


def _print_list(answer: dict[str, Any]) -> None:
    rows = [(ago(each["updated"]), each["path"], each["title"], " ".join(each["tags"])) for each in answer["items"]]
    table(("changed", "path", "title", "tags"), rows, "No notes.")
    if answer.get("next_cursor"):
        print(f"{answer['total']:,} in all; more with --cursor {answer['next_cursor']}")


@verb
def edit(
    terminal: Terminal,
    note: Note,
    agent: Agent = ME,
) -> None:
    """Open a note in $VISUAL or $EDITOR and save it. If it was changed meanwhile, your text is kept in a file."""
    from lithos.cli.editor import edited
    from lithos.errors import Conflict

    found = read(terminal, note)
    draft = edited(found["content"], Path(found["path"]).stem)
    if draft.text == found["content"]:
        draft.discard()
        terminal.tell({"changed": False, "id": found["id"]}, "Nothing was changed.")
        return
    wanted = {"id": found["id"], "content": draft.text, "if_match": found["version"], "agent": agent}
    try:
        answer = terminal.ask("lithos_write", wanted)
    except Conflict as error:
        raise Conflict(error.message, hint=f"Your text is in {draft.path}. {error.hint}", **error.details) from None
    draft.discard()
    terminal.tell(answer, _print_written)


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
    rows = [
        (
            ago(each["at"]),
            each["op"],
            each["agent"] or "",
            "*" if each["kept"] else "",
            _short(each["replaced_version"]),
        )
        for each in answer["versions"]
    ]
    table(("when", "change", "by", "kept", "replaced version"), rows)


def _short(version: str | None) -> str:
    """Enough of it to be named by a person; the whole in a pipe, for programs."""
    return (version or "").removeprefix(_HASH)[:12] if sys.stdout.isatty() else version or ""


@verb
def diff(
    terminal: Terminal,
    note: Note,
    old: Annotated[str | None, typer.Option("--old", help="A version; left out: the one before.")] = None,
    new: Annotated[str | None, typer.Option("--new", help="A version; left out: the note as it is.")] = None,
) -> None:
    """Print what changed between two versions."""
    found = id_of(terminal, note)
    arguments = {"id": found, "old": whole_version(terminal, found, old), "new": whole_version(terminal, found, new)}
    answer = terminal.ask("lithos_note_diff", arguments)
    terminal.tell(answer, answer["diff"].removesuffix("\n"))


@verb
def revert(
    terminal: Terminal,
    note: Note,
    version: Annotated[
        str, typer.Argument(help="The version to bring back, as `history` shows it; its beginning is enough.")
    ],
    agent: Agent = ME,
) -> None:
    """Bring an older version back; what it replaces is kept."""
    found = id_of(terminal, note)
    arguments = {"id": found, "version": whole_version(terminal, found, version), "agent": agent}
    answer = terminal.ask("lithos_note_revert", arguments)
    terminal.tell(answer, f"reverted {answer['path']}\n{answer['version']}")


def whole_version(terminal: Terminal, note: str, version: str | None) -> str | None:
    """The version that begins so; one that begins nothing is left to the tool, which explains."""
    from lithos.errors import Ambiguous

    if version is None or len(version) < SHORTEST_VERSION:
        return version
    known = terminal.ask("lithos_note_history", {"id": note, "limit": 200})["versions"]
    versions = {each["replaced_version"] for each in known if each["replaced_version"]}
    found = {each for each in versions if each.removeprefix(_HASH).startswith(version.removeprefix(_HASH))}
    if len(found) > 1:
        raise Ambiguous(f"{len(found)} versions begin with {version!r}", hint="Give more of it.")
    return str(found.pop()) if found else version


def read(terminal: Terminal, note: str) -> dict[str, Any]:
    """By path where it looks like one, else by id, else by path, else by its exact title."""
    from lithos.errors import NotFound

    try:
        if "/" not in note and not note.lower().endswith(".md"):
            try:
                return terminal.ask("lithos_read", {"id": note})
            except NotFound:
                pass  # a name without a folder is a path too
        return terminal.ask("lithos_read", {"path": note})
    except NotFound as error:
        return _by_title(terminal, note, error)


def _by_title(terminal: Terminal, note: str, error: NotFound) -> dict[str, Any]:
    """The only note of this title; else the refusal, with the note that was perhaps meant."""
    from lithos.core.text import nearest
    from lithos.errors import NotFound

    listed = terminal.ask("lithos_list", {"limit": MOST_COMPARED})["items"]
    named = [each for each in listed if each["title"] == note]
    if len(named) == 1:
        return terminal.ask("lithos_read", {"id": named[0]["id"]})
    names = {**{each["title"]: each["path"] for each in listed}, **{each["path"]: each["path"] for each in listed}}
    meant = nearest(note, names)
    if meant is None:
        raise error
    raise NotFound(error.message, hint=f"Did you mean {names[meant]}?") from None


def id_of(terminal: Terminal, note: str) -> str:
    """Of a note that may be deleted: then only its id names it."""
    from lithos.errors import NotFound

    try:
        return str(read(terminal, note)["id"])
    except NotFound:
        return note
