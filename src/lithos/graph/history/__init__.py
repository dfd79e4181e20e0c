"""History: entries of the chain `history`, of the board and of git, as one domain of the graph."""

from __future__ import annotations

from lithos.graph.history.board_entries import BoardEntries, BoardSearch
from lithos.graph.history.history import (
    DecisionPage,
    FailurePage,
    FailureRow,
    History,
    Include,
    Marks,
    PatternPage,
    SessionHistory,
)
from lithos.graph.history.question import Answered, HistoryQuestion, HistorySource
from lithos.graph.history.thoughts import ThoughtEntries
from lithos.graph.history.values import (
    RESOLVED,
    THOUGHT_OF_CATEGORY,
    THOUGHT_OF_SUMMARY,
    TOOL_DISCOVERY,
    Admission,
    AskedCategory,
    Category,
    CodeLink,
    EntryGate,
    FileOperation,
    HistoryPage,
    HistoryRow,
    NewEntry,
    StoredEntry,
    SummaryType,
    whole_text,
)
from lithos.graph.history.writing import HistoryWriter, labelled

__all__ = [
    "RESOLVED",
    "THOUGHT_OF_CATEGORY",
    "THOUGHT_OF_SUMMARY",
    "TOOL_DISCOVERY",
    "Admission",
    "Answered",
    "AskedCategory",
    "BoardEntries",
    "BoardSearch",
    "Category",
    "CodeLink",
    "DecisionPage",
    "EntryGate",
    "FailurePage",
    "FailureRow",
    "FileOperation",
    "History",
    "HistoryPage",
    "HistoryQuestion",
    "HistoryRow",
    "HistorySource",
    "HistoryWriter",
    "Include",
    "Marks",
    "NewEntry",
    "PatternPage",
    "SessionHistory",
    "StoredEntry",
    "SummaryType",
    "ThoughtEntries",
    "labelled",
    "whole_text",
]
