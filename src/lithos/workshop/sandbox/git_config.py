"""Credentials in a repository's own configuration: a run reads the main `.git`, but not these."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from lithos.workshop.run_files import read_regular

NAMES = ("config", "config.worktree")
LARGEST = 1024 * 1024
_IN_ADDRESS = re.compile(rb"((?:https?|ftps?)://)[^/\s\"'@]+@", re.IGNORECASE)
# `http.extraHeader` of CI systems, `sendemail.smtpPass` and the like; a value may go on behind a backslash.
_IN_VALUE = re.compile(
    rb"((?:^|\])[ \t]*(?:extraheader|[\w-]*(?:pass|password|passwd|token|secret|apikey))[ \t]*=)(?:[^\n]*\\\n)*[^\n]*",
    re.IGNORECASE | re.MULTILINE,
)


def without_credentials(git_dir: Path) -> Iterator[tuple[Path, bytes]]:
    """The files of configuration that hold a credential, each with the text that a run may see."""
    for name in NAMES:
        place = f"{git_dir}/{name}"
        try:
            facts = os.stat(place)  # noqa: PTH116 - for each run; Path costs more than the rest
        except OSError:
            continue
        shown = _shown(place, (facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns))
        if shown is not None:
            yield Path(place), shown


@lru_cache(maxsize=64)
def _shown(place: str, _stamp: tuple[int, ...]) -> bytes | None:
    """Without the credentials; None: there are none. Looked through once per state of the file."""
    data = read_regular(Path(place), LARGEST) or b""
    shown = _IN_VALUE.sub(rb"\1", _IN_ADDRESS.sub(rb"\1", data))
    return shown if shown != data else None
