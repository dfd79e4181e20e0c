"""Open, commit and merge in a process that is killed at a named step; run again, the same calls finish it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from lithos.errors import LithosError
from lithos.storage import PlannedFaults
from tests.support import fork_server
from tests.support.workbench import Workbench

POINTS = (
    "workshop.open.recorded",
    "workshop.open.checked_out",
    "workshop.commit.added",
    "workshop.commit.made",
    "workshop.commit.moved",
    "workshop.merge.recorded",
    "workshop.merge.moved",
    "workshop.merge.reset",
    "workshop.close.recorded",
    "workshop.close.removed",
)


def work(bench: Workbench) -> None:
    """A session with a pipeline: two files, two commits, one merge into a base that no one has checked out."""
    known = bench.call("lithos_session_list")["sessions"]
    bench.session = known[0]["id"] if known else bench.begin(base_branch="base")
    for pipeline in ("", "second"):
        bench.call("lithos_worktree_open", session_id=bench.session, pipeline=pipeline)
        place = {"session_id": bench.session, "pipeline": pipeline}
        path = f"new{pipeline}.py"
        if not (bench.worktree(pipeline).path / path).exists():
            bench.call("lithos_work_write", path=path, content="x\n", **place)
        bench.call("lithos_work_commit", message=f"Add {path}", **place)
    bench.call("lithos_work_merge", session_id=bench.session)
    second = bench.worktree("second").id
    bench.call("lithos_worktree_close", worktree_id=second)


def killed(folder: Path, point: str) -> None:
    command = [sys.executable, "-m", "tests.support.workshop_kills", str(folder), point]
    done = fork_server.run(command, timeout=300)
    assert done.returncode == 137, done.stderr


if __name__ == "__main__":
    faults = PlannedFaults()
    faults.plan(sys.argv[2], "kill")
    try:
        with Workbench(Path(sys.argv[1]), faults=faults, merge="auto") as bench:
            work(bench)
    except LithosError as error:
        print(error.as_dict(), file=sys.stderr)
    os._exit(0)
