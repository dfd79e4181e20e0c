"""Backup, restore and export: everything comes back, nothing is half done."""

from __future__ import annotations

import gzip
import io
import json
import os
import shutil
import tarfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from lithos.app import Lithos, open_lithos
from lithos.backup import RestoreOptions, backup_if_due, make_backup, restore, verify_backup
from lithos.cli.root import run
from lithos.errors import Conflict, Damaged, InvalidInput, LithosError, Unsupported
from lithos.from_settings import memory_places
from lithos.settings import LithosConfig, StorageSettings
from tests.support import fork_server
from tests.support.guests import LITHOS
from tests.support.note_calls import caller


def config_of(folder: Path) -> LithosConfig:
    return LithosConfig(storage=StorageSettings(data_dir=folder))


def filled(folder: Path) -> Lithos:
    """An opened memory with something of every part."""
    lithos = open_lithos(config_of(folder))
    call = caller(lithos)
    note = call("lithos_write", title="Retries", content="Retry three times.", agent="ann")
    call("lithos_write", id=note["id"], title="Retries", content="Retry four times.", agent="bob")
    task = call("lithos_task_create", title="Fix the pool", agent="ann")["task_id"]
    call("lithos_task_claim", task_id=task, aspect="all", agent="ann")
    call("lithos_finding_post", task_id=task, summary="It leaks.", agent="ann")
    call("lithos_fs_append", path="users/ana/notes.md", text="one", rationale="r", user_id="ana", agent="me")
    for number in range(5):
        call("mentisdb_append", thought_type="Decision", content=f"thought {number}", agent_id="ann")
    return lithos


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("memory") / "data"
    filled(folder).close()
    return folder


@pytest.fixture(scope="module")
def saved(memory: Path) -> Path:
    target = memory.parent / "a.lithos-backup.tar.gz"
    make_backup(memory_places(config_of(memory)), target)
    return target


def contents(folder: Path) -> dict[str, Any]:
    """What a user would miss, through the tools."""
    with closing(open_lithos(config_of(folder))) as lithos:
        call = caller(lithos)
        task = call("lithos_task_status")["tasks"][0]
        note = call("lithos_read", path="retries.md")
        verdict: Any = lithos.storage.database.read(lithos.storage.events.verify)
        return {
            "note": (note["id"], note["content"], note["version"]),
            "versions": len(call("lithos_note_history", id=note["id"])["versions"]),
            "task": (task["id"], task["title"], task["claims"][0]["agent"]),
            "findings": [each["summary"] for each in call("lithos_finding_list", task_id=task["id"])["findings"]],
            "thoughts": [each["content"] for each in call("mentisdb_search", limit=20)["thoughts"]],
            "garden": (folder / "garden/users/ana/notes.md").read_text(),
            "audit": {name: verdict[name] for name in ("ok", "head")},
        }


def test_a_chain_that_grows_between_any_two_copies_is_restored_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = shutil.copy2
    with closing(filled(tmp_path / "data")) as lithos:

        def copy_then_append(*args: Any, **more: Any) -> Any:
            made = copy(*args, **more)
            caller(lithos)("mentisdb_append", thought_type="Idea", content="meanwhile", agent_id="ann")
            return made

        monkeypatch.setattr(shutil, "copy2", copy_then_append)
        make_backup(memory_places(config_of(tmp_path / "data")), tmp_path / "backup")
        monkeypatch.undo()
    restore(RestoreOptions(tmp_path / "backup", tmp_path / "restored"))
    assert run(["doctor", "--full", "--data-dir", str(tmp_path / "restored")]) == 0


def test_a_restored_memory_is_the_same_and_its_proofs_hold(memory: Path, saved: Path, tmp_path: Path) -> None:
    assert saved.stat().st_mode & 0o777 == 0o600
    before = contents(memory)
    restore(RestoreOptions(saved, tmp_path / "r"))
    assert contents(tmp_path / "r") == before and before["audit"]["ok"]
    assert (tmp_path / "r/.lithos/keys").stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "r/.lithos/keys").iterdir()} == {0o600}
    assert run(["doctor", "--full", "--data-dir", str(tmp_path / "r")]) == 0
    assert run(["ledger", "verify", "--all", "--full", "--data-dir", str(tmp_path / "r")]) == 0


