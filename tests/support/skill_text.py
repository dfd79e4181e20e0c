"""A skill as people write it."""

from __future__ import annotations

SKILL = """---
name: Safe Deploys
description: How we deploy.
tags: [deploy, ops]
triggers: ["before a release"]
warnings: ["Needs a canary."]
---

# Safe Deploys

Deploy to one machine first.
"""
