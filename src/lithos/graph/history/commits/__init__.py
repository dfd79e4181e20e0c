"""Commits: what git remembers, read with the one git runner, and the code of today that each one touched."""

from __future__ import annotations

from lithos.graph.history.commits.log import Commit, CommitLog, FileDiff, read_commits
from lithos.graph.history.commits.messages import described
from lithos.graph.history.commits.tracking import FILE, Touch, Tracked, track

__all__ = ["FILE", "Commit", "CommitLog", "FileDiff", "Touch", "Tracked", "described", "read_commits", "track"]
