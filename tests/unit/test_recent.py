"""What was written lately is held by version, bounded, and across a restart."""

from __future__ import annotations

from pathlib import Path

from lithos.core.canonical import version_of
from lithos.storage.files.recent import Recent


def test_what_was_added_is_given_once_also_by_the_next_process(tmp_path: Path) -> None:
    Recent(tmp_path / "r").add(b"one")
    again = Recent(tmp_path / "r")
    assert again.take(version_of(b"one")) == b"one"
    assert again.take(version_of(b"one")) is None
    assert list((tmp_path / "r").iterdir()) == []


def test_the_oldest_goes_when_there_is_too_much(tmp_path: Path) -> None:
    recent = Recent(tmp_path, largest=10)
    for data in (b"aaaa", b"bbbb", b"aaaa", b"cccc"):
        recent.add(data)
    assert recent.take(version_of(b"bbbb")) is None
    assert recent.take(version_of(b"aaaa")) == b"aaaa"


def test_bytes_that_a_power_cut_left_half_are_not_given_out(tmp_path: Path) -> None:
    Recent(tmp_path).add(b"whole")
    (file,) = tmp_path.iterdir()
    file.write_bytes(b"who")
    assert Recent(tmp_path).take(version_of(b"whole")) is None


def test_a_folder_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    recent = Recent(tmp_path / "file" / "r")
    recent.add(b"one")
    assert recent.take(version_of(b"one")) is None
