"""`lithos open`: the page of this memory in a browser, signed in as the operator."""

from __future__ import annotations

import os
import sys
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import quote

import typer

from lithos.cli.memory import is_memory, no_memory
from lithos.cli.terminal import Terminal, verb
from lithos.errors import Unavailable

if TYPE_CHECKING:
    from lithos.host.host_lock import HostLock
    from lithos.host.options import ServeOptions

TRIES = 3  # a host may end between the look and the question
REDIRECT = "host.open.html"  # in `.lithos/`


def join(root: typer.Typer) -> None:
    root.command("open")(open_page)


@verb
def open_page(
    terminal: Terminal,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Only print the address to open.")] = False,
) -> None:
    """Open the page of this memory in a browser, signed in. The running host serves it; without one, one is started."""
    from lithos.host.host_lock import HostLock

    if not is_memory(terminal.folder):
        raise no_memory(terminal.folder, named=terminal.loaded.origins["storage.data_dir"] != "default")
    host_lock = HostLock(str(terminal.folder))
    address, code = _ask(host_lock, _options(terminal, host_lock))
    sign_in = f"{address}/enter?code={quote(code)}"
    opened = not no_browser and not terminal.as_json and _open_browser(host_lock, sign_in)
    shown = f"The page is {address}/" if opened else f"Open this within two minutes, it works once:\n  {sign_in}"
    terminal.tell({"address": f"{address}/", "sign_in": sign_in}, shown)


def _options(terminal: Terminal, host_lock: HostLock) -> ServeOptions:
    """As a client would start the host: the settings file counts, one terminal's other options do not."""
    from lithos.host.options import ServeOptions

    given = {"--data-dir": host_lock.data_dir}
    if terminal.config_file is not None:
        given["--config"] = str(terminal.config_file)
    return ServeOptions(given, os.environ)


def _ask(host_lock: HostLock, options: ServeOptions) -> tuple[str, str]:
    """The address and a code, of the host that runs or of a new one; never of a second."""
    from lithos.host.client import START_SECONDS, HostLost, control_connection
    from lithos.host.spawn import NoChild, start_host

    for _ in range(TRIES):
        if (lock := host_lock.try_lock()) is not None:
            try:
                start_host(host_lock, lock, options)
            except NoChild as held:
                os.close(held.lock)
                held.listener.close()
                raise Unavailable("no process could be started for the host", hint="`lithos serve` runs one.") from None
        with control_connection(host_lock) as control:
            if control is None:
                continue
            try:
                answer = control.ask("page", START_SECONDS)
            except HostLost:
                continue
            return str(answer["address"]), str(answer["code"])
    raise Unavailable("the host ended before it opened the page", hint="`lithos log` has the reason.")


def _open_browser(host_lock: HostLock, url: str) -> bool:
    """Through a file that only its owner reads: a command line, and the code in it, is shown to every user."""
    import webbrowser

    graphical = ("DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME", "BROWSER")
    if sys.platform.startswith("linux") and not any(os.environ.get(name) for name in graphical):
        return False
    path = Path(host_lock.log_path).parent / REDIRECT
    goes = f'<meta http-equiv="refresh" content="0;url={escape(url)}">'
    try:
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600), "w") as file:
            file.write(f'<!doctype html><meta charset="utf-8"><title>Lithos</title>{goes}')
        return webbrowser.open(path.as_uri())
    except (OSError, webbrowser.Error):
        return False
