"""Constants of attacks, for processes that must not import pytest."""

from __future__ import annotations

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
