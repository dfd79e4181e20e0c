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
from lithos.ledger.bundle import Proof, bundle_lines
from lithos.ledger.chain import Chain
from lithos.ledger.checkpoints import Checkpoint, parse_checkpoint
from lithos.ledger.forgetting import Forgotten
from lithos.ledger.keys import host_key, sign_arguments, signing_key
from lithos.ledger.ledger import Imported, Ledger
from lithos.ledger.query import Direction, Filter, Walk, optional_time, time_window
from lithos.ledger.registrar import Registrar
from lithos.ledger.search import THOUGHT_KEYWORDS, THOUGHT_NUMBERS, ThoughtSearch
from lithos.ledger.shelf import chain_folder, chain_folders
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
from lithos.ledger.world import World

__all__ = [
    "EXIT_CODES",
    "THOUGHT_KEYWORDS",
    "THOUGHT_NUMBERS",
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
    "Forgotten",
    "Head",
    "Imported",
    "Ledger",
    "OneAgent",
    "OneSkill",
    "OneThought",
    "Proof",
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
    "ThoughtSearch",
    "ThoughtType",
    "Thoughts",
    "Thread",
    "Traversal",
    "Verification",
    "Walk",
    "World",
    "bundle_lines",
    "chain_folder",
    "chain_folders",
    "host_key",
    "optional_time",
    "parse_checkpoint",
    "sign_arguments",
    "signing_key",
    "skill_guide",
    "time_window",
]
