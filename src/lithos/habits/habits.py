"""Habits: one cheap call before the mistake. Each module is one habit; this part holds them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lithos.board import Board
from lithos.chronicle import Section
from lithos.core.clock import Clock
from lithos.core.part import Part
from lithos.garden import Garden
from lithos.graph.code import Code, Surveys
from lithos.habits.components import Components
from lithos.habits.continuity import Continuity
from lithos.habits.dependencies import Dependencies, background
from lithos.habits.file_snapshots import FileSnapshots
from lithos.habits.matching import Matcher
from lithos.habits.mistakes import Mistakes
from lithos.habits.preferences import UserPreferences
from lithos.habits.preview import Previews
from lithos.habits.scratchpad import Scratchpads
from lithos.habits.style.guide import StyleGuides
from lithos.habits.tokens.tokens import DesignSystems
from lithos.ledger import Ledger
from lithos.sessions import Sessions
from lithos.storage import Database, Effects, Root


@dataclass(frozen=True, slots=True)
class HabitGround:
    """The parts that habits stand on."""

    database: Database
    effects: Effects
    clock: Clock
    sessions: Sessions
    ledger: Ledger
    board: Board
    code: Code
    garden: Garden
    vault: Root


@dataclass(frozen=True, slots=True)
class HabitOptions:
    served: Path  # where texts that were served are kept
    served_bytes: int
    surveys: Path  # where surveys of roots are kept
    store: str  # id of this store


class Habits(Part):
    def __init__(self, ground: HabitGround, options: HabitOptions, embed: Callable[[str], Any]) -> None:
        database, sessions, ledger, clock = ground.database, ground.sessions, ground.ledger, ground.clock
        self.matcher = Matcher(embed, background)
        self.scratchpads = Scratchpads(database, ground.effects, sessions, clock, ledger.refuse_secrets)
        self.preferences = UserPreferences(database, ground.effects, sessions, ledger, options.store)
        self.files = FileSnapshots(ground.code, sessions, database, clock, options.served, options.served_bytes)
        self.continuity = Continuity(
            database, sessions, ledger, ground.board, ground.code, self.scratchpads, clock, options.store
        )
        self.mistakes = Mistakes(database, ground.effects, sessions, ledger, self.matcher, clock)
        surveys = Surveys(ground.code, options.surveys)
        self.styles = StyleGuides(ground.code, surveys)
        self.previews = Previews(ground.code, ground.garden, ground.vault, self.styles.check)
        self.dependencies = Dependencies(ground.code, self.matcher)
        self.components = Components(ground.code, surveys, self.matcher)
        self.design = DesignSystems(ground.code)

    @property
    def sections(self) -> Mapping[str, Section]:
        """The part of a session's snapshot that habits keep."""
        return {"scratchpad": Section(self.scratchpads.section, self.scratchpads.take_section)}

    def prune(self, days: float) -> int:
        return self.scratchpads.prune(days) + self.continuity.prune(days)

    def sizes(self) -> Mapping[str, int]:
        return self.files.sizes()

    def close(self) -> None:
        self.files.close()
