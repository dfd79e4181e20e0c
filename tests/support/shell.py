"""Verbs of the command line, run in this process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lithos.cli.root import run
from lithos.storage import store_id


def mark_memory(data_dir: Path) -> None:
    """A memory in which nothing is stored yet: verbs that read make none."""
    store_id(data_dir / ".lithos")


class Shell:
    def __init__(self, data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self._data_dir, self._capsys = data_dir, capsys
        mark_memory(data_dir)

    def __call__(self, *words: str, code: int = 0) -> str:
        assert run([*words, "--data-dir", str(self._data_dir)]) == code, self._capsys.readouterr()
        printed = self._capsys.readouterr()
        return (printed.out if code == 0 else printed.err).strip()

    def call(self, tool: str, *pairs: str) -> Any:
        assert run(["call", tool, *pairs, "--data-dir", str(self._data_dir)]) == 0, self._capsys.readouterr()
        return json.loads(self._capsys.readouterr().out)

    def json(self, *words: str, code: int = 0) -> Any:
        assert run([*words, "--json", "--data-dir", str(self._data_dir)]) == code
        return json.loads(self._capsys.readouterr().out)
