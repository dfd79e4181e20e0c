"""Models that write an answer over evidence. Lithos ships none: it runs a command of the operator, if there is one."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from typing import Protocol

from lithos.errors import Unavailable

MOST_ANSWER = 50_000  # characters


class Prose(Protocol):
    """`complete` raises Unavailable if there is no answer."""

    def complete(self, prompt: str) -> str: ...


class ScriptedProse:
    """Answers as written down beforehand, in order: for tests and demonstrations."""

    def __init__(self, answers: Sequence[str]) -> None:
        self._answers = list(answers)
        self.prompts: list[str] = []

    def complete(self, prompt: str) -> str:
        self.prompts.append(prompt)
        return self._answers.pop(0)


class CommandProse:
    """Runs a command for each answer: the prompt on its stdin, the answer on its stdout. No shell."""

    def __init__(self, command: Sequence[str], seconds: float) -> None:
        self._command = list(command)
        self._seconds = seconds

    def complete(self, prompt: str) -> str:
        name = self._command[0]
        try:
            done = subprocess.run(  # noqa: S603 - the operator's own command; the prompt is never an argument
                self._command, input=prompt.encode(), capture_output=True, timeout=self._seconds, check=False
            )
        except subprocess.TimeoutExpired:
            raise Unavailable(f"{name} gave no answer within {self._seconds:g} seconds") from None
        except OSError as error:
            raise Unavailable(f"{name} cannot be run: {error.strerror or error}") from None
        if done.returncode:
            raise Unavailable(f"{name} ended with code {done.returncode}")
        text = done.stdout.decode(errors="replace").strip()
        if not text:
            raise Unavailable(f"{name} gave no answer")
        return text[:MOST_ANSWER]
