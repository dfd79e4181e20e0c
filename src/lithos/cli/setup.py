"""`lithos setup`: connect MCP clients to a memory, or disconnect them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lithos.cli.terminal import Terminal, verb
from lithos.errors import InvalidInput

if TYPE_CHECKING:
    from lithos.clients.catalogue import Client, Scope, Where
    from lithos.clients.changes import FileEdit, Outcome

FAILED = 1  # exit code when a file was left as it is


def join(root: typer.Typer) -> None:
    root.command("setup")(setup)


@verb
def setup(
    terminal: Terminal,
    client: Annotated[
        list[str] | None,
        typer.Option("--client", help="Only this client; several are possible.  [default: those found]"),
    ] = None,
    project: Annotated[
        bool, typer.Option("--project/--user", help="The configuration of this project, or yours.")
    ] = False,
    vault: Annotated[Path | None, typer.Option("--vault", help="An existing folder of notes, of Obsidian say.")] = None,
    hooks: Annotated[bool, typer.Option("--hooks", help="Hooks of Claude Code: brief at start, save at end.")] = False,
    stop_hook: Annotated[bool, typer.Option("--stop-hook", help="Also ask once for findings when it stops.")] = False,
    instructions: Annotated[
        bool, typer.Option("--instructions", help="A marked block in AGENTS.md, CLAUDE.md or rules of this project.")
    ] = False,
    agent: Annotated[str | None, typer.Option("--agent", help="Who acts by default.  [default: the client]")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the changes, write nothing.")] = False,
    remove: Annotated[bool, typer.Option("--remove", help="Take our entries out again.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Connect Claude Code, Claude Desktop, Cursor, VS Code, Codex, Gemini CLI, Windsurf and Zed to this memory.

    Shows each change, keeps a backup beside the file, and leaves a file alone that it cannot parse.
    """
    from lithos.clients.catalogue import Where

    where, scope = Where.here(), "project" if project else "user"
    chosen = _chosen(client or [], where, scope, remove)
    edits = _edits(terminal, chosen, scope, where, agent, remove)
    edits += _extras(
        terminal,
        chosen,
        scope,
        where,
        agent,
        hooks=hooks or stop_hook,
        stop=stop_hook,
        texts=instructions,
        remove=remove,
    )
    if vault is not None and not remove:
        edits.insert(0, _vault_edit(terminal, vault))
    _carry_out(terminal, edits, chosen, dry_run=dry_run, remove=remove, yes=yes)


def _carry_out(
    terminal: Terminal, edits: list[FileEdit], chosen: list[Client], *, dry_run: bool, remove: bool, yes: bool
) -> None:
    from lithos.clients.changes import apply, preview

    planned = [preview(edit) for edit in edits]
    if not terminal.as_json:
        _show(planned)
    if dry_run or not any(each.changed for each in planned):
        done = planned
    else:
        _confirm(terminal, yes)
        done = [apply(edit) for edit in edits]
        if not remove:
            _make_memory(terminal)
    terminal.tell(_as_dict(terminal, done, dry_run), lambda _: _tell(terminal, done, chosen, dry_run, remove))
    if any(each.problem for each in done):
        raise typer.Exit(FAILED)


def _chosen(names: list[str], where: Where, scope: str, remove: bool) -> list[Client]:
    from lithos.clients.catalogue import CLIENTS, client_named
    from lithos.core.text import nearest

    known = [each.name for each in CLIENTS]
    for name in names:
        if client_named(name) is None:
            meant = nearest(name.lower(), known)
            hint = f"Did you mean {meant}?" if meant else f"Known: {', '.join(known)}."
            raise InvalidInput(f"--client: {name!r} is no client that setup knows", hint=hint)
    if names:
        return [each for each in CLIENTS if each in [client_named(name) for name in names]]
    found = [each for each in CLIENTS if each.is_installed(where)]
    if remove:  # take it out of whichever files hold it
        files = [(each, each.file("project" if scope == "project" else "user", where)) for each in CLIENTS]
        return [each for each, file in files if file is not None and file.exists()]
    if not found:
        raise InvalidInput("no client was found", hint=f"Name one: lithos setup --client NAME, of {', '.join(known)}.")
    return found


def _edits(
    terminal: Terminal, chosen: list[Client], scope: str, where: Where, agent: str | None, remove: bool
) -> list[FileEdit]:
    from lithos.clients.catalogue import our_command
    from lithos.clients.setup import server_edit

    edits: list[FileEdit] = []
    for client in chosen:
        path = client.file(_scope(scope), where)
        if path is None:
            if not terminal.as_json:
                print(f"{client.title} has no configuration per project; --user sets it up.", file=sys.stderr)
            continue
        command, arguments = our_command(["serve", "--data-dir", str(terminal.folder), *_who(client, agent)])
        entry = None if remove else client.entry(command, arguments)
        if not remove or path.exists():
            edits.append(server_edit(client, path, entry))
    return edits


