"""Checks of names and texts from callers: agents, tags, titles."""

from __future__ import annotations

import unicodedata

from lithos.errors import InvalidInput, TooLarge

LONGEST_AGENT = 200


def agent_name(text: str, field: str = "agent") -> str:
    """Free-form, as the spec has it, but printable, not blank, and short enough for a table."""
    return one_line(text, field, LONGEST_AGENT, hint='Name yourself, for example "claude-code".')


def folded(name: str) -> str:
    """The key under which spellings of one name are equal: case, width and blanks do not count."""
    return " ".join(unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold()).split())


def one_line(text: str, field: str, longest: int, hint: str = "") -> str:
    """A name, title or label: trimmed, not blank, printable, at most `longest` characters."""
    name = text.strip()
    if not name:
        raise InvalidInput(f"{field} is empty", hint=hint)
    if len(name) > longest:
        raise TooLarge(f"{field} has {len(name)} characters; {longest} is the most")
    if not name.isprintable() and any(unicodedata.category(one) in ("Cc", "Cs", "Zl", "Zp") for one in name):
        raise InvalidInput(f"{field} contains a control character", hint="Use printable characters.")
    return name


def plain_text(text: str, field: str, longest: int) -> str:
    """Any text of several lines that a table and a file can hold as it is."""
    if len(text) > longest:
        raise TooLarge(f"{field} has {len(text)} characters; {longest} is the most", hint="Put long text into a note.")
    if "\x00" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise InvalidInput(f"{field} contains a NUL or a lone surrogate", hint="Send valid Unicode text.")
    return text
