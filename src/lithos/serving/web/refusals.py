"""Answers of tools that say no: `{"success": false, "reason": …}` becomes an error that the page shows."""

from __future__ import annotations

from lithos.errors import Conflict, NotFound
from lithos.tools.registry import Answer


def need_success(answer: Answer) -> Answer:
    if answer.get("success") is False:
        if str(answer.get("reason")).startswith("unknown"):
            raise NotFound(f"refused: {answer['reason']}", hint=str(answer.get("hint") or ""))
        held = f" ({answer['holder']} holds it)" if answer.get("holder") else ""
        raise Conflict(f"refused: {answer.get('reason')}{held}", hint=str(answer.get("hint") or ""))
    return answer
