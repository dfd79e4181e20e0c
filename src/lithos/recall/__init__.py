"""Recall: one question over every kind of thing that Lithos keeps."""

from __future__ import annotations

from lithos.recall.kind import Changed, ChangesQuery, Kind, KindHits, Question
from lithos.recall.notes import NoteKind
from lithos.recall.recall import Recall, RecallAnswer, RecallHit

__all__ = [
    "Changed",
    "ChangesQuery",
    "Kind",
    "KindHits",
    "NoteKind",
    "Question",
    "Recall",
    "RecallAnswer",
    "RecallHit",
]
