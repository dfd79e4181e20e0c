"""The parts of `make torture`: how to run each once with a seed, its share of the time, and what is added up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.torture import crash, judge, power_loss


@dataclass(frozen=True)
class Part:
    run: Callable[[Path, int], dict[str, Any]]
    share: float
    counted: tuple[str, ...]


def run_crash(folder: Path, seed: int) -> dict[str, Any]:
    judge.embed_cheaply()
    told, counts = crash.campaign(folder, seed, kills=50)
    judge.judge(folder / "data", told)
    return counts


def run_power(folder: Path, seed: int) -> dict[str, Any]:
    return power_loss.campaign(folder, seed, cuts=150, operations=60)


def run_replayed(folder: Path, seed: int) -> dict[str, Any]:
    return power_loss.campaign(folder, seed, cuts=50, operations=60, kind="kill")


PARTS = {
    "crash": Part(run_crash, 0.5, ("kills", "kills inside calls", "calls")),
    "power": Part(run_power, 0.2, ("cuts", "calls")),
    "replayed": Part(run_replayed, 0.05, ("replayed kills", "calls")),
}
