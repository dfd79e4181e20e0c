"""`lithos ledger`: proofs of chains, and what only the operator does with them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lithos.cli.terminal import Terminal, join_noun, show, verb

if TYPE_CHECKING:
    from lithos.ledger import Checkpoint, Report, VerifyFinding

Chain = Annotated[str | None, typer.Argument(help="Which chain.  [default: the default chain]")]
ChainOption = Annotated[str | None, typer.Option("--chain", help="Which chain.  [default: the default chain]")]
Out = Annotated[Path | None, typer.Option("--out", "-o", help="Write to this file instead of printing.")]


def join(root: typer.Typer) -> None:
    join_noun(
        root,
        "ledger",
        "Chains of thoughts: verify, prove, forget, convert.",
        verify=verify,
        prove=prove,
        checkpoint=checkpoint,
        export=export,
        verify_bundle=verify_bundle,
        forget=forget,
        convert=convert,
        keygen=keygen,
        sign=sign,
        import_=import_memory,
    )


@verb
def verify(
    terminal: Terminal,
    chain: Chain = None,
    all_chains: Annotated[bool, typer.Option("--all", help="Every chain.")] = False,
    full: Annotated[bool, typer.Option("--full", help="Signatures of agents too.")] = False,
    against: Annotated[Path | None, typer.Option("--against", help="A checkpoint you kept, as JSON.")] = None,
) -> None:
    """Check chains from their bytes. Reads only. Exit code 0: all holds; 10 and up: the first finding."""
    reports = _verify(terminal, chain, all_chains, full, against)
    terminal.tell([_as_dict(report) for report in reports], "\n".join(map(_told, reports)) or "There are no chains.")
    raise typer.Exit(next((report.exit_code for report in reports if not report.ok), 0))


def _verify(terminal: Terminal, chain: str | None, all_chains: bool, full: bool, against: Path | None) -> list[Report]:
    import os

    from lithos.errors import NotFound
    from lithos.host.client import describe_host
    from lithos.host.host_lock import HostLock
    from lithos.ledger import Verification, chain_folder, chain_folders

    settings, state = terminal.settings, terminal.folder / ".lithos"
    ledger, checkpoints = state / "ledger", settings.ledger.checkpoint_dir or state / "checkpoints"
    known = _read_checkpoint(against) if against else None
    folders = chain_folders(ledger, checkpoints)
    named = chain_folder(ledger, chain or (known["chain_key"] if known else settings.ledger.default_chain))
    if not all_chains:
        folders = [folder for folder in folders if folder == named]
    if named not in folders and (known or not all_chains):
        raise NotFound("there is no such chain", hint="`lithos ledger verify --all` checks those that exist.")
    live = describe_host(HostLock(str(state.parent))) is not None
    workers = min(4, os.cpu_count() or 1)

    def check(folder: Path) -> Report:
        wanted = known if folder == named else None
        return Verification(folder, checkpoints, full=full, against=wanted, live=live, workers=workers).run()

    reports = [check(folder) for folder in folders]
    if live:  # a host that forgot a thought or converted a chain meanwhile is no damage: look once more
        reports = [report if report.ok else check(folder) for report, folder in zip(reports, folders, strict=True)]
    return reports


def _as_dict(report: Report) -> dict[str, Any]:
    from dataclasses import asdict

    return {**asdict(report), "ok": report.ok}


def _told(report: Report) -> str:
    unfinished = {finding.code for finding in report.findings} == {"torn_tail"}
    state = "OK" if report.ok else "UNFINISHED" if unfinished else "DAMAGED"
    root = f", root {report.root}" if report.root else ""
    lines = [f"{state}  {report.chain_key}: {report.thoughts} thoughts{root}"]
    for finding in [*report.findings, *report.notices]:
        lines.append(f"  {finding.code}{_place(finding)}: {finding.message}")
    return "\n".join(lines)


def _place(finding: VerifyFinding) -> str:
    if finding.index is not None:
        return f" (thought {finding.index})"
    if finding.file is None:
        return ""
    return f" ({finding.file})" if finding.place is None else f" ({finding.file} at {finding.place})"


def _read_checkpoint(path: Path) -> Checkpoint:
    import json

    from lithos.errors import InvalidInput
    from lithos.ledger import parse_checkpoint

    try:
        value = json.loads(path.read_text(encoding="utf-8"))
        return parse_checkpoint(value.get("checkpoint", value) if isinstance(value, dict) else value)
    except (OSError, ValueError) as error:
        raise InvalidInput(f"{path} cannot be read as a checkpoint: {error}") from None
    except InvalidInput as error:
        raise InvalidInput(f"{path}: {error.message}", hint=error.hint) from None


@verb
def prove(
    terminal: Terminal,
    index: Annotated[int, typer.Argument(help="Index of the thought.")],
    chain: ChainOption = None,
    out: Out = None,
) -> None:
    """Prove that a thought is in the chain: entry, path and signed checkpoint, for `verify-bundle`."""
    arguments = {"chain_key": chain, "thought_index": index}
    _put(terminal.ask("lithos_ledger_prove", arguments), out)


@verb
def checkpoint(
    terminal: Terminal,
    chain: Chain = None,
    out: Out = None,
) -> None:
    """Sign a checkpoint now. Keep it somewhere else: it shows later whether anything was rewritten or cut off."""
    answer = terminal.ask("lithos_ledger_checkpoint", {"chain_key": chain})
    _put(answer["checkpoint"], out)


@verb
def export(
    terminal: Terminal,
    out: Annotated[Path, typer.Option("--out", "-o", help="The file to write.")],
    chain: Chain = None,
) -> None:
    """Write a chain as one self-contained bundle that `verify-bundle` checks anywhere."""
    from lithos.ledger import bundle_lines

    made = terminal.ask("lithos_ledger_checkpoint", {"chain_key": chain, "export": True})
    folder = terminal.folder / ".lithos" / "ledger" / made["folder"]
    with out.open("wb") as file:
        file.writelines(bundle_lines(folder, made["checkpoint"]))
    size, key = made["checkpoint"]["size"], made["checkpoint"]["chain_key"]
    terminal.tell({"size": size, "chain_key": key, "file": str(out)}, f"{size} thoughts of {key} in {out}")


@verb
def verify_bundle(
    terminal: Terminal,
    bundle: Annotated[Path, typer.Argument(help="A bundle or a proof.")],
    against: Annotated[Path | None, typer.Option("--against", help="A checkpoint you kept, as JSON.")] = None,
) -> None:
    """Check a bundle with the single file that imports nothing of Lithos."""
    from lithos.ledger import verify_bundle

    raise typer.Exit(verify_bundle.main([str(bundle), *(["--against", str(against)] if against else [])]))


@verb
def forget(
    terminal: Terminal,
    thought: Annotated[str, typer.Argument(help="Index or id of the thought.")],
    reason: Annotated[str, typer.Option("--reason", help="Why; kept for good.")],
    chain: ChainOption = None,
) -> None:
    """Remove a thought's content for good. Its position, its hash and every proof stay."""
    locator = {"thought_index": int(thought)} if thought.isdigit() else {"thought_id": thought}
    arguments = {"chain_key": chain, "reason": reason, **locator}
    answer = terminal.ask("lithos_ledger_forget", arguments)
    terminal.tell(
        answer,
        f"Thought {answer['index']} is forgotten; thought {answer['recorded_as']} says so.\n"
        "Copies that others made (exports, backups, file system snapshots) are theirs to remove.",
    )


