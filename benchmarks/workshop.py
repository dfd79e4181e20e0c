"""The workshop: opening a worktree beside git alone, a command beside bare bubblewrap, editing, committing, merging.

CPU time of this process and its children, so that other load does not count. Medians.
"""

from __future__ import annotations

import resource
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.report import line
from lithos.app import Lithos, open_lithos
from lithos.core.call import Call
from lithos.settings import LithosConfig
from lithos.tools.caller import Caller
from lithos.tools.catalogue import catalogue
from lithos.workshop.sandbox.bubblewrap import bubblewrap_works, find_bubblewrap

HERE = Path(__file__).parent.parent
ROUNDS = 15
RUNS = 60
WHO = Caller(agent="ann")


def main() -> None:
    folder = Path(tempfile.mkdtemp(prefix="lithos-bench-"))
    project = _project(folder / "project")
    settings = {"projects": {"project": str(project)}, "enabled": True, "most_worktrees": 1000}
    config = LithosConfig.model_validate({"storage": {"data_dir": folder / "data"}, "workshop": settings})
    lithos = open_lithos(config)
    try:
        session = _call(lithos, "lithos_session_create", name="Bench")["session_id"]
        _call(lithos, "lithos_session_activate", session_id=session)
        _opening(lithos, project, folder)
        _running(lithos, session)
        _editing(lithos, _files(project))
    finally:
        lithos.close()
        shutil.rmtree(folder, ignore_errors=True)


def _project(folder: Path) -> Path:
    """A clone of this repository: real files in real numbers."""
    subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", str(HERE), str(folder)], check=True)
    _git(folder, "switch", "--quiet", "-C", "main")
    time.sleep(1.1)  # an index as old as its files makes git read all of them again: no checkout stays so for long
    _git(folder, "status")
    return folder


def _files(project: Path) -> list[str]:
    listed = subprocess.run(["git", "ls-files", "src/*.py"], cwd=project, check=True, capture_output=True, text=True)
    return [each for each in listed.stdout.split() if (project / each).stat().st_size]


def _git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=b", "-c", "user.email=b@example.invalid")
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


def _call(lithos: Lithos, tool: str, **arguments: Any) -> dict[str, Any]:
    return catalogue().call(lithos, tool, arguments, WHO)


def _cpu(work: Callable[[], object]) -> float:
    """Milliseconds of CPU, children included."""

    def now() -> float:
        used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return sum(each.ru_utime + each.ru_stime for each in used)

    begun = now()
    work()
    return (now() - begun) * 1000


def _opening(lithos: Lithos, project: Path, folder: Path) -> None:
    files = len(subprocess.run(["git", "ls-files"], cwd=project, check=True, capture_output=True).stdout.split())
    ours, gits = [], []
    for number in range(ROUNDS):
        ours.append(_cpu(lambda n=number: _call(lithos, "lithos_worktree_open", pipeline=f"p{n}")))  # type: ignore[misc]
        add = ("worktree", "add", "-b", f"b{number}", str(folder / f"wt{number}"), "main")
        gits.append(_cpu(lambda each=add: _git(project, *each)))  # type: ignore[misc]
    mine, git = statistics.median(ours), statistics.median(gits)
    line(f"opening a worktree of {files} files, of git's CPU", mine / git, 1.3, "x")
    print(f"  ours {mine:.1f} ms, git {git:.1f} ms of CPU")


def _running(lithos: Lithos, session: str) -> None:
    worktree = lithos.workshop.worktrees.find(Call("bench", agent="ann"), session, None, "p0")
    bare = subprocess.Popen(["true"])
    bare.wait()
    times: dict[str, list[float]] = {"run": [], "tool": [], "bare": [], "none": []}
    program = find_bubblewrap()
    if program is None or not bubblewrap_works():
        print("no bubblewrap on this machine: commands are not measured")
        return
    spaces = ["--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--die-with-parent"]
    command = [program, *spaces, "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "/bin/true"]
    for _ in range(RUNS):
        times["bare"].append(_cpu(lambda: subprocess.run(command, check=True)))
        times["none"].append(_cpu(lambda: subprocess.run(["/bin/true"], check=True)))
        times["run"].append(_cpu(lambda: lithos.workshop.runner.run(worktree, ["/bin/true"])))
        arguments = {"argv": ["/bin/true"], "pipeline": "p0"}
        times["tool"].append(_cpu(lambda: _call(lithos, "lithos_work_run", **arguments)))  # noqa: B023
    found = {name: statistics.median(values) for name, values in times.items()}
    line("a sandboxed /bin/true above bare bubblewrap", found["run"] - found["bare"], 5, "ms CPU")
    line("the same as a tool call, recorded durably", found["tool"] - found["bare"], 20, "ms CPU")
    print(f"  bubblewrap {found['bare']:.1f}, no sandbox {found['none']:.1f}, ours {found['run']:.1f} ms of CPU")


def _editing(lithos: Lithos, paths: list[str]) -> None:
    place = {"pipeline": "p1"}
    edits, commits = [], []
    for start in range(0, 4 * RUNS, RUNS):
        for path in paths[start : start + RUNS]:
            _call(lithos, "lithos_work_read", path=path, **place)
            change = {"start_line": 1, "end_line": 1, "content": "changed = 1\n"}
            edits.append(_cpu(lambda: _call(lithos, "lithos_work_edit", path=path, **change, **place)))  # noqa: B023
        commits.append(_cpu(lambda: _call(lithos, "lithos_work_commit", message="Change", **place)))
    line("one edit of a file, durable", statistics.median(edits), 10, "ms CPU")
    line("a commit of 60 files", statistics.median(commits[1:]), 112, "ms CPU")
    print(
        f"  the first after the checkout {commits[0]:.0f} ms: its index is as old as its files, git reads all of them"
    )
    _call(lithos, "lithos_worktree_open")
    planned = _cpu(lambda: _call(lithos, "lithos_work_merge", dry_run=True))
    line(f"a dry merge of a session with {ROUNDS} pipelines", planned, 3000, "ms CPU")
