"""Files of a worktree: nothing outside it is reached, nothing that a session has not seen is overwritten."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from lithos.errors import Conflict, Forbidden, InvalidInput, LithosError, NotFound, TooLarge
from lithos.workshop.edits import LARGEST, EditRequest, edited
from tests.support.workbench import Workbench


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workbench]:
    with Workbench(tmp_path_factory.mktemp("bench"), exclusive="*.lock") as made:
        made.open()
        yield made


def test_write_read_and_edit_are_recorded_for_the_session(bench: Workbench) -> None:
    made = bench.call("lithos_work_write", path="pkg/new.py", content="a\nb\nc\n")
    assert made["created"] and made["lines"] == 3
    read = bench.call("lithos_work_read", path="pkg/new.py")
    assert read["content"] == "a\nb\nc\n" and read["version"] == made["version"]
    assert bench.call("lithos_work_read", path="pkg/new.py", known_version=read["version"])["unchanged"] is True
    changed = bench.call("lithos_work_edit", path="pkg/new.py", old_content="b\n", new_content="B\n")
    assert bench.call("lithos_work_read", path="pkg/new.py", start_line=2, end_line=2)["content"] == "B\n"
    context = bench.call("lithos_session_get")["context"]
    assert context["created_files"]["project:pkg/new.py"]["version"] == made["version"]
    assert context["modified_files"]["project:pkg/new.py"]["version"] == changed["version"]
    assert "project:pkg/new.py" in context["read_files"]


def test_what_the_session_has_not_seen_is_not_overwritten(bench: Workbench) -> None:
    with pytest.raises(Conflict, match="not read it"):
        bench.call("lithos_work_write", path="a.py", content="mine\n")
    bench.call("lithos_work_read", path="a.py")
    path = bench.worktree().path / "a.py"
    path.write_text("a command changed it\n")
    with pytest.raises(Conflict, match="changed since"):
        bench.call("lithos_work_write", path="a.py", content="mine\n")
    with pytest.raises(Conflict, match="changed since"):
        bench.call("lithos_work_edit", path="a.py", start_line=1, content="mine\n")
    with pytest.raises(Conflict, match="if_match") as stale:
        bench.call("lithos_work_write", path="a.py", content="mine\n", if_match="sha256:" + "0" * 64)
    assert path.read_text() == "a command changed it\n"
    bench.call("lithos_work_write", path="a.py", content="mine\n", if_match=stale.value.details["version"])
    assert path.read_text() == "mine\n"


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("../outside.py", InvalidInput),
        ("/etc/passwd", InvalidInput),
        ("", InvalidInput),
        (".git", Forbidden),
        (".git/config", Forbidden),
        ("sub/.GIT/hooks/x", Forbidden),
        (".git./config", Forbidden),
        (".lithos-new-1", InvalidInput),
        ("link/x.py", LithosError),
        ("to_a_key", LithosError),
        ("pipe", LithosError),
        ("device", LithosError),
        (".env", Forbidden),
        ("src", LithosError),
        ("a\0b", LithosError),
    ],
)
def test_paths_that_escape_or_belong_to_git_are_refused(bench: Workbench, path: str, error: type[LithosError]) -> None:
    folder, outside = bench.worktree().path, bench.project.parent / "outside"
    outside.mkdir(exist_ok=True)
    (outside / "key").write_text("canary-key")
    for name, target in (("link", outside), ("to_a_key", outside / "key"), ("device", Path("/dev/zero"))):
        if not os.path.lexists(folder / name):
            (folder / name).symlink_to(target)
    if not (folder / "pipe").exists():
        os.mkfifo(folder / "pipe")
    for tool, arguments in (
        ("lithos_work_read", {}),
        ("lithos_work_write", {"content": "x"}),
        ("lithos_work_edit", {"old_content": "canary", "new_content": "x"}),
    ):
        with pytest.raises(error) as refused:
            bench.call(tool, path=path, **arguments)
        assert "canary-key" not in str(refused.value.as_dict())
    assert (outside / "key").read_text() == "canary-key" and sorted(os.listdir(outside)) == ["key"]


def test_binary_and_huge_files_are_refused(bench: Workbench) -> None:
    folder = bench.worktree().path
    (folder / "binary.bin").write_bytes(b"\x89PNG\0\0")
    (folder / "latin.txt").write_bytes("é".encode("latin-1"))
    (folder / "huge.txt").write_bytes(b"x" * (LARGEST + 1))
    for name, error in (("binary.bin", InvalidInput), ("latin.txt", InvalidInput), ("huge.txt", TooLarge)):
        for tool, arguments in (
            ("lithos_work_read", {}),
            ("lithos_work_edit", {"old_content": "x", "new_content": "y"}),
        ):
            with pytest.raises(error):
                bench.call(tool, path=name, **arguments)
    with pytest.raises(TooLarge):
        bench.call("lithos_work_write", path="huge2.txt", content="x" * (LARGEST + 1))
    with pytest.raises(NotFound):
        bench.call("lithos_work_read", path="none.py")


def test_an_exclusive_path_is_written_by_one_agent_at_a_time(bench: Workbench) -> None:
    bench.call("lithos_work_write", path="poetry.lock", content="1\n")
    other = bench.begin("Other work", by="bob")
    bench.call("lithos_worktree_open", by="bob", session_id=other)
    with pytest.raises(Conflict, match="ann holds it"):
        bench.call("lithos_work_write", by="bob", session_id=other, path="poetry.lock", content="2\n")
    bench.call("lithos_work_write", by="bob", session_id=other, path="free.py", content="2\n")


def test_a_repeated_call_with_its_key_changes_nothing_twice(bench: Workbench) -> None:
    first = bench.call("lithos_work_write", path="once.py", content="1\n", idempotency_key="k1")
    again = bench.call("lithos_work_write", path="once.py", content="1\n", idempotency_key="k1")
    assert again == first and again["created"]


@pytest.mark.parametrize(
    ("text", "request_", "after"),
    [
        ("a\nb\n", EditRequest(old_content="b", new_content="c"), "a\nc\n"),
        ("a\r\nb\r\n", EditRequest(old_content="a\nb", new_content="x\ny"), "x\r\ny\r\n"),
        ("a\nb\nc\n", EditRequest(start_line=2, end_line=2, content="B"), "a\nB\nc\n"),
        ("a\nb\nc\n", EditRequest(start_line=2, end_line=1, content="new\n"), "a\nnew\nb\nc\n"),
        ("a\nb\nc\n", EditRequest(start_line=2, end_line=3, content=""), "a\n"),
        ("a\nb", EditRequest(start_line=3, end_line=2, content="c\n"), "a\nb\nc\n"),
        ("", EditRequest(start_line=1, end_line=0, content="c\n"), "c\n"),
    ],
)
def test_edits(text: str, request_: EditRequest, after: str) -> None:
    assert edited(text.encode(), request_) == after.encode()


@pytest.mark.parametrize(
    ("text", "request_", "count"),
    [
        ("a\na\n", EditRequest(old_content="a", new_content="c"), 2),
        ("a\n", EditRequest(old_content="z", new_content="c"), 0),
        ("a\n", EditRequest(old_content="", new_content="c"), None),
        ("a\n", EditRequest(), None),
        ("a\n", EditRequest(old_content="a", new_content="b", start_line=1, content="x"), None),
        ("a\n", EditRequest(start_line=4, content="x"), None),
        ("a\n", EditRequest(start_line=1, end_line=9, content="x"), None),
        ("a\n", EditRequest(start_line=1), None),
    ],
)
def test_an_edit_that_does_not_fit_is_refused_with_the_count(
    text: str, request_: EditRequest, count: int | None
) -> None:
    with pytest.raises((Conflict, InvalidInput)) as refused:
        edited(text.encode(), request_)
    assert refused.value.details.get("count") == count and refused.value.hint
