"""The set-up that the docs recommend to a team: two hosts, each with its own git checkout, and one database."""

from __future__ import annotations

import errno
import fcntl
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from lithos.app import Lithos, open_lithos
from lithos.errors import Forbidden, NotFound, Unsupported
from lithos.settings import LithosConfig
from lithos.storage.files.folder_lock import hold_folder
from lithos.tools.catalogue import catalogue
from tests.support.states import PostgresStates
from tests.support.waiting import until


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, timeout=60)


def sync(checkout: Path) -> None:
    git(checkout, "add", "-A")
    git(checkout, "commit", "-q", "--allow-empty", "-m", "sync")
    git(checkout, "pull", "-q", "--rebase", "origin", "main")
    git(checkout, "push", "-q", "origin", "HEAD:main")


def config(folder: Path, checkout: Path, url: str) -> LithosConfig:
    storage = {"data_dir": str(folder), "knowledge_dir": str(checkout), "database_url": url}
    return LithosConfig.model_validate({"storage": storage})


def call(lithos: Lithos, name: str, **arguments: Any) -> dict[str, Any]:
    return catalogue().call(lithos, name, arguments, None)


def once_known(lithos: Lithos, note_id: str) -> dict[str, Any]:
    """The note, as soon as the host has seen the file that git brought."""

    def known() -> dict[str, Any] | None:
        try:
            return call(lithos, "lithos_read", id=note_id)
        except NotFound:
            return None

    return until(known, "the note is indexed")


def test_two_hosts_share_notes_by_git_and_the_board_by_postgresql(tmp_path: Path, postgres: PostgresStates) -> None:
    git(tmp_path, "init", "-q", "--bare", "-b", "main", "origin.git")
    checkouts = [tmp_path / name for name in ("one", "two")]
    git(tmp_path, "clone", "-q", "origin.git", "one")
    (checkouts[0] / ".gitignore").write_text(".lithos*\n")
    git(checkouts[0], "add", "-A")
    git(checkouts[0], "commit", "-q", "-m", "start")
    git(checkouts[0], "push", "-q", "origin", "HEAD:main")
    git(tmp_path, "clone", "-q", "origin.git", "two")
    url = postgres.url(tmp_path)
    settings = [config(tmp_path / f"data-{each.name}", each, url) for each in checkouts]
    with closing(open_lithos(settings[0])) as one, closing(open_lithos(settings[1])) as two:
        note = call(one, "lithos_write", title="Plan", content="Shared words.", agent="ada")
        task = call(one, "lithos_task_create", title="Read the plan", agent="ada")["task_id"]
        assert call(two, "lithos_task_claim", task_id=task, aspect="reading", agent="bob")["success"]
        assert call(one, "lithos_task_claim", task_id=task, aspect="reading", agent="ada")["reason"] == "claim_held"
        sync(checkouts[0])
        sync(checkouts[1])
        assert "Shared words." in next(checkouts[1].rglob("*.md")).read_text()
        call(two, "lithos_finding_post", task_id=task, agent="bob", summary="Read it.")
        (finding,) = call(one, "lithos_finding_list", task_id=task)["findings"]
        assert (finding["agent"], finding["summary"]) == ("bob", "Read it.")
    with closing(open_lithos(settings[1])) as two:  # a start reconciles what git brought
        two.start()
        assert "Shared words." in once_known(two, note["id"])["content"]


def test_two_hosts_on_one_folder_are_refused(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    with hold_folder(vault), pytest.raises(Forbidden, match="another host uses"), hold_folder(vault):
        pytest.fail("two at once")
    with hold_folder(vault):
        pass


def test_a_file_system_without_locks_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_locks(handle: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    with pytest.raises(Unsupported, match="without locks"), hold_folder(tmp_path):
        pytest.fail("held")
