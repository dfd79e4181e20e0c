"""What runs add up to: in `.torture/` for the next run, and in docs/promises.md for readers."""

from __future__ import annotations

import contextlib
import fcntl
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

STATE = Path(".torture")
PROMISES = Path("docs/promises.md")
BEGIN, END = "<!-- runs: `make torture` adds to this table -->", "<!-- end of runs -->"
HEAD = "| date | part | runs | seeds | counts | failed |\n|---|---|---|---|---|---|"
_PAIR = re.compile(r"([\d,]+) ([a-z ]+)")


@contextlib.contextmanager
def state() -> Iterator[dict[str, Any]]:
    """The sums of all runs in this folder, held alone and written back."""
    STATE.mkdir(exist_ok=True)
    with (STATE / "sums.json").open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        known: dict[str, Any] = json.loads(file.read() or '{"next_seed": 1, "failed": []}')
        yield known
        file.seek(0)
        file.truncate()
        file.write(json.dumps(known, indent=1))


def next_seed() -> int:
    with state() as known:
        known["next_seed"] += 1
        return int(known["next_seed"]) - 1


def add(part: str, seed: int, date: str, counts: dict[str, int], failed: bool) -> None:
    """One run, to the row of its day and part."""
    with state() as known:
        if failed:
            known["failed"].append([part, seed])
        if PROMISES.exists():
            PROMISES.write_text(with_run(PROMISES.read_text(), date, part, seed, counts, failed))


def with_run(text: str, date: str, part: str, seed: int, counts: dict[str, int], failed: bool) -> str:
    """The page with this run in its table. Runs of the same day and part share a row."""
    before, _, rest = text.partition(BEGIN)
    table, _, after = rest.partition(END)
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines() if line.startswith("| 2")]
    same = next((row for row in rows if row[:2] == [date, part]), None)
    if same is None:
        same = [date, part, "0", str(seed), "", "0"]
        rows.append(same)
    sums = Counter(_counts(same[4]))
    sums.update(counts)
    seeds = [int(each) for each in same[3].split("–")] + [seed]
    same[2] = f"{int(same[2].replace(',', '')) + 1:,}"
    same[3] = f"{min(seeds)}–{max(seeds)}"
    same[4] = _spelled(sums)
    same[5] = str(int(same[5]) + failed)
    lines = "\n".join(f"| {' | '.join(row)} |" for row in sorted(rows))
    return f"{before}{BEGIN}\n{HEAD}\n{lines}\n\n{totals(rows)}\n{END}{after}"


def totals(rows: list[list[str]]) -> str:
    sums: Counter[str] = Counter()
    for row in rows:
        sums.update(_counts(row[4]))
    return f"All runs: {_spelled(sums)}; {sum(int(row[5]) for row in rows)} failed."


def _counts(cell: str) -> dict[str, int]:
    return {name: int(number.replace(",", "")) for number, name in _PAIR.findall(cell)}


def _spelled(sums: Counter[str]) -> str:
    return ", ".join(f"{number:,} {name}" for name, number in sums.items())
