"""`make torture`: every part again and again with new seeds until the time is over. Sums go on where they stopped.

HOURS=n (1), JOBS=n (2: one per core), PARTS=crash,power (all), SEED=n (the one after the last).
"""

from __future__ import annotations

import datetime
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

from tests.torture import sums
from tests.torture.parts import PARTS, Part


def main() -> int:
    hours = float(os.environ.get("HOURS", "1"))
    if seed := os.environ.get("SEED"):
        with sums.state() as known:
            known["next_seed"] = int(seed)
    jobs = int(os.environ.get("JOBS", "2"))
    command = [sys.executable, "-m", "tests.torture", "job", str(hours * 3600)]
    started = [subprocess.Popen([*command, str(number / jobs)]) for number in range(jobs)]
    failed = [each.wait() for each in started]
    print("something failed: see above" if any(failed) else "nothing was lost")
    return 1 if any(failed) else 0


def run_until(ends: float, phase: float) -> int:
    """One job: run the parts by their shares of the time; how many runs failed."""
    wanted = [name for name in os.environ.get("PARTS", "").split(",") if name] or list(PARTS)
    spent = {name: PARTS[name].share * phase for name in wanted}  # so that two jobs do not begin with the same part
    failed = 0
    while time.monotonic() < ends:
        name = min(spent, key=lambda each: spent[each] / PARTS[each].share)
        began = time.monotonic()
        failed += not run_once(name, PARTS[name])
        spent[name] += time.monotonic() - began
    return failed


def run_once(name: str, part: Part) -> bool:
    seed, date = sums.next_seed(), datetime.datetime.now(datetime.UTC).date().isoformat()
    fast = "/dev/shm" if Path("/dev/shm").is_dir() else None
    folder = Path(tempfile.mkdtemp(prefix=f"lithos-{name}-", dir=fast))
    try:
        counts = part.run(folder, seed)
    except Exception as error:
        print(f"FAILED {name} with seed {seed}, data in {folder}: {str(error)[:2000]}", file=sys.stderr, flush=True)
        traceback.print_exc()
        sums.add(name, seed, date, {}, failed=True)
        return False
    print(json.dumps({"part": name, "seed": seed, **counts}), flush=True)
    sums.add(name, seed, date, {key: value for key, value in counts.items() if key in part.counted}, failed=False)
    shutil.rmtree(folder, ignore_errors=True)
    return True


if __name__ == "__main__":
    if sys.argv[1:2] == ["job"]:
        raise SystemExit(min(run_until(time.monotonic() + float(sys.argv[2]), float(sys.argv[3])), 1))
    raise SystemExit(main())
