"""`lithos code`: which repositories Lithos reads, and how far their graphs are."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

import typer

from lithos.cli.terminal import Terminal, join_noun, show, table, verb

Name = Annotated[str | None, typer.Argument(help="One root.  [default: all]")]


def join(root: typer.Typer) -> None:
    verbs = {"add": add, "list": list_roots, "remove": remove, "status": status, "rebuild": rebuild}
    join_noun(root, "code", "Repositories whose code agents ask.", **verbs)


@verb
def add(
    terminal: Terminal,
    path: Annotated[str, typer.Argument(help="An existing folder; nothing is ever written into it.")],
    name: Annotated[
        str | None, typer.Option("--name", help="How answers call it.  [default: the folder's name]")
    ] = None,
    include: Annotated[list[str] | None, typer.Option("--include", help="Only files that match this glob.")] = None,
    exclude: Annotated[list[str] | None, typer.Option("--exclude", help="No files that match this glob.")] = None,
    user: Annotated[list[str] | None, typer.Option("--user", help="Only this user's tokens see it.")] = None,
) -> None:
    """Index a repository and follow its changes."""
    where = Path(path).expanduser().absolute()
    arguments: dict[str, Any] = {"name": name or _name_of(where), "path": str(where) if path.strip() else ""}
    arguments |= {key: value for key, value in (("include", include), ("exclude", exclude), ("users", user)) if value}
    answer = terminal.ask("lithos_code_add", arguments)
    terminal.tell(answer, f"{answer['name']}: {answer['path']} ({answer['state']}, {answer['files']} files)")


@verb
def list_roots(terminal: Terminal) -> None:
    """List the roots."""
    answer = terminal.ask("lithos_code_list")
    if terminal.as_json:
        show(answer)
        return
    rows = [
        (each["name"], each["state"], f"{each['files']:,}", f"{each['symbols']:,}", each["path"])
        for each in answer["roots"]
    ]
    table(("root", "state", "files", "symbols", "path"), rows, "No repository yet: `lithos code add PATH`.")


@verb
def remove(terminal: Terminal, name: Annotated[str, typer.Argument(help="As `lithos code list` shows it.")]) -> None:
    """Forget a root and its graph. Its files stay as they are."""
    answer = terminal.ask("lithos_code_remove", {"name": name})
    terminal.tell(answer, f"The root {name} is forgotten.")


@verb
def status(terminal: Terminal, name: Name = None) -> None:
    """Show how far each graph is, what was left out and why."""
    answer = terminal.ask("lithos_code_list", {"name": name} if name else {})
    if terminal.as_json:
        show(answer)
        return
    for each in answer["roots"]:
        _print_status(each)


@verb
def rebuild(terminal: Terminal, name: Name = None) -> None:
    """Parse every file again."""
    answer = terminal.ask("lithos_code_rebuild", {"name": name} if name else {})
    names = ", ".join(each["name"] for each in answer["roots"])
    terminal.tell(answer, f"Rebuilding: {names}" if names else "There is no root.")


def _print_status(root: dict[str, Any]) -> None:
    print(f"{root['name']}: {root['path']}")
    size = f"{root['files']} files, {root['symbols']} symbols, {root['edges']} edges"
    print(f"  {root['state']}, {size}, git: {root['git']}")
    print(f"  languages: {_counts(root['languages'])}")
    print(f"  left out: {_counts(root['left_out'])}")
    if root["unparsed"] or root["parse_errors"]:
        print(f"  {root['unparsed']} files unparsed, {root['parse_errors']} with syntax errors")
    if root["degraded"]:
        print(f"  degraded: {root['degraded_reason']}")


def _counts(counts: dict[str, int]) -> str:
    ranked = sorted(counts.items(), key=lambda item: -item[1])
    return ", ".join(f"{name} {count}" for name, count in ranked) or "nothing"


def _name_of(path: Path) -> str:
    return re.sub(r"[^a-z0-9._-]+", "-", path.name.lower()).strip("-._") or "code"
