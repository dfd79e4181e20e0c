"""The parts of `make torture`: how to run each once with a seed, its share of the time, and what is added up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.torture import claims, crash, growth, hostile, judge, mail, overload, people, power_loss, stopped_takers

KILLS = 120  # per judgement: imports, three guests, a judgement and a rebuild cost as much as ten kills


@dataclass(frozen=True)
class Part:
    run: Callable[[Path, int], dict[str, Any]]
    share: float
    counted: tuple[str, ...]


def run_crash(folder: Path, seed: int) -> dict[str, Any]:
    judge.embed_cheaply()
    told, counts = crash.campaign(folder, seed, kills=KILLS)
    judge.judge(folder / "data", told)
    return counts


def run_power(folder: Path, seed: int) -> dict[str, Any]:
    return power_loss.campaign(folder, seed, cuts=150, operations=60)


def run_replayed(folder: Path, seed: int) -> dict[str, Any]:
    return power_loss.campaign(folder, seed, cuts=50, operations=60, kind="kill")


def run_claims(folder: Path, seed: int) -> dict[str, Any]:
    return claims.campaign(folder, seed, kills=10, turns=40, clients_killed=3)


def run_mail(folder: Path, seed: int) -> dict[str, Any]:
    judge.embed_cheaply()
    return mail.campaign(folder, seed, kills=50)


def run_takers(folder: Path, seed: int) -> dict[str, Any]:
    return stopped_takers.campaign(folder, seed, stops=1000)


def run_people(folder: Path, seed: int) -> dict[str, Any]:
    judge.embed_cheaply()
    return people.campaign(folder, seed, saves=1000, checkouts=6, git_files=500)


def run_hostile(folder: Path, seed: int) -> dict[str, Any]:
    """The corpus every tenth time, new cases otherwise."""
    return hostile.campaign(folder, list(hostile.cases()) if seed % 10 == 0 else hostile.invented(seed, 1500))


def run_growth(folder: Path, seed: int) -> dict[str, Any]:
    return growth.campaign(folder, times=5000)


def run_overload(folder: Path, seed: int) -> dict[str, Any]:
    return overload.campaign(folder, calls=2000)


# The shares of the time: of the two hours of two cores 48 minutes are kills.
PARTS = {
    "crash": Part(run_crash, 0.3, ("kills", "kills inside calls", "failed changes", "calls")),
    "power": Part(run_power, 0.2, ("cuts", "calls")),
    "replayed": Part(run_replayed, 0.05, ("replayed kills", "calls")),
    "claims": Part(run_claims, 0.08, ("kills", "clients killed", "calls", "claims granted")),
    "mail": Part(run_mail, 0.08, ("kills", "clients killed", "calls", "messages")),
    "takers": Part(run_takers, 0.02, ("stopped takers", "woken takers", "messages")),
    "people": Part(run_people, 0.1, ("saves", "checkouts", "acknowledged versions")),
    "hostile": Part(run_hostile, 0.06, ("hostile cases",)),
    "growth": Part(run_growth, 0.07, tuple(growth.THINGS)),
    "overload": Part(run_overload, 0.04, ("loaded calls", "renewals")),
}
