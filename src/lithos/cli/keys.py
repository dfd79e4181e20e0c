"""`lithos keys`: the keys that seal the audit."""

from __future__ import annotations

import typer

from lithos.cli.options import AsJson, ConfigFile, DataDir, load, show, verb


def join(root: typer.Typer) -> None:
    noun = typer.Typer(help="The keys that seal the audit.", no_args_is_help=True)
    noun.command("rotate")(rotate)
    root.add_typer(noun, name="keys")


@verb
def rotate(data_dir: DataDir = None, config: ConfigFile = None, as_json: AsJson = False) -> None:
    """Seal events with a new key from now on. Older keys stay where they are: they verify what they sealed."""
    from lithos.cli.reach import call_tool

    answer = call_tool(load(data_dir, config).config, "lithos_keys_rotate")
    show(answer) if as_json else print(f"Events are sealed with key {answer['salt_version']} from now on.")
