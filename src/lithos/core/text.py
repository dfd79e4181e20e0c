"""Small decisions about text that several parts share."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Iterable

_SENTENCE_END = re.compile(r"[.!?。！？](?=\s|$)")
BYTES_PER_TOKEN = 4


def estimate_tokens(text: str) -> int:
    """Four bytes a token, the measure in which budgets are given (DESIGN §6)."""
    return -(-len(text.encode("utf-8", "replace")) // BYTES_PER_TOKEN)


def slug(text: str, longest: int = 120) -> str:
    """NFC, lower case, letters and digits of any script, everything else one hyphen; may be empty."""
    lowered = unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).lower())
    kept = "".join(c if c.isalnum() or unicodedata.category(c)[0] == "M" else "-" for c in lowered)
    joined = re.sub(r"-+", "-", kept).strip("-")
    return joined.encode("utf-8")[:longest].decode("utf-8", "ignore").rstrip("-")


def with_article(noun: str) -> str:
    """A word of ours in a sentence: "an Anthropic key", "a GitHub token", "an upload"."""
    return f"{'an' if noun[0].lower() in 'aeiou' or noun.startswith('npm') else 'a'} {noun}"


def cut(text: str, longest: int) -> str:
    """Up to the last paragraph or sentence end within `longest`; to the character where there is none."""
    if len(text) <= longest:
        return text
    head = text[:longest]
    paragraph = head.rfind("\n\n")
    ends = [match.end() for match in _SENTENCE_END.finditer(text[: longest + 1]) if match.end() <= longest]
    boundary = max(paragraph, ends[-1] if ends else -1)
    return head[:boundary].rstrip() if boundary > 0 else head


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known name that a typo most likely meant."""
    found = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return found[0] if found else None
