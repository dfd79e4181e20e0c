"""A person saves at random moments while an agent writes the same file: no save of the person is lost."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from lithos.core.clock import SystemClock
from lithos.errors import Conflict
from lithos.storage import Limits, Root
from lithos.storage.files import Kernel, PortableKernel, best_kernel
from tests.support.person import PERSON

KERNELS: dict[str, Callable[[], Kernel]] = {"native": best_kernel, "portable": PortableKernel}


def fight(tmp_path: Path, kernel: str, style: str, rounds: int, seed: int) -> tuple[set[bytes], int]:
    """Lines of the person that are nowhere any more, and how many writes of the agent were refused."""
    limits = Limits(grace_seconds=0.2)
    root = Root(
        tmp_path / "v",
        name="v",
        keep=tmp_path / "k",
        clock=SystemClock(),
        kernel=KERNELS[kernel](),
        limits=limits,
    )
    target = root.path / "a.md"
    target.write_bytes(b"start\n")
    person = subprocess.Popen(
        [sys.executable, "-c", PERSON, str(target), str(rounds), style, str(seed)], stdout=subprocess.DEVNULL
    )
    written = refused = 0
    try:
        while person.poll() is None or not written:
            try:
                found = root.read("a.md")
                root.replace("a.md", found.data + b"agent %d\n" % written, found.version, history=False)
                written += 1
            except Conflict:
                refused += 1
    finally:
        person.kill()
        person.wait()
    root.sweep(everything=True)
    assert person.returncode == 0
    kept = b"".join(path.read_bytes() for path in root.path.iterdir()).split(b"\n")
    assert not [path for path in root.path.iterdir() if path.name.startswith(".lithos")]
    return {b"person %d" % number for number in range(rounds)} - set(kept), refused


@pytest.mark.parametrize("kernel", KERNELS)
def test_no_save_of_a_person_is_lost_in_a_short_fight(tmp_path: Path, kernel: str) -> None:
    lost, _ = fight(tmp_path, kernel, "mixed", 200, seed=1)
    assert lost == set()


@pytest.mark.torture
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("style", ["rename", "truncate", "mixed"])
@pytest.mark.parametrize("seed", range(3))
def test_no_save_of_a_person_is_lost_in_1500_rounds(tmp_path: Path, kernel: str, style: str, seed: int) -> None:
    lost, refused = fight(tmp_path, kernel, style, 1_500, seed)
    assert lost == set()
    assert refused > 0
