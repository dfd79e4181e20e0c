"""What was written lately is held by version, bounded, and across a restart."""

from __future__ import annotations

from pathlib import Path

from lithos.core.canonical import version_of
from lithos.storage.files.recent_writes import RecentWrites


def test_what_was_added_is_found_also_by_the_next_process(tmp_path: Path) -> None:
    before = RecentWrites(tmp_path / "r")
    before.add(b"one")
    before.add(b"two")
    again = RecentWrites(tmp_path / "r")
    assert again.find(version_of(b"one")) == b"one"
    assert again.find(version_of(b"one")) == b"one"
    again.add(b"three")
    assert RecentWrites(tmp_path / "r").find(version_of(b"two")) == b"two"
    assert RecentWrites(tmp_path / "r").find(version_of(b"three")) == b"three"


def test_the_oldest_goes_when_there_is_too_much(tmp_path: Path) -> None:
    recent = RecentWrites(tmp_path / "r", largest=10)
    for data in (b"aaaa", b"bbbb", b"aaaa", b"cccc", b"larger than all"):
        recent.add(data)
    assert recent.find(version_of(b"bbbb")) is None
    assert recent.find(version_of(b"aaaa")) == b"aaaa"


def test_the_file_is_bounded_and_keeps_what_is_held(tmp_path: Path) -> None:
    recent = RecentWrites(tmp_path / "r", largest=1_000)
    for number in range(100):
        recent.add(b"%d" % number * 50)
        assert (tmp_path / "r").stat().st_size <= 2_200
    assert RecentWrites(tmp_path / "r").find(version_of(b"95" * 50)) == b"95" * 50
    assert recent.find(version_of(b"99" * 50)) == b"99" * 50
    assert recent.find(version_of(b"50" * 50)) is None


def test_bytes_that_a_power_cut_left_half_are_not_given_out(tmp_path: Path) -> None:
    RecentWrites(tmp_path / "r").add(b"first")
    RecentWrites(tmp_path / "r").add(b"whole")
    content = (tmp_path / "r").read_bytes()
    (tmp_path / "r").write_bytes(content[:-2])
    again = RecentWrites(tmp_path / "r")
    assert again.find(version_of(b"whole")) is None
    again.add(b"next")
    assert RecentWrites(tmp_path / "r").find(version_of(b"next")) == b"next"
    (tmp_path / "r").write_bytes(content.replace(b"whole", b"torn!"))
    assert RecentWrites(tmp_path / "r").find(version_of(b"whole")) is None
    assert RecentWrites(tmp_path / "r").find(version_of(b"first")) == b"first"


def test_a_folder_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    recent = RecentWrites(tmp_path / "file" / "r")
    recent.add(b"one")
    assert recent.find(version_of(b"one")) is None
