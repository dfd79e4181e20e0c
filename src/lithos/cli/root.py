"""All verbs, joined: a noun is named in `overview.GROUPS`. Its file imports nothing heavy but inside its verbs."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from lithos import __version__
from lithos.cli.overview import MODULES, show_overview

if TYPE_CHECKING:
    import typer

UNEXPECTED = 70  # EX_SOFTWARE of sysexits
HELP = ("-h", "--help")
_CONTEXT: dict[str, Any] = {"help_option_names": [*HELP], "max_content_width": 110}


def app(modules: Iterable[str] = tuple(MODULES.values())) -> typer.Typer:
    """The verbs of these modules; without an argument all of them."""
    import typer  # 60 ms, which the overview does without

    root = typer.Typer(
        name="lithos",
        help="Shared memory and coordination for teams of AI agents.",
        add_completion=False,
        context_settings=_CONTEXT,
        rich_markup_mode=None,  # rich costs 40 ms of every --help
        pretty_exceptions_enable=False,
    )
    root.callback()(lambda: None)  # without it an app of one verb would take the verb's name for an argument
    for module in dict.fromkeys(modules):
        import_module(f"lithos.cli.{module}").join(root)
    _complete_verbs(root, ())
    return root


def _complete_verbs(at: typer.Typer, path: tuple[str, ...]) -> None:
    """Give every verb its examples, and every noun the verbs that people try first."""
    from lithos.cli.examples import epilog
    from lithos.cli.other_words import noun_class

    at.info.cls = noun_class()
    for command in at.registered_commands:
        command.epilog = epilog(" ".join((*path, command.name or "")))
    for group in at.registered_groups:
        if group.typer_instance is not None:
            _complete_verbs(group.typer_instance, (*path, str(group.name)))


def run(arguments: list[str]) -> int:
    """Runs one verb; the exit code is the answer. A person sees no traceback: it goes to a file that is named."""
    try:
        if (shown := show_overview(arguments)) is not None:
            return shown
        root = _app_for(arguments)
        if not (arguments[-1] in HELP and _show_help(root, arguments[:-1])):
            root(arguments, prog_name="lithos", obj=arguments)
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 1
    except BrokenPipeError:  # `lithos log | head`
        sys.stdout = None  # nothing is left to flush at the end
        return 0
    except Exception as error:  # noqa: BLE001 - the last resort
        return _unexpected(error)
    return 0


def _show_help(root: typer.Typer, path: list[str]) -> bool:
    """Print the help of this verb, if it is one. The parser would import pydantic, 0.2 s CPU, to learn the same."""
    import typer

    command: Any = typer.main.get_command(root)
    for word in path:
        command = getattr(command, "commands", {}).get(word)
    if command is None:
        return False
    print(command.get_help(typer.Context(command, info_name=" ".join(("lithos", *path)), **_CONTEXT)))
    return True


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


def _app_for(arguments: list[str]) -> typer.Typer:
    """Only the verb that is asked for: a module costs 2 to 10 ms to import, and typer 1.5 ms per verb."""
    wanted = arguments[:1]
    if wanted == ["complete"] and "--" in arguments:  # it looks at the options of the verb that it completes
        wanted += arguments[arguments.index("--") + 1 :][:1]
    known = [name for name in wanted if name in MODULES]
    if not known:
        return app()  # the refusal names the nearest of all
    root = app(MODULES[name] for name in known)
    root.registered_commands = [each for each in root.registered_commands if each.name in known]
    root.registered_groups = [each for each in root.registered_groups if each.name in known]
    return root
