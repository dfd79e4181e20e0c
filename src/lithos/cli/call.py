"""`lithos tools` and `lithos call`: the registry on the command line."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any

import typer

from lithos.cli.terminal import ConfigFile, DataDir, Terminal, show, table, verb
from lithos.errors import InvalidInput, LithosError

_PAIRS = """Its arguments; JSON where it is JSON: limit=5, tags='["a"]', query='"404"'."""


def join(root: typer.Typer) -> None:
    root.command("tools")(tools)
    root.command("call")(call)


@verb
def tools(
    terminal: Terminal,
    toolsets: Annotated[str, typer.Option("--toolsets", help="Only these, with commas between.")] = "",
) -> None:
    """List the tools, their toolsets and what they cost a client's context."""
    from lithos.tools.caller import parse_toolsets
    from lithos.tools.catalogue import catalogue

    registry = catalogue()
    chosen = registry.shown(registry.check_toolsets(parse_toolsets(toolsets))) if toolsets else list(registry)
    rows = [(each.name, each.toolset, "reads" if each.reads else "writes", each.token_cost) for each in chosen]
    if terminal.as_json:
        show([dict(zip(("name", "toolset", "access", "tokens"), row, strict=True)) for row in rows])
        return
    shown = [*rows, ("all of these", "", "", sum(row[3] for row in rows))]
    table(("tool", "toolset", "access", "tokens"), [(*words, f"{cost:6,}") for *words, cost in shown])


def call(
    tool: Annotated[str, typer.Argument(help="Name of the tool.")],
    pairs: Annotated[list[str] | None, typer.Argument(metavar="[KEY=VALUE]...", help=_PAIRS)] = None,
    json_text: Annotated[
        str, typer.Option("--json", help="All arguments as one JSON object; - reads it from stdin.")
    ] = "",
    data_dir: DataDir = None,
    config: ConfigFile = None,
) -> None:
    """Call a tool; its answer is printed as JSON. An error sets the exit code."""
    terminal = Terminal(data_dir, config, as_json=True)
    try:
        show(terminal.send(tool, {**_object(json_text), **dict(map(_pair, pairs or []))}))
    except LithosError as error:
        raise terminal.refuse(error) from None


def _object(text: str) -> dict[str, Any]:
    if not text:
        return {}
    try:
        value = json.loads(sys.stdin.read() if text == "-" else text)
    except ValueError as error:
        raise InvalidInput(f"--json is not JSON: {error}", hint='Quote it: --json \'{"key": "value"}\'.') from None
    if not isinstance(value, dict):
        raise InvalidInput("--json is no JSON object", hint='Quote it: --json \'{"key": "value"}\'.')
    return value


def _pair(text: str) -> tuple[str, Any]:
    """`limit=5`, `tags=["a"]`: JSON where it is JSON, text where it is not."""
    key, equals, value = text.partition("=")
    if not equals:
        raise InvalidInput(
            f"{text!r} is not key=value", hint="For example query=asyncio; a whole object goes after --json."
        )
    try:
        return key, json.loads(value)
    except ValueError:
        return key, value
