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

KERNELS: dict[str, Callable[[], Kernel]] = {"native": best_kernel, "portable": PortableKernel}

# In a process of its own: with threads, the interpreter's lock would hide most of the interleavings.
PERSON = """
import os, random, sys, time
path, rounds, style, seed = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
dice = random.Random(seed)

def read():
    while True:
        try:
            with open(path, "rb") as file:
                return file.read()
        except FileNotFoundError:
            pass

def save(data, style):
    if style == "rename":
        aside = os.path.join(os.path.dirname(path), ".editor~")
        with open(aside, "wb") as file:
            file.write(data)
        os.replace(aside, path)
    elif style == "truncate":
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_TRUNC)
        except FileNotFoundError:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        if dice.random() < 0.2:
            time.sleep(dice.random() * 0.002)
        os.write(descriptor, data)
        os.close(descriptor)

for number in range(rounds):
    time.sleep(dice.random() * 0.003)
    data = read() + b"person %d\\n" % number
    save(data, dice.choice(["rename", "truncate"]) if style == "mixed" else style)
    print(number, flush=True)
"""


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
