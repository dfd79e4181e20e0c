"""Credentials in a repository's own configuration: a run reads the main `.git`, but not these."""

from __future__ import annotations

import re
from collections.abc import Iterator
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
        data = read_regular(git_dir / name, LARGEST) or b""
        shown = _IN_VALUE.sub(rb"\1", _IN_ADDRESS.sub(rb"\1", data))
        if shown != data:
            yield git_dir / name, shown
