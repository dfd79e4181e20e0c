"""`lithos token`: bearer tokens for clients on other machines."""

from __future__ import annotations

from typing import Annotated

import typer

from lithos.cli.options import AsJson, ConfigFile, DataDir, load, show, verb


def join(root: typer.Typer) -> None:
    noun = typer.Typer(help="Bearer tokens for clients on other machines.", no_args_is_help=True)
    noun.command("new")(new)
    noun.command("list")(list_tokens)
    noun.command("revoke")(revoke)
    root.add_typer(noun, name="token")


@verb
def new(
    name: Annotated[str, typer.Option("--name", help="Who it is for.")],
    scope: Annotated[str, typer.Option("--scope", help="read or full.")] = "full",
    agent: Annotated[str | None, typer.Option("--agent", help="The only agent that may use it.")] = None,
    data_dir: DataDir = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Make a token. It is shown once, here; only its hash is kept."""
    from lithos.cli.reach import call_tool

    arguments = {"name": name, "scope": scope, "for_agent": agent}
    made = call_tool(load(data_dir, config).config, "lithos_token_new", arguments)
    if as_json:
        show(made)
        return
    print(made["token"])
    print(f"Token {made['id']} for {made['name']}, scope {made['scope']}. Keep it: it is not shown again.")


@verb
def list_tokens(data_dir: DataDir = None, config: ConfigFile = None, as_json: AsJson = False) -> None:
    """List the tokens that are valid."""
    from lithos.cli.reach import call_tool

    answer = call_tool(load(data_dir, config).config, "lithos_token_list")
    if as_json:
        show(answer)
        return
    for each in answer["tokens"]:
        used = each["last_used_at"] or "never used"
        print(f"{each['id']}  {each['scope']:4}  {each['agent'] or '-':20} {used:28} {each['name']}")


@verb
def revoke(
    id: Annotated[str, typer.Argument(help="Its id, as `lithos token list` shows it.")],
    data_dir: DataDir = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Revoke a token: from now on it opens nothing."""
    from lithos.cli.reach import call_tool

    answer = call_tool(load(data_dir, config).config, "lithos_token_revoke", {"id": id})
    show(answer) if as_json else print(f"Token {id} is revoked.")
