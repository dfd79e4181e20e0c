"""Values of the workshop: a worktree, the options of the part, the limits of a run, and the result of one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

Merge = Literal["ask", "auto"]
Wall = Literal["bubblewrap", "landlock", "none"]
Network = Literal["blocked", "tcp blocked", "open"]
KilledBy = Literal["timeout", "memory", "processes", "disk", "stopped"]

MB = 1024 * 1024
BASE_SUFFIX = ".base"  # of the id under which the files of a worktree's base are checked


@dataclass(frozen=True, slots=True)
class Worktree:
    """One checkout of a session. `pipeline` is empty for the session's own, else the name of the pipeline."""

    id: str
    session_id: str
    project: str
    path: Path
    branch: str
    base: str  # the branch that it began from, and that it is merged into
    base_commit: str  # where `base` was then
    main: Path  # the project's own checkout
    pipeline: str = ""

    @property
    def files_lock(self) -> str:
        """Of edits, merges and removal; a run, which may take minutes, holds `id` instead."""
        return f"{self.id} files"

    @property
    def git_dir(self) -> Path:
        """Git's records of this worktree, inside the project: known to us, never read from the worktree."""
        return self.main / ".git" / "worktrees" / self.id


@dataclass(frozen=True, slots=True)
class RunLimits:
    """Limits of one run; whichever is reached first ends the whole run."""

    seconds: float = 120
    test_seconds: float = 600
    output_bytes: int = MB
    memory_bytes: int = 2048 * MB
    processes: int = 256
    disk_bytes: int = 1024 * MB


@dataclass(frozen=True, slots=True)
class WorkshopOptions:
    folder: Path  # of all worktrees
    projects: Mapping[str, Path] = field(default_factory=dict)
    enabled: bool = False
    network: bool = False
    unconfined: bool = False
    merge: Merge = "ask"
    limits: RunLimits = field(default_factory=RunLimits)
    toolchains: tuple[Path, ...] = ()
    exclusive: tuple[str, ...] = ()
    idle_minutes: float = 240
    most_worktrees: int = 32
    keep_days: float = 30
    keep_runs: int = 1_000


@dataclass(frozen=True, slots=True)
class Completed:
    """How a run ended. `exit_code` is negative for a signal, None if the run was killed by a limit."""

    exit_code: int | None
    stdout: bytes
    stderr: bytes
    seconds: float
    timed_out: bool
    killed_by: KilledBy | None
    truncated: bool
    confined: bool
    network: Network
    wall: Wall
