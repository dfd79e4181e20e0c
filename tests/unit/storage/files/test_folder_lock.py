"""Locks on folders: a predecessor that leaves is waited for, a neighbour is refused at once."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

import pytest

from lithos.errors import Forbidden
from lithos.storage.files.folder_lock import hold_folders


def test_a_data_directory_is_waited_for_until_its_predecessor_leaves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    predecessor = _locked(tmp_path)
    monkeypatch.setattr(time, "sleep", lambda _: os.close(predecessor))
    with hold_folders(tmp_path, []), pytest.raises(BlockingIOError):
        _locked(tmp_path)


def test_a_vault_that_another_host_uses_is_refused_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vault, data_dir = tmp_path / "vault", tmp_path / "data"
    vault.mkdir()
    data_dir.mkdir()
    neighbour = _locked(vault)
    monkeypatch.setattr(time, "sleep", lambda _: pytest.fail("waited for a neighbour"))
    with pytest.raises(Forbidden, match="another host uses"), hold_folders(data_dir, [vault]):
        pass
    os.close(neighbour)
    with hold_folders(data_dir, [vault]):
        pass


def _locked(folder: Path) -> int:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return handle
