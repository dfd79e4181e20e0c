"""Recall: one question over every kind of thing that Lithos keeps."""

from __future__ import annotations

from lithos.recall.briefing import Briefing, BriefingAnswer, Tier, TitlesAnswer
from lithos.recall.changes import ChangeKind, Changes, ChangesAnswer, ChangesRequest, Place, mail_line, parse_place
from lithos.recall.code import CodeKind
from lithos.recall.history import CommitKind, SourceKind
from lithos.recall.kind import Changed, ChangesQuery, Kind, KindHits, Question
from lithos.recall.messages import MESSAGE_KEYWORDS, MessageIndex, MessageKind
from lithos.recall.notes import NoteKind
from lithos.recall.recall import Recall, RecallAnswer, RecallHit
from lithos.recall.session_briefing import SessionBriefing
from lithos.recall.thoughts import ThoughtKind
from lithos.recall.undo import Undo, UndoAnswer, UndoPreview
from lithos.recall.work import WORK, WORK_KEYWORDS, WORK_NUMBERS, WorkIndex, WorkKind

__all__ = [
    "MESSAGE_KEYWORDS",
    "WORK",
    "WORK_KEYWORDS",
    "WORK_NUMBERS",
    "Briefing",
    "BriefingAnswer",
    "ChangeKind",
    "Changed",
    "Changes",
    "ChangesAnswer",
    "ChangesQuery",
    "ChangesRequest",
    "CodeKind",
    "CommitKind",
    "Kind",
    "KindHits",
    "MessageIndex",
    "MessageKind",
    "NoteKind",
    "Place",
    "Question",
    "Recall",
    "RecallAnswer",
    "RecallHit",
    "SessionBriefing",
    "SourceKind",
    "ThoughtKind",
    "Tier",
    "TitlesAnswer",
    "Undo",
    "UndoAnswer",
    "UndoPreview",
    "WorkIndex",
    "WorkKind",
    "mail_line",
    "parse_place",
]
