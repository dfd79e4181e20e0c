"""Spellings of the read-only switch, for every way in: URL, header, flag, environment.

A safety switch fails closed: an unknown value is refused, and so is a name that is almost right. Standard library only,
because the guest reads its switch before anything else is imported.
"""

from __future__ import annotations

ON = frozenset({"1", "true", "yes", "on", "t", "y"})  # as pydantic reads settings
OFF = frozenset({"0", "false", "no", "off", "f", "n"})


def read_switch(text: str) -> bool | None:
    """Whether the switch is on. None: an unknown spelling, which the caller refuses."""
    word = text.strip().lower()
    return word in ON if word in ON or word in OFF else None


def folded(name: str) -> str:
    """A name without case and punctuation: `X-Lithos-ReadOnly` and `x_lithos_read_only` are equal."""
    return "".join(each for each in name.lower() if each.isalnum())
