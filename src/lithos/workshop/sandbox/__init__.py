"""The sandbox: commands that can read system folders and write to one worktree, and nothing else."""

from __future__ import annotations

from lithos.workshop.sandbox.sandbox import Command, Sandbox

__all__ = ["Command", "Sandbox"]
