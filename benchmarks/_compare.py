"""Two checkouts, benchmarks by turns: `python -m benchmarks._compare ../before notes.over_mcp board --rounds 7`.

Prints for each line of a benchmark the medians of both, their spread (least to most), and whether the medians differ by
more than the spreads. Each checkout runs its own code in its own `.venv`; of a part that ends in `.py` both run the
file of this checkout. Not part of `make bench`.
"""

from __future__ import annotations

import argparse
import re
import statistics
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

_LINE = re.compile(r"^(?P<name>[^|]+)\|\s*(?P<value>[\d,.]+) (?P<unit>\S*)\s*\| (?P<bound>[≤≥])")
Runs = dict[str, list[float]]


def main() -> None:
    asked = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    asked.add_argument("before", type=Path, help="the other checkout")
    asked.add_argument("parts", nargs="+", help="a benchmark, or one function of it without arguments")
    asked.add_argument("--rounds", type=int, default=7)
    given = asked.parse_args()
    for part in given.parts:
        _compare(part, given.before.resolve(), Path(__file__).parent.parent, given.rounds)


def _compare(part: str, before: Path, after: Path, rounds: int) -> None:
    runs: dict[Path, Runs] = {before: defaultdict(list), after: defaultdict(list)}
    bounds: dict[str, str] = {}
    for number in range(rounds):
        for checkout in (before, after) if number % 2 else (after, before):
            for name, value, bound in _measured(part, checkout):
                runs[checkout][name].append(value)
                bounds[name] = bound
    print(f"\n{part}, {rounds} rounds: before, after (least to most)", flush=True)
    for name, bound in bounds.items():
        old, new = runs[before].get(name), runs[after].get(name)
        if old and new:
            print(f"{name:58} | {_shown(old)} | {_shown(new)} | {_verdict(old, new, bound)}", flush=True)


def _measured(part: str, checkout: Path) -> list[tuple[str, float, str]]:
    module, _, function = part.partition(".")
    code = ["-c", f"import benchmarks.{module} as m; m.{function or 'main'}()"]
    if function == "py":  # the older checkout need not have it
        code = [str(Path(__file__).with_name(part))]
    python = checkout / ".venv" / "bin" / "python"
    done = subprocess.run([python, *code], cwd=checkout, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{part} failed in {checkout.name}:\n{done.stderr[-2000:]}")
    found = filter(None, map(_LINE.match, done.stdout.splitlines()))
    return [(each["name"].rstrip(), float(each["value"].replace(",", "")), each["bound"]) for each in found]


def _shown(values: list[float]) -> str:
    return f"{statistics.median(values):>11,.3f} ({min(values):,.3f} to {max(values):,.3f})"


def _verdict(old: list[float], new: list[float], bound: str) -> str:
    sign = 1 if bound == "≤" else -1
    worse = sign * (statistics.median(new) - statistics.median(old))
    spread = max(max(old) - min(old), max(new) - min(new))
    return "within the spread" if abs(worse) <= spread else "worse" if worse > 0 else "better"


if __name__ == "__main__":
    main()
