"""Runs the conversations that pages show, as `calls` blocks.

    ann → lithos_task_claim(task_id="0198…", aspect="code")     # a comment
        ← {"success": true, "token": 42, …}

The name, where there is one, is that of the connection.
A text with "…" and a number stand for what the server says there; later calls of the page use the real value.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable
from typing import Any

Call = Callable[[str, str, dict[str, Any]], dict[str, Any]]  # who, tool, arguments
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z")
_COMMENT = re.compile(r"\s{2,}# .*$", re.MULTILINE)


class Conversation:
    """The calls of one page, in order."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._real: dict[Any, Any] = {}

    def run(self, block: str) -> None:
        answer: dict[str, Any] = {}
        for turn in re.split(r"^(?=\w* *[→←])", _COMMENT.sub("", block), flags=re.MULTILINE):
            who, arrow, text = re.split("([→←])", turn, maxsplit=1) if turn.strip() else ("", "", "")
            if arrow == "→":
                answer = self._say(*_parsed(text.strip()), who.strip())
            elif arrow == "←":
                self._compare(json.loads(re.sub(r",\s*…\s*(?=[}\]])", "", text)), answer, text)

    def run_json(self, block: str) -> None:
        """Lines of {"tool": …, "arguments": …}."""
        decoder, place = json.JSONDecoder(), 0
        while place < len(block.rstrip()):
            asked, place = decoder.raw_decode(block, place)
            self._say(asked["tool"], asked["arguments"])
            place += len(block[place:]) - len(block[place:].lstrip())

    def _say(self, tool: str, arguments: dict[str, Any], who: str = "") -> dict[str, Any]:
        answer = self._call(who, tool, self._resolved(arguments))
        assert "error" not in answer, f"{tool}: {answer}"
        return answer

    def _resolved(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {name: self._resolved(each) for name, each in value.items()}
        if isinstance(value, list):
            return [self._resolved(each) for each in value]
        if isinstance(value, str) and ":" in value and value not in self._real:  # event:01K…
            head, _, rest = value.partition(":")
            return f"{head}:{self._real.get(rest, rest)}"
        return value if isinstance(value, bool) else self._real.get(value, value)

    def _compare(self, shown: Any, real: Any, where: str) -> None:
        if isinstance(shown, dict):
            for name, each in shown.items():
                assert name in real, f"{name} is not in the answer: {where}\n{real}"
                self._compare(each, real[name], f"{where}\n  {name}")
        elif isinstance(shown, list):
            assert len(real) >= len(shown), f"{where}: {real}"
            for one, other in zip(shown, real, strict=False):
                self._compare(one, other, where)
        elif self._stands_for_another(shown):
            assert type(shown) is type(real) or isinstance(shown, int | float), f"{where}: {real!r}"
            self._real[shown] = real
        else:
            assert shown == real, f"{where}: {real!r}"

    def _stands_for_another(self, shown: Any) -> bool:
        if isinstance(shown, str):
            return "…" in shown or _MOMENT.fullmatch(shown) is not None
        return isinstance(shown, int | float) and not isinstance(shown, bool)


def _parsed(text: str) -> tuple[str, dict[str, Any]]:
    called = ast.parse(text, mode="eval").body
    assert isinstance(called, ast.Call) and isinstance(called.func, ast.Name), text
    return called.func.id, {str(each.arg): ast.literal_eval(each.value) for each in called.keywords}