@verb
def convert(
    terminal: Terminal,
    to: Annotated[str, typer.Option("--to", help="binary or jsonl.")],
    chain: Chain = None,
) -> None:
    """Store a chain in the other way; hashes, proofs and signatures stay the same."""
    answer = terminal.ask("lithos_ledger_convert", {"chain_key": chain, "to": to})
    outcome = f"{answer['chain_key']}: {answer['thought_count']} thoughts, stored as {answer['storage_adapter']}"
    terminal.tell(answer, outcome)


@verb
def keygen(
    terminal: Terminal,
    out: Annotated[Path, typer.Option("--out", "-o", help="Where the private key goes; only you may read it.")],
) -> None:
    """Make a key for an agent. Prints the public key as mentisdb_add_agent_key takes it."""
    import os

    from lithos.errors import Conflict
    from lithos.ledger import signing_key

    key = signing_key(os.urandom(32))
    try:
        descriptor = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        raise Conflict(f"{out} exists", hint="A key is not overwritten: choose another file.") from None
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(key.seed().hex() + "\n")
    show({"algorithm": "ed25519", "public_key_bytes": list(key.public)})


@verb
def sign(
    terminal: Terminal,
    key: Annotated[Path, typer.Option("--key", help="The private key that keygen made.")],
    key_id: Annotated[str, typer.Option("--key-id", help="Its key_id on the chain.")],
    arguments: Annotated[Path, typer.Argument(help="Arguments of mentisdb_append as JSON; - reads stdin.")],
) -> None:
    """Print the arguments with signing_key_id and thought_signature put in, ready for mentisdb_append."""
    import json
    import sys

    from lithos.errors import InvalidInput
    from lithos.ledger import sign_arguments, signing_key

    try:
        text = sys.stdin.read() if str(arguments) == "-" else arguments.read_text(encoding="utf-8")
        given = json.loads(text)
        seed = bytes.fromhex(key.read_text(encoding="ascii").strip())
    except (OSError, ValueError) as error:
        raise InvalidInput(f"cannot read what to sign: {error}") from None
    if not isinstance(given, dict):
        raise InvalidInput("the arguments are not a JSON object")
    chain_key = given.get("chain_key") or terminal.settings.ledger.default_chain
    show(sign_arguments(signing_key(seed), key_id, given, chain_key))


@verb
def import_memory(
    terminal: Terminal,
    file: Annotated[Path, typer.Argument(help="A MEMORY.md.")],
    chain: ChainOption = None,
    agent: Annotated[str | None, typer.Option("--agent", help="Whose thoughts they become.")] = None,
) -> None:
    """Bring in a Markdown memory: each bullet and paragraph becomes a thought; what is there already is left out."""
    from lithos.errors import InvalidInput

    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise InvalidInput(f"{file} cannot be read: {error}") from None
    arguments = {"text": text, "chain_key": chain, "agent_id": agent}
    answer = terminal.ask("lithos_ledger_import", arguments)
    terminal.tell(answer, f"{answer['appended']} of {answer['read']} appended to {answer['chain_key']}")


def _put(answer: Any, out: Path | None) -> None:
    import json

    text = json.dumps(answer, indent=2, ensure_ascii=False) + "\n"
    if out is None:
        print(text, end="")
    else:
        out.write_text(text, encoding="utf-8")
