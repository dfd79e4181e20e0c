"""`lithos token`: bearer tokens for clients on other machines."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from lithos.cli.terminal import Terminal, ago, join_noun, show, table, verb


def join(root: typer.Typer) -> None:
    join_noun(root, "token", "Bearer tokens for clients on other machines.", new=new, list=list_tokens, revoke=revoke)


@verb
def new(
    terminal: Terminal,
    name: Annotated[str, typer.Option("--name", help="Who it is for.")],
    scope: Annotated[str, typer.Option("--scope", help="read, full, or workshop (full, and commands).")] = "full",
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
    rows = [
        (each["id"], each["name"], each["scope"], each["agent"] or "-", each["user"] or "-", _used(each))
        for each in answer["tokens"]
    ]
    table(("id", "name", "scope", "agent", "user", "last used"), rows, "No tokens: `lithos token new --name NAME`.")


def _used(each: dict[str, Any]) -> str:
    return ago(each["last_used_at"]) if each["last_used_at"] else "never"


@verb
def revoke(
    terminal: Terminal,
    token: Annotated[str, typer.Argument(help="Its name or id, as `lithos token list` shows them.")],
) -> None:
    """Revoke a token: from now on it opens nothing."""
    answer = terminal.ask("lithos_token_revoke", {"id": _id_of(terminal, token)})
    terminal.tell(answer, f"Token {token} is revoked.")


def _id_of(terminal: Terminal, token: str) -> str:
    """A name that several tokens have is refused: which one is lost?"""
    from lithos.core.text import nearest
    from lithos.errors import Ambiguous, NotFound

    tokens = terminal.ask("lithos_token_list")["tokens"]
    if any(each["id"] == token for each in tokens):
        return token
    named = [each["id"] for each in tokens if each["name"] == token]
    if len(named) > 1:
        raise Ambiguous(f"{len(named)} tokens are named {token!r}: {', '.join(named)}", hint="Name one by its id.")
    if not named:
        meant = nearest(token, [each["name"] for each in tokens])
        hint = f"Did you mean {meant!r}?" if meant else "`lithos token list` shows them."
        raise NotFound(f"there is no token {token!r}", hint=hint)
    return str(named[0])
