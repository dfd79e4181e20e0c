"""What every verb takes, and how a verb ends."""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ParamSpec

import typer

from lithos.errors import LithosError

if TYPE_CHECKING:
    from lithos.settings import Loaded

P = ParamSpec("P")

DataDir = Annotated[Path | None, typer.Option("--data-dir", help="Folder of the memory.  [default: ./data]")]
ConfigFile = Annotated[Path | None, typer.Option("--config", help="Settings file.  [default: DATA_DIR/config.yaml]")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def verb(function: Callable[P, None]) -> Callable[P, None]:
    """A refusal ends a verb with one line, a hint and an exit code; JSON when JSON was asked for."""

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            function(*args, **kwargs)
        except LithosError as error:
            from lithos.tools.answers import exit_code, failure

            if kwargs.get("as_json"):
                show(failure(error))
            else:
                complain(error)
            raise typer.Exit(exit_code(error)) from None

    return run


def complain(error: LithosError) -> None:
    print(f"lithos: {error.message}", file=sys.stderr)
    if error.hint:
        print(f"  {error.hint}", file=sys.stderr)


def show(answer: Any) -> None:
    print(json.dumps(answer, indent=2, ensure_ascii=False))


def load(data_dir: Path | None, config: Path | None, **command_line: Any) -> Loaded:
    """The settings of this command; `server__port=1` names an option. Warnings go to stderr."""
    from lithos.settings import load_config

    given = {key.replace("__", "."): value for key, value in command_line.items()}
    loaded = load_config(config_file=config, command_line={"storage.data_dir": data_dir, **given})
    for warning in loaded.warnings:
        print(f"lithos: {warning}", file=sys.stderr)
    return loaded
