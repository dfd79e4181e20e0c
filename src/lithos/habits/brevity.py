"""Brevity: answers of habits stay within a few hundred tokens; what does not fit is left out, the last first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from lithos.core.text import estimate_tokens

ANSWER_TOKENS = 300


def is_short(answer: Mapping[str, Any]) -> bool:
    return estimate_tokens(orjson.dumps(answer).decode()) <= ANSWER_TOKENS
