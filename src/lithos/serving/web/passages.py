"""Text of a hit as people read it: without the marks of Markdown, and with the words of the question marked."""

from __future__ import annotations

import re
from functools import lru_cache

from markupsafe import Markup

from lithos.search import query_terms
from lithos.serving.web.markdown import visible
from lithos.serving.web.templates import unlinked

LINK = re.compile(r"!?\[([^\[\]\n]{0,200})\]\([^()\s]{0,500}\)")
EMPHASIS = re.compile(r"\*\*|__|`")
WORD = re.compile(r"\w{1,80}")


def readable(text: str) -> str:
    """Words without brackets, addresses and emphasis."""
    return EMPHASIS.sub("", LINK.sub(r"\1", unlinked(text)))


def marked(text: str, question: str) -> Markup:
    """The words that the index takes for words of the question, in any inflection, between `<mark>` and `</mark>`."""
    wanted = frozenset(query_terms(question))
    pieces, end = [], 0
    for found in WORD.finditer(text):
        if wanted.isdisjoint(_terms(found.group())):
            continue
        pieces.append(f"{visible(text[end : found.start()])}<mark>{visible(found.group())}</mark>")
        end = found.end()
    return Markup(f"<bdi>{''.join(pieces)}{visible(text[end:])}</bdi>")  # every piece is escaped


@lru_cache(maxsize=4096)
def _terms(word: str) -> frozenset[str]:
    return frozenset(query_terms(word))
