"""Fits the weights of `lithos.habits.repeating` to the sets of benchmarks/sets, and prints them with their threshold.

Run from the project: python -m scripts.fit_repeats. Every second row of the fifth set is left out: it is the test.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np

from lithos.app import open_lithos
from lithos.habits.matching import Matcher
from lithos.habits.repeating import WEIGHTS, features
from lithos.settings import LithosConfig, SearchSettings, StorageSettings

SETS = Path("benchmarks/sets")
ALARMS = 0.05
HARMLESS, FIXES = 0.4, 0.5  # weight of an example beside that of a repeated mistake
RIDGE, ROUNDS = 2.0, 60
Example = tuple[float, float, str, tuple[str, str, str]]  # repeats, weight, approach, report


def main() -> None:
    with tempfile.TemporaryDirectory() as data:
        config = LithosConfig(storage=StorageSettings(data_dir=Path(data)), search=SearchSettings(wait_seconds=60))
        with closing(open_lithos(config)) as lithos:
            matcher = lithos.habits.matcher
            examples = [*_examples()]
            rows = np.array([_row(matcher, approach, report) for _, _, approach, report in examples])
            harmless = {approach for repeated, weight, approach, _ in examples if not repeated and weight == HARMLESS}
    known, weights = (np.array([each[place] for each in examples]) for place in (0, 1))
    found, constant = _fitted(rows, known, weights)
    scores = rows @ found + constant
    best = dict.fromkeys(harmless, -np.inf)
    for (_, _, approach, _), score in zip(examples, scores, strict=True):
        if approach in best:
            best[approach] = max(best[approach], float(score))
    threshold = sorted(best.values(), reverse=True)[int(ALARMS * len(best))]
    for name, weight in zip(WEIGHTS, found, strict=True):
        print(f"{name:12} {weight:6.2f}")
    print(f"constant     {constant - threshold:6.2f}")


def _examples() -> Iterator[Example]:
    for suffix in ("", "_2", "_3", "_4", "_5"):
        lines = (SETS / f"mistakes{suffix}.tsv").read_text(encoding="utf-8").splitlines()
        rows = [line.split("\t") for line in lines]
        reports = [(row[0], row[1], row[2]) for row in rows]
        harmless = (SETS / f"harmless{suffix}.txt").read_text(encoding="utf-8").splitlines()
        kept = [place for place in range(len(rows)) if suffix != "_5" or place % 2 == 0]
        for place in kept:
            yield from ((1.0, 1.0, approach, reports[place]) for approach in rows[place][3:5])
            yield 0.0, FIXES, rows[place][2], reports[place]
        for place, approach in enumerate(harmless):
            if suffix != "_5" or place // 2 % 2 == 0:
                yield from ((0.0, HARMLESS, approach, report) for report in reports)


def _row(matcher: Matcher, approach: str, report: tuple[str, str, str]) -> list[float]:
    found = features(matcher, approach, report)
    if found is None:
        raise SystemExit("no model answers")
    return [found[name] for name in WEIGHTS]


def _fitted(rows: np.ndarray, known: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, float]:
    """Logistic regression by Newton's method, on values of one scale."""
    mean, scale = rows.mean(0), rows.std(0) + 1e-9
    inputs = np.c_[(rows - mean) / scale, np.ones(len(rows))]
    found, ridge = np.zeros(inputs.shape[1]), np.eye(inputs.shape[1]) * RIDGE
    ridge[-1, -1] = 0.0
    for _ in range(ROUNDS):
        guess = 1 / (1 + np.exp(-np.clip(inputs @ found, -30, 30)))
        slope = inputs.T @ (weights * (guess - known)) + ridge @ found
        curve = (inputs * (weights * guess * (1 - guess))[:, None]).T @ inputs + ridge
        found = found - np.linalg.solve(curve, slope)
    return found[:-1] / scale, float(found[-1] - (found[:-1] * mean / scale).sum())


if __name__ == "__main__":
    main()
