"""`python -m lithos.host.where`: prints where a `lithos serve` with a settings file serves.

A separate short process, so that the guest, which runs as long as its client, never reads settings: 11 MB instead
of 40.
"""

from __future__ import annotations

import os
import sys

from lithos.errors import LithosError
from lithos.host.options import CONFIG, DATA_DIR, parse_serve
from lithos.settings import load_config


def main() -> int:
    """Print transport and data directory, one line each. 1: the full command line explains what is wrong."""
    options = parse_serve(sys.argv[1:], os.environ)
    if options is None:
        return 1
    stated = {"storage.data_dir": options.get(DATA_DIR), "server.transport": options.get("--transport")}
    try:
        loaded = load_config(config_file=options.get(CONFIG), command_line=stated)
    except LithosError:
        return 1
    for warning in loaded.warnings:
        print(f"lithos: {warning}", file=sys.stderr)
    print(loaded.config.server.transport, loaded.config.storage.data_dir.expanduser().resolve(), sep="\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
