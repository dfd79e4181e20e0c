"""Calls of tools on a Lithos that a test opened itself, and the ways of finding a note, compared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lithos.app import Lithos
from lithos.tools.caller import Caller
from lithos.tools.catalogue import catalogue

CallTool = Callable[..., dict[str, Any]]


def caller(lithos: Lithos) -> CallTool:
    def call(name: str, /, _caller: Caller | None = None, **arguments: Any) -> dict[str, Any]:
        return catalogue().call(lithos, name, arguments, _caller)

    return call


def titles(answer: dict[str, Any]) -> set[str]:
    return {each["title"] for each in answer.get("results", answer.get("items", ()))}


def found(call: CallTool, query: str = "retries", **more: Any) -> set[str]:
    """What all four ways of finding agree on."""
    more_for_list = {name: value for name, value in more.items() if name == "status"}
    by_words = titles(call("lithos_search", query=query, **more))
    by_recall = titles(call("lithos_recall", query=query, **more))
    assert by_words == by_recall
    if set(more) <= {"status"}:
        assert titles(call("lithos_list", **more_for_list)) >= by_words
    return by_words
