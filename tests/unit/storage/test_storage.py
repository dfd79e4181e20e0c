"""Sizes of folders while others change them."""

from __future__ import annotations

import threading
from pathlib import Path

from lithos.storage.storage import folder_size


def test_a_size_leaves_out_files_that_vanish_while_it_counts(tmp_path: Path) -> None:
    (tmp_path / "kept").write_bytes(b"12345")
    done = threading.Event()

    def rebuild() -> None:
        while not done.is_set():
            for number in range(20):
                (tmp_path / f"{number}").touch()
            for number in range(20):
                (tmp_path / f"{number}").unlink()

    other = threading.Thread(target=rebuild)
    other.start()
    try:
        assert {folder_size(tmp_path) for _ in range(500)} == {5}
    finally:
        done.set()
        other.join()
    assert folder_size(tmp_path / "none") == 0
