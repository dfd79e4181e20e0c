"""A worktree made by git itself, and a host with things that no run may reach."""

from __future__ import annotations

import ctypes
import os
import socket
import subprocess
from collections.abc import Iterator

import pytest

from lithos.workshop.sandbox import bubblewrap
from lithos.workshop.values import Worktree
from tests.support.sandboxed import WALLS
from tests.support.workbench import git, make_project


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Worktree:
    """A worktree made by git itself, beside files that no run may reach."""
    folder = tmp_path_factory.mktemp("sandbox").resolve()
    main = make_project(folder / "project", {"a.py": "a = 1\n", ".gitignore": ".venv\n"})
    (folder / "secrets").mkdir()
    (folder / "secrets" / "key").write_text("canary-key")
    path = folder / "worktrees" / "wt"
    git(main, "worktree", "add", "--quiet", "-b", "work", str(path))
    return Worktree("wt", "s", "project", path, "work", "main", git(main, "rev-parse", "HEAD"), main)


@pytest.fixture(params=WALLS)
def wall(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    if request.param == "landlock":
        monkeypatch.setattr(bubblewrap, "bubblewrap_works", lambda: False)
    yield request.param


@pytest.fixture(scope="module")
def host(place: Worktree) -> Iterator[dict[str, object]]:
    """Listeners of the host, and a process with a key in its environment."""
    outside = place.path.parent.parent
    tcp, udp, named, abstract = socket.socket(), socket.socket(2, 2), socket.socket(1), socket.socket(1)
    tcp.bind(("127.0.0.1", 0))
    udp.bind(("127.0.0.1", 0))
    udp.settimeout(5)
    named.bind(str(outside / "host.sock"))
    name = f"lithos-test-{os.getpid()}"
    abstract.bind(f"\0{name}")
    for each in (tcp, named, abstract):
        each.listen(16)
    other = subprocess.Popen(["sleep", "600"], env={"KEY": "canary-key"})
    segment = ctypes.CDLL(None).shmget(os.getpid(), 16, 0o1600)
    (outside / "secrets" / "mode").touch()
    yield {
        "outside": outside,
        "main": place.main,
        "pid": other.pid,
        "port": tcp.getsockname()[1],
        "udp": udp.getsockname()[1],
        "udp_socket": udp,
        "abstract": name,
        "shared": os.getpid(),
        "device": os.stat("/").st_dev,
    }
    ctypes.CDLL(None).shmctl(segment, 0, None)  # IPC_RMID
    other.kill()
    other.wait()
    for each in (tcp, udp, named, abstract):
        each.close()
