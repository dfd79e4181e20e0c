"""The two hashes of a file: of its bytes (`version`) and of its canonicalised text (`hash`)."""

from __future__ import annotations

import re

from lithos.core.canonical import sha256_hex
from lithos.errors import InvalidInput

BYTES = "sha256:"
CANONICAL = "canonical-sha256:"


def canonical_text(text: str) -> str:
    """LF, no white space at line ends, one final newline: what a person would call the same text."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return "\n".join(line.rstrip() for line in lines).rstrip("\n") + "\n"


def text_hash(text: str) -> str:
    return CANONICAL + sha256_hex(canonical_text(text).encode())


_HEX = re.compile(r"[0-9a-f]{12,64}")  # a version as answers show it


def checked_version(if_match: str | None) -> str | None:
    """Check `if_match`: the version of the bytes, or None."""
    if if_match is None or if_match.startswith(BYTES) or _HEX.fullmatch(if_match):
        return if_match
    if if_match.startswith(CANONICAL):
        raise InvalidInput(
            "if_match: this is a canonical hash, which two different files can share",
            hint="Send `version`, which starts with sha256: and comes with every read.",
        )
    raise InvalidInput("if_match: this is no version", hint="Send `version` of your last read, unchanged.")
