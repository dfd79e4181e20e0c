"""Look into the clients' configurations for what would keep them from starting Lithos. Reads only."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from lithos.clients import jsonc, toml_table
from lithos.clients.catalogue import CLIENTS, SERVER, Client, Scope, Where
from lithos.clients.setup import hooks_file, our_hooks


class ClientFinding(NamedTuple):
    severity: str  # ok, warning, error
    message: str
    todo: str = ""


def check_clients(where: Where, memory: Path) -> Iterator[ClientFinding]:
    """One line per client that knows Lithos, and one per file that cannot be read."""
    scopes: tuple[Scope, ...] = ("user", "project")
    for client in CLIENTS:
        files = {client.file(scope, where): scope for scope in reversed(scopes)}  # in the home folder both are one file
        for path, scope in reversed(files.items()):
            if path is not None and path.is_file():
                yield from _check(client, scope, path, memory)
    for path in dict.fromkeys(hooks_file(scope, where) for scope in scopes):
        yield from _check_hooks(path)


def _check(client: Client, scope: Scope, path: Path, memory: Path) -> Iterator[ClientFinding]:
    try:
        text = path.read_bytes().decode("utf-8")
        tree = toml_table.parse(text) if client.form == "toml" else jsonc.plain(jsonc.parse(text))
    except (OSError, ValueError) as error:
        yield ClientFinding("warning", f"{path} cannot be read: {error}", "Correct it: the client reads it too.")
        return
    servers = tree.get(client.key[0]) if isinstance(tree, dict) else None
    entries = servers.items() if isinstance(servers, dict) else ()
    ours = [entry for name, entry in entries if name == SERVER or _starts_lithos(entry)]
    for entry in ours:
        yield _check_entry(client, scope, path, entry, memory)


def _check_hooks(path: Path) -> Iterator[ClientFinding]:
    """Hooks that start a Lithos which is gone would fail in every session."""
    try:
        commands = our_hooks(path.read_bytes().decode("utf-8")) if path.is_file() else []
    except (OSError, ValueError) as error:
        yield ClientFinding("warning", f"{path} cannot be read: {error}", "Correct it: the client reads it too.")
        return
    gone = sorted({command for command in commands if not os.access(command, os.X_OK)})
    for command in gone:
        yield ClientFinding("error", f"{path}: a hook starts {command}, which is not there", "lithos setup --hooks")
    if commands and not gone:
        yield ClientFinding("ok", f"{len(commands)} hooks of Claude Code start this Lithos ({path})")


def _starts_lithos(entry: Any) -> bool:
    command = entry.get("command") if isinstance(entry, dict) else None
    return isinstance(command, str) and Path(command).name in ("lithos", "lithos-memory")


def _check_entry(client: Client, scope: Scope, path: Path, entry: Any, memory: Path) -> ClientFinding:
    again = f"lithos setup --client {client.name}{' --project' if scope == 'project' else ''}"
    command = entry.get("command") if isinstance(entry, dict) else None
    if not isinstance(command, str):
        reached = any(key in entry for key in ("url", "httpUrl", "serverUrl")) if isinstance(entry, dict) else False
        if reached:
            return ClientFinding("ok", f"{client.title} reaches Lithos over HTTP ({path})")
        return ClientFinding("error", f"{path}: the entry {SERVER!r} has no command", again)
    found = command if Path(command).is_absolute() else shutil.which(command)
    if found is None or not os.access(found, os.X_OK):
        return ClientFinding("error", f"{path}: {client.title} starts {command}, which is not there", again)
    if not Path(command).is_absolute():
        return ClientFinding("warning", f"{path}: {command} is found by your PATH; a client's may differ", again)
    folder = _data_dir(entry.get("args"))
    if folder is not None and folder != memory:
        there = (folder / ".lithos" / "store-id").exists()
        severity, missing = ("ok", "") if there else ("warning", ", and there is none")
        return ClientFinding(severity, f"{client.title} uses another memory, {folder}{missing} ({path})", again)
    return ClientFinding("ok", f"{client.title} starts this Lithos ({path})")


def _data_dir(arguments: Any) -> Path | None:
    words = [word for word in arguments if isinstance(word, str)] if isinstance(arguments, list) else []
    given = [after for word, after in pairwise(words) if word in ("--data-dir", "-d")]
    given += [word.partition("=")[2] for word in words if word.startswith("--data-dir=")]
    return Path(given[-1]).expanduser() if given else None
