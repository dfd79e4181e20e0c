"""`lithos decay`, `lithos promote`, `lithos feedback`, `lithos conflicts`: the note lifecycle."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from lithos.cli.terminal import Terminal, show, verb


def join(root: typer.Typer) -> None:
    for name, function in (("decay", decay), ("promote", promote), ("feedback", feedback), ("conflicts", conflicts)):
        root.command(name)(function)


@verb
def decay(
    terminal: Terminal,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would become stale.")] = False,
    as_of: Annotated[str | None, typer.Option("--as-of", help="As if it were then.  [default: now]")] = None,
    policy: Annotated[str, typer.Option("--policy", help="A name for the run.")] = "default",
) -> None:
    """Mark notes stale whose time has passed; --dry-run shows them first."""
    wanted = {"policy": policy, "as_of": as_of, "dry_run": dry_run}
    with terminal.calls() as call:
        answer = call("lithos_decay", wanted)
        if terminal.as_json:
            show(answer)
            return
        notes = [call("lithos_read", {"id": each, "max_length": 1}) for each in answer["stale_ids"]]
    print(f"{'Would become' if dry_run else 'Now'} stale as of {answer['as_of']}: {len(notes):,}")
    for note in notes:
        print(f"  {note['metadata'].get('expires_at', ''):25} {note['path']}  {note['title']}")


@verb
def promote(
    terminal: Terminal,
    note: Annotated[str, typer.Argument(help="Id of the note that is to become a procedure.")],
    evidence: Annotated[list[str], typer.Option("--evidence", help="What shows that it holds; several are possible.")],
    approved_by: Annotated[str, typer.Option("--approved-by", help="Who approves; not the actor.")],
    actor: Annotated[str, typer.Option("--actor", help="Who proposes it.")],
    reason: Annotated[str, typer.Option("--reason", help="Why.")],
) -> None:
    """Record that knowledge may become a rule; prints the provenance that its note needs."""
    wanted: dict[str, Any] = {"source_entry_id": note, "evidence_refs": evidence, "approved_by": approved_by}
    answer = terminal.ask("lithos_promote", {**wanted, "actor": actor, "reason": reason})
    terminal.tell(answer, f"event:{answer['event_id']}")


@verb
def feedback(
    terminal: Terminal,
    query: Annotated[str, typer.Argument(help="What was asked.")],
    outcome: Annotated[str, typer.Option("--outcome", help="helped, neutral, hurt or unknown.")],
    used: Annotated[list[str] | None, typer.Option("--used", help="Id of a note that was used; several.")] = None,
) -> None:
    """Tell what came of a search: notes that helped rise a little, notes that hurt sink a little."""
    wanted = {"query": query, "outcome": outcome, "used_ids": used or [], "source": "manual_feedback"}
    answer = terminal.ask("lithos_feedback", wanted)
    terminal.tell(answer, answer["event_id"])


@verb
def conflicts(
    terminal: Terminal,
    claim: Annotated[str | None, typer.Option("--claim", help="Only this claim_id.")] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=200, help="At most so many.")] = 50,
) -> None:
    """List notes that may contradict each other; nothing is changed."""
    answer = terminal.ask("lithos_conflicts", {"claim_id": claim, "limit": limit})
    if terminal.as_json:
        show(answer)
        return
    for conflict in answer["conflicts"]:
        print(f"{conflict['why']}: {conflict['about']}")
        for note in conflict["notes"]:
            print(f"  {note['confidence']:.2f}  {note['updated']}  {note['path']}  {note['title']}")
    print(f"{answer['total']:,} to look at" if answer["total"] else "Nothing contradicts anything.")
