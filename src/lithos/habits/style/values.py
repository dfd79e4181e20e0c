"""One value of a style guide, with what it rests on."""

from __future__ import annotations

from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict


class StyleValue(TypedDict):
    value: Any
    source: Literal["config", "inferred"]
    share: NotRequired[float]
    count: NotRequired[int]
    examples: NotRequired[list[str]]
    where: NotRequired[str]
    disagrees: NotRequired[str]
