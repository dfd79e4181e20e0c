"""Files that a run leaves for the host: links, pipes, endless devices, hidden bytes, folders that resist deletion."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest

from lithos.core.keyed_lock import KeyedLock
from lithos.errors import Forbidden
from lithos.workshop.inspection.comparing import Lines
from lithos.workshop.inspection.selection import covering
from lithos.workshop.run_files import read_beneath, read_regular, remove_tree
from lithos.workshop.sandbox import Sandbox, cgroup
from lithos.workshop.sandbox import sandbox as sandbox_module
from lithos.workshop.sandbox.sandbox import restore_git_file
from lithos.workshop.sandbox.watch import LEAST_FILE, changed_bytes
from lithos.workshop.values import MB, Worktree
from tests.support.sandboxed import LIMITS, python, run

DEEP = "import os\nos.chdir({!r})\nfor _ in range(1200):\n    os.mkdir('d' * 20); os.chdir('d' * 20)\n"


def test_the_host_reads_regular_files_of_the_worktree_alone(tmp_path: Path) -> None:
    top = tmp_path / "top"
    (top / "in").mkdir(parents=True)
    (top / "in/file").write_text("inside")
    (tmp_path / "key").write_text("canary-key")
    (top / "link").symlink_to(tmp_path / "key")
    (top / "folder").symlink_to(tmp_path)
    (top / "endless").symlink_to("/dev/zero")
    os.mkfifo(top / "pipe")
    assert read_beneath(top, "in/file", 3) == b"ins"
    for name in ("link", "folder/key", "endless", "pipe", "in", "", "../key", str(tmp_path / "key"), "a\0b", "none"):
        assert read_beneath(top, name, 100) is None, name
    assert read_regular(top / "link", 6) == b"canary"
    assert read_regular(top / "endless", 6) is read_regular(top / "pipe", 6) is None
    lines = Lines(top)
    assert [lines.text(name, 1) for name in ("in/file", "link", "endless", "pipe")] == ["inside", "", "", ""]


def test_a_tree_that_resists_is_deleted_and_links_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept/file").touch()
    top = tmp_path / "top"
    (top / "closed/inner").mkdir(parents=True)
    (top / "closed/inner/file").touch()
    (top / "link").symlink_to(tmp_path / "kept")
    here = os.open(top, os.O_RDONLY)
    for _ in range(1200):  # deeper than Python's stack, the table of descriptors and PATH_MAX
        os.mkdir("d" * 20, dir_fd=here)
        below = os.open("d" * 20, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    (top / "closed").chmod(0)
    remove_tree(top)
    remove_tree(tmp_path / "none")
    assert not top.exists() and (tmp_path / "kept/file").exists()


def test_a_run_leaves_no_folder_that_the_host_cannot_delete(place: Worktree, wall: str) -> None:
    done = python(place, f"import os\ntmp = os.environ['TMPDIR']\n{DEEP}".replace("{!r}", "tmp"))
    # A run that is still there at the first look at the disk is stopped for the depth.
    assert done.exit_code == 0 or done.killed_by == "disk", done.stderr
    assert [each.name for each in (place.path.parent / ".scratch/wt").iterdir()] == ["home"]


HIDDEN = {
    "memory": """
for number in [os.memfd_create('x') for _ in range(10)]:
    os.write(number, bytes(4 * 10**7))
""",
    "disk": """
for _ in range(3):
    held.append(open('gone', 'wb', 0))
    os.unlink('gone')
    held[-1].write(bytes(4 * 10**7))
""",
}


@pytest.mark.parametrize("limit", HIDDEN)
def test_bytes_without_a_name_count(place: Worktree, wall: str, limit: str) -> None:
    done = python(place, f"import os, time\nheld = []\n{HIDDEN[limit]}\ntime.sleep(30)")
    assert (done.exit_code, done.killed_by) == (None, limit), done.stderr


def test_bytes_below_a_path_that_is_too_long_count(place: Worktree, wall: str) -> None:
    done = python(place, f"{DEEP.format('.')}open('big', 'w').write('x')\nimport time\ntime.sleep(30)")
    assert done.killed_by == "disk", done.stderr
    remove_tree(place.path / ("d" * 20))


def test_empty_files_and_folders_count(tmp_path: Path) -> None:
    for number in range(50):
        (tmp_path / f"file{number}").touch()
        (tmp_path / f"folder{number}").mkdir()
    assert changed_bytes(tmp_path, 0, 10 * MB) >= 100 * LEAST_FILE


def test_a_git_file_that_is_a_pipe_a_folder_or_a_link_is_put_back(place: Worktree, host: dict[str, object]) -> None:
    git_file = place.path / ".git"
    right = git_file.read_text()
    kept = Path(str(host["outside"])) / "secrets"
    for make in (os.mkfifo, os.mkdir, lambda path: os.symlink(kept, path), lambda path: path.write_bytes(bytes(10**6))):
        git_file.unlink() if git_file.is_file() else None
        make(git_file)
        restore_git_file(place)
        assert git_file.is_file() and git_file.read_text() == right
    assert (kept / "key").read_text() == "canary-key"


def test_what_a_killed_host_left_of_runs_is_swept(place: Worktree, tmp_path: Path) -> None:
    sandbox = Sandbox(tmp_path, LIMITS)
    for name in ("wt/home", "wt/tmp-1/a", "other/home/cache", "gone/home"):
        (tmp_path / name).mkdir(parents=True)
    sandbox.sweep({"wt", "other"})
    assert sorted(str(each.relative_to(tmp_path)) for each in tmp_path.glob("*/*")) == ["other/home", "wt/home"]
    (tmp_path / "wt/home/cache").write_bytes(bytes(LIMITS.disk_bytes + 1))
    sandbox.trim(lambda each: each == "wt", KeyedLock())
    assert (tmp_path / "wt").exists()
    sandbox.trim(lambda each: False, KeyedLock())
    assert not (tmp_path / "wt").exists() and (tmp_path / "other/home/cache").exists()
    sandbox.forget("other")
    assert [*tmp_path.iterdir()] == []


def test_a_coverage_map_that_computes_without_end_says_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lithos.workshop.inspection.selection.LONGEST_READ_S", 0.2)
    with sqlite3.connect(tmp_path / ".coverage") as connection:
        connection.execute("CREATE TABLE file (id INTEGER, path TEXT)")
        connection.execute("CREATE TABLE context (id INTEGER, context TEXT)")
        connection.execute("CREATE TABLE arc (file_id INTEGER, context_id INTEGER)")
        connection.execute(
            "CREATE VIEW line_bits AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) "
            "SELECT x AS file_id, x AS context_id FROM n"
        )
    assert covering(tmp_path / ".coverage", tmp_path, ["a.py"]) == set()


def test_a_host_that_is_root_and_may_make_no_group_runs_nothing(
    place: Worktree, wall: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RLIMIT_NPROC does not bind root, and a fork bomb starves the watch."""
    if os.geteuid() != 0:
        pytest.skip("the limit of the user holds")
    monkeypatch.setattr(cgroup, "_own_groups", lambda: "")
    monkeypatch.setattr(sandbox_module, "processes_limited", cgroup.processes_limited.__wrapped__)
    with pytest.raises(Forbidden, match="control group"):
        Sandbox(place.path.parent / ".scratch", LIMITS).wall()
    monkeypatch.setattr(sandbox_module, "processes_limited", lambda: True)
    with pytest.raises(Forbidden, match="control group"):
        run(place, "true")
