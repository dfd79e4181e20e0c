"""The skill registry: versioned texts, kept in the database."""

from __future__ import annotations

from lithos.skills.skills import (
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

__all__ = [
    "OneSkill",
    "ReadSkill",
    "SkillFilter",
    "SkillList",
    "SkillManifest",
    "SkillStatus",
    "SkillVersions",
    "Skills",
    "skill_guide",
]
