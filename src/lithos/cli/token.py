"""`lithos token`: bearer tokens for clients on other machines."""

from __future__ import annotations

from typing import Annotated

import typer

from lithos.cli.terminal import Terminal, join_noun, show, verb


def join(root: typer.Typer) -> None:
    join_noun(root, "token", "Bearer tokens for clients on other machines.", new=new, list=list_tokens, revoke=revoke)


@verb
def new(
    terminal: Terminal,
    name: Annotated[str, typer.Option("--name", help="Who it is for.")],
    scope: Annotated[str, typer.Option("--scope", help="read or full.")] = "full",
    agent: Annotated[str | None, typer.Option("--agent", help="The only agent that may use it.")] = None,
    user: Annotated[str | None, typer.Option("--user", help="The only user whose files and events it opens.")] = None,
) -> None:
    """Make a token. It is shown once, here; only its hash is kept."""
    arguments = {"name": name, "scope": scope, "for_agent": agent, "for_user": user}
    made = terminal.ask("lithos_token_new", arguments)
    if terminal.as_json:
        show(made)
        return
    print(made["token"])
    print(f"Token {made['id']} for {made['name']}, scope {made['scope']}. Keep it: it is not shown again.")


@verb
def list_tokens(terminal: Terminal) -> None:
    """List the tokens that are valid."""
    answer = terminal.ask("lithos_token_list")
    if terminal.as_json:
        show(answer)
        return
    for each in answer["tokens"]:
        used = each["last_used_at"] or "never used"
        bound = f"{each['agent'] or '-':20} {each['user'] or '-':20}"
        print(f"{each['id']}  {each['scope']:4}  {bound} {used:28} {each['name']}")


@verb
def revoke(
    terminal: Terminal,
    id: Annotated[str, typer.Argument(help="Its id, as `lithos token list` shows it.")],
) -> None:
    """Revoke a token: from now on it opens nothing."""
    answer = terminal.ask("lithos_token_revoke", {"id": id})
    terminal.tell(answer, f"Token {id} is revoked.")
