"""`lithos import`: bring in what other programs remember."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lithos.cli.progress import Progress
from lithos.cli.terminal import Terminal, verb
from lithos.errors import InvalidInput, NotFound

if TYPE_CHECKING:
    from lithos.host.client import CallTool
    from lithos.importing import ImportedThought, ImportReport, Placed

PAGE = 200
ME = "import"


def join(root: typer.Typer) -> None:
    root.command("import")(import_memory)


@verb
def import_memory(
    terminal: Terminal,
    source: Annotated[Path, typer.Argument(help="A vault, folder, file, database or exported zip.")],
    kind: Annotated[
        str | None,
        typer.Option(
            "--from",
            help="obsidian, logseq, markdown, memory-server, mcp-memory-service, mentisdb, claude or chatgpt.  "
            "[default: detected]",
        ),
    ] = None,
    folder: Annotated[
        str | None, typer.Option("--folder", help="Folder of the vault for it.  [default: imported/NAME]")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count; change nothing.")] = False,
) -> None:
    """Import an Obsidian or Logseq vault, Markdown, basic-memory, other memory servers, or exported chats.

    A second run adds nothing twice. What was changed since, here or there, stays as it is and is listed.
    """
    from lithos.importing import KINDS, ImportReport, detect

    path = source.expanduser().absolute()
    if kind is not None and kind not in KINDS:
        raise InvalidInput(f"--from: {kind!r} is no kind that Lithos knows", hint=f"Known: {', '.join(KINDS)}.")
    if not path.exists():
        raise NotFound(f"there is no {path}", hint="Name the folder, file or database that is to be imported.")
    if not path.is_file() and not path.is_dir():  # a FIFO would be waited for, for good
        raise InvalidInput(f"{path} is no file or folder", hint="Write what comes from there into a file first.")
    report = ImportReport(kind or detect(path))
    try:
        report_to = _import(terminal, path, report, folder, dry_run)
    except PermissionError as error:
        raise InvalidInput(
            f"{error.filename} may not be read", hint="Check its permissions, then run it again."
        ) from None
    terminal.tell(report_to, lambda _: _print(report, report_to, dry_run))


def _import(terminal: Terminal, path: Path, report: ImportReport, folder: str | None, dry_run: bool) -> dict[str, Any]:
    from lithos.from_settings import memory_places

    vault = memory_places(terminal.settings).vault
    place = (folder if folder is not None else f"imported/{path.name.split('.')[0] or report.kind}").strip("/")
    if ".." in Path(place).parts:
        raise InvalidInput(f"--folder: {place!r} leads out of the vault", hint="Name a folder beneath it.")
    if not dry_run:
        with terminal.calls(makes=lambda: True) as call:  # makes the memory where there is none
            call("lithos_agent_list", {"limit": 1})
    try:
        _place_all(terminal, path, report, vault / place, dry_run)
    except KeyboardInterrupt:
        print(f"\nlithos: stopped after {report.read:,} entries; run it again to go on", file=sys.stderr)
        raise
    except Exception:  # what came before it is there
        _finish(terminal, report, dry_run)
        raise
    _finish(terminal, report, dry_run)
    skipped = [{"name": each.name, "why": each.why} for each in report.skipped]
    counts = {"read": report.read, "imported": report.imported, "already_there": report.already_there}
    lists = {"differ": report.differ, "changed": report.changed, "left_out": report.left_out, "skipped": skipped}
    return {"kind": report.kind, "folder": place, "dry_run": dry_run, **counts, **lists}


def _finish(terminal: Terminal, report: ImportReport, dry_run: bool) -> None:
    """Flush and index: a power cut takes nothing that was reported, and the next recall finds it."""
    if report.imported and not dry_run:
        os.sync()  # once for all files: a flush of each would take longer than the import
        _index(terminal)


def _place_all(terminal: Terminal, path: Path, report: ImportReport, folder: Path, dry_run: bool) -> None:
    from lithos.importing import Extent, ImportedThought, Skipped, place_note, read_source

    extent = Extent()
    with Progress(terminal, "entries", share=extent.share) as progress, ExitStack() as stack:
        chains: Chains | None = None
        for item in read_source(report.kind, path, extent):
            report.read += 1
            progress.add()
            try:
                if isinstance(item, Skipped):
                    report.skip(item)
                elif isinstance(item, ImportedThought):
                    chains = chains or Chains(_ledger(terminal, stack, dry_run), dry_run)
                    report.count(chains.append(item), "")
                else:
                    report.count(place_note(item, folder, dry_run=dry_run), item.path)
            except InvalidInput as error:
                named = item.arguments["content"] if isinstance(item, ImportedThought) else item
                report.skip(Skipped(str(getattr(item, "path", named))[:60], error.message))


def _ledger(terminal: Terminal, stack: ExitStack, dry_run: bool) -> CallTool | None:
    """None: a dry run where there is no memory yet."""
    from lithos.cli.memory import is_memory

    if dry_run and not is_memory(terminal.folder):
        return None
    return stack.enter_context(terminal.calls(makes=lambda: True))


class Chains:
    """Thoughts join the ledger; those that are there already (agent, type and text) are left out."""

    def __init__(self, call: CallTool | None, dry_run: bool) -> None:
        self._call, self._dry_run = call, dry_run
        self._known: dict[str, set[int]] = {}

    def append(self, item: ImportedThought) -> Placed:
        key = _key(item.arguments)
        if item.chain not in self._known:
            self._known[item.chain] = set(_known(self._call, item.chain)) if self._call else set()
        if key in self._known[item.chain]:
            return "already there"
        self._known[item.chain].add(key)
        if self._call and not self._dry_run:
            self._call("mentisdb_append", {"agent_id": ME, **item.arguments, "chain_key": item.chain})
        return "imported"


def _known(call: CallTool, chain: str) -> Iterator[int]:
    chains = {each["chain_key"] for each in call("mentisdb_list_chains")["chains"]}
    if chain not in chains:
        return
    cursor = None
    while True:
        wanted = {"chain_key": chain, "limit": PAGE, **({"cursor": cursor} if cursor else {})}
        page = call("mentisdb_search", wanted)
        yield from map(_key, page["thoughts"])
        cursor = page.get("next_cursor")
        if not cursor:
            return


def _key(thought: dict[str, Any]) -> int:
    """A digest of agent, type and text: a million of them take 70 MB, their texts would take all memory."""
    words = (str(thought.get("agent_id") or ME), str(thought["thought_type"]), str(thought["content"]).strip())
    return int.from_bytes(hashlib.sha256("\0".join(words).encode("utf-8", "replace")).digest()[:12], "big")


def _index(terminal: Terminal) -> None:
    from lithos.cli.vault import followed

    with terminal.calls() as call:
        before = call("lithos_reindex", {"clear": False})
        followed(terminal, call, before["index"]["scans"])


def _print(report: ImportReport, done: dict[str, Any], dry_run: bool) -> None:
    verb = "would be imported" if dry_run else "imported"
    where = "" if report.kind == "mentisdb" else f" into {done['folder']}/"
    there = f"{report.already_there:,} already there"
    print(f"{report.kind}: {report.read:,} read, {report.imported:,} {verb}{where}, {there}")
    if report.changed:
        print(f"{report.differ:,} differ from what is there and stay as they are:")
        print("\n".join(f"  {name}" for name in report.changed[:20]))
    if report.skipped:
        print(f"{report.left_out:,} left out:")
        print("\n".join(f"  {each.name}: {each.why}" for each in report.skipped[:20]))
