"""Point 3 of issue 15: no kill around a forgetting makes `lithos ledger verify` find damage."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from lithos.ledger import Verification
from tests.support.ledgers import CALL, append, fill, open_ledger, verify


@contextmanager
def every_state(folder: Path, into: Path) -> Iterator[list[Path]]:
    """Copies the folder whenever a line of the ledger has changed it: the states that a kill can leave."""
    states: list[Path] = []
    seen: set[Any] = set()

    def look(frame: FrameType, event: str, _: Any) -> Callable[..., Any] | None:
        if "lithos/ledger" not in frame.f_code.co_filename:
            return None
        files = [(file, file.stat()) for file in sorted(folder.rglob("*"))]
        state = tuple((file.name, found.st_size, found.st_mtime_ns, found.st_ino) for file, found in files)
        if state not in seen:
            seen.add(state)
            states.append(into / str(len(states)))
            shutil.copytree(folder, states[-1])
        return look

    before = sys.gettrace()
    sys.settrace(look)
    try:
        yield states
    finally:
        sys.settrace(before)


@pytest.mark.parametrize("adapter", ["binary", "jsonl"])
def test_verify_finds_no_damage_wherever_a_kill_interrupts_a_forgetting(tmp_path: Path, adapter: str) -> None:
    folder = tmp_path / "l"
    ledger = open_ledger(folder, segment_bytes=1500, default_adapter=adapter)
    fill(ledger, 4)
    for number in range(2):  # the second takes the name of its agent from the first one too
        append(ledger, thought_type="Insight", content=f"private {number}", agent_id="passing", agent_name="P")
    ledger.forget(CALL, None, thought_id=None, thought_index=4, reason="asked")
    with every_state(folder, tmp_path / "states") as states:
        ledger.forget(CALL, None, thought_id=None, thought_index=5, reason="asked")
    ledger.close()
    assert len(states) > 10
    noticed, announced = [], False
    for state in states:
        (chain,) = (state / "ledger").iterdir()
        announcement = chain / "forgetting.json"
        announced |= announcement.exists()
        report = Verification(chain, state / "checkpoints", full=True).run()
        assert report.findings == [], state
        if report.notices:
            noticed += [notice.index for notice in report.notices]
            without = announcement.read_bytes()
            announcement.unlink()  # nothing says that it is under way: what remains is a finding
            assert verify(state) in (["content_remains"], ["hash_mismatch"], ["hash_mismatch", "content_remains"])
            announcement.write_bytes(without)
        opened = open_ledger(state, segment_bytes=1500)
        assert opened.head()["integrity_ok"] is True
        opened.close()
        assert verify(state) == [] and not announcement.exists()
        left = [file.read_bytes() for file in chain.iterdir() if file.stem.isdigit()]
        assert not announced or not any(b"private 1" in data for data in left), state
    assert set(noticed) == {4, 5}
