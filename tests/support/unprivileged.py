"""Runs commands in the sandbox as another user: `python -m tests.support.unprivileged FOLDER UID WALL`.

The modules are imported first, because that user may not be able to read the interpreter. Prints `as <uid>: <results>`.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from lithos.workshop.run_files import remove_tree
from lithos.workshop.sandbox import Command, Sandbox, bubblewrap
from lithos.workshop.values import RunLimits, Worktree
from tests.support.attacks import BOMB, PYTHON

ATTACKS = (
    "print(open('{outside}/key').read())",
    "print(open('/proc/1/root{outside}/key').read())",
    "open('{outside}/made', 'w')",
    "open('{main}/.git/config', 'a'); print('canary-key')",
    "import os; os.kill({pid}, 0); print('canary-key')",
    "import socket; socket.create_connection(('127.0.0.1', {port}), 2); print('canary-key')",
    "import ctypes; print('canary-key' if ctypes.CDLL(None).unshare(0x10000000) == 0 else '')",
)


def main(folder: Path, uid: int, wall: str, port: int) -> None:
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    os.environ["HOME"] = "/nonexistent"
    sys.executable = PYTHON
    if wall == "landlock":
        bubblewrap.bubblewrap_works = lambda: False  # type: ignore[assignment]
    place = Worktree("wt", "s", "p", folder / "worktrees/wt", "work", "main", "x", folder / "project")
    sandbox = Sandbox(folder / "worktrees/.scratch", RunLimits(processes=64))
    facts = {"outside": folder, "main": place.main, "pid": os.getpid(), "port": port}
    done = sandbox.run(place, Command(["sh", "-c", "echo x > made-inside && git log --oneline"], place.path, 60))
    assert done.exit_code == 0 and done.wall == wall, done
    for code in ATTACKS:
        done = sandbox.run(place, Command([PYTHON, "-c", code.format(**facts)], place.path, 60))
        assert b"canary-key" not in done.stdout, code
    done = sandbox.run(place, Command([PYTHON, "-c", BOMB], place.path, 3))
    assert done.killed_by in ("processes", "timeout"), done
    closed = "import os\nfor t in (os.environ['TMPDIR'], '.'):\n    os.makedirs(t + '/a/b'); os.chmod(t + '/a', 0)"
    assert sandbox.run(place, Command([PYTHON, "-c", closed], place.path, 60)).exit_code == 0
    assert [each.name for each in (folder / "worktrees/.scratch/wt").iterdir()] == ["home"]
    remove_tree(place.path)
    assert not place.path.exists()
    assert not (folder / "made").exists()
    print(f"as {os.getuid()}: {wall}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
