"""A disk that is really full: a small tmpfs at /mnt, in a mount namespace of the script's own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
_NAMESPACE = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]


def run_on_a_small_disk(script: str, megabytes: int) -> str:
    """What the script prints; its disk is at /mnt."""
    allowed = subprocess.run([*_NAMESPACE, "mount -t tmpfs none /mnt"], capture_output=True)
    if allowed.returncode != 0:
        pytest.skip("this machine lets no user mount a small disk")
    mount = f'mount -t tmpfs -o size={megabytes}m none /mnt && exec "$0" -c "$1"'
    command = [*_NAMESPACE, mount, sys.executable, script]
    ended = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, timeout=170)
    assert ended.returncode == 0, ended.stderr[-4000:]
    return ended.stdout


def fill_the_disk() -> None:
    """To the last page; `/mnt/rest` holds it."""
    try:
        with open("/mnt/rest", "ab", buffering=0) as rest:
            while True:
                rest.write(bytes(4096))
    except OSError:
        return
