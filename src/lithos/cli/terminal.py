"""The context of every verb: which data directory it means, how it calls tools, how it prints."""

from __future__ import annotations

import functools
import inspect
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Concatenate, ParamSpec

import typer

from lithos.errors import LithosError, NotFound

if TYPE_CHECKING:
    from lithos.host.client import CallTool
    from lithos.settings import LithosConfig, Loaded

P = ParamSpec("P")
_STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33"}


def _folder(named: str) -> Path | None:
    """`--data-dir "$UNSET"` means the default, as for a guest, and never the folder one happens to be in."""
    return Path(named) if named else None


DataDir = Annotated[
    Path | None,
    typer.Option("--data-dir", parser=_folder, metavar="<path>", help="Folder of the memory.  [default: ~/lithos]"),
]
ConfigFile = Annotated[Path | None, typer.Option("--config", help="Settings file.  [default: DATA_DIR/config.yaml]")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


class Terminal:
    """The options that every verb has."""

    def __init__(self, data_dir: Path | None = None, config: Path | None = None, as_json: bool = False) -> None:
        self.as_json = as_json
        self.named = data_dir is not None or config is not None  # the user named a data directory
        self._data_dir = data_dir
        self.config_file = config

    def load(self, **command_line: Any) -> Loaded:
        """The settings of this command; `server__port=1` names an option. Warnings go to stderr."""
        from lithos.settings import load_config

        given = {key.replace("__", "."): value for key, value in command_line.items()}
        loaded = load_config(config_file=self.config_file, command_line={"storage.data_dir": self._data_dir, **given})
        for warning in loaded.warnings:
            print(f"lithos: {warning}", file=sys.stderr)
        return loaded

    @functools.cached_property
    def loaded(self) -> Loaded:
        return self.load()

    @property
    def settings(self) -> LithosConfig:
        return self.loaded.config

    @property
    def folder(self) -> Path:
        return self.settings.storage.data_dir.expanduser().absolute()

    def ask(self, tool: str, arguments: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The tool's answer; an option that was not given (None) is left out."""
        return self.send(tool, {name: value for name, value in (arguments or {}).items() if value is not None})

    def send(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The tool's answer, from the host when there is one; refusals are raised. Here every tool may be called."""
        with self.calls(makes=lambda: _writes(tool)) as call:
            return call(tool, arguments)

    @contextmanager
    def calls(self, makes: Callable[[], bool] = lambda: False) -> Iterator[CallTool]:
        """A function that calls tools. Where there is no memory, only a verb that `makes` one goes on."""
        from lithos.cli.memory import is_memory, no_memory, offer
        from lithos.host.client import tool_caller

        is_new = not is_memory(self.folder)
        named = self.loaded.origins["storage.data_dir"] != "default" if is_new else True
        if is_new and not makes():
            raise no_memory(self.folder, named=named)
        with tool_caller(self.settings) as call:
            if is_new:  # a mistyped name would look like a memory that has lost everything
                print(f"lithos: there was no memory in {self.folder}; an empty one was made", file=sys.stderr)
                if not named and (older := offer()):
                    print(f"lithos: {older}", file=sys.stderr)
            yield _reading(call) if self.settings.server.read_only else call

    def tell(self, answer: Any, text: str | Callable[[Any], None]) -> None:
        """JSON when JSON was asked for; else a line, or what `text` prints of the answer."""
        if self.as_json:
            show(answer)
        elif isinstance(text, str):
            print(text)
        else:
            text(answer)

    def since(self, text: str | None) -> str | None:
        """A time as people say it ("2h", "1d", "yesterday") as the tools take it."""
        from lithos.core.clock import SystemClock, rfc3339
        from lithos.core.since import parse_since

        return None if text is None else rfc3339(parse_since(text, SystemClock().now()))

    def refuse(self, error: LithosError, given: Mapping[str, Any] | None = None) -> typer.Exit:
        from lithos.tools.answers.errors import exit_code, failure
        from lithos.tools.answers.mentions import at_the_keyboard

        if self.as_json:
            show(failure(error))
        else:
            hint = self._suggestion(error, given or {}) or at_the_keyboard(error.hint)
            lines = filter(None, [f"lithos: {at_the_keyboard(error.message)}", hint])
            print("\n  ".join(lines), file=sys.stderr)
        return typer.Exit(exit_code(error))

    def _suggestion(self, error: LithosError, given: Mapping[str, Any]) -> str | None:
        """A mistyped id: the one that was meant. The tools of notes and tasks suggest by themselves."""
        from lithos.cli.things import meant

        if not isinstance(error, NotFound) or error.hint.startswith("Did you mean"):
            return None
        found = meant(self.ask, self.settings.server.agent, given)
        return f"Did you mean {found}?" if found else None


def _writes(tool: str) -> bool:
    """Whether this tool may make a memory. A name that does not exist is refused."""
    from lithos.tools.catalogue import catalogue

    return not catalogue().get(tool).reads


def _reading(call: CallTool) -> CallTool:
    """Refuse changes, as a connection with the same setting does. The operator's own tools go on: a token of a
    read-only server must be made somehow."""
    from lithos.errors import Forbidden
    from lithos.tools.catalogue import catalogue
    from lithos.tools.dispatch.dispatch import OPERATOR

    def checked(name: str, arguments: Mapping[str, Any] | None = None) -> dict[str, Any]:
        found = catalogue().get(name)
        if not found.reads and found.toolset != OPERATOR:
            raise Forbidden(
                f"{name} changes something, and server.read_only is on",
                hint="Leave LITHOS_READ_ONLY out, or turn server.read_only off in config.yaml.",
            )
        return call(name, arguments)

    return checked


def verb(function: Callable[Concatenate[Terminal, P], None]) -> Callable[..., None]:
    """The function as a command: `--data-dir`, `--config` and `--json` make its terminal; a refusal ends it with one
    line, a hint and an exit code."""

    @functools.wraps(function)
    def run(
        data_dir: DataDir = None, config: ConfigFile = None, as_json: AsJson = False, *args: P.args, **given: P.kwargs
    ) -> None:
        terminal = Terminal(data_dir, config, as_json)
        try:
            function(terminal, *args, **given)
        except LithosError as error:
            raise terminal.refuse(error, given) from None

    own = inspect.signature(function, eval_str=True)
    own_parameters = list(own.parameters.values())[1:]
    run.__signature__ = own.replace(parameters=[*own_parameters, *_EVERYWHERE])  # type: ignore[attr-defined]
    run.__annotations__ = {}  # the signature has them, resolved; typer would resolve them once more
    return run


def _takes(data_dir: DataDir = None, config: ConfigFile = None, as_json: AsJson = False) -> None: ...


_EVERYWHERE = tuple(inspect.signature(_takes, eval_str=True).parameters.values())


def styled(text: str, style: str) -> str:
    """In colour or bold where a person looks; plain in a pipe and with NO_COLOR."""
    if not sys.stdout.isatty() or os.environ.get("NO_COLOR"):
        return text
    return f"\x1b[{_STYLES[style]}m{text}\x1b[0m"


def table(headers: tuple[str, ...], rows: Sequence[Sequence[str]], empty: str = "") -> None:
    """Columns as wide as they need. A header in bold, or `empty`, where a person looks; plain rows in a pipe."""
    person = sys.stdout.isatty() and bool(rows)
    if sys.stdout.isatty() and empty and not rows:
        print(empty)
    shown = [headers, *rows] if person else rows
    widths = [max((len(row[place]) for row in shown), default=0) for place in range(len(headers))]
    for number, row in enumerate(shown):
        line = "  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        print(styled(line, "bold") if person and number == 0 else line)


def ago(moment: str) -> str:
    """A time as a person reads it on a terminal: "3 h ago"; as it is in a pipe."""
    from lithos.core.clock import SystemClock, parse_time

    if not sys.stdout.isatty() or not moment:
        return moment[:19]
    seconds = int((SystemClock().now() - parse_time(moment)).total_seconds())
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {unit} ago"
    return "just now" if seconds >= 0 else moment[:19]


def join_noun(root: typer.Typer, name: str, about: str, **verbs: Callable[..., None]) -> None:
    """`lithos NAME VERB`; an underscore becomes a hyphen; one at the end (`import_`) is dropped."""
    noun = typer.Typer(help=about, no_args_is_help=True)
    noun.callback()(lambda: None)  # without it a noun of one verb would become the verb itself
    for word, function in verbs.items():
        noun.command(word.rstrip("_").replace("_", "-"))(function)
    root.add_typer(noun, name=name)


def show(answer: Any) -> None:
    print(json.dumps(answer, indent=2, ensure_ascii=False))
