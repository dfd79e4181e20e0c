"""`lithos serve --transport stdio`: a guest of the host, or host and guest in one process. Standard library only."""

from __future__ import annotations

import sys

from lithos.host.guest.guest import Guest, print_message
from lithos.host.host_lock import HostLock
from lithos.host.spawn import NoChild

FOR_A_PERSON = """\
Lithos speaks MCP on stdin and stdout here, for a client that started it; the memory is {data_dir}.
  lithos setup                     connects your clients, which then start this by themselves
  lithos serve --transport http    serves HTTP and prints how to connect
Ctrl-C ends it."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lithos.errors import LithosError
    from lithos.host.options import ServeOptions


def main(options: ServeOptions, data_dir: str) -> int:
    host_lock = HostLock(data_dir)
    guest = Guest(host_lock, options)
    if sys.stdin is not None and sys.stdin.isatty():
        print(FOR_A_PERSON.format(data_dir=host_lock.data_dir), file=sys.stderr, flush=True)
    try:
        return _serve_standalone(guest, host_lock, options) if options.standalone else guest.run()
    except NoChild as held:
        from lithos.host.standalone import serve_standalone

        return serve_standalone(guest, host_lock, options, held.lock, held.listener)
    except _lithos_error() as error:
        print_message(f"{error.message}. {error.hint}".strip())
        return 1


def _serve_standalone(guest: Guest, host_lock: HostLock, options: ServeOptions) -> int:
    from lithos.host.server.foreground import acquire
    from lithos.host.standalone import serve_standalone

    host_lock.make_folder()
    return serve_standalone(guest, host_lock, options, *acquire(host_lock, standalone=True))


def _lithos_error() -> type[LithosError]:
    """Evaluated by `except` only after something was raised: importing the errors costs a guest 5 ms."""
    from lithos.errors import LithosError

    return LithosError
