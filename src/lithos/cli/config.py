"""`lithos config show`: every setting, its value, and where it came from."""

from __future__ import annotations

import typer

from lithos.cli.terminal import Terminal, join_noun, show, table, verb


def join(root: typer.Typer) -> None:
    join_noun(root, "config", "Settings.", show=show_settings)


@verb
def show_settings(terminal: Terminal) -> None:
    """Print each setting and where its value came from."""
    loaded = terminal.load()
    values = loaded.config.model_dump(mode="json")
    rows = [(key, values[key.split(".")[0]][key.split(".")[1]], origin) for key, origin in loaded.origins.items()]
    if terminal.as_json:
        show([{"key": key, "value": value, "origin": origin} for key, value, origin in rows])
        return
    table(("setting", "value", "from"), [(key, _spelled(value), origin) for key, value, origin in rows])


def _spelled(value: object) -> str:
    if isinstance(value, list):
        return ",".join(map(str, value)) or "-"
    return "-" if value is None else str(value)
