"""The ledger: chains of thoughts that nobody can rewrite unnoticed, their registry, proofs and skills."""

from __future__ import annotations

from lithos.ledger.answers import (
    AgentRegistry,
    Agents,
    Appended,
    Bootstrapped,
    Chains,
    Head,
    OneAgent,
    OneThought,
    Thoughts,
    Thread,
    Traversal,
)
from lithos.ledger.chain import Chain, World
from lithos.ledger.checkpoints import Checkpoint
from lithos.ledger.keys import host_key
from lithos.ledger.ledger import Ledger
from lithos.ledger.query import Direction, Filter, Walk, optional_time, time_window
from lithos.ledger.registrar import Registrar
from lithos.ledger.skills import (
    OneSkill,
    ReadSkill,
    SkillFilter,
    SkillList,
    SkillManifest,
    Skills,
    SkillStatus,
    SkillVersions,
    skill_guide,
)
from lithos.ledger.verify import EXIT_CODES, Finding, Report, Verification
from lithos.ledger.words import Adapter, AgentStatus, RelationKind, Role, ThoughtType

__all__ = [
    "EXIT_CODES",
    "Adapter",
    "AgentRegistry",
    "AgentStatus",
    "Agents",
    "Appended",
    "Bootstrapped",
    "Chain",
    "Chains",
    "Checkpoint",
    "Direction",
    "Filter",
    "Finding",
    "Head",
    "Ledger",
    "OneAgent",
    "OneSkill",
    "OneThought",
    "ReadSkill",
    "Registrar",
    "RelationKind",
    "Report",
    "Role",
    "SkillFilter",
    "SkillList",
    "SkillManifest",
    "SkillStatus",
    "SkillVersions",
    "Skills",
    "ThoughtType",
    "Thoughts",
    "Thread",
    "Traversal",
    "Verification",
    "Walk",
    "World",
    "host_key",
    "optional_time",
    "skill_guide",
    "time_window",
]
