"""The console script: decides what to import before anything heavy is imported."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


INTERRUPTED = 130  # as a shell reports a program that Ctrl-C ended


def main() -> int:
    sys.unraisablehook = _on_unraisable
    try:
        return _run(sys.argv[1:])
    except KeyboardInterrupt:  # while it was still importing: what runs later handles it
        return INTERRUPTED


def _on_unraisable(found: sys.UnraisableHookArgs) -> None:
    """Ctrl-C inside a finalizer, which Python would print and forget: interrupt again, once the finalizer has ended."""
    if not issubclass(found.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(found)
        return
    import _thread
    import threading

    threading.Timer(0.02, _thread.interrupt_main).start()


def _run(arguments: list[str]) -> int:
    if arguments[:1] == ["serve"]:
        code = _serve_as_guest(arguments[1:])
        if code is not None:
            return code
    if arguments[:1] == ["hook"]:
        code = _run_hook(arguments[1:])
        if code is not None:
            return code
    from lithos.cli.root import run

    return run(arguments)


def _run_hook(arguments: list[str]) -> int | None:
    """A client waits for it at every start: typer stays unread. None: there is something to explain."""
    from lithos.clients.hook import EVENTS, main
    from lithos.host.options import DATA_DIR, parse_serve

    options = parse_serve(arguments[1:], os.environ) if arguments[:1] and arguments[0] in EVENTS else None
    place = options.place() if options is not None else None
    if options is None or (place is None and options.get(DATA_DIR) is None):
        return None
    return main(arguments[0], options.get(DATA_DIR) or (place or ("",))[0], options.get("--agent"))


def _serve_as_guest(arguments: Sequence[str]) -> int | None:
    """Clients start this many times a day: 30 ms and 11 MB, because typer and the settings stay unread.

    None: not a guest, or there is something to explain.
    """
    from lithos.host.options import parse_serve

    options = parse_serve(arguments, os.environ)
    where = (options.place() or _place_in_settings(arguments)) if options is not None else None
    if options is None or where is None or where[1] != "stdio":
        return None
    from lithos.host.serve_stdio import main as guest

    return guest(options, where[0])


def _place_in_settings(arguments: Sequence[str]) -> tuple[str, str] | None:
    """Read (data directory, transport) from the settings file, in a short helper process."""
    import subprocess

    command = [sys.executable, "-P", "-m", "lithos.host.where", *arguments]
    try:
        helper = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)  # noqa: S603 - ours
    except OSError:  # no new process is allowed: the full command line reads it in this one
        return None
    if helper.returncode != 0:
        return None
    transport, data_dir = helper.stdout.splitlines()
    return data_dir, transport


if __name__ == "__main__":
    raise SystemExit(main())
