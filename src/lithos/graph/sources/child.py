"""Reads PDF and HTML in a process with limits: a source is a stranger's file. Run by its path, as the readers beside it
are: as a module it would import the whole package first.

In: one line of JSON (`type`, `memory` in bytes, `cpu` in seconds), then the bytes. Out: one JSON object.
"""

from __future__ import annotations

import resource
import runpy
import sys
from pathlib import Path

import orjson


def main() -> None:
    head = orjson.loads(sys.stdin.buffer.readline())
    resource.setrlimit(resource.RLIMIT_AS, (head["memory"], head["memory"]))
    resource.setrlimit(resource.RLIMIT_CPU, (head["cpu"], head["cpu"] + 5))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    data = sys.stdin.buffer.read()
    reader = Path(__file__).with_name(f"{head['type']}_reader.py")
    try:
        found = runpy.run_path(str(reader), run_name="reader")["read"](data)
    except ImportError as error:
        found = {"error": "missing", "what": str(error.name or error)}
    except MemoryError:
        found = {"error": "too_large"}
    sys.stdout.buffer.write(orjson.dumps(found))


if __name__ == "__main__":
    main()
