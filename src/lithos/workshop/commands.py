"""One command of an agent: checked, run as a job, answered as text."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lithos.core.call import Call
from lithos.errors import NotFound
from lithos.workshop.discovery import install_command
from lithos.workshop.runs import Job, checked_argv
from lithos.workshop.values import Completed
from lithos.workshop.workshop import Workshop

Place = tuple[str | None, str | None, str]  # session, project, pipeline

_CONTROLS = {code: "\N{REPLACEMENT CHARACTER}" for code in (*range(32), 127) if chr(code) not in "\t\n\r"}


async def run_command(
    workshop: Workshop,
    call: Call,
    place: Place,
    argv: Sequence[str],
    *,
    seconds: float | None = None,
    cwd: str = ".",
    network: bool = False,
) -> Job:
    """Start the command. What can be refused is refused before anything has a run id."""

    def start() -> Job:
        vector = checked_argv(argv)
        worktree = workshop.ready(call, *place)

        def work() -> dict[str, Any]:
            try:
                done = workshop.runner.run(worktree, vector, timeout=seconds, cwd=cwd, network=network)
            except NotFound as error:
                raise _with_install_command(error, vector[0], worktree.path) from None
            return shown(done)

        return workshop.jobs.start(call, worktree, "run", vector, work)

    return await asyncio.to_thread(start)


def _with_install_command(error: NotFound, program: str, root: Path) -> NotFound:
    """The command is for the person: nothing is installed by itself."""
    command = install_command(program, root) if error.details.get("reason") == "not_installed" else []
    if not command:
        return error
    hint = f"Ask the person to install it: {shlex.join(command)}"
    return NotFound(error.message, hint=hint, install_cmd=command, **error.details)


def shown(done: Completed) -> dict[str, Any]:
    return {
        "exit_code": done.exit_code,
        "stdout": _text(done.stdout),
        "stderr": _text(done.stderr),
        "seconds": done.seconds,
        "killed_by": done.killed_by,
        "truncated": done.truncated,
        "confined": done.confined,
        "network": done.network,
    }


def _text(output: bytes) -> str:
    """Text for a reader. JSON spells a control character with six: a megabyte of them would be six."""
    return output.decode("utf-8", "replace").translate(_CONTROLS)
