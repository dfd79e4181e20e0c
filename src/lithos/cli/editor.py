"""A text in the editor of the person at the keyboard."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from lithos.errors import InvalidInput


@dataclass(frozen=True)
class Draft:
    text: str
    path: Path

    def discard(self) -> None:
        self.path.unlink(missing_ok=True)


def edited(text: str, name: str) -> Draft:
    """The text as the person left it. The file stays until it is discarded, so that nothing typed is lost."""
    command = shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi")
    with tempfile.NamedTemporaryFile("w", prefix=f"{name[:40]}-", suffix=".md", delete=False, encoding="utf-8") as file:
        file.write(text)
    path = Path(file.name)
    try:
        done = subprocess.run([*command, str(path)], check=False)  # noqa: S603 - the person's own editor
    except OSError as error:
        path.unlink(missing_ok=True)
        raise InvalidInput(f"{command[0]} cannot be started: {error.strerror}", hint="Set EDITOR.") from None
    if done.returncode:
        raise InvalidInput(
            f"{command[0]} ended with {done.returncode}", hint=f"Nothing was saved; your text is in {path}."
        )
    return Draft(path.read_text(encoding="utf-8"), path)
