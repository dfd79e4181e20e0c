"""Telling program code from prose."""

from __future__ import annotations

import pytest

from lithos.search.text.code import code_share

PYTHON = "def parse(text):\n    if not text:\n        return None\n    parts = text.split(',')\n    return parts"
GO = "func Add(a int, b int) int {\n\ttotal := a + b\n\treturn total\n}\n// done\nvar x = Add(1, 2)"
PROSE = "We deploy on Fridays.\nIf a test fails, stop and ask.\nReturn to the list (see below).\n- one item; more"
CHINESE = "我们使用数据库。\n连接池大小为十。\n发布之前必须运行测试。"


@pytest.mark.parametrize("text", [PYTHON, GO, f"```python\n{PYTHON}\n```"])
def test_code_is_code(text: str) -> None:
    assert code_share([text]) > 0.7


@pytest.mark.parametrize("text", [PROSE, CHINESE, "", "x = 1", "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |"])
def test_prose_is_not(text: str) -> None:
    assert code_share([text]) < 0.2


@pytest.mark.parametrize("line", ["(" * 399, "a.b" * 130, "x = " * 90, "[" * 399, '"' * 399, "{" * 5_000, "if " * 130])
def test_hostile_lines_cost_little(line: str) -> None:
    """In steps of the pattern, not in seconds: it ends for each of them at all."""
    assert 0.0 <= code_share([f"{line}\n" * 50]) <= 1.0
