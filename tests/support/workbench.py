"""A project in git, a memory that knows it, and a session that works on it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lithos.app import Lithos, open_lithos
from lithos.core.call import Call
from lithos.core.clock import Clock
from lithos.settings import LithosConfig
from lithos.storage import Faults
from lithos.tools.caller import Caller
from lithos.tools.catalogue import catalogue
from lithos.workshop import Worktree

IDENTITY = {
    "GIT_AUTHOR_NAME": "p",
    "GIT_AUTHOR_EMAIL": "p@example.invalid",
    "GIT_COMMITTER_NAME": "p",
    "GIT_COMMITTER_EMAIL": "p@example.invalid",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
}


def git(folder: Path, *arguments: str) -> str:
    """As a person would run it, with no settings of this machine."""
    environment = {**os.environ, **IDENTITY}
    done = subprocess.run(["git", *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (arguments, done.stderr)
    return done.stdout.strip()


def make_project(folder: Path, files: Mapping[str, str] | None = None) -> Path:
    folder.mkdir(parents=True)
    git(folder, "init", "--quiet", "-b", "main")
    change(folder, files or {"a.py": "one\ntwo\nthree\n", "src/b.py": "b = 1\n"})
    return folder


def change(folder: Path, files: Mapping[str, str], message: str = "change") -> str:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "-m", message)
    return git(folder, "rev-parse", "HEAD")


def is_running(mark: str) -> bool:
    """Whether a process has this argument."""
    for each in Path("/proc").iterdir():
        try:
            if each.name.isdigit() and mark.encode() in (each / "cmdline").read_bytes().split(b"\0"):
                return True
        except OSError:
            continue
    return False


def operator() -> Caller:
    return Caller(agent="cli", operator=True)


class Workbench:
    """Calls the tools as the agent `ann` in an active session."""

    def __init__(
        self,
        folder: Path,
        *,
        project: Path | None = None,
        clock: Clock | None = None,
        faults: Faults | None = None,
        **settings: Any,
    ) -> None:
        usual = folder / "project"
        self.project = project or (usual if usual.exists() else make_project(usual))
        given = {"projects": {"project": str(self.project)}, "enabled": True, **settings}
        self.config = LithosConfig.model_validate({"storage": {"data_dir": folder / "data"}, "workshop": given})
        self.lithos: Lithos = open_lithos(self.config, clock=clock, faults=faults)
        self.session = ""

    def __enter__(self) -> Workbench:
        return self

    def __exit__(self, *_: object) -> None:
        self.lithos.close()

    def call(self, tool: str, /, *, by: str = "ann", caller: Caller | None = None, **arguments: Any) -> dict[str, Any]:
        return catalogue().call(self.lithos, tool, arguments, caller or Caller(agent=by))

    def begin(self, name: str = "Fix the parser", *, by: str = "ann", **more: Any) -> str:
        session = self.call("lithos_session_create", by=by, name=name, **more)["session_id"]
        self.call("lithos_session_activate", by=by, session_id=session)
        self.session = self.session or session
        return session

    def open(self, **more: Any) -> dict[str, Any]:
        if not self.session:
            self.begin()
        return self.call("lithos_worktree_open", **more)

    def worktree(self, pipeline: str = "") -> Worktree:
        return self.lithos.workshop.worktrees.find(Call("test", agent="ann"), self.session, None, pipeline)

    def run(self, *argv: str, **more: Any) -> dict[str, Any]:
        return self.call("lithos_work_run", argv=[*argv], **more)