def _extras(
    terminal: Terminal,
    chosen: list[Client],
    scope: str,
    where: Where,
    agent: str | None,
    *,
    hooks: bool,
    stop: bool,
    texts: bool,
    remove: bool,
) -> list[FileEdit]:
    """Hooks and instructions; --remove takes them out wherever they are."""
    from lithos.clients.catalogue import our_command
    from lithos.clients.setup import BEGIN, hooks_edit, hooks_file, instructions_edit

    edits: list[FileEdit] = []
    names = [client.name for client in chosen]
    settings = hooks_file(_scope(scope), where)
    if "claude-code" in names and (hooks or (remove and settings.exists())):
        claude = next(client for client in chosen if client.name == "claude-code")
        command, arguments = our_command(["--data-dir", str(terminal.folder), *_who(claude, agent)])
        edits.append(hooks_edit(settings, [command, *arguments], stop=stop, remove=remove))
    files = {where.project / client.instructions: None for client in chosen if client.instructions}
    for path in files:
        has_block = path.is_file() and BEGIN in path.read_text(encoding="utf-8", errors="replace")
        if texts or (remove and has_block):
            edits.append(instructions_edit(path, remove=remove))
    return edits


def removal_edits(terminal: Terminal) -> list[FileEdit]:
    """Take our entries, hooks and instructions out of every client, for the user and for this project."""
    from lithos.clients.catalogue import Where

    where = Where.here()
    edits: list[FileEdit] = []
    for scope in ("user", "project"):
        chosen = _chosen([], where, scope, remove=True)
        found = _edits(terminal, chosen, scope, where, None, remove=True)
        found += _extras(terminal, chosen, scope, where, None, hooks=False, stop=False, texts=False, remove=True)
        edits += [edit for edit in found if edit.path not in [each.path for each in edits]]
    return edits


def _who(client: Client, agent: str | None) -> list[str]:
    name = client.name if agent is None else agent
    return ["--agent", name] if name else []


def _scope(scope: str) -> Scope:
    return "project" if scope == "project" else "user"


def _vault_edit(terminal: Terminal, vault: Path) -> FileEdit:
    """`storage.knowledge_dir` in the memory's own settings file."""
    from lithos.clients.changes import FileEdit
    from lithos.clients.vault import with_vault

    folder = vault.expanduser().absolute()
    if not folder.is_dir():
        raise InvalidInput(f"--vault: there is no folder {folder}", hint="Name the folder that holds the notes.")
    return FileEdit(terminal.folder / "config.yaml", "the vault", lambda text: with_vault(text, folder))


def _make_memory(terminal: Terminal) -> None:
    """So that the first question of a hook or a reading verb finds one. Two setups at once make one."""
    from lithos.cli.memory import is_memory

    if is_memory(terminal.folder):
        return
    with Terminal(terminal.folder, terminal.config_file).calls(makes=lambda: True) as call:
        call("lithos_agent_list", {"limit": 1})


def _confirm(terminal: Terminal, yes: bool) -> None:
    if yes or terminal.as_json or not sys.stdin.isatty():
        return
    if not typer.confirm("Write these changes?", default=True):
        raise typer.Exit(FAILED)


def _show(planned: list[Outcome]) -> None:
    for each in planned:
        print(each.diff, end="" if each.diff.endswith("\n") or not each.diff else "\n")


def _tell(terminal: Terminal, done: list[Outcome], chosen: list[Client], dry_run: bool, remove: bool) -> None:
    for each in done:
        if each.problem:
            print(f"lithos: {each.what}: {each.problem}\n  {each.hint}", file=sys.stderr)
        elif not each.changed:
            print(f"{each.what}: nothing to change in {each.path}")
        else:
            kept = f", backup {each.backup.name}" if each.backup else ""
            print(f"{each.what}: {'would change' if dry_run else 'changed'} {each.path}{kept}")
    if dry_run or remove or not any(each.changed for each in done):
        return
    print(f"\nThe memory is {terminal.folder}.")
    connected = [each.what for each in done if not each.problem]
    for client in chosen:
        if client.title in connected:
            print(f"  {client.title}: {client.after}")
    print('Try first: ask your agent "What does Lithos know about this project?",')
    print('then: "Remember in Lithos that we deploy on Fridays." `lithos log` shows what happened.')


def _as_dict(terminal: Terminal, done: list[Outcome], dry_run: bool) -> dict[str, Any]:
    files = [
        {
            "what": each.what,
            "path": str(each.path),
            "changed": each.changed,
            "diff": each.diff,
            "backup": str(each.backup) if each.backup else None,
            "problem": each.problem or None,
        }
        for each in done
    ]
    return {"data_dir": str(terminal.folder), "dry_run": dry_run, "files": files}
