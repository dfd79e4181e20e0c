"""For processes that only use the sandbox: constants of attacks, and a way to import it without the whole workshop."""

from __future__ import annotations

import importlib.util
import sys
import types

PYTHON = "/usr/bin/python3"
# More than the limit and no more than that: where the limit does not work, the machine still does.
BOMB = """
import os, time
for _ in range(300):
    try:
        if os.fork() == 0: time.sleep(30); os._exit(0)
    except OSError: pass
time.sleep(30)
"""


def skip_facade() -> None:
    """Before the first import of the workshop: its façade loads all parts of the memory, which takes most of a test."""
    found = importlib.util.find_spec("lithos")
    assert found is not None and found.submodule_search_locations is not None
    package = types.ModuleType("lithos.workshop")
    package.__path__ = [f"{each}/workshop" for each in found.submodule_search_locations]
    sys.modules["lithos.workshop"] = package
