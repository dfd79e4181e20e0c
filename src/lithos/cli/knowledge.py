"""`lithos decay`, `lithos promote`, `lithos feedback`, `lithos conflicts`: the life of knowledge."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from lithos.cli.options import AsJson, ConfigFile, DataDir, load, show, verb


def join(root: typer.Typer) -> None:
    for name, function in (("decay", decay), ("promote", promote), ("feedback", feedback), ("conflicts", conflicts)):
        root.command(name)(function)


@verb
def decay(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would become stale.")] = False,
    as_of: Annotated[str | None, typer.Option("--as-of", help="As if it were then.  [default: now]")] = None,
    policy: Annotated[str, typer.Option("--policy", help="A name for the run.")] = "default",
    data_dir: DataDir = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Mark notes stale whose time has passed; --dry-run shows them first."""
    from lithos.host.client import memory

    wanted = {"policy": policy, "as_of": as_of, "dry_run": dry_run}
    with memory(load(data_dir, config).config) as call:
        answer = call("lithos_decay", wanted)
        if as_json:
            show(answer)
            return
        notes = [call("lithos_read", {"id": each, "max_length": 1}) for each in answer["stale_ids"]]
    print(f"{'Would become' if dry_run else 'Now'} stale as of {answer['as_of']}: {len(notes):,}")
    for note in notes:
        print(f"  {note['metadata'].get('expires_at', ''):25} {note['path']}  {note['title']}")


@verb
def promote(
    note: Annotated[str, typer.Argument(help="Id of the note that is to become a procedure.")],
    evidence: Annotated[list[str], typer.Option("--evidence", help="What shows that it holds; several are possible.")],
    approved_by: Annotated[str, typer.Option("--approved-by", help="Who approves; not the actor.")],
    actor: Annotated[str, typer.Option("--actor", help="Who proposes it.")],
    reason: Annotated[str, typer.Option("--reason", help="Why.")],
    data_dir: DataDir = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Record that knowledge may become a rule; prints the provenance that its note needs."""
    from lithos.cli.reach import call_tool

    wanted: dict[str, Any] = {"source_entry_id": note, "evidence_refs": evidence, "approved_by": approved_by}
    answer = call_tool(load(data_dir, config).config, "lithos_promote", {**wanted, "actor": actor, "reason": reason})
    show(answer) if as_json else print(f"event:{answer['event_id']}")


@verb
def feedback(
    query: Annotated[str, typer.Argument(help="What was asked.")],
    outcome: Annotated[str, typer.Option("--outcome", help="helped, neutral, hurt or unknown.")],
    used: Annotated[list[str] | None, typer.Option("--used", help="Id of a note that was used; several.")] = None,
    data_dir: DataDir = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Tell what came of a search: notes that helped rise a little, notes that hurt sink a little."""
    from lithos.cli.reach import call_tool

    wanted = {"query": query, "outcome": outcome, "used_ids": used or [], "source": "manual_feedback"}
    answer = call_tool(load(data_dir, config).config, "lithos_feedback", wanted)
    show(answer) if as_json else print(answer["event_id"])


@verb
def conflicts(
    claim: Annotated[str | None, typer.Option("--claim", help="Only this claim_id.")] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=200, help="At most so many.")] = 50,
    data_dir: DataDir = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """List notes that may contradict each other; nothing is changed."""
    from lithos.cli.reach import call_tool

    answer = call_tool(load(data_dir, config).config, "lithos_conflicts", {"claim_id": claim, "limit": limit})
    if as_json:
        show(answer)
        return
    for conflict in answer["conflicts"]:
        print(f"{conflict['why']}: {conflict['about']}")
        for note in conflict["notes"]:
            print(f"  {note['confidence']:.2f}  {note['updated']}  {note['path']}  {note['title']}")
    print(f"{answer['total']:,} to look at" if answer["total"] else "Nothing contradicts anything.")
