"""Answers: from a question to cited evidence, at a fraction of the tokens of whole files."""

from __future__ import annotations

from lithos.graph.answers.code_finder import CodeFinder
from lithos.graph.answers.gate import FirewallGate
from lithos.graph.answers.history_finder import HistoryFinder, HistoryOwners
from lithos.graph.answers.intents import Intent, classify
from lithos.graph.answers.judging import StoredJudge
from lithos.graph.answers.note_finder import NoteFinder, NoteStates
from lithos.graph.answers.prose import CommandProse, Prose, ScriptedProse
from lithos.graph.answers.resolver import Finder, Resolver
from lithos.graph.answers.source_finder import SourceFinder

__all__ = [
    "CodeFinder",
    "CommandProse",
    "Finder",
    "FirewallGate",
    "HistoryFinder",
    "HistoryOwners",
    "Intent",
    "NoteFinder",
    "NoteStates",
    "Prose",
    "Resolver",
    "ScriptedProse",
    "SourceFinder",
    "StoredJudge",
    "classify",
]
