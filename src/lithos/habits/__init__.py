"""Ten habits of a good agent, each one cheap call before the mistake."""

from __future__ import annotations

from lithos.habits.components import ComponentsFound, ComponentType
from lithos.habits.config_files import read_toml, read_yaml
from lithos.habits.continuity import CheckpointSaved, Progress, TaskDecision, TaskResumed, TaskState
from lithos.habits.dependencies import DependencyChecked
from lithos.habits.file_snapshots import Savings
from lithos.habits.habits import HabitGround, HabitOptions, Habits
from lithos.habits.lenient_json import read_json
from lithos.habits.manifests import Manifests, PackageUse, is_manifest, read_manifests
from lithos.habits.mistakes import Mistake, MistakeJudged, MistakeOutcome, MistakeReported, MistakesChecked
from lithos.habits.preferences import PreferenceLearned, Preferences, Response, Scope, StoredPreference, UserPreferences
from lithos.habits.preview import EditPreview
from lithos.habits.roles import HABIT_SOURCES, HABIT_TOOLS, ROLE_HABITS
from lithos.habits.scratchpad import Scratched, ScratchpadRead
from lithos.habits.style.guide import StyleGuide
from lithos.habits.tokens.lint import MOST_FINDINGS, SHOWN_FINDINGS, TokenLint, lint_tokens
from lithos.habits.tokens.tokens import DesignTokens, TokenCategory, TokenFound

__all__ = [
    "HABIT_SOURCES",
    "HABIT_TOOLS",
    "MOST_FINDINGS",
    "ROLE_HABITS",
    "SHOWN_FINDINGS",
    "CheckpointSaved",
    "ComponentType",
    "ComponentsFound",
    "DependencyChecked",
    "DesignTokens",
    "EditPreview",
    "HabitGround",
    "HabitOptions",
    "Habits",
    "Manifests",
    "Mistake",
    "MistakeJudged",
    "MistakeOutcome",
    "MistakeReported",
    "MistakesChecked",
    "PackageUse",
    "PreferenceLearned",
    "Preferences",
    "Progress",
    "Response",
    "Savings",
    "Scope",
    "Scratched",
    "ScratchpadRead",
    "StoredPreference",
    "StyleGuide",
    "TaskDecision",
    "TaskResumed",
    "TaskState",
    "TokenCategory",
    "TokenFound",
    "TokenLint",
    "UserPreferences",
    "is_manifest",
    "lint_tokens",
    "read_json",
    "read_manifests",
    "read_toml",
    "read_yaml",
]
