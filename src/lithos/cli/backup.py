"""`lithos backup`, `lithos restore` and `lithos export`: take everything out, and bring it back."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from lithos.cli.progress import Progress
from lithos.cli.terminal import Terminal, verb
from lithos.errors import Busy

WithoutKeys = Annotated[bool, typer.Option("--without-keys", help="Leave the keys out.")]


def join(root: typer.Typer) -> None:
    root.command("backup")(backup)
    root.command("restore")(restore_memory)
    root.command("export")(export)


@verb
def backup(
    terminal: Terminal,
    file: Annotated[Path | None, typer.Argument(help="The file to write, or a folder for it.")] = None,
    verify: Annotated[bool, typer.Option("--verify", help="Read a backup and compare every checksum.")] = False,
    without_keys: WithoutKeys = False,
) -> None:
    """Write one file with everything that cannot be derived, also while agents write. It holds keys: keep it safe."""
    from lithos.backup import default_name, make_backup, verify_backup
    from lithos.from_settings import backup_folder, memory_places

    if verify:
        manifest = verify_backup(_newest(terminal, file))
        text = (
            f"Whole: {len(manifest['files']):,} files of {manifest['created_at']}, made by Lithos {manifest['lithos']}."
        )
        terminal.tell(_facts(manifest), text)
        return
    target = (file or backup_folder(terminal.settings)).expanduser().absolute()
    if file is None or target.is_dir():
        target = target / default_name()
    with Progress(terminal, "files") as progress:
        manifest = make_backup(memory_places(terminal.settings), target, keys=not without_keys, on_file=progress.add)
    size = target.stat().st_size
    keys = "" if manifest["with_keys"] else ", without keys"
    text = f"{target}\n{len(manifest['files']):,} files, {_size(size)}{keys}. Read back: every checksum holds."
    terminal.tell({"file": str(target), "bytes": size, **_facts(manifest)}, text)


@verb
def restore_memory(
    terminal: Terminal,
    source: Annotated[Path, typer.Argument(help="A file of `lithos backup` or a folder of `lithos export`.")],
    replace: Annotated[bool, typer.Option("--replace", help="Move the memory that is there aside.")] = False,
) -> None:
    """Bring a backup or an export back. Everything is verified before anything is replaced."""
    from lithos.backup import RestoreOptions, restore
    from lithos.host.host_lock import HostLock

    settings = terminal.settings
    url = settings.storage.database_url
    host_lock = HostLock(str(terminal.folder))
    held = _held(host_lock)
    try:
        options = RestoreOptions(
            source.expanduser().absolute(), terminal.folder, replace, url.get_secret_value() if url else None
        )
        done = restore(options)
    finally:
        if held is not None:
            os.close(held)
    aside = [f"What was there is in {done.moved_aside}."] if done.moved_aside else []
    lines = [
        f"Restored {done.files:,} files of {done.manifest['created_at']} into {terminal.folder}.",
        *aside,
        *done.notes,
    ]
    facts = {"data_dir": str(terminal.folder), "moved_aside": str(done.moved_aside or ""), "notes": list(done.notes)}
    terminal.tell(
        {**facts, "store_id_changed": done.new_store_id is not None, **_facts(done.manifest)}, "\n".join(lines)
    )


@verb
def export(
    terminal: Terminal,
    folder: Annotated[Path, typer.Argument(help="A new folder.")],
    with_keys: Annotated[bool, typer.Option("--with-keys", help="The keys too.")] = False,
) -> None:
    """Write a folder of Markdown and JSON that needs no Lithos to be read; `lithos restore` brings it back."""
    from lithos.backup import export_memory
    from lithos.from_settings import memory_places

    target = folder.expanduser().absolute()
    with Progress(terminal, "files") as progress:
        manifest = export_memory(memory_places(terminal.settings), target, keys=with_keys, on_file=progress.add)
    terminal.tell({"folder": str(target), **_facts(manifest)}, f"{target}\n{len(manifest['files']):,} files.")


def _newest(terminal: Terminal, file: Path | None) -> Path:
    from lithos.backup import SUFFIX
    from lithos.errors import NotFound
    from lithos.from_settings import backup_folder

    place = (file or backup_folder(terminal.settings)).expanduser().absolute()
    if not place.is_dir():
        return place
    found = sorted(place.glob(f"*{SUFFIX}"))
    if not found:
        raise NotFound(f"there is no backup in {place}", hint="`lithos backup` makes one.")
    return found[-1]


def _held(host_lock: Any) -> int | None:
    """The lock of the target: restoring under a running host would pull its files away."""
    if not Path(host_lock.data_dir).exists():
        return None
    host_lock.make_folder()
    held: int | None = host_lock.try_lock()
    if held is None:
        raise Busy(
            f"{host_lock.describe_holder()} is at work in {host_lock.data_dir}",
            hint="Stop it first: lithos stop. Nothing was changed.",
        )
    return held


def _facts(manifest: Any) -> dict[str, Any]:
    return {
        "files": len(manifest["files"]),
        "created_at": manifest["created_at"],
        "lithos": manifest["lithos"],
        "with_keys": manifest["with_keys"],
    }


def _size(count: int) -> str:
    return f"{count / 1e6:,.1f} MB" if count >= 100_000 else f"{count / 1e3:,.1f} kB"
