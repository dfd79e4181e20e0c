"""Collections: full text, vectors and filter fields under one small interface."""

from __future__ import annotations

from lithos.search.values import Bounds, By, Change, Document, Found, Hit, Passage, Query, Remove, Status, Where

__all__ = [
    "Bounds",
    "By",
    "Change",
    "Document",
    "Found",
    "Hit",
    "Passage",
    "Query",
    "Remove",
    "Status",
    "Where",
]
