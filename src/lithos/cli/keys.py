"""`lithos keys`: the keys that seal the audit."""

from __future__ import annotations

import typer

from lithos.cli.terminal import Terminal, verb


def join(root: typer.Typer) -> None:
    noun = typer.Typer(help="The keys that seal the audit.", no_args_is_help=True)
    noun.command("rotate")(rotate)
    root.add_typer(noun, name="keys")


@verb
def rotate(terminal: Terminal) -> None:
    """Seal events with a new key from now on. Older keys stay where they are: they verify what they sealed."""
    answer = terminal.ask("lithos_keys_rotate")
    terminal.tell(answer, f"Events are sealed with key {answer['salt_version']} from now on.")
