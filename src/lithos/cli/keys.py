"""`lithos keys`: the keys that seal the audit."""

from __future__ import annotations

import typer

from lithos.cli.terminal import Terminal, join_noun, verb


def join(root: typer.Typer) -> None:
    join_noun(root, "keys", "The keys that seal the audit.", rotate=rotate)


@verb
def rotate(terminal: Terminal) -> None:
    """Seal events with a new key from now on. Older keys stay where they are: they verify what they sealed."""
    answer = terminal.ask("lithos_keys_rotate")
    terminal.tell(answer, f"Events are sealed with key {answer['salt_version']} from now on.")
