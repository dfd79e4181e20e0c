"""Fixtures of several flows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.note_calls import CallTool
from tests.support.shell import Shell


@pytest.fixture
def write(call: CallTool) -> CallTool:
    def written(title: str = "Retries", content: str = "Retry three times.", **more: Any) -> dict[str, Any]:
        return call("lithos_write", **{"title": title, "content": content, "agent": "ann", **more})

    return written


@pytest.fixture
def shell(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(data_dir, capsys)
