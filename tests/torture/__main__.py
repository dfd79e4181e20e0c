"""`make torture`: rounds of kills until the time is over (HOURS=n). The sums go on where the last run stopped."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.torture.crash import campaign, judge, report

STATE = Path(".torture")
KILLS_PER_ROUND = 40


def main() -> int:
    hours = float(os.environ.get("HOURS", "1"))
    seed = int(os.environ.get("SEED", "0")) or secrets.randbelow(2**31)
    ends = time.monotonic() + hours * 3600
    STATE.mkdir(exist_ok=True)
    sums = _sums()
    while time.monotonic() < ends:
        folder = Path(tempfile.mkdtemp(prefix="lithos-torture-"))
        told, kills = campaign(folder / "data", seed, KILLS_PER_ROUND)
        print(report(seed, told, kills), flush=True)
        try:
            judge(folder / "data", told)
        except AssertionError as lost:
            print(f"FAILED with seed {seed}, data in {folder}: {str(lost)[:2000]}", file=sys.stderr)
            _add(sums, told.calls, kills, failed=seed)
            return 1
        _add(sums, told.calls, kills)
        shutil.rmtree(folder)
        seed += 1
    print(json.dumps(sums))
    return 0


def _sums() -> dict[str, Any]:
    try:
        read: dict[str, Any] = json.loads((STATE / "sums.json").read_text())
        return read
    except FileNotFoundError:
        return {"rounds": 0, "kills": 0, "calls": 0, "failed_seeds": []}


def _add(sums: dict[str, Any], calls: int, kills: int, failed: int | None = None) -> None:
    sums["rounds"] += 1
    sums["kills"] += kills
    sums["calls"] += calls
    sums["failed_seeds"] += [] if failed is None else [failed]
    (STATE / "sums.json").write_text(json.dumps(sums))


if __name__ == "__main__":
    raise SystemExit(main())
