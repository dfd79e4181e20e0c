"""The console script: decides what to import before anything heavy is."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def main() -> int:
    arguments = sys.argv[1:]
    if arguments[:1] == ["serve"]:
        code = _serve_as_guest(arguments[1:])
        if code is not None:
            return code
    from lithos.cli.root import run

    return run(arguments)


def _serve_as_guest(arguments: Sequence[str]) -> int | None:
    """Clients start this many times a day: 30 ms and 11 MB, because typer and the settings stay unread.

    None: not a guest, or only the settings file can tell.
    """
    from lithos.host.options import parse_serve

    options = parse_serve(arguments, os.environ)
    where = options.place() if options is not None else None
    if options is None or where is None or where[1] != "stdio":
        return None
    from lithos.host.guest import main as guest

    return guest(options, where[0])


if __name__ == "__main__":
    raise SystemExit(main())
