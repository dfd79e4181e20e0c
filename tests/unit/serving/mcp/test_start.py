"""A log does not grow for ever: bounded files, the last two kept."""

from __future__ import annotations

import logging
from pathlib import Path

from lithos.serving import BoundedLog


def test_a_log_turns_over_when_it_is_full_and_keeps_the_last_two(tmp_path: Path) -> None:
    log = BoundedLog(tmp_path / "host.log", 100)
    for number in range(50):
        log.emit(logging.makeLogRecord({"msg": f"line {number:03} of fifty, no more"}))
    log.close()
    files = sorted(tmp_path.iterdir())
    assert [file.name for file in files] == ["host.log", "host.log.1", "host.log.2"]
    assert all(file.stat().st_size <= 130 for file in files)
    newest = (tmp_path / "host.log").read_text() or (tmp_path / "host.log.1").read_text()
    assert "line 049" in newest
