"""Fixtures of several flows."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.note_calls import CallTool


@pytest.fixture
def write(call: CallTool) -> CallTool:
    def written(title: str = "Retries", content: str = "Retry three times.", **more: Any) -> dict[str, Any]:
        return call("lithos_write", **{"title": title, "content": content, "agent": "ann", **more})

    return written
