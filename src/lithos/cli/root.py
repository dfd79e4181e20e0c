"""All verbs, joined: a noun adds its file to `NOUNS`. Files import nothing heavy but inside their verbs."""

from __future__ import annotations

import inspect
import sys
from typing import Annotated

import typer

from lithos import __version__
from lithos.cli import (
    backup,
    board,
    call,
    code,
    completion,
    config,
    db,
    doctor,
    events,
    garden,
    graph,
    hook,
    host,
    import_memory,
    keys,
    ledger,
    lifecycle,
    log,
    message,
    note,
    page,
    search,
    serve,
    service,
    session,
    setup,
    stats,
    status,
    task,
    token,
    uninstall,
    vault,
    work,
)
from lithos.cli.overview import Overview

UNEXPECTED = 70  # EX_SOFTWARE of sysexits

NOUNS = (
    serve,
    page,
    host,
    note,
    vault,
    search,
    lifecycle,
    code,
    graph,
    call,
    config,
    token,
    stats,
    status,
    completion,
    doctor,
    task,
    board,
    session,
    work,
    setup,
    service,
    uninstall,
    import_memory,
    backup,
    hook,
    message,
    events,
    keys,
    db,
    garden,
    ledger,
    log,
)


def app() -> typer.Typer:
    root = typer.Typer(
        name="lithos",
        cls=Overview,
        help="Shared memory and coordination for teams of AI agents.",
        epilog="`lithos VERB -h` explains a verb and shows examples. Begin with `lithos setup`.",
        no_args_is_help=True,
        add_completion=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
        rich_markup_mode=None,  # rich costs 40 ms of every --help
        pretty_exceptions_enable=False,
    )
    root.callback()(_options)  # without it an app of one verb would take the verb's name for an argument
    for noun in NOUNS:
        noun.join(root)
    _add_examples(root, ())
    return root


def _add_examples(at: typer.Typer, path: tuple[str, ...]) -> None:
    from lithos.cli.examples import epilog

    for command in at.registered_commands:
        command.epilog = epilog(" ".join((*path, command.name or "")))
    for group in at.registered_groups:
        if group.typer_instance is not None:
            _add_examples(group.typer_instance, (*path, str(group.name)))


def _tell_version(asked: bool) -> None:
    if asked:
        print(f"lithos {__version__}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_tell_version, is_eager=True)
    ] = False,
) -> None: ...


def run(arguments: list[str]) -> int:
    """Runs one verb; the exit code is the answer. A person sees no traceback: it goes to a file that is named."""
    try:
        _narrowed(app(), arguments)(arguments, prog_name="lithos", obj=arguments)
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 1
    except BrokenPipeError:  # `lithos log | head`
        sys.stdout = None  # nothing is left to flush at the end
        return 0
    except Exception as error:  # noqa: BLE001 - the last resort
        return _unexpected(error)
    return 0


def _unexpected(error: Exception) -> int:
    """One line and the name of a file with the trace, which a report should carry."""
    import tempfile
    import traceback

    with tempfile.NamedTemporaryFile("w", prefix="lithos-error-", suffix=".txt", delete=False) as file:
        file.write(f"lithos {__version__}\n")
        traceback.print_exception(error, file=file)
    what = " ".join(str(error).split())[:200] or type(error).__name__
    print(f"lithos: an error that Lithos did not expect: {what}\n  Its trace is in {file.name}.", file=sys.stderr)
    return UNEXPECTED


def _narrowed(root: typer.Typer, arguments: list[str]) -> typer.Typer:
    """Only what is asked for: typer reads the options of every verb it knows, 1.5 ms each, before it runs one."""
    if arguments[:1] in ([], ["--help"], ["-h"]):
        return _overview(root)
    if arguments[:1] == ["complete"]:  # it looks at all of them
        return root
    commands = [each for each in root.registered_commands if [each.name] == arguments[:1]]
    groups = [each for each in root.registered_groups if [each.name] == arguments[:1]]
    if commands or groups:  # else all of them: the refusal names the nearest
        root.registered_commands, root.registered_groups = commands, groups
    return root


def _overview(root: typer.Typer) -> typer.Typer:
    """Names and first lines."""
    for command in root.registered_commands:
        command.help = command.help or inspect.getdoc(command.callback)
        command.callback = lambda: None
    for group in root.registered_groups:
        if group.typer_instance is not None:
            group.typer_instance.registered_commands = []
    return root
