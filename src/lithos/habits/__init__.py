"""Habits of a good agent: scratchpad, preferences, continuity, file snapshots, mistakes, previews."""

from __future__ import annotations

from lithos.habits.continuity import CheckpointSaved, Progress, TaskDecision, TaskResumed, TaskState
from lithos.habits.file_snapshots import Savings
from lithos.habits.habits import HabitGround, HabitOptions, Habits
from lithos.habits.mistakes import Mistake, MistakeJudged, MistakeOutcome, MistakeReported, MistakesChecked
from lithos.habits.preferences import PreferenceLearned, Preferences, Response, Scope, StoredPreference
from lithos.habits.preview import EditPreview
from lithos.habits.scratchpad import Scratched, ScratchpadRead

__all__ = [
    "CheckpointSaved",
    "EditPreview",
    "HabitGround",
    "HabitOptions",
    "Habits",
    "Mistake",
    "MistakeJudged",
    "MistakeOutcome",
    "MistakeReported",
    "MistakesChecked",
    "PreferenceLearned",
    "Preferences",
    "Progress",
    "Response",
    "Savings",
    "Scope",
    "Scratched",
    "ScratchpadRead",
    "StoredPreference",
    "TaskDecision",
    "TaskResumed",
    "TaskState",
]
