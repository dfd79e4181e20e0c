"""Enumerations of the ledger: thought types, roles, relations, statuses, and their numbers on disk."""

from __future__ import annotations

from typing import Literal, get_args

ThoughtType = Literal[
    "PreferenceUpdate",
    "UserTrait",
    "RelationshipUpdate",
    "Finding",
    "Insight",
    "FactLearned",
    "PatternDetected",
    "Hypothesis",
    "Mistake",
    "Correction",
    "AssumptionInvalidated",
    "Constraint",
    "Plan",
    "Subgoal",
    "Decision",
    "StrategyShift",
    "Wonder",
    "Question",
    "Idea",
    "Experiment",
    "ActionTaken",
    "TaskComplete",
    "Checkpoint",
    "StateSnapshot",
    "Handoff",
    "Summary",
    "Surprise",
    "LessonLearned",
]
Role = Literal["Memory", "WorkingMemory", "Summary", "Compression", "Checkpoint", "Handoff", "Audit", "Retrospective"]
RelationKind = Literal[
    "References",
    "Summarizes",
    "Corrects",
    "Invalidates",
    "CausedBy",
    "Supports",
    "Contradicts",
    "DerivedFrom",
    "ContinuesFrom",
    "RelatedTo",
    "Supersedes",
]
Adapter = Literal["binary", "jsonl"]
AgentStatus = Literal["active", "revoked"]

THOUGHT_TYPES: tuple[str, ...] = get_args(ThoughtType)
ROLES: tuple[str, ...] = get_args(Role)
RELATION_KINDS: tuple[str, ...] = get_args(RelationKind)
TYPE_CODES = {name: code for code, name in enumerate(THOUGHT_TYPES)}
ROLE_CODES = {name: code for code, name in enumerate(ROLES)}

LONGEST_CHAIN_KEY = 200
CORRECTING_KINDS = frozenset({"Corrects", "Invalidates", "Supersedes", "Contradicts"})
CORRECTING_TYPES = frozenset({"Correction", "AssumptionInvalidated", "StrategyShift", "LessonLearned"})
