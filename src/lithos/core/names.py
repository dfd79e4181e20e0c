"""What an agent, a tag or any other name that a caller makes up may look like."""

from __future__ import annotations

import unicodedata

from lithos.errors import InvalidInput

LONGEST_AGENT = 200


def agent_name(text: str, field: str = "agent") -> str:
    """Free-form, as the spec has it, but printable, not blank, and short enough for a table."""
    name = text.strip()
    if not name:
        raise InvalidInput(f"{field} is empty", hint='Name yourself, for example "claude-code".')
    if len(name) > LONGEST_AGENT:
        raise InvalidInput(f"{field} has {len(name)} characters; {LONGEST_AGENT} is the most")
    if any(unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") for character in name):
        raise InvalidInput(f"{field} contains a control character", hint="Use printable characters.")
    return name
