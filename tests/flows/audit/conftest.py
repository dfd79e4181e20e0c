"""Refusals as data, and the vault as people see it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lithos.errors import LithosError
from tests.conftest import CallTool

Refuse = Callable[..., dict[str, Any]]
Save = Callable[..., Path]


@pytest.fixture
def refused(call: CallTool) -> Refuse:
    """The error of a call, or the answer of a coordination tool that says no."""

    def refusal(name: str, /, **arguments: Any) -> dict[str, Any]:
        try:
            answer = call(name, **arguments)
        except LithosError as error:
            return error.as_dict()
        assert answer.get("success") is False, answer
        return answer

    return refusal


@pytest.fixture
def save(data_dir: Path) -> Save:
    """A person saves a file in the vault."""

    def saved(path: str, text: str | bytes) -> Path:
        file = data_dir / "knowledge" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode() if isinstance(text, str) else text)
        return file

    return saved
