"""All verbs, joined: a noun adds its file to `NOUNS`. Files import nothing heavy but inside their verbs."""

from __future__ import annotations

import typer

from lithos.cli import (
    board,
    call,
    config,
    db,
    events,
    garden,
    host,
    keys,
    knowledge,
    ledger,
    note,
    search,
    serve,
    stats,
    task,
    token,
    vault,
)

NOUNS = (
    serve,
    host,
    note,
    vault,
    search,
    knowledge,
    call,
    config,
    token,
    stats,
    task,
    board,
    events,
    keys,
    db,
    garden,
    ledger,
)


def app() -> typer.Typer:
    root = typer.Typer(
        name="lithos",
        help="Shared memory and coordination for teams of AI agents.",
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,  # rich costs 40 ms of every --help
        pretty_exceptions_enable=False,
    )
    for noun in NOUNS:
        noun.join(root)
    return root


def run(arguments: list[str]) -> int:
    """Runs one verb; the exit code is the answer."""
    try:
        app()(arguments, prog_name="lithos", obj=arguments)
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 1
    return 0