def test_an_export_comes_back_row_by_row(memory: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = contents(memory)
    assert run(["export", str(tmp_path / "out"), "--with-keys", "--data-dir", str(memory)]) == 0
    tasks = [json.loads(line) for line in (tmp_path / "out/tables/tasks.jsonl").read_text().splitlines()]
    assert [task["title"] for task in tasks] == ["Fix the pool"]
    assert (tmp_path / "out/knowledge/retries.md").is_file()
    assert run(["restore", str(tmp_path / "out"), "--data-dir", str(tmp_path / "r")]) == 0
    assert run(["export", str(tmp_path / "again"), "--with-keys", "--data-dir", str(tmp_path / "r")]) == 0
    manifests = [json.loads((tmp_path / name / "manifest.json").read_text())["files"] for name in ("out", "again")]
    assert manifests[0] == manifests[1]
    assert contents(tmp_path / "r") == before
    (tmp_path / "out/tables/tasks.jsonl").write_text("")
    assert run(["restore", str(tmp_path / "out"), "--data-dir", str(tmp_path / "r2")]) != 0
    assert "not what was exported" in capsys.readouterr().err and not (tmp_path / "r2").exists()


def test_without_keys_there_are_none(memory: Path, tmp_path: Path) -> None:
    manifest = make_backup(memory_places(config_of(memory)), tmp_path / "b", keys=False)
    assert not any("keys/" in name for name in manifest["files"])
    assert "no keys" in restore(RestoreOptions(tmp_path / "b", tmp_path / "r")).notes[0]
    assert contents(tmp_path / "r")["thoughts"]


def test_what_is_there_is_moved_aside_only_on_request(saved: Path, tmp_path: Path) -> None:
    (tmp_path / "r").mkdir()
    (tmp_path / "r/mine.txt").write_text("mine")
    with pytest.raises(Conflict, match="not empty"):
        restore(RestoreOptions(saved, tmp_path / "r"))
    done = restore(RestoreOptions(saved, tmp_path / "r", replace=True))
    assert done.moved_aside is not None and (done.moved_aside / "mine.txt").read_text() == "mine"


def test_a_memory_that_is_open_is_not_replaced(saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from lithos.host.host_lock import HostLock

    host_lock = HostLock(str(tmp_path / "r"))
    host_lock.make_folder()
    held = host_lock.try_lock()
    assert held is not None
    assert run(["restore", str(saved), "--replace", "--data-dir", str(tmp_path / "r")]) != 0
    assert "Stop it first" in capsys.readouterr().err
    os.close(held)


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type, made.linkname, made.size = kind, link, 1 if kind == tarfile.REGTYPE else 0
    return made


HOSTILE = {
    "up": member("../evil"),
    "absolute": member("/tmp/evil"),
    "link": member("knowledge/a", tarfile.SYMTYPE, "/etc/passwd"),
    "hard link": member("knowledge/a", tarfile.LNKTYPE, "../../etc/passwd"),
    "device": member("knowledge/a", tarfile.CHRTYPE),
    "folder": member("knowledge/a", tarfile.DIRTYPE),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_an_archive_that_leads_out_is_refused_and_nothing_is_written(kind: str, tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "b", "w:gz") as tar:
        tar.addfile(HOSTILE[kind], io.BytesIO(b"x"))
    with pytest.raises(InvalidInput, match="no backup of Lithos"):
        restore(RestoreOptions(tmp_path / "b", tmp_path / "r"))
    assert [path.name for path in tmp_path.iterdir()] == ["b"]


@pytest.mark.parametrize(
    "damage", ["cut", "flipped", "no manifest", "newer", "no archive", "empty", "no files", "a list", "no state"]
)
def test_a_damaged_backup_is_named_and_nothing_is_written(damage: str, saved: Path, tmp_path: Path) -> None:
    data = saved.read_bytes()
    bad = tmp_path / "bad"
    if damage == "cut":
        bad.write_bytes(data[: len(data) // 2])
    elif damage == "flipped":
        plain = bytearray(gzip.decompress(data))
        plain[plain.find(b"Retry four times")] ^= 1
        bad.write_bytes(gzip.compress(bytes(plain)))
    elif damage in MANIFESTS:
        _rewritten(saved, bad, MANIFESTS[damage])
    else:
        bad.write_bytes(b"" if damage == "empty" else b"not a backup")
    expected: type[LithosError] = Unsupported if damage == "newer" else Damaged
    with pytest.raises(expected):
        restore(RestoreOptions(bad, tmp_path / "r"))
    assert [path.name for path in tmp_path.iterdir()] == ["bad"]


MANIFESTS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "no manifest": lambda manifest: None,
    "newer": lambda manifest: {**manifest, "format": 99},
    "no files": lambda manifest: {"format": 1},
    "a list": lambda manifest: {**manifest, "files": []},
    "no state": lambda manifest: {name: value for name, value in manifest.items() if name != "with_keys"},
}


def _rewritten(saved: Path, bad: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    with tarfile.open(saved) as old, tarfile.open(bad, "w:gz") as new:
        for each in old:
            content = old.extractfile(each)
            assert content is not None
            text = content.read()
            if each.name == "manifest.json":
                changed = change(json.loads(text))
                if changed is None:
                    continue
                text = json.dumps(changed).encode()
                each.size = len(text)
            new.addfile(each, io.BytesIO(text))


def test_a_fifo_is_no_backup_and_no_import_and_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for command in (["restore", "fifo", "--data-dir", "new"], ["backup", "--verify", "fifo"], ["import", "fifo"]):
        done = fork_server.run([*LITHOS, *command], cwd=tmp_path, timeout=60)
        assert (done.returncode, "is no file" in done.stderr) == (2, True), command


def test_a_backup_is_never_overwritten_and_leaves_nothing_when_it_fails(
    memory: Path, saved: Path, tmp_path: Path
) -> None:
    places = memory_places(config_of(memory))
    with pytest.raises(Conflict):
        make_backup(places, saved)
    (tmp_path / "file").write_text("")
    with pytest.raises(LithosError):
        make_backup(places, tmp_path / "file/b")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_vault_elsewhere_comes_back_inside(tmp_path: Path) -> None:
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault/Pasta.md").write_text("Boil it.\n")
    (tmp_path / "vault/pic.png").write_bytes(b"\x89")
    (tmp_path / "data").mkdir()
    (tmp_path / "data/config.yaml").write_text(f"storage:\n  knowledge_dir: {tmp_path / 'vault'}\n")
    folder = ["--data-dir", str(tmp_path / "data")]
    assert run(["note", "write", "--title", "Retries", "--content", "x", *folder]) == 0
    assert run(["backup", str(tmp_path / "b"), *folder]) == 0
    shutil.rmtree(tmp_path / "vault")
    assert run(["restore", str(tmp_path / "b"), "--data-dir", str(tmp_path / "r")]) == 0
    assert (tmp_path / "r/knowledge/Pasta.md").is_file() and (tmp_path / "r/knowledge/pic.png").is_file()
    assert run(["note", "show", "Pasta.md", "--data-dir", str(tmp_path / "r")]) == 0


def test_a_scheduled_backup_is_made_when_it_is_due_and_old_ones_go(memory: Path, tmp_path: Path) -> None:
    places = memory_places(config_of(memory))
    first = backup_if_due(places, tmp_path, every_hours=24, keep=2)
    assert first is not None and backup_if_due(places, tmp_path, every_hours=24, keep=2) is None
    for number in range(3):
        older = tmp_path / f"2020010{number}T000000Z.lithos-backup.tar.gz"
        shutil.copy(first, older)
    os.utime(first, (0, 0))
    first.rename(tmp_path / "20200109T000000Z.lithos-backup.tar.gz")
    assert backup_if_due(places, tmp_path, every_hours=24, keep=2) is not None
    assert len([*tmp_path.iterdir()]) == 2


def test_verify_reads_the_newest_of_a_folder(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["backup", "--verify", str(saved.parent)]) == 0
    assert "Whole" in capsys.readouterr().out
    assert verify_backup(saved)["with_keys"]
