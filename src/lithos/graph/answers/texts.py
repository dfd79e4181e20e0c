"""Texts of pieces: their words, and the part of one that answers a question."""

from __future__ import annotations

import re

from lithos.core.markdown import scan

LONGEST_SCANNED = 200_000
_WORD = re.compile(r"\d+(?:\.\d+)+|[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+")
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")


def words_of(text: str) -> frozenset[str]:
    """The beginnings of its words; names are taken apart."""
    return frozenset(word[:6].lower() for word in _WORD.findall(text) if len(word) > 2)


def shared_words(asked: frozenset[str], text: str) -> float:
    """The share of the question's words that a text has."""
    return len(asked & words_of(text)) / len(asked) if asked else 0.0


def beginning(text: str, most: int) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= most else f"{plain[:most].rpartition(' ')[0]} …"


def shown_part(text: str, asked: frozenset[str], most: int) -> str:
    """The text if it is short; else its sentences that share most words with the question, in their order."""
    plain = text.strip()
    if len(plain) <= most:
        return plain
    sentences = [each.strip() for each in _SENTENCE.split(plain) if each.strip()]
    ranked = sorted(range(len(sentences)), key=lambda place: (-len(asked & words_of(sentences[place])), place))
    kept: list[int] = []
    size = 0
    for place in ranked:
        if size + len(sentences[place]) > most:
            continue
        kept.append(place)
        size += len(sentences[place]) + 1
    if not kept:
        return f"{plain[:most]} …"
    return " … ".join(sentences[place] for place in sorted(kept)) + (" …" if max(kept) < len(sentences) - 1 else "")


def section_on(text: str, asked: frozenset[str]) -> tuple[float, str]:
    """The section whose heading has most of these words: the share that it has, and how its text begins."""
    found = scan(text[:LONGEST_SCANNED])
    best, place = 0.0, -1
    for index, heading in enumerate(found.headings):
        words = words_of(heading.text)
        share = len(asked & words) / len(asked | words) if words else 0.0
        if share > best:
            best, place = share, index
    if place < 0:
        return 0.0, ""
    ends = [each.first for each in found.headings[place + 1 :]]
    lines = found.lines[found.headings[place].after : ends[0] if ends else None]
    return best, "".join(lines).strip()
