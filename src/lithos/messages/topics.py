"""Topics: names with dots that any number of readers follow, and patterns of them.

`*` means one segment, `**` for one or more. Several patterns are matched at once by a trie, so that a follower
with many costs no more than one walk per topic.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

from lithos.core.text import slug
from lithos.errors import Forbidden, InvalidInput

MOST_SEGMENTS = 8
ONE, MANY = "*", "**"
_SEGMENT = re.compile(r"[a-z0-9_-]{1,64}\Z")
_HINT = "A topic is 1 to 8 words of a-z, 0-9, _ and - joined by dots, for example build.results."
# Written by Lithos itself: a reader may rely on what comes there.
RESERVED_PATTERNS = (
    "guide.requests",
    "*.requests",
    "*.responses",
    "*.errors",
    "agents.registry",
    "routes.learned",
    "session.**",
    "workflow.**",
    "pipeline.**",
)


def topic_name(text: str) -> str:
    """A topic to send to: checked, without wildcards."""
    segments = _segments(text, "topic")
    if any(each in (ONE, MANY) for each in segments):
        raise InvalidInput(f"topic: {text[:80]!r} has a wildcard", hint="Send to one topic; follow with a pattern.")
    return ".".join(segments)


def free_topic(text: str) -> str:
    """A topic that callers may write to."""
    name = topic_name(text)
    if RESERVED.matches(name):
        raise Forbidden(f"the topic {name!r} is written by Lithos alone", hint="Choose another, such as build.results.")
    return name


@lru_cache(4_096)
def agent_topic(agent: str, what: str) -> str:
    """`<agent>.requests`: a segment made from the agent's name, which may have any characters."""
    word = slug(agent, 48)
    if not _SEGMENT.match(word):
        word = "agent-" + hashlib.sha256(agent.encode()).hexdigest()[:12]
    return f"{word}.{what}"


def _segments(text: str, what: str) -> list[str]:
    segments = text.strip().split(".")
    if len(segments) > MOST_SEGMENTS:
        raise InvalidInput(f"{what}: {text[:80]!r} has more than {MOST_SEGMENTS} segments", hint=_HINT)
    for each in segments:
        if each not in (ONE, MANY) and not _SEGMENT.match(each):
            raise InvalidInput(f"{what}: {text[:80]!r} is no topic", hint=_HINT)
    return segments


@dataclass(slots=True)
class _Node:
    ends: bool = False
    children: dict[str, _Node] = field(default_factory=dict)


class TopicPatterns:
    """Patterns that are matched together."""

    def __init__(self, patterns: Iterable[str]) -> None:
        self._root = _Node()
        for pattern in patterns:
            node = self._root
            for segment in _segments(pattern, "pattern"):
                node = node.children.setdefault(segment, _Node())
            node.ends = True

    def matches(self, topic: str) -> bool:
        """Reached nodes are kept as a set: linear in segments and patterns, for all wildcards."""
        reached: list[tuple[_Node, bool]] = [(self._root, False)]  # (node, it is a `**` that may take more)
        for segment in topic.split("."):
            reached = [step for node, many in reached for step in _steps(node, many, segment)]
        return any(node.ends for node, _ in reached)


def _steps(node: _Node, many: bool, segment: str) -> Iterable[tuple[_Node, bool]]:
    if many:
        yield node, True
    for name in {segment, ONE}:
        if (child := node.children.get(name)) is not None:
            yield child, False
    if (child := node.children.get(MANY)) is not None:
        yield child, True


RESERVED = TopicPatterns(RESERVED_PATTERNS)
