"""The console script: decides what to import before anything heavy is."""

from __future__ import annotations

import sys


def main() -> int:
    from lithos.cli.root import run

    return run(sys.argv[1:])
