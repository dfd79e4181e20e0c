"""Expected refusals, as the coordination tools answer them."""

from __future__ import annotations

from typing import Any

from lithos.storage import Answer, Outcome


def refused(reason: str, hint: str, **more: Any) -> Outcome:
    return Outcome(refusal(reason, hint, **more), refused=True)


def refusal(reason: str, hint: str, **more: Any) -> Answer:
    return {"success": False, **more, "reason": reason, "hint": hint}
