"""Checks of names and texts from callers: agents, tags, titles."""

from __future__ import annotations

import unicodedata

from lithos.errors import InvalidInput, TooLarge

LONGEST_AGENT = 200
_UNSEEN = ("Cf", "Zs", "Zl", "Zp")
# Letters, marks and a symbol that show nothing; what else shows nothing has one of the categories above.
_FILLERS = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2065\u2800\u3164\uffa0"
    + "".join(map(chr, (*range(0xFE00, 0xFE10), *range(0xE0000, 0xE1000))))
)


def agent_name(text: str, field: str = "agent") -> str:
    """Free-form, as the spec has it, but printable, not blank, and short enough for a table."""
    return one_line(text, field, LONGEST_AGENT, hint='Name yourself, for example "claude-code".')


def folded(name: str) -> str:
    """The key under which spellings of one name are equal: case, width and blanks do not count."""
    return " ".join(unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold()).split())


def looks_like(name: str) -> str:
    """The key under which names are equal to a reader: as `folded`, without what shows nothing."""
    return folded("".join(one for one in name if one not in _FILLERS and unicodedata.category(one) != "Cf"))


def is_blank(text: str) -> bool:
    """Whether a reader sees nothing: blanks, marks of direction, joiners, fillers. Control characters are no blanks:
    they are refused by name."""
    if "!" <= text[:1] <= "~":  # of nearly every text
        return False
    return all(one.isspace() or one in _FILLERS or unicodedata.category(one) in _UNSEEN for one in text)


def one_line(text: str, field: str, longest: int, hint: str = "") -> str:
    """A name, title or label: trimmed, not blank, printable, at most `longest` characters."""
    name = text.strip()
    if is_blank(name):
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
