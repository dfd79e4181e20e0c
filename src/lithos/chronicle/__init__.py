"""The chronicle: entries of sessions, and what becomes of them."""

from __future__ import annotations

from lithos.chronicle.chronicle import Chronicle
from lithos.chronicle.promotion import PromotedEntries, Promotion
from lithos.chronicle.query import EntryPage, EntryShown, SessionFilter, tuple_of

__all__ = ["Chronicle", "EntryPage", "EntryShown", "PromotedEntries", "Promotion", "SessionFilter", "tuple_of"]
